"""Dead code elimination.

What writes, synchronises or is not known to the registry lives; so does what a live item uses.
Everything else goes: unused pure values, unused loads, loops that only compute unused results, and
carried values that nothing but their own next trip uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ir.registry import Effect
from ..ir.values import Region, SSAForRange, SSAFunction, SSAItem, SSAOperand, SSAValue, walk
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
        #: The position of a carried value, by the number of its argument or result.
        self.lane: dict[int, int] = {}
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
        if isinstance(item, SSAForRange):
            for k, (arg, result) in enumerate(zip(item.carried_args, item.results, strict=False)):
                self.lane[arg.id] = self.lane[result.id] = k

    def mark_item(self, item: SSAItem) -> None:
        """``item`` runs: so do the items around it, and what it needs is used."""
        current: SSAItem | None = item
        while current is not None and id(current) not in self.items:
            self.items.add(id(current))
            if isinstance(current, SSAForRange):
                # Its carried values are marked one by one, as they are used.
                self.todo += (current.start, current.stop, current.step)
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
            lane = self.lane.get(operand.id)
            if lane is not None and isinstance(item, SSAForRange):
                self.todo += (item.carried_inputs[lane], item.yields[lane])

    def lanes(self, loop: SSAForRange) -> list[int]:
        """The carried values of ``loop`` that are used, by position."""
        pairs: Iterable[Any] = enumerate(zip(loop.carried_args, loop.results, strict=False))
        return [k for k, (a, r) in pairs if a.id in self.values or r.id in self.values]


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
        if isinstance(new, SSAForRange):
            new = _keep_lanes(new, live.lanes(new))
        changed = changed or new is not item
        out.append(new)
    return out if changed else items


def _keep_lanes(loop: SSAForRange, keep: list[int]) -> SSAForRange:
    if len(keep) == len(loop.results):
        return loop

    def pick(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[k] for k in keep)

    return SSAForRange(
        loop.index, loop.start, loop.stop, loop.step, pick(loop.carried_inputs),
        pick(loop.carried_args), loop.body, pick(loop.yields), pick(loop.results), loop.span,
    )  # fmt: skip
