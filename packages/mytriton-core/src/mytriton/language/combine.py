"""``tl.reduce``: a reduction with a function of the user's."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir.builder import Builder
from ..ir.expr import LoopCarry, Reduce
from ..ir.ops.reduce import check_axis, reduced_axes
from ..ir.types import element_of, scalar_of, shape_of, with_shape
from .checks import static_axis, static_bool
from .compile_time import unwrap
from .marks import builtin
from .shapes import keep_axis
from .symbolic import as_type, describe, tensor


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
    shape = values[0].shape
    axis = unwrap(axis)
    position = None if axis is None else static_axis(axis, len(shape), "axis of reduce")
    attrs = {} if position is None else {"axis": position}
    check_axis("reduce", values[0].type, attrs)
    results = _reduce(values, position, combine_fn)
    if static_bool(keep_dims, "reduce: keep_dims"):
        results = [keep_axis(r, shape, position) for r in results]
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
    return [tensor(node) for node in builder.structured(item, types, [scope])]
