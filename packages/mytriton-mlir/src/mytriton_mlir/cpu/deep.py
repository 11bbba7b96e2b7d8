"""Loops that do nothing but accumulate a product: several trips at once.

The factors of some trips are put side by side first; the product then walks through all of them, and
the accumulators are loaded and stored once and not in every trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from . import values
from .ahead import prefetch
from .builder import Level, Val
from .plan import DEEP, Group, Loop, Root, Step
from .product import Product
from .product import loop as each
from .reuse import Panels, sources
from .rowwise import split
from .scratch import count
from .structured import when
from .tile import Tile

if TYPE_CHECKING:
    from .emitter import Emitter

Bounds = tuple[Val, Val, Val]

#: Elements in a line of the cache (of four bytes, as most factors have).
LINE = 16
#: Lines of the cache that are fetched in one trip of a loop.
AT_ONCE = 8


class Deep:
    """The loop over groups of trips, around the loop that puts their factors."""

    def __init__(self, e: Emitter, plan: Loop, bounds: Bounds, starts: Sequence[Val]) -> None:
        assert plan.product is not None
        self.e, self.op, self._plan = e, plan.product, plan
        self._outer_starts = list(starts)
        self._low, self._high, self._step = bounds
        b = e.b
        self._outer, self._home = b.level, e.home
        self._stride = e.times(self._step, b.constant(e.trips_of(self.op), "i64"))
        #: What earlier programs have packed, for the factors that others may need as well.
        self._panels = {k: panels for k in (0, 1) if (panels := self._panels_of(k)) is not None}
        self._level: Level = b.push()
        e.home = self._level
        self._first = Val(b.name("k"), "i64", 0, self._level)
        end = b.binary("arith.addi", self._first, self._stride)
        self._last = b.binary("arith.minsi", end, self._high)
        #: Of the inner loop.
        self.starts = [Val(b.name("a"), s.kind, 0, self._level) for s in starts]
        self.bounds: Bounds = (self._first, self._last, self._step)
        self._place()

    # ------------------------------------------------------------------ packed before

    def _panels_of(self, k: int) -> Panels | None:
        """The table of a factor, if it is put for this product alone and may be kept."""
        e, b, loop = self.e, self.e.b, self._plan.item
        root = next((r for r in self._puts() if r.slot == f"factor {k}"), None)
        found = sources(e, loop, self.op.operands[k]) if root is not None else None
        if root is None or found is None:
            return None
        slot = e.factor_slot(root)
        size = e.trips_of(self.op) * count(slot.shape) * values.bits_of(slot.kind) // 8
        size = -(-size // 64) * 64
        groups = b.binary("arith.subi", self._high, self._low)
        groups = b.binary("arith.maxsi", groups, b.constant(1, "i64"))
        less = b.binary("arith.subi", self._stride, b.constant(1, "i64"))
        groups = b.binary("arith.divui", b.binary("arith.addi", groups, less), self._stride)
        starts = dict(zip((a.id for a in self._carried()), self._outer_starts))
        key = [self._low, self._high, self._step]
        key += [starts[v.id] if v.id in starts else self._source(v) for v in found]
        return Panels(e, f"v{self.op.results[0].id} {k}", size, groups, key, slot.pointer)

    def _source(self, value: mt.SSAValue) -> Val:
        e = self.e
        if mt.shape_of(value.ty):
            return e.bases[value.id]
        return e.pointer(value) if mt.is_pointer(value.ty) else e.value(value)

    def _puts(self) -> list[Root]:
        groups = [step for step in self._plan.body if isinstance(step, Group)]
        return [r for g in groups for r in g.roots if r.kind == "put" and r.op is self.op]

    def _place(self) -> None:
        """In the outer loop: where the factors of this group of trips are."""
        e, b = self.e, self.e.b
        group = b.binary("arith.subi", self._first, self._low)
        group = b.binary("arith.divui", group, self._stride)
        next_ = b.binary("arith.addi", group, b.constant(1, "i64"))
        self._following = {k: panels.group(next_) for k, panels in self._panels.items()}
        for k, panels in self._panels.items():
            key = id(self.op), f"factor {k}"
            e.slots[key] = replace(e.slots[key], pointer=panels.group(group))

    def steps(self, steps: Sequence[Step]) -> None:
        """The body of the inner loop; factors that have been packed before are left out."""
        e = self.e
        for step in steps:
            if not isinstance(step, Group):
                e.steps([step])
                continue
            mine = [r for r in step.roots if self._number(r) in self._panels]
            rest = [r for r in step.roots if r not in mine]
            if rest:
                e.steps([Group(step.shape, rest)])
            for root in mine:
                missing = self._panels[self._number(root)].missing
                group = Group(step.shape, [root])
                when(e, missing, lambda group=group: e.steps([group]))  # type: ignore[misc]

    def _number(self, root: Root) -> int:
        """Which factor a root puts (-1: none)."""
        mine = root.kind == "put" and root.op is self.op and root.slot.startswith("factor")
        return int(root.slot[-1]) if mine else -1

    def enter(self, index: Val) -> None:
        """In the body of the inner loop: where the factors of this trip go."""
        e, b = self.e, self.e.b
        trip = b.binary("arith.subi", index, self._first)
        trip = b.binary("arith.divui", trip, self._step)
        left, right = (mt.shape_of(o.ty) for o in self.op.operands[:2] if o is not None)
        width, _ = tile_width(e, self.op)
        e.shifts[id(self.op), "factor 0"] = e.times(trip, b.constant(left[-1], "i64"))
        e.shifts[id(self.op), "factor 1"] = e.times(trip, b.constant(right[0] * width, "i64"))

    def close(self, results: Sequence[Val]) -> list[Val]:
        """The product, and the end of the outer loop; gives what it carries."""
        e, b = self.e, self.e.b
        for slot in ("factor 0", "factor 1"):
            del e.shifts[id(self.op), slot]
        trips = b.binary("arith.subi", self._last, self._first)
        less = b.binary("arith.subi", self._step, b.constant(1, "i64"))
        product = Product(e, self.op)
        product.trips = b.binary("arith.divui", b.binary("arith.addi", trips, less), self._step)
        product.before = self._fetcher(results)
        product.write()
        b.pop()
        e.home = self._home
        pairs = [(n.name, s) for n, s in zip(self.starts, self._outer_starts)]
        bounds = (self._low, self._high, self._stride)
        return b.loop(self._outer, self._first.name, bounds, pairs, self._level, list(results))

    # ------------------------------------------------------------------ fetching ahead

    def _carried(self) -> list[mt.SSAValue]:
        """The arguments that are carried in registers, in the order of the starts."""
        e, loop = self.e, self._plan.item
        data = [a for a in loop.carried_args if e.facts.carries_data(a)]
        scalars = [a for a in data if not mt.shape_of(a.ty)]
        return scalars + [a for a in loop.carried_args if a.id in e.affine.linear]

    def _fetcher(self, results: Sequence[Val]) -> Callable[[Val, Val, int], None]:
        """What fetches a part of the next factors before each tile of the product."""
        e, loop, level = self.e, self._plan.item, self._level
        for arg, val in zip(self._carried(), results):
            if arg.id in e.affine.linear:
                e.bases[arg.id] = val
            else:
                e.remember_at(arg, (), 0, val, level)
        kind = values.held(mt.scalar_of(loop.index.ty))
        e.remember_at(loop.index, (), 0, values.resize(e.b, self._last, kind, True), level)
        rows, columns = mt.shape_of(self.op.results[0].ty)
        width, _ = tile_width(e, self.op)

        def fetch(m: Val, n: Val, height: int) -> None:
            along = DEEP * width // columns  # of each row of the left factor, for every tile
            first = e.times(n, e.b.constant(DEEP // columns, "i64")) if columns <= DEEP else n
            self._ahead(
                0, lambda: self._lines(0, (m, height, 1), (first, along, LINE)),
                ((m, 1), (n, height / columns)), height * width / columns,
            )  # fmt: skip
            down = DEEP * height // rows
            second = e.times(m, e.b.constant(max(1, DEEP // rows), "i64"))
            self._ahead(
                1, lambda: self._lines(1, (second, down, 1), (n, width, LINE)),
                ((n, 1), (m, width / rows)), height * width / rows,
            )  # fmt: skip

        return fetch

    def _ahead(
        self, k: int, lines: Callable[[], None], first: Sequence[tuple[Val, float]], part: float
    ) -> None:
        """Fetch a part of the next group of a factor: ``lines`` of what is going to be packed, or from
        ``first`` on a ``part`` of what has been packed before (both counted in rows of the buffer)."""
        if k not in self._panels:
            lines()
            return
        self.e.b.either(
            self._panels[k].missing, self.e.b.level,
            lambda _: lines(), lambda _: self._packed_lines(k, first, part),
        )  # fmt: skip

    def _packed_lines(self, k: int, first: Sequence[tuple[Val, float]], part: float) -> None:
        e, b = self.e, self.e.b
        buffer = e.slots[id(self.op), f"factor {k}"]
        line = 64 * 8 // values.bits_of(buffer.kind)
        terms = [e.times(at, b.constant(int(n * buffer.pitch), "i64")) for at, n in first]
        start = e.element(self._following[k], e.total(terms), buffer.kind)

        def some(at: Val) -> None:
            place = e.element(start, at, buffer.kind)
            for j in range(AT_ONCE):
                b.line(
                    b.level, prefetch(e.element(place, b.constant(j * line, "i64"), buffer.kind), 2)
                )

        each(e, max(1, int(part * buffer.pitch)), AT_ONCE * line, some)

    def _lines(self, k: int, rows: tuple[Val, int, int], columns: tuple[Val, int, int]) -> None:
        """Fetch some rows (first, how many, step) and columns of a factor."""
        e = self.e
        load = _load_of(e, self.op.operands[k])
        if load is None:
            return

        def line(i: Val, j: Val) -> None:
            tile, ptr = e.tile, load.operands[0]
            assert ptr is not None
            row, column = e.total([rows[0], i]), e.total([columns[0], j])
            e.tile = Tile(shape=mt.shape_of(ptr.ty), positions={0: row, 1: column})
            found = split(e, ptr, (0, 1), 0)
            e.tile = tile
            if found is not None and found.base is not None:
                kind = values.in_memory(mt.scalar_of(load.results[0].ty))
                place = e.element(found.base, e.total(found.terms), kind)
                e.b.line(e.b.level, prefetch(place, 2))

        each(e, rows[1], rows[2], lambda i: each(e, columns[1], columns[2], lambda j: line(i, j)))


def _load_of(e: Emitter, operand: mt.SSAOperand) -> mt.SSAOp | None:
    """The load that a factor is, when it lies in rows."""
    item = e.makers.get(operand.id) if isinstance(operand, mt.SSAValue) else None
    if not isinstance(item, mt.SSAOp) or item.opcode != "load":
        return None
    ptr = item.operands[0]
    return item if ptr is not None and min(mt.shape_of(ptr.ty)) > 1 else None


def tile_width(e: Emitter, op: mt.SSAOp) -> tuple[int, list[tuple[int, int]]]:
    """``tile_of`` the result of a product."""
    from .product import tile_of

    return tile_of(e.target, op.results[0].ty)


def deepen(e: Emitter, plan: Loop, bounds: Bounds, starts: Sequence[Val]) -> Deep | None:
    """Open the outer loop of a loop that accumulates a product."""
    return None if plan.product is None else Deep(e, plan, bounds, starts)
