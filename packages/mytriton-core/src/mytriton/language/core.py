"""The functions a kernel calls (``tl.load``, ``tl.arange``, ...): thin wrappers that build nodes.

What an operation *means*, its type rule and its errors stand in its declaration in ``ir/ops``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import OpRuleError
from ..ir import expr
from ..ir.types import BOOL, F32, I32, U32, PointerType, ScalarType, element_of, scalar_of, shape_of
from .ranges import static_range as static_range  # re-exported
from .symbolic import as_type, build, describe, literal, operand, pair, tensor

F = TypeVar("F", bound=Callable[..., Any])


def builtin(fn: F) -> F:
    """Mark a function of the language: the frontend calls it with symbolic values."""
    fn.__mytriton_builtin__ = True  # type: ignore[attr-defined]
    return fn


@builtin
def program_id(axis: int) -> tensor:
    """Index (``i32``) of the running program along ``axis`` (0, 1 or 2) of the launch grid."""
    return build(expr.ProgramId(_int(axis, "axis of program_id")))


@builtin
def arange(start: int, end: int) -> tensor:
    """The ``i32`` block ``start, start + 1, ..., end - 1``. Both bounds are compile-time ints."""
    return build(expr.Arange(_int(start, "start of arange"), _int(end, "end of arange")))


@builtin
def load(pointer: tensor, mask: Any = None, other: Any = None) -> tensor:
    """Read from memory: a scalar, or a block of the pointer block's shape.

    ``mask`` (bool, broadcasts to the pointer) selects the lanes that are read; the others touch no
    memory and give ``other``, or zero when it is left out.
    """
    element = _pointee(pointer, "load")
    if other is not None and mask is None:
        raise OpRuleError("load: other needs a mask")
    fallback = None if other is None else as_type(other, element)
    return build(expr.Load(pointer.expr, _mask(mask), fallback))


@builtin
def store(pointer: tensor, value: Any, mask: Any = None) -> None:
    """Write ``value`` (converted to the pointee type, broadcast to the pointer's shape) to memory.

    Lanes whose ``mask`` is false touch no memory.
    """
    element = _pointee(pointer, "store")
    build(expr.Store(pointer.expr, as_type(value, element), _mask(mask)))


@builtin
def exp(x: Any) -> tensor:
    """Natural exponential of floats; 16-bit floats compute in ``f32`` and round back."""
    return build(expr.UnaryOp("exp", operand(x)))


@builtin
def maximum(x: Any, y: Any) -> tensor:
    """Elementwise maximum. NaN propagates; on a tie the right operand is the result."""
    return build(expr.Maximum(*pair(x, y)))


@builtin
def minimum(x: Any, y: Any) -> tensor:
    """Elementwise minimum. NaN propagates; on a tie the right operand is the result."""
    return build(expr.Minimum(*pair(x, y)))


@builtin
def where(condition: Any, x: Any, y: Any) -> tensor:
    """``x`` where ``condition`` holds, else ``y``. Both are computed."""
    return build(expr.Where(as_type(condition, BOOL), *pair(x, y)))


@builtin
def sum(input: Any, axis: int | None = None) -> tensor:
    """Sum over ``axis``, or over the whole block. Integers below 32 bits are summed in 32 bits."""
    dtype = _number(input, "sum")
    if dtype.bits < 32 and not dtype.is_floating():
        input = tensor(as_type(input, I32 if dtype.is_signed() else U32))
    return _reduce("sum", expr.Sum, input, axis)


@builtin
def max(input: Any, axis: int | None = None) -> tensor:
    """Largest element over ``axis``, or of the whole block; NaN is ignored unless all are NaN.
    Types below 32 bits become ``f32`` or ``i32`` first."""
    return _reduce("max", expr.Max, _widen(input, "max"), axis)


@builtin
def min(input: Any, axis: int | None = None) -> tensor:
    """Smallest element over ``axis``, or of the whole block; NaN is ignored unless all are NaN.
    Types below 32 bits become ``f32`` or ``i32`` first."""
    return _reduce("min", expr.Min, _widen(input, "min"), axis)


@builtin
def zeros(shape: Any, dtype: ScalarType) -> tensor:
    """A block of zeros. ``shape``: a positive int or a non-empty tuple or list of them."""
    return build(expr.Zeros(_shape(shape, "zeros"), _dtype(dtype, "zeros")))


@builtin
def full(shape: Any, value: Any, dtype: ScalarType) -> tensor:
    """A block filled with one scalar (literal or runtime), converted to ``dtype``."""
    dims, element = _shape(shape, "full"), _dtype(dtype, "full")
    if isinstance(value, tensor) and value.shape:
        raise OpRuleError(f"full: the fill value must be a scalar, got {value.type}")
    return build(expr.Full(dims, as_type(value, element), element))


@builtin
def empty(shape: Any, dtype: ScalarType) -> tensor:
    """A block whose contents are undefined until overwritten."""
    return build(expr.Empty(_shape(shape, "empty"), _dtype(dtype, "empty")))


def _reduce(name: str, node: Any, value: Any, axis: int | None) -> tensor:
    if axis is None or (len(shape_of(value.type)) == 1 and axis in (0, -1)):
        return build(node(value.expr))
    axis = _int(axis, f"axis of {name}")
    rank = len(shape_of(value.type))
    # A negative axis counts from the end; one out of range is left to the operation's rule.
    axis = axis + rank if -rank <= axis < 0 else axis
    return build(expr.OpExpr(name, (value.expr,), (("axis", axis),)))


def _widen(value: Any, name: str) -> tensor:
    dtype = _number(value, name)
    if dtype.bits >= 32:
        return value  # type: ignore[no-any-return]
    return tensor(as_type(value, F32 if dtype.is_floating() else I32))


def _number(value: Any, name: str) -> ScalarType:
    if not isinstance(value, tensor):
        raise OpRuleError(f"{name} needs a block, got {describe(value)}")
    return scalar_of(value.type)


def _pointee(pointer: Any, name: str) -> ScalarType:
    element = element_of(pointer.type) if isinstance(pointer, tensor) else None
    if not isinstance(element, PointerType):
        hint = "; an array argument plus offsets is one" if isinstance(pointer, tensor) else ""
        raise OpRuleError(f"{name} needs a pointer, got {describe(pointer)}{hint}")
    return element.element


def _mask(mask: Any) -> Any:
    if mask is None:
        return None
    if isinstance(mask, tensor):
        return mask.expr
    if isinstance(mask, bool):
        return literal(mask)
    raise OpRuleError(f"the mask must be a bool or a block of bools, got {describe(mask)}")


def _int(value: Any, what: str) -> int:
    if isinstance(value, tensor):
        raise OpRuleError(
            f"the {what} must be a compile-time int, got a runtime value of {value.type}; declare the "
            "parameter as tl.constexpr"
        )
    if type(value) is not int:
        raise OpRuleError(f"the {what} must be an int, got {describe(value)}")
    return value


def _shape(shape: Any, name: str) -> tuple[int, ...]:
    dims = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for dim in dims:
        if isinstance(dim, tensor) or type(dim) is not int or dim <= 0:
            raise OpRuleError(
                f"{name}: the shape must be a positive int or a non-empty tuple or list of positive "
                f"compile-time ints, got {describe(shape) if not isinstance(dim, tensor) else dim.type}"
            )
    if not dims:
        raise OpRuleError(f"{name}: the shape must not be empty")
    return dims


def _dtype(dtype: Any, name: str) -> ScalarType:
    if not isinstance(dtype, ScalarType):
        raise OpRuleError(
            f"{name}: the dtype must be a dtype such as tl.float32, got {describe(dtype)}"
        )
    return dtype
