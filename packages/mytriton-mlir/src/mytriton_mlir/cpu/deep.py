"""Loops that do nothing but accumulate a product: several trips at once.

The factors of some trips are put side by side first; the product then walks through all of them, and
the accumulators are loaded and stored once and not in every trip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from . import values
from .builder import Level, Val
from .plan import DEEP, Loop
from .product import Product
from .product import loop as each
from .rowwise import split
from .tile import Tile

if TYPE_CHECKING:
    from .emitter import Emitter

Bounds = tuple[Val, Val, Val]

#: Elements in a line of the cache (of four bytes, as most factors have).
LINE = 16


class Deep:
    """The loop over groups of trips, around the loop that puts their factors."""

    def __init__(self, e: Emitter, plan: Loop, bounds: Bounds, starts: Sequence[Val]) -> None:
        assert plan.product is not None
        self.e, self.op, self._plan = e, plan.product, plan
        self._outer_starts = list(starts)
        self._low, self._high, self._step = bounds
        b = e.b
        self._outer, self._home = b.level, e.home
        self._level: Level = b.push()
        e.home = self._level
        self._first = Val(b.name("k"), "i64", 0, self._level)
        self._stride = e.times(self._step, b.constant(e.trips_of(self.op), "i64"))
        end = b.binary("arith.addi", self._first, self._stride)
        self._last = b.binary("arith.minsi", end, self._high)
        #: Of the inner loop.
        self.starts = [Val(b.name("a"), s.kind, 0, self._level) for s in starts]
        self.bounds: Bounds = (self._first, self._last, self._step)

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

    def _fetcher(self, results: Sequence[Val]) -> Callable[[Val, Val, int], None]:
        """What fetches a part of the next factors before each tile of the product."""
        e, loop, level = self.e, self._plan.item, self._level
        data = [a for a in loop.carried_args if e.facts.carries_data(a)]
        scalars = [a for a in data if not mt.shape_of(a.ty)]
        based = [a for a in loop.carried_args if a.id in e.affine.linear]
        for arg, val in zip([*scalars, *based], results):
            if arg in scalars:
                e.remember_at(arg, (), 0, val, level)
            else:
                e.bases[arg.id] = val
        kind = values.held(mt.scalar_of(loop.index.ty))
        e.remember_at(loop.index, (), 0, values.resize(e.b, self._last, kind, True), level)
        rows, columns = mt.shape_of(self.op.results[0].ty)
        width, _ = tile_width(e, self.op)

        def fetch(m: Val, n: Val, height: int) -> None:
            along = DEEP * width // columns  # of each row of the left factor, for every tile
            first = e.times(n, e.b.constant(DEEP // columns, "i64")) if columns <= DEEP else n
            self._lines(0, (m, height, 1), (first, along, LINE))
            down = DEEP * height // rows
            first = e.times(m, e.b.constant(max(1, DEEP // rows), "i64"))
            self._lines(1, (first, down, 1), (n, width, LINE))

        return fetch

    def _lines(self, k: int, rows: tuple[Val, int, int], columns: tuple[Val, int, int]) -> None:
        """Fetch some rows (first, how many, step) and columns of a factor."""
        e, b = self.e, self.e.b
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
            if found is None or found.base is None:
                return
            kind = values.in_memory(mt.scalar_of(load.results[0].ty))
            place = e.element(found.base, e.total(found.terms), kind)
            b.line(
                b.level,
                f'"llvm.intr.prefetch"({place.name}) <{{rw = 0 : i32, hint = 2 : i32, '
                "cache = 1 : i32}> : (!llvm.ptr) -> ()",
            )

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
