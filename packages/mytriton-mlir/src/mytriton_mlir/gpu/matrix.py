"""Matrix products: operands meet in workgroup memory, and every thread sums up its own element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mytriton.analysis.threads import Layout, natural, size
from mytriton.plugin_api import F16, F32, I32, Constant, ScalarType, SSAOp

from .reduction import Lane, block_shape, lane_of, slot_of, store_all
from .scalars import value_type
from .table import lowers, result_scalar, scalar

if TYPE_CHECKING:
    from .kernel import Kernel


@lowers("dot")
def _dot(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    a, b, acc = op.operands
    lanes = []
    for place, operand in enumerate((a, b)):
        source = k.value(operand, natural(block_shape(operand)))
        lanes.append(lane_of(k, scalar(operand), source, place))
    if layout == k.layouts(op)[0]:
        for lane, operand, word in zip(lanes, (a, b), ("a", "b"), strict=True):
            store_all(k, [lane], size(block_shape(operand)), f"{stem}_{word}")
        k.body.line("gpu.barrier")
    result = result_scalar(op)
    wide = F32 if result == F16 else result
    start = k.body.constant(Constant(0, wide))
    if acc is not None:
        start = k.operand(acc, layout, wide, stem)
    found = _sum(k, op, lanes, layout, start, wide, stem)
    return found if wide == result else f"arith.truncf {found} : {wide} to {result}"


def _sum(
    k: Kernel, op: SSAOp, lanes: list[Lane], layout: Layout, start: str, wide: ScalarType, stem: str
) -> str:
    """The product of a row and a column of each operand's part, onto ``start``."""
    body = k.body
    left, right = (block_shape(operand) for operand in op.operands[:2])
    rank, depth = len(left), left[-1]
    batch = {0: layout[0]} if rank == 3 else {}
    row = slot_of(k, left, {**batch, rank - 2: layout[-2]}, f"{stem}_a")
    column = slot_of(k, right, {**batch, rank - 1: layout[-1]}, f"{stem}_b")
    spelled = value_type(wide)
    zero, one, stop = (body.index(n) for n in (0, 1, depth))
    width = body.index(right[-1])
    by, total = (f"%{body.names.fresh(f'{stem}_{word}')}" for word in ("k", "total"))
    found = "%" + body.names.fresh(f"{stem}_product")
    head = f"{found} = scf.for {by} = {zero} to {stop} step {one}"
    with body.block(f"{head} iter_args({total} = {start}) -> ({spelled})"):
        at = body.define(f"arith.addi {row}, {by} : index", f"{stem}_a_at")
        down = body.define(f"arith.muli {by}, {width} : index", f"{stem}_down")
        there = body.define(f"arith.addi {column}, {down} : index", f"{stem}_b_at")
        x, y = (
            _loaded(k, lane, slot, wide, f"{stem}_{word}")
            for lane, slot, word in zip(lanes, (at, there), ("x", "y"), strict=True)
        )
        if wide == I32:
            product = body.define(f"arith.muli {x}, {y} : i32", f"{stem}_xy")
            text = f"arith.addi {total}, {product} : i32"
        else:
            text = f"math.fma {x}, {y}, {total} : {spelled}"
        body.line(f"scf.yield {body.define(text, f'{stem}_next')} : {spelled}")
    return found


def _loaded(k: Kernel, lane: Lane, slot: str, wide: ScalarType, stem: str) -> str:
    """An element of an operand, in the type of the sum."""
    name = k.body.define(lane.get(slot), stem)
    # 16-bit floats lie there in single precision.
    own = lane.work if lane.work == wide else lane.ty
    for step in k.steps(name, own, wide, stem):
        name = step
    return name
