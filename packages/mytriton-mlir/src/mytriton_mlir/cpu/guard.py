"""Programs that write nothing, because every mask of every store is off: not run at all.

A grid may be far larger than the arrays. Masked vectors whose lanes are all off are cheap where memory
is and slow where none is, so such programs are found out before they start, where the numbers of the
program and the parameters tell. Nests of stores alone need no such test: they stop where masks end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt
from mytriton.analysis.affine import BaseOf, Binary, Scalar

from .builder import Val
from .plan import Group, Step
from .structured import when

if TYPE_CHECKING:
    from .emitter import Emitter

#: Stores that are looked at, and operations that a condition is followed through, at most.
_STORES, _DEEPEST = 4, 32


def guarded(e: Emitter, steps: Sequence[Step]) -> None:
    """Write the steps of a program at the current level, under a condition if there is one."""
    condition = writes(e, steps)
    if condition is None:
        e.steps(steps)
        return
    when(e, condition, lambda: e.steps(steps))


def writes(e: Emitter, steps: Sequence[Step]) -> Val | None:
    """Whether the program at hand writes anything, as a condition; ``None`` where that need not, or
    cannot, be known beforehand."""
    if not any(map(_goes_on, steps)):
        return None
    masks: dict[mt.SSAValue, None] = {}
    for item in mt.walk(e.function.body):
        if not isinstance(item, mt.SSAOp) or item.regions:
            continue
        effects = mt.get_op(item.opcode).effects
        if effects & mt.Effect.IO:
            return None
        if effects & mt.Effect.WRITE:
            mask = item.operands[2] if item.opcode == "store" else None
            if not isinstance(mask, mt.SSAValue):
                return None
            masks[mask] = None
    if not masks or len(masks) > _STORES:
        return None
    reach = _Reach(e)
    parts = [part for mask in masks if (part := reach.of(mask)) is not None]
    if not reach.differs or len(parts) < len(masks):
        return None
    found, *others = map(reach.write, parts)
    for other in others:
        found = e.b.binary("arith.ori", found, other)
    return found


def _goes_on(step: Step) -> bool:
    """Whether a step does anything but compute scalars, where masks are off."""
    if isinstance(step, Group):
        return any(root.kind != "store" for root in step.roots)
    return not isinstance(step, mt.SSAOp) or any(mt.shape_of(v.ty) for v in step.results)


def _is_plain(op: mt.SSAOp) -> bool:
    """Whether a condition may be computed by an operation: of scalars, without memory, never failing."""
    if op.opcode in ("program_id", "num_programs"):
        return True
    definition = mt.get_op(op.opcode)
    scalar = not any(mt.shape_of(value.ty) for value in op.results)
    return scalar and definition.elementwise and definition.pure and definition.speculatable


class _Reach:
    """Whether masks let any lane through, as far as the numbers of the program tell."""

    def __init__(self, e: Emitter) -> None:
        self.e = e
        #: Whether one of them is not the same for all programs.
        self.differs = False
        self._known: dict[int, bool] = {}

    def of(self, mask: mt.SSAValue) -> tuple[list[Scalar], list[mt.SSAOperand]] | None:
        """Bounds that must be positive, and conditions that must hold."""
        form = self.e.affine.masks.get(mask.id)
        bounds: list[Scalar] = []
        conditions: list[mt.SSAOperand] = [mask]
        if form is not None:
            bounds = [bound for axis in form.bounds for bound in axis]
            conditions = list(form.conditions)
        elif mt.shape_of(mask.ty):
            return None
        plain = all(self._plain(s, _DEEPEST) for s in (*bounds, *conditions))
        return (bounds, conditions) if plain else None

    def _plain(self, value: Scalar | mt.SSAOperand, depth: int) -> bool:
        if isinstance(value, (int, mt.Constant, mt.Param)):
            return True
        if isinstance(value, Binary):
            return self._plain(value.lhs, depth) and self._plain(value.rhs, depth)
        if not depth or isinstance(value, BaseOf) or not isinstance(value, mt.SSAValue):
            return False
        if value.id not in self._known:
            item = self.e.makers.get(value.id)
            plain = isinstance(item, mt.SSAOp) and _is_plain(item)
            if isinstance(item, mt.SSAOp) and plain:
                self.differs |= item.opcode == "program_id"
                plain = all(self._plain(operand, depth - 1) for operand in item.operands)
            self._known[value.id] = plain
        return self._known[value.id]

    def write(self, part: tuple[list[Scalar], list[mt.SSAOperand]]) -> Val:
        """The condition, at the current level."""
        e, b = self.e, self.e.b
        bounds, conditions = part
        zero = b.constant(0, "i64")
        found = [b.compare("arith.cmpi", "slt", zero, e.scalar(bound)) for bound in bounds]
        found += [e.value(condition) for condition in conditions]
        whole = b.constant(True, "i1")
        for k, one in enumerate(sorted(found, key=lambda val: val.level.depth)):
            whole = b.binary("arith.andi", whole, one) if k else one
        return whole
