"""Arguments of language functions that must be known at compile time."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir.types import BlockType, PointerType, ScalarType, element_of, scalar_of
from .compile_time import unwrap
from .dtypes import ForeignType
from .symbolic import describe, tensor


def static_int(value: Any, what: str) -> int:
    """``value`` as a compile-time int. Raises ``OpRuleError`` naming ``what``."""
    value = unwrap(value)
    if isinstance(value, tensor):
        raise OpRuleError(
            f"the {what} must be a compile-time int, got a runtime value of {value.type}; declare the "
            "parameter as tl.constexpr"
        )
    if type(value) is not int:
        raise OpRuleError(f"the {what} must be an int, got {describe(value)}")
    return value


def static_bool(value: Any, what: str) -> bool:
    """``value`` as a compile-time flag (an int will do, as in Python)."""
    value = unwrap(value)
    if isinstance(value, tensor) or not isinstance(value, (bool, int)):
        raise OpRuleError(f"{what} must be a compile-time bool, got {describe(value)}")
    return bool(value)


def static_axis(value: Any, rank: int, what: str) -> int:
    """An axis from ``-rank`` to ``rank - 1``, counted from the front. One that is out of range is
    left as it is: the operation's rule refuses it with its types."""
    axis = static_int(value, what)
    return axis + rank if -rank <= axis < 0 else axis


def static_shape(shape: Any, name: str) -> tuple[int, ...]:
    """A shape: a positive int, or a tuple or list of them; ``()`` is that of a scalar."""
    shape = unwrap(shape)
    dims = tuple(map(unwrap, shape)) if isinstance(shape, (tuple, list)) else (shape,)
    for dim in dims:
        if isinstance(dim, tensor) or type(dim) is not int or dim <= 0:
            raise OpRuleError(
                f"{name}: the shape must be a positive int or a tuple or list of positive "
                f"compile-time ints, got {_extent(shape, dim)}"
            )
    return dims


def _extent(shape: Any, dim: Any) -> str:
    if not isinstance(dim, tensor):
        return describe(shape)
    return f"{dim.type}; declare the parameter as tl.constexpr"


def spread(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """``f(x, (1, 0))`` and ``f(x, 1, 0)`` mean the same."""
    if len(values) == 1 and isinstance(unwrap(values[0]), (tuple, list)):
        return tuple(unwrap(values[0]))
    return values


def static_dtype(dtype: Any, name: str) -> ScalarType:
    """A scalar type. Raises ``OpRuleError`` for anything else, naming types no backend has."""
    dtype = unwrap(dtype)
    if isinstance(dtype, BlockType):
        dtype = dtype.element
    if isinstance(dtype, ForeignType):
        raise OpRuleError(f"{name}: {dtype} is not supported; use tl.float8e4nv or tl.float8e5")
    if isinstance(dtype, PointerType):
        raise OpRuleError(f"{name}: casts to pointers are not supported yet, got {dtype}")
    if not isinstance(dtype, ScalarType):
        raise OpRuleError(
            f"{name}: the dtype must be a dtype such as tl.float32, got {describe(dtype)}"
        )
    return dtype


def choice(value: Any, known: tuple[str, ...], name: str, what: str) -> None:
    """Refuse a hint that is misspelt; hints themselves change no result."""
    value = unwrap(value)
    if value is not None and value not in known:
        shown = ", ".join(repr(k) for k in known)
        raise OpRuleError(f"{name}: {what} must be one of {shown}, got {describe(value)}")


def number_of(value: Any, name: str) -> ScalarType:
    """The element type of a block or scalar of numbers."""
    if not isinstance(value, tensor):
        raise OpRuleError(f"{name} needs a block, got {describe(value)}")
    return scalar_of(value.type)


def pointee_of(pointer: Any, name: str) -> ScalarType:
    """The type a pointer or a block of pointers points to."""
    element = element_of(pointer.type) if isinstance(pointer, tensor) else None
    if not isinstance(element, PointerType):
        hint = "; an array argument plus offsets is one" if isinstance(pointer, tensor) else ""
        raise OpRuleError(f"{name} needs a pointer, got {describe(pointer)}{hint}")
    return element.element
