"""Functions that make blocks and change their shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import OpRuleError
from ..ir import expr
from ..ir.types import (
    I32,
    ScalarType,
    broadcast_shapes,
    is_pointer,
    scalar_of,
)
from .checks import spread, static_axis, static_dtype, static_int, static_shape
from .marks import builtin
from .symbolic import as_type, build, describe, literal, operand, tensor


@builtin
def arange(start: int, end: int) -> tensor:
    """The ``i32`` block ``start, start + 1, ..., end - 1``.

    Both bounds are compile-time ints; any positive width will do, but ``tl.dot`` and reductions need
    powers of two. Raises for an empty range or bounds beyond ``i32``.
    """
    return build(
        expr.Arange(static_int(start, "start of arange"), static_int(end, "end of arange"))
    )


@builtin
def zeros(shape: Any, dtype: ScalarType) -> tensor:
    """A block of zeros. ``shape``: a positive int, or a tuple or list of them; ``()`` gives a scalar."""
    dims, element = static_shape(shape, "zeros"), static_dtype(dtype, "zeros")
    if not dims:
        return tensor(literal(0, element))
    return build(expr.Zeros(dims, element))


@builtin
def full(shape: Any, value: Any, dtype: ScalarType) -> tensor:
    """A block filled with one scalar (literal or runtime), converted to ``dtype``.

    ``shape``: a positive int, or a tuple or list of them; ``()`` gives a scalar. Raises when the value
    is a block of more than one element, or an integer literal that does not fit ``dtype``.
    """
    dims, element = static_shape(shape, "full"), static_dtype(dtype, "full")
    if isinstance(value, tensor) and value.shape:
        raise OpRuleError(f"full: the fill value must be a scalar, got {value.type}")
    fill = as_type(value, element)
    return build(expr.Full(dims, fill, element)) if dims else tensor(fill)


@builtin
def empty(shape: Any, dtype: ScalarType) -> tensor:
    """A block whose contents are undefined until overwritten; ``shape`` as for ``tl.zeros``."""
    dims, element = static_shape(shape, "empty"), static_dtype(dtype, "empty")
    if not dims:
        return tensor(literal(0, element))
    return build(expr.Empty(dims, element))


@builtin
def zeros_like(input: tensor) -> tensor:
    """Zeros of the shape and dtype of ``input``."""
    return zeros(_numbers(input, "zeros_like").shape, scalar_of(input.type))


@builtin
def full_like(input: tensor, value: Any, dtype: ScalarType | None = None) -> tensor:
    """``value`` in the shape of ``input``, converted to ``dtype`` (default: that of ``input``)."""
    shape = _numbers(input, "full_like").shape
    return full(shape, value, scalar_of(input.type) if dtype is None else dtype)


@builtin
def broadcast_to(input: Any, *shape: Any) -> tensor:
    """``input`` repeated to ``shape``, as NumPy broadcasts (missing leading axes count as 1).

    The shape is a tuple or separate ints. Takes numbers and pointers of any dtype. Raises when an
    extent that is not 1 would have to change.
    """
    dims = static_shape(spread(shape), "broadcast_to")
    return widen(_value(input), dims)


@builtin
def broadcast(input: Any, other: Any) -> tuple[tensor, tensor]:
    """Both operands repeated to the shape they broadcast to. Raises when the shapes clash."""
    lhs, rhs = _value(input), _value(other)
    shape = broadcast_shapes(lhs.shape, rhs.shape)
    return widen(lhs, shape), widen(rhs, shape)


@builtin
def expand_dims(input: Any, axis: Any) -> tensor:
    """Insert axes of extent 1, at the positions ``axis`` (an int, or a tuple of them) has in the
    result; negative positions count from its end. A scalar becomes a block.

    Raises for a position out of range or named twice.
    """
    value = _value(input)
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    rank = len(value.shape) + len(axes)
    found = sorted(static_axis(a, rank, "axis of expand_dims") for a in axes)
    if any(not 0 <= a < rank for a in found):
        raise OpRuleError(
            f"expand_dims: the axis must be from {-rank} to {rank - 1} for {value.type}, got {axis!r}"
        )
    if len(set(found)) != len(found):
        raise OpRuleError(f"expand_dims: axis {axis!r} names a position twice")
    for position in found:
        value = insert_axis(value, position)
    return value


@builtin
def permute(input: tensor, *dims: Any) -> tensor:
    """The axes in another order: axis ``k`` of the result is axis ``dims[k]`` of ``input``.

    The order is a tuple or separate ints, negative ones counting from the end; it names each axis
    once.
    """
    return _permute(input, spread(dims), "permute")


@builtin
def trans(input: tensor, *dims: Any) -> tensor:
    """The transpose: the last two axes swapped, or the axes in the order ``dims`` as ``tl.permute``
    takes it. Raises for a block of rank 1 without an order."""
    order = spread(dims)
    rank = len(_block(input, "trans").shape)
    if not order:
        if rank < 2:
            raise OpRuleError(f"trans needs a block of rank 2 or more, got {input.type}")
        order = (*range(rank - 2), rank - 1, rank - 2)
    return _permute(input, order, "trans")


def subscript(value: tensor, index: Any) -> tensor:
    """``x[:, None]`` and its like: ``:`` keeps an axis, ``None`` inserts one of extent 1, ``...``
    stands for the axes that are left."""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(part is None or part is Ellipsis or _is_colon(part) for part in parts):
        if not value.shape:
            hint = "; read memory with tl.load(x + i)" if is_pointer(value.type) else ""
            raise OpRuleError(f"only blocks can be subscripted, got {value.type}{hint}")
        raise OpRuleError(
            "a block takes only ':' and None as subscripts, as in x[:, None] and x[None, :]; one element "
            "is tl.sum(tl.where(lanes == i, x, 0))"
        )
    parts = _spell_out(value, parts)
    for axis, part in enumerate(parts):
        if part is None:
            value = insert_axis(value, axis)
    return value


def _is_colon(part: Any) -> bool:
    return isinstance(part, slice) and part == slice(None)


def _spell_out(value: tensor, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The subscript with ``...`` replaced by as many ``:`` as it stands for."""
    rank = len(value.shape)
    kept = sum(_is_colon(part) for part in parts)
    dots = sum(part is Ellipsis for part in parts)
    if dots > 1:
        raise OpRuleError("a subscript takes one '...'")
    if not rank and kept:
        # As in Triton, x[None, :] of a scalar is a block of one: ':' is its new axis.
        if parts[0] is not None or dots:
            raise OpRuleError(f"only blocks can be subscripted, got {value.type}")
        return tuple(part for part in parts if part is None)
    if kept > rank:
        raise OpRuleError(f"the subscript has {kept} ':' but {value.type} has {rank} axes")
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    rest = (slice(None),) * (rank - kept)
    return (*parts[:at], *rest, *parts[at + 1 :])


