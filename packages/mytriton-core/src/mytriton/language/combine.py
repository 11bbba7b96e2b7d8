"""``tl.reduce``: a reduction with a function of the user's."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir.builder import Builder
from ..ir.expr import LoopCarry, Node, Reduce
from ..ir.ops.reduce import reduced_axes
from ..ir.types import element_of, scalar_of, shape_of, with_shape
from .core import builtin
from .symbolic import as_type, build, describe, tensor


def place(builder: Any, item: Any, types: Any, scope: Any) -> tuple[Node, ...]:
    from ..frontend.scopes import place as place_structured

    results: tuple[Node, ...] = place_structured(builder, item, types, [scope], builder.span)
    return results


@builtin
def reduce(input: Any, axis: int | None, combine_fn: Any, keep_dims: bool = False) -> Any:
    """Reduce a block, or a tuple of blocks of one shape, along ``axis`` (``None``: all of it).

    ``combine_fn`` is a ``@triton.jit`` function of two scalars (of ``2 * n`` for a tuple of ``n``
    blocks) that returns one (a tuple of ``n``); it must be associative and touch no memory.
    The extent must be a power of two. ``keep_dims`` keeps reduced axes with extent 1.
    """
    several = isinstance(input, (tuple, list))
    values = list(input) if several else [input]
    for value in values:
        if not isinstance(value, tensor) or not value.shape:
            raise OpRuleError(f"reduce needs blocks, got {describe(value)}")
    rank = len(values[0].shape)
    if axis is not None:
        if type(axis) is not int or not -rank <= axis < rank:
            raise OpRuleError(f"reduce: axis {axis!r} is not an axis of {values[0].type}")
        axis %= rank
    results = _reduce(values, axis, combine_fn)
    if keep_dims:
        results = [_keep(r, rank, axis) for r in results]
    return tuple(results) if several else results[0]


def _reduce(values: list[tensor], axis: int | None, combine_fn: Any) -> list[tensor]:
    builder = Builder.current()
    if builder.inline is None or not hasattr(combine_fn, "__mytriton_kernel__"):
        raise OpRuleError(f"reduce: the combine function must be @triton.jit, got {combine_fn!r}")
    scope = builder.open_scope()
    try:
        args = [LoopCarry(i, v.expr) for i, v in enumerate([*values, *values])]
        for arg, value in zip(args, [*values, *values], strict=True):
            builder.leaf(arg, element_of(value.type))
        outputs = builder.inline(combine_fn, [tensor(arg) for arg in args])
        found = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
        if len(found) != len(values):
            raise OpRuleError(
                f"reduce: the combine function must return {len(values)} values, got {len(found)}"
            )
        nodes = tuple(as_type(o, scalar_of(v.type)) for o, v in zip(found, values, strict=True))
        if any(shape_of(n.type) for n in nodes):
            raise OpRuleError("reduce: the combine function must return scalars")
    finally:
        builder.close_scope()
    shape = values[0].shape
    axes = reduced_axes(shape, {} if axis is None else {"axis": axis})
    rest = tuple(d for k, d in enumerate(shape) if k not in axes)
    types = [with_shape(rest, scalar_of(v.type)) for v in values]
    item = Reduce(tuple(v.expr for v in values), axis, tuple(args), nodes)
    return [tensor(node) for node in place(builder, item, types, scope)]


def _keep(value: tensor, rank: int, axis: int | None) -> tensor:
    from ..ir.expr import ExpandDims

    if axis is not None and rank > 1:
        return build(ExpandDims(value.expr, axis))
    from .core import full

    return full((1,) * rank, value, scalar_of(value.type))
