"""Dead code elimination.

What writes, synchronises or is not known to the registry lives; so does what a live item uses.
Everything else goes: unused pure values, unused loads, loops that only compute unused results, and
carried values that nothing but their own next trip uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.registry import Effect
from ..ir.values import (
    Region,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    walk,
)
from .rewrite import Visit, own_effects, run_visit, with_function_body, with_regions

_LIVES = Effect.WRITE | Effect.BARRIER | Effect.IO


class DCE:
    """Removes what no effect depends on."""

    name = "dce"

    def run(self, function: SSAFunction) -> SSAFunction:
        live = _Liveness(function)
        return with_function_body(function, run_visit(_sweep(function.body, live)))


class _Liveness:
    """Marks live items and live carried values, from effects backwards."""

    def __init__(self, function: SSAFunction) -> None:
        self.items: set[int] = set()
        #: Loop results and arguments that are used, by number; both stand for their carried value.
        self.values: set[int] = set()
        #: The item that defines a number (as result or region argument).
        self.definer: dict[int, SSAItem] = {}
        #: The item a nested item is in.
        self.parent: dict[int, SSAItem] = {}
        #: The lane of a carried or handed-out value, by the number of its argument or result.
        self.lane: dict[int, Lane] = {}
        self.todo: list[SSAOperand] = []
        roots = []
        for item in walk(function.body):
            self.index(item)
            if own_effects(item) & _LIVES:
                roots.append(item)
        for item in roots:
            self.mark_item(item)
            self.drain()

    def index(self, item: SSAItem) -> None:
        for value in item.results:
            self.definer[value.id] = item
        for region in item.regions:
            for arg in region.args:
                self.definer[arg.id] = item
            for inner in region.body:
                self.parent[id(inner)] = item
        for lane in lanes_of(item) or ():
            for value in lane.values:
                self.lane[value.id] = lane

    def mark_item(self, item: SSAItem) -> None:
        """``item`` runs: so do the items around it, and what it needs is used."""
        current: SSAItem | None = item
        while current is not None and id(current) not in self.items:
            self.items.add(id(current))
            if lanes_of(current) is not None:
                # What it carries or hands out is marked one by one, as it is used.
                self.todo += decides(current)
            else:
                self.todo += current.inputs
                for region in current.regions:
                    self.todo += region.yields
            current = self.parent.get(id(current))

    def drain(self) -> None:
        while self.todo:
            operand = self.todo.pop()
            if not isinstance(operand, SSAValue) or operand.id in self.values:
                continue
            self.values.add(operand.id)
            item = self.definer.get(operand.id)
            if item is None:
                continue
            self.mark_item(item)
            if (lane := self.lane.get(operand.id)) is not None:
                self.todo += lane.sources

    def used(self, lanes: Sequence[Lane]) -> list[int]:
        """The lanes that are used, by position."""
        return [k for k, lane in enumerate(lanes) if any(v.id in self.values for v in lane.values)]


def _sweep(items: list[SSAItem], live: _Liveness) -> Visit:
    out: list[SSAItem] = []
    changed = False
    for item in items:
        if id(item) not in live.items:
            changed = True
            continue
        new = item
        if regions := item.regions:
            swept: list[Region] = []
            for region in regions:
                body = yield _sweep(region.body, live)
                same = body is region.body
                swept.append(region if same else Region(region.args, body, region.yields))
            new = with_regions(item, regions, swept)
        if (lanes := lanes_of(new)) is not None and len(keep := live.used(lanes)) < len(lanes):
            new = keep_lanes(new, keep)
        changed = changed or new is not item
        out.append(new)
    return out if changed else items


@dataclass(frozen=True)
class Lane:
    """One value a loop carries or a branch hands out: its names, and what it comes from."""

    values: tuple[SSAValue, ...]
    sources: tuple[SSAOperand, ...]


def lanes_of(item: SSAItem) -> list[Lane] | None:
    """The lanes of a loop or branch; ``None`` for anything else."""
    if isinstance(item, SSAForRange):
        parts = zip(item.carried_args, item.results, item.carried_inputs, item.yields, strict=False)
        return [Lane((arg, result), (first, end)) for arg, result, first, end in parts]
    if item.opcode == "if":
        then, other = item.regions
        ends = zip(item.results, then.yields, other.yields, strict=False)
        return [Lane((result,), (a, b)) for result, a, b in ends]
    if item.opcode == "while":
        condition, body = item.regions
        names = zip(condition.args, body.args, item.results, strict=False)
        sources = zip(item.inputs, body.yields, strict=False)
        return [Lane(values, pair) for values, pair in zip(names, sources, strict=False)]
    return None


def decides(item: SSAItem) -> tuple[SSAOperand, ...]:
    """What a loop or branch needs to know how to run."""
    if isinstance(item, SSAForRange):
        return (item.start, item.stop, item.step)
    return item.regions[0].yields if item.opcode == "while" else item.inputs


def keep_lanes(item: SSAItem, keep: Sequence[int]) -> SSAItem:
    """``item`` with only these of its lanes."""

    def pick(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[k] for k in keep)

    if isinstance(item, SSAForRange):
        return SSAForRange(
            item.index, item.start, item.stop, item.step, pick(item.carried_inputs),
            pick(item.carried_args), item.body, pick(item.yields), pick(item.results), item.span,
        )  # fmt: skip
    results = pick(item.results)
    result = results[0] if len(results) == 1 else results or None
    if item.opcode == "if":
        regions = tuple(Region((), r.body, pick(r.yields)) for r in item.regions)
        return SSAOp("if", item.inputs, result, item.attrs, regions, item.span)
    condition, body = item.regions
    regions = (
        Region(pick(condition.args), condition.body, condition.yields),
        Region(pick(body.args), body.body, pick(body.yields)),
    )
    return SSAOp("while", pick(item.inputs), result, item.attrs, regions, item.span)
