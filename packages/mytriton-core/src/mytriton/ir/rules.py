"""Type rules shared by several operations (the functions ``OpDef.infer`` and ``compute`` name)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import OpRuleError as OpRuleError  # re-exported: rules raise it
from .promote import promote
from .types import (
    BOOL,
    F32,
    STORAGE_ONLY,
    PointerType,
    ScalarType,
    Type,
    broadcast_shapes,
    element_of,
    is_pointer,
    scalar_of,
    shape_of,
    with_shape,
)

Types = Sequence["Type | None"]
Attrs = Mapping[str, Any]


def number(ty: Type | None, op: str, what: str = "operand") -> ScalarType:
    """The scalar element of an operand that must be a number."""
    if ty is None or is_pointer(ty):
        raise OpRuleError(f"{op}: the {what} must be a number, got {ty if ty else 'none'}")
    return scalar_of(ty)


def shapes(*types: Type | None) -> tuple[int, ...]:
    """The shape the operands broadcast to (absent ones do not count)."""
    return broadcast_shapes(*(shape_of(t) for t in types if t is not None))


def _pair(op: str, types: Types, *, division: bool = False) -> tuple[ScalarType, tuple[int, ...]]:
    a, b = types
    for ty in (a, b):
        if ty is not None and is_pointer(ty):
            raise OpRuleError(
                f"{op}: cannot combine {a} and {b}; only ptr + offset is pointer arithmetic"
            )
    try:
        element = promote(number(a, op), number(b, op), division=division)
        return element, shapes(a, b)
    except OpRuleError as error:
        hint = _shape_hint(a, b) if "broadcast" in str(error) else ""
        raise OpRuleError(f"{op} of {a} and {b}: {error}{hint}") from None


def _shape_hint(a: Type | None, b: Type | None) -> str:
    ranks = [len(shape_of(t)) for t in (a, b) if t is not None]
    axes = "; to combine each of one with each of the other, write x[:, None] and y[None, :]"
    return axes if ranks == [1, 1] else ""


def arithmetic(op: str, *, division: bool = False) -> Any:
    """Rule of a binary arithmetic operation: the promoted type, broadcast."""

    def infer(types: Types, attrs: Attrs) -> Type:
        element, shape = _pair(op, types, division=division)
        return with_shape(shape, element)

    return infer


def comparison(op: str) -> Any:
    """Rule of a comparison: ``bool``, broadcast."""

    def infer(types: Types, attrs: Attrs) -> Type:
        _, shape = _pair(op, types)
        return with_shape(shape, BOOL)

    return infer


def promoted(types: Types, result: Type | None) -> ScalarType:
    """Compute type of a comparison: what its operands meet in."""
    a, b = (scalar_of(t) for t in types if t is not None)
    return promote(a, b)


def bitwise(op: str) -> Any:
    """Rule of ``&``: integers or bools only."""

    def infer(types: Types, attrs: Attrs) -> Type:
        element, shape = _pair(op, types)
        if element.is_floating():
            raise OpRuleError(
                f"{op} needs integers or bools, got {types[0]} and {types[1]}; convert with .to(tl.int32), "
                "or take the bits with .to(..., bitcast=True)"
            )
        return with_shape(shape, element)

    return infer


def same(op: str, accept: str = "number") -> Any:
    """Rule of a unary operation that keeps its type; ``accept`` is ``number``, ``float`` or
    ``bits`` (integers and bools)."""

    def infer(types: Types, attrs: Attrs) -> Type:
        (ty,) = types
        element = number(ty, op)
        if element in STORAGE_ONLY:
            raise OpRuleError(f"{op}: {element} is a storage type: cast it to f16 or f32 first")
        if accept == "float" and not element.is_floating():
            raise OpRuleError(
                f"{op} needs a floating-point operand, got {ty}; multiply it by 1.0 to convert it"
            )
        if accept == "bits" and element.is_floating():
            raise OpRuleError(f"{op} needs an integer or a bool, got {ty}")
        if accept == "number" and element.is_bool():
            raise OpRuleError(f"{op} needs a number, got {ty}")
        assert ty is not None
        return ty

    return infer


def at_least_f32(types: Types, result: Type | None) -> ScalarType:
    """Compute type of mathematical functions: 16-bit floats compute in ``f32``."""
    element = scalar_of(result)  # type: ignore[arg-type]
    return F32 if element.bits < 32 else element


def pointee(ptr: Type | None, op: str) -> ScalarType:
    """The element a pointer operand points to."""
    element = element_of(ptr) if ptr is not None else None
    if not isinstance(element, PointerType):
        raise OpRuleError(f"{op} needs a pointer, got {ptr if ptr else 'none'}")
    return element.element


def fits(inner: Type | None, outer: Type | None, op: str, what: str) -> None:
    """``inner`` must broadcast to the shape of ``outer`` without growing it."""
    if inner is None or outer is None:
        return
    shape, target = shape_of(inner), shape_of(outer)
    try:
        if broadcast_shapes(shape, target) == target:
            return
    except OpRuleError:
        pass
    raise OpRuleError(
        f"{op}: the {what} ({inner}) does not broadcast to the pointer ({outer}); give both "
        "one shape"
    )


def static_shape(op: str, attrs: Attrs) -> tuple[int, ...]:
    """The ``shape`` attribute: a non-empty tuple of positive ints."""
    shape = attrs.get("shape")
    if (
        not isinstance(shape, tuple)
        or not shape
        or any(type(d) is not int or d <= 0 for d in shape)
    ):
        raise OpRuleError(
            f"{op}: the shape must be a non-empty tuple of positive ints, got {shape!r}"
        )
    return shape


def static_dtype(op: str, attrs: Attrs) -> ScalarType:
    """The ``dtype`` attribute: a scalar type."""
    dtype = attrs.get("dtype")
    if not isinstance(dtype, ScalarType):
        raise OpRuleError(f"{op}: the dtype must be a scalar type, got {dtype!r}")
    return dtype


def is_power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0
