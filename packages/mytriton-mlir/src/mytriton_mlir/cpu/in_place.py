"""Products that accumulate in the buffer of a loop's argument, and what products read.

``acc = dot(a, b, acc)`` in a loop needs no copy of ``acc`` when nothing else looks at its old value:
then the product is the argument's buffer, and so is the next argument. The same holds of
``acc = dot(a, b, acc * scale)``: the scaled block is written over the old one first.
"""

from __future__ import annotations

from collections.abc import Sequence

import mytriton.plugin_api as mt

from .facts import Facts, lanes


class InPlace:
    """Which products accumulate where. ``home``: number of a product -> the argument whose buffer
    it is in; ``bare``: products whose accumulator is in it already, as it is; ``ends``: arguments
    whose next value is in their buffer at the end of the body."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.home: dict[int, mt.SSAValue] = {}
        self.bare: set[int] = set()
        self.ends: set[int] = set()
        for item in mt.walk(facts.function.body):
            if isinstance(item, mt.SSAForRange):
                self._loop(item, item.body, item.yields)
            elif item.opcode == "while":
                region = item.regions[1]
                if item.regions[0].args:
                    self._loop(item, region.body, region.yields, item.regions[0])

    def _loop(
        self, loop: mt.SSAItem, body: Sequence[mt.SSAItem], yields: Sequence[mt.SSAOperand],
        condition: mt.Region | None = None,
    ) -> None:  # fmt: skip
        for k, (arg, _) in enumerate(lanes(loop)):
            if not mt.shape_of(arg.ty) or not self._facts.carries_data(arg):
                continue
            chain = self._chain(arg, body, yields)
            if chain and chain[-1].results[0] == yields[k]:
                self.ends.add(arg.id)
                current = arg
                for op in chain:
                    result = op.results[0]
                    self.home[result.id] = arg
                    if op.operands[2] == current:
                        self.bare.add(result.id)
                    current = result

    def _chain(
        self, arg: mt.SSAValue, body: Sequence[mt.SSAItem], yields: Sequence[mt.SSAOperand]
    ) -> list[mt.SSAOp]:
        """Products, each the accumulator of the next, that an argument goes into and nothing else."""
        found: list[mt.SSAOp] = []
        current: mt.SSAValue | None = arg
        while current is not None:
            op = self._only_product(current, body, yields)
            if op is None:
                break
            found.append(op)
            current = op.results[0]
        return found

    def _only_product(
        self, value: mt.SSAValue, body: Sequence[mt.SSAItem], yields: Sequence[mt.SSAOperand]
    ) -> mt.SSAOp | None:
        """The product whose accumulator takes a block, itself or what is computed from it lane by
        lane, if nothing else does."""
        own, shape = {value.id}, mt.shape_of(value.ty)
        product: mt.SSAOp | None = None
        for item in body:
            uses = [o for o in self._inputs(item) if isinstance(o, mt.SSAValue) and o.id in own]
            if not uses:
                continue
            if product is not None:
                return None
            if isinstance(item, mt.SSAOp) and item.opcode == "dot":
                a, b, _acc = item.operands
                if any(isinstance(o, mt.SSAValue) and o.id in own for o in (a, b)):
                    return None
                product = item
                continue
            plain = isinstance(item, mt.SSAOp) and mt.get_op(item.opcode).elementwise
            if not plain or mt.shape_of(item.results[0].ty) != shape:
                return None
            own.add(item.results[0].id)
        if any(isinstance(o, mt.SSAValue) and o.id in own for o in yields):
            return None
        return product

    @staticmethod
    def _inputs(item: mt.SSAItem) -> list[mt.SSAOperand]:
        found: list[mt.SSAOperand] = []
        for each in mt.walk([item]):
            found += each.inputs
            for region in each.regions:
                found += region.yields
        return found


def factors(facts: Facts) -> set[int]:
    """Blocks that products read from buffers."""
    found: set[int] = set()
    for item in mt.walk(facts.function.body):
        if not isinstance(item, mt.SSAOp) or item.opcode != "dot":
            continue
        a, b, _ = item.operands
        if isinstance(a, mt.SSAValue) and facts.direct_load(a) is None:
            found.add(facts.untransposed(a)[0].id)
        if isinstance(b, mt.SSAValue):
            found.add(b.id)
    return found