def insert_axis(value: tensor, axis: int) -> tensor:
    """``value`` with an axis of extent 1 at ``axis``; a scalar becomes a block of one."""
    if not value.shape:
        return widen(value, (1,))
    return rearrange(value, lambda part: build(expr.ExpandDims(part.expr, axis)))


def rearrange(value: tensor, move: Callable[[tensor], tensor]) -> tensor:
    """What ``move`` makes of a block. Of pointers it moves the offsets, where they are known: every
    backend knows how to move numbers."""
    node = value.expr
    if not isinstance(node, expr.AddPtr):
        return move(value)
    base = tensor(node.base)
    if base.shape:
        if base.shape != value.shape and not isinstance(base.expr, expr.AddPtr):
            return move(value)
        base = rearrange(widen(base, value.shape), move)
    return build(expr.AddPtr(base.expr, move(widen(tensor(node.offset), value.shape)).expr))


def widen(value: tensor, shape: tuple[int, ...]) -> tensor:
    """``value`` broadcast to ``shape``; raises ``OpRuleError`` where it does not."""
    if value.shape == shape:
        return value
    if broadcast_shapes(value.shape, shape) != shape:
        raise OpRuleError(f"broadcast: {value.type} does not broadcast to the shape {shape}")
    node = value.expr
    if isinstance(node, expr.AddPtr):
        base = tensor(node.base)
        base = widen(base, shape) if base.shape else base
        return build(expr.AddPtr(base.expr, widen(tensor(node.offset), shape).expr))
    if is_pointer(value.type):
        return build(expr.AddPtr(node, build(expr.Zeros(shape, I32)).expr))
    return build(expr.OpExpr("broadcast", (node,), (("shape", shape),)))


def keep_axis(value: tensor, shape: tuple[int, ...], axis: int | None) -> tensor:
    """The result of a reduction of a block of ``shape`` along ``axis`` with the reduced axes kept."""
    if axis is None or len(shape) == 1:
        return widen(value, (1,) * len(shape))
    return build(expr.ExpandDims(value.expr, axis))


def _permute(input: tensor, order: tuple[Any, ...], name: str) -> tensor:
    rank = len(_block(input, name).shape)
    axes = tuple(static_axis(axis, rank, f"order of {name}") for axis in order)
    if sorted(axes) != list(range(rank)):
        raise OpRuleError(
            f"{name}: the order must name each axis of {input.type} once, got {order!r}"
        )
    if axes == tuple(range(rank)):
        return input
    attrs = (("order", axes),)
    return rearrange(input, lambda part: build(expr.OpExpr("trans", (part.expr,), attrs)))


def _value(value: Any) -> tensor:
    return value if isinstance(value, tensor) else tensor(operand(value))


def _block(value: Any, name: str) -> tensor:
    if not isinstance(value, tensor) or not value.shape:
        raise OpRuleError(f"{name} needs a block, got {describe(value)}")
    return value


def _numbers(value: Any, name: str) -> tensor:
    if not isinstance(value, tensor) or is_pointer(value.type):
        raise OpRuleError(f"{name} needs a block or scalar of numbers, got {describe(value)}")
    return value
