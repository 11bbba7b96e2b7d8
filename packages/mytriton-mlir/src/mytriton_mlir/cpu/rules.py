"""The table of operations that are no elementwise function of their operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from . import values
from .builder import Val
from .lowerings import ELEMENTWISE
from .tile import AxisMap, dropped, transposed

if TYPE_CHECKING:
    from .evaluate import Evaluator


def _arange(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    (axis,) = amap
    start = e.b.constant(op.attrs["start"], "i32")
    if axis is None:
        return start
    at = e.b.cast("arith.trunci", e.position(axis, r), "i32")
    first = e.b.binary("arith.addi", at, start) if op.attrs["start"] else at
    if axis != e.tile.axis:
        return first
    return e.b.binary("arith.addi", first, e.b.iota("i32", e.tile.width))


def _full(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    return e.converted(op.operands[0], op.attrs["dtype"], (), 0)


def _zeros(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    return values.literal(e.b, 0, op.attrs["dtype"])


def _cast(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    return e.converted(op.operands[0], op.attrs["dtype"], amap, r)


def _bitcast(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    operand = op.operands[0]
    assert operand is not None
    source = mt.scalar_of(operand.ty)
    val = e.converted(operand, source, amap, r)
    return values.bitcast(e.b, val, source, op.attrs["dtype"])


def _trans(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    return e.value(op.operands[0], transposed(amap, op.attrs["order"]), r)


def _num_programs(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    return e.num_programs[op.attrs["axis"]]


def _expand_dims(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    return e.value(op.operands[0], dropped(amap, op.attrs["axis"]), r)


def _program_id(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    return e.program_ids[op.attrs["axis"]]


def _squeezed(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    """A reduction of one element (the plan makes the others roots)."""
    operand, axis = op.operands[0], op.attrs.get("axis")
    assert operand is not None
    if op.opcode.startswith("arg"):
        return e.b.constant(0, "i32")
    if axis is None:
        return e.value(operand, (None,) * len(mt.shape_of(operand.ty)), r)
    return e.value(operand, (*amap[:axis], None, *amap[axis:]), r)


def _load(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    from .memory import load

    return load(e, op, amap, r)


def _select(e: Evaluator, op: mt.SSAOp, amap: AxisMap, r: int) -> Val:
    """In strips where a mask holds throughout, the value chosen by it."""
    from .memory import assumed

    condition, chosen, _ = op.operands
    result = op.results[0]
    if condition is not None and e.tile.full and mt.shape_of(condition.ty):
        val = e.converted(chosen, mt.scalar_of(result.ty), amap, r)
        if assumed(e, condition, amap, val):
            return val
    return e.elementwise(op, amap, r)


#: Operations that are no elementwise function of their operands.
RULES: dict[str, Callable[[Evaluator, mt.SSAOp, AxisMap, int], Val]] = {
    "arange": _arange, "full": _full, "zeros": _zeros, "empty": _zeros, "cast": _cast,
    "bitcast": _bitcast, "expand_dims": _expand_dims, "trans": _trans, "program_id": _program_id,
    "num_programs": _num_programs, "load": _load, "select": _select,
    **dict.fromkeys(("sum", "max", "min", "xor_sum", "argmax", "argmin"), _squeezed),
}  # fmt: skip

#: Operations whose result may need rounding to a 16-bit float.
ROUNDED = frozenset(
    {"add", "sub", "mul", "div", *ELEMENTWISE}
    - {"neg", "maximum", "minimum", "select", "abs", "broadcast"}
)
