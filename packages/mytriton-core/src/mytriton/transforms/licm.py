"""Loop-invariant code motion.

A pure operation inside a loop whose operands are all defined outside it moves in front of the loop,
and on outwards as far as that holds. It then runs even if the loop makes no trip, so only
*speculatable* operations move: no division, and never a load, which happens where the source says.
"""

from __future__ import annotations

from ..ir.registry import lookup
from ..ir.values import Region, SSAFunction, SSAItem, SSAValue
from .rewrite import Visit, is_plain_op, run_visit, with_function_body, with_regions


class LICM:
    """Moves loop-invariant operations in front of their loops, in the order they had."""

    name = "licm"

    def run(self, function: SSAFunction) -> SSAFunction:
        if not any(item.regions for item in function.body):
            return function
        _, body = run_visit(_hoist(function.body, None))
        return with_function_body(function, body)


def may_move(item: SSAItem) -> bool:
    """Whether ``item`` may run although the program would not have run it."""
    if not is_plain_op(item):
        return False
    definition = lookup(item.opcode)
    return definition is not None and definition.pure and definition.speculatable


def _hoist(items: list[SSAItem], variant: set[int] | None) -> Visit:
    """Split a body into what moves out and what stays: ``(moved, kept)``.

    ``variant`` holds the numbers defined in this body that stay in it; ``None`` where nothing may
    move out (the body of the function, and of regions that are no loops).
    """
    moved: list[SSAItem] = []
    kept: list[SSAItem] = []
    changed = False
    for item in items:
        arrived, new = yield _visit_regions(item)
        changed = changed or new is not item
        for candidate in (*arrived, new):
            if variant is not None and may_move(candidate) and _is_invariant(candidate, variant):
                moved.append(candidate)
                continue
            kept.append(candidate)
            if variant is not None:
                variant.update(value.id for value in candidate.results)
    return moved, (kept if changed or moved else items)


def _is_invariant(item: SSAItem, variant: set[int]) -> bool:
    return not any(o.__class__ is SSAValue and o.id in variant for o in item.inputs)


def _visit_regions(item: SSAItem) -> Visit:
    """What moves out of the regions of ``item``, and ``item`` without it."""
    regions = item.regions
    definition = lookup(item.opcode)
    loops = definition is not None and definition.loop
    arrived: list[SSAItem] = []
    new: list[Region] = []
    for region in regions:
        variant = {arg.id for arg in region.args} if loops else None
        moved, body = yield _hoist(region.body, variant)
        arrived += moved
        new.append(region if body is region.body else Region(region.args, body, region.yields))
    return arrived, with_regions(item, regions, new)
