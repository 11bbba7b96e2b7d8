"""Reductions of a block: ``tl.sum``, ``tl.max``, ``tl.argmax`` and their like."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir import expr
from ..ir.types import F32, I32, U32, ScalarType, scalar_of, shape_of
from .checks import number_of, static_axis, static_bool, static_dtype
from .compile_time import unwrap
from .marks import builtin
from .shapes import keep_axis
from .symbolic import as_type, build, tensor


@builtin
def sum(
    input: tensor, axis: int | None = None, keep_dims: bool = False, dtype: ScalarType | None = None
) -> tensor:
    """Sum over ``axis``, or over the whole block.

    Integers and bools below 32 bits are summed in 32 bits of the same signedness; ``dtype`` converts
    the block before it is summed. ``keep_dims`` keeps the reduced axes with extent 1. The extents must
    be powers of two. Raises for scalars and pointers.
    """
    element = number_of(input, "sum")
    if unwrap(dtype) is not None:
        input = tensor(as_type(input, static_dtype(dtype, "sum")))
    elif element.bits < 32 and not element.is_floating():
        input = tensor(as_type(input, I32 if element.is_signed() else U32))
    return _reduce("sum", expr.Sum, input, axis, keep_dims)


@builtin
def max(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:
    """Largest element over ``axis``, or of the whole block; NaN is ignored unless all are NaN.

    Types below 32 bits become ``f32`` or ``i32`` first. With ``return_indices`` the result is a pair:
    the element, in its own type, and its position (``i32``; of equals the first).
    ``keep_dims`` keeps the reduced axes with extent 1. Raises for scalars and pointers.
    """
    return _extremum("max", expr.Max, input, axis, return_indices, keep_dims)


@builtin
def min(
    input: tensor,
    axis: int | None = None,
    return_indices: bool = False,
    return_indices_tie_break_left: bool = True,
    keep_dims: bool = False,
) -> Any:
    """Smallest element over ``axis``, or of the whole block; NaN is ignored unless all are NaN.

    Types below 32 bits become ``f32`` or ``i32`` first. With ``return_indices`` the result is a pair:
    the element, in its own type, and its position (``i32``; of equals the first).
    ``keep_dims`` keeps the reduced axes with extent 1. Raises for scalars and pointers.
    """
    return _extremum("min", expr.Min, input, axis, return_indices, keep_dims)


@builtin
def argmax(
    input: tensor, axis: int | None = None, tie_break_left: bool = True, keep_dims: bool = False
) -> tensor:
    """Position (``i32``) of the largest element along ``axis``, of equals the first; without an axis
    the position in row-major order. NaN is ignored, 0 when all are NaN. ``keep_dims`` as for
    ``tl.max``."""
    return _position("argmax", input, axis, keep_dims)


@builtin
def argmin(
    input: tensor, axis: int | None = None, tie_break_left: bool = True, keep_dims: bool = False
) -> tensor:
    """Position (``i32``) of the smallest element along ``axis``, of equals the first; without an axis
    the position in row-major order. NaN is ignored, 0 when all are NaN. ``keep_dims`` as for
    ``tl.min``."""
    return _position("argmin", input, axis, keep_dims)


@builtin
def xor_sum(input: tensor, axis: int | None = None, keep_dims: bool = False) -> tensor:
    """Exclusive or of integers or bools over ``axis``, or over the whole block, in their own type.
    Raises for floats. ``keep_dims`` as for ``tl.sum``."""
    number_of(input, "xor_sum")
    return _reduce("xor_sum", None, input, axis, keep_dims)


def _extremum(
    name: str, node: Any, input: Any, axis: Any, return_indices: Any, keep_dims: Any
) -> Any:
    element = number_of(input, name)
    if static_bool(return_indices, f"{name}: return_indices"):
        value = _reduce(name, node, input, axis, keep_dims)
        return value, _position(f"arg{name}", input, axis, keep_dims)
    if element.bits < 32:
        input = tensor(as_type(input, F32 if element.is_floating() else I32))
    return _reduce(name, node, input, axis, keep_dims)


def _position(name: str, input: Any, axis: Any, keep_dims: Any) -> tensor:
    number_of(input, name)
    return _reduce(name, None, input, axis, keep_dims)


def _reduce(name: str, node: Any, value: tensor, axis: Any, keep_dims: Any) -> tensor:
    """``node`` is the class of a reduction of all of a block that has one."""
    if scalar_of(value.type).is_fp8():
        raise OpRuleError(
            f"{name}: {value.type} only lives in memory; convert with .to(tl.float32)"
        )
    shape = shape_of(value.type)
    axis = unwrap(axis)
    position = None if axis is None else static_axis(axis, len(shape), f"axis of {name}")
    if node is not None and (position is None or (len(shape) == 1 and position == 0)):
        result = build(node(value.expr))
    else:
        attrs = () if position is None else (("axis", position),)
        result = build(expr.OpExpr(name, (value.expr,), attrs))
    if static_bool(keep_dims, f"{name}: keep_dims"):
        return keep_axis(result, shape, position)
    return result
