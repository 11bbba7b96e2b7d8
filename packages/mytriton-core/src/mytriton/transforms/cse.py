"""Common subexpression elimination.

A pure operation that was computed before, in this region or one around it, is replaced by the
earlier value. A load is merged with an earlier one only when nothing that may write, no barrier and
no region boundary lies between: memory order is program order.
"""

from __future__ import annotations

from typing import Any

from ..ir.compare import attributes_key
from ..ir.expr import Param
from ..ir.registry import Effect, lookup
from ..ir.values import Constant, Region, SSAFunction, SSAItem, SSAOp, SSAOperand, SSAValue
from .rewrite import (
    Visit,
    is_plain_op,
    own_effects,
    run_visit,
    with_body,
    with_function_body,
    with_operands,
    with_regions,
)

_ORDERS_MEMORY = Effect.WRITE | Effect.BARRIER


class CSE:
    """Merges equal pure operations, and equal loads that nothing separates."""

    name = "cse"

    def run(self, function: SSAFunction) -> SSAFunction:
        return with_function_body(function, run_visit(_Merge().body(function.body)))


class _Merge:
    def __init__(self) -> None:
        self.by: dict[int, SSAOperand] = {}
        #: Pure values computed before, in regions that enclose this place.
        self.known: dict[Any, SSAValue] = {}
        #: Loads that would still give what they gave.
        self.loads: dict[Any, SSAValue] = {}

    def body(self, items: list[SSAItem]) -> Visit:
        out: list[SSAItem] = []
        added: list[Any] = []
        changed = False
        for item in items:
            new = with_operands(item, self.by)
            if regions := new.regions:
                merged = []
                for region in regions:
                    merged.append((yield self.region(region)))
                new = with_regions(new, regions, merged)
                self.loads.clear()
            effects = own_effects(new)
            if is_plain_op(new) and effects in (Effect.PURE, Effect.READ):
                if self.merge(new, effects, added):  # type: ignore[arg-type]
                    changed = True
                    continue
            elif effects & _ORDERS_MEMORY:
                self.loads.clear()
            changed = changed or new is not item
            out.append(new)
        for key in added:
            del self.known[key]
        return out if changed else items

    def region(self, region: Region) -> Visit:
        # A trip of a loop may follow another one: what was loaded before is not known to hold.
        self.loads.clear()
        body = yield self.body(region.body)
        self.loads.clear()
        return with_body(region, body, self.by)

    def merge(self, op: SSAOp, effects: Effect, added: list[Any]) -> bool:
        """Replace ``op`` by an earlier equal one, or remember it."""
        key = operation_key(op)
        result: SSAValue = op.result  # type: ignore[assignment]
        table = self.loads if effects == Effect.READ else self.known
        earlier = table.get(key)
        if earlier is not None:
            if earlier.ty != result.ty:
                return False
            self.by[result.id] = earlier
            return True
        table[key] = result
        if table is self.known:
            added.append(key)
        return False


def operand_key(operand: SSAOperand) -> Any:
    """Tells operands apart by identity of values, by name, and constants by type and bits."""
    if operand.__class__ is SSAValue:
        return operand.id
    if operand.__class__ is Constant:
        return operand.key
    return operand.name if isinstance(operand, Param) else None


def operation_key(op: SSAOp) -> Any:
    """What two operations share when they compute the same. Operands of a commutative operation
    may come in either order."""
    keys = [operand_key(o) for o in op.operands]
    if len(keys) == 2:
        definition = lookup(op.opcode)
        if definition is not None and definition.commutative and hash(keys[0]) > hash(keys[1]):
            keys.reverse()
    return (op.opcode, *keys, attributes_key(op.attrs)) if op.attrs else (op.opcode, *keys)
