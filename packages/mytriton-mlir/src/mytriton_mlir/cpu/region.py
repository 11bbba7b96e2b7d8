"""Functions of scalars, as regions of ``reduce``, applied to scalars or to every lane of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from . import values
from .builder import Val
from .lowerings import ELEMENTWISE
from .rules import ROUNDED

if TYPE_CHECKING:
    from .emitter import Emitter


def combine(e: Emitter, op: mt.SSAOp, left: Sequence[Val], right: Sequence[Val]) -> list[Val]:
    """What the region of ``op`` yields for two tuples of elements."""
    from .fold import vectorisable

    (region,) = op.regions
    known = {arg.id: val for arg, val in zip(region.args, [*left, *right])}
    if vectorisable(region):
        return _Lanes(e, known).region(region)
    for arg, val in zip(region.args, [*left, *right]):
        e.remember_at(arg, (), 0, val, e.b.level)
    home, e.home = e.home, e.b.level
    e.steps(e.planner.body(region.body))
    found = [e.value(operand) for operand in region.yields]
    e.home = home
    return found


class _Lanes:
    """A function whose operations all are elementwise, on vectors. Both sides of a branch are
    computed: nothing in it can fail."""

    def __init__(self, e: Emitter, known: dict[int, Val]) -> None:
        self.e, self.b, self.known = e, e.b, known

    def region(self, region: mt.Region) -> list[Val]:
        for item in region.body:
            assert isinstance(item, mt.SSAOp)
            if item.opcode == "if":
                condition = self.value(item.operands[0])
                then, other = (self.region(each) for each in item.regions)
                found = [self.b.select(condition, x, y) for x, y in zip(then, other)]
            else:
                found = [self.operation(item)]
            self.known.update(zip((v.id for v in item.results), found))
        return [self.value(operand) for operand in region.yields]

    def value(self, operand: mt.SSAOperand) -> Val:
        if isinstance(operand, mt.SSAValue) and operand.id in self.known:
            return self.known[operand.id]
        return self.e.value(operand)

    def operation(self, op: mt.SSAOp) -> Val:
        (result,) = op.results
        types = [mt.operand_type(operand) for operand in op.operands]
        compute = mt.get_op(op.opcode).compute_types(types, result.ty)
        operands = [self.converted(o, ty) for o, ty in zip(op.operands, compute)]
        if op.opcode == "bitcast":
            return values.bitcast(self.b, operands[0], compute[0], op.attrs["dtype"])
        if op.opcode == "cast":
            return values.convert(self.b, operands[0], compute[0], op.attrs["dtype"])
        computed, wanted = compute[-1], mt.scalar_of(result.ty)
        val = ELEMENTWISE[op.opcode](self.b, computed, operands)
        if val.kind == "i1" and wanted.is_bool():
            return val
        if computed == wanted:
            return values.settle(self.b, val, wanted) if op.opcode in ROUNDED else val
        return values.convert(self.b, val, computed, wanted)

    def converted(self, operand: mt.SSAOperand, ty: mt.ScalarType) -> Val:
        if not isinstance(operand, mt.SSAValue) or operand.id not in self.known:
            return self.e.converted(operand, ty, (), 0)
        return values.convert(self.b, self.known[operand.id], mt.scalar_of(operand.ty), ty)
