"""Loops that do nothing but accumulate a product: several trips at once.

The factors of some trips are put side by side first; the product then walks through all of them, and
the accumulators are loaded and stored once and not in every trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from .builder import Level, Val
from .plan import Loop
from .product import Product

if TYPE_CHECKING:
    from .emitter import Emitter

Bounds = tuple[Val, Val, Val]


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
        product.trips = b.binary(
            "arith.divui", b.binary("arith.addi", trips, less), self._step
        )
        product.write()
        b.pop()
        e.home = self._home
        pairs = [(n.name, s) for n, s in zip(self.starts, self._outer_starts)]
        bounds = (self._low, self._high, self._stride)
        return b.loop(self._outer, self._first.name, bounds, pairs, self._level, list(results))


def tile_width(e: Emitter, op: mt.SSAOp) -> tuple[int, list[tuple[int, int]]]:
    """``tile_of`` the result of a product."""
    from .product import tile_of

    return tile_of(e.target, op.results[0].ty)


def deepen(e: Emitter, plan: Loop, bounds: Bounds, starts: Sequence[Val]) -> Deep | None:
    """Open the outer loop of a loop that accumulates a product."""
    return None if plan.product is None else Deep(e, plan, bounds, starts)
