"""``dot``: register tiles of the result walk along the rows of one factor and the columns of the other.

A tile is a few rows of several vectors each; it is carried through the whole inner extent in
registers. Elements of ``a`` are broadcast from wherever they are; ``b`` is read in rows, from a
buffer. Floats use fused multiply-adds in the type of the accumulator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from . import values
from .builder import Val
from .evaluate import Buffer
from .tile import contiguous_strides

if TYPE_CHECKING:
    from .emitter import Emitter
    from .target import Target

#: Steps of the inner extent in one trip, of a product of several trips of a loop.
UNROLL = 2


@dataclass(frozen=True)
class Factor:
    """Where the elements of a factor are: a pointer, and the stride of each axis in elements."""

    pointer: Val
    kind: str
    element: mt.ScalarType
    strides: tuple[Val, ...]


def loop(e: Emitter, extent: int, step: int, body: Callable[[Val], None]) -> None:
    """``body`` for each ``step``-th number below ``extent``; a single one needs no loop."""
    b = e.b
    if extent <= step:
        body(b.constant(0, "i64"))
        return
    outer, level = b.level, b.push()
    iv = b.name("i")
    body(Val(iv, "i64", 0, level))
    b.pop()
    bounds = (b.constant(0, "i64"), b.constant(extent, "i64"), b.constant(step, "i64"))
    b.loop(outer, iv, bounds, [], level, [])


def tile_of(target: Target, ty: mt.Type) -> tuple[int, list[tuple[int, int]]]:
    """The width of the tiles of a product, and their heights with how many there are of each."""
    rows, columns = mt.shape_of(ty)[-2:]
    native = max(1, target.vector_bits // values.bits_of(values.held(mt.scalar_of(ty))))
    large = target.registers >= 32
    width = min(columns, native * (4 if large else 2))
    # Of the registers, a row of the right factor takes some and a broadcast element one.
    vectors = -(-width // native)
    most = max(1, (target.registers - vectors - 1) // vectors)
    return width, _heights(rows, min(most, 16 // vectors if large else 6))


def _heights(rows: int, most: int) -> list[tuple[int, int]]:
    """Heights of tiles that cover ``rows``, with how many there are of each: as high as can be, and
    no two of them far apart."""
    count = -(-rows // most)
    height, larger = divmod(rows, count)
    return [(h, n) for h, n in ((height + 1, larger), (height, count - larger)) if n]


class Product:
    """One ``dot`` being written."""

    def __init__(self, e: Emitter, op: mt.SSAOp) -> None:
        self.e, self.b, self.op = e, e.b, op
        result = op.results[0]
        self.shape = mt.shape_of(result.ty)
        self.ty = mt.scalar_of(result.ty)
        self.kind = values.held(self.ty)
        self.buffer = e.product_buffer(op)
        #: Rows of a panel of the right factor, if it is stored in panels.
        self.panel = 0
        self.a, self.rhs = self._factor(0), self._factor(1)
        operand = op.operands[0]
        assert operand is not None
        #: Extent of the axis that is summed over, when it is not that of several trips of a loop.
        self.inner = mt.shape_of(operand.ty)[-1]
        self.trips: Val | None = None
        #: Called before each tile with its row, column and height.
        self.before: Callable[[Val, Val, int], None] | None = None
        self.width, self.heights = tile_of(e.target, result.ty)

    def _factor(self, k: int) -> Factor:
        e = self.e
        operand = self.op.operands[k]
        assert isinstance(operand, mt.SSAValue)
        own = tuple(range(len(self.shape)))
        base, order = e.facts.untransposed(operand) if k == 0 else (operand, own)
        buffer = e.buffers.get(base.id)
        if buffer is None and (slot := e.slots.get((id(self.op), f"factor {k}"))) is not None:
            buffer, order = slot, own  # put as the product reads it
        element = mt.scalar_of(operand.ty)
        strides: Sequence[Val]
        if buffer is not None:
            strides = [e.b.constant(s, "i64") for s in buffer.strides]
            self.panel = self.panel or (buffer.pitch if buffer.panel else 0)
            pointer, kind = buffer.pointer, buffer.kind
        else:
            load = e.facts.direct_load(operand)
            assert load is not None
            form = e.affine.of(load.operands[0])
            assert form is not None
            kind = values.in_memory(element)
            pointer = e.element(e.pointer(form.root), e.scalar(form.base), kind)
            strides = [e.scalar(s) for s in form.strides]
        return Factor(pointer, kind, element, tuple(strides[axis] for axis in order))

    # ------------------------------------------------------------------ loops

    def write(self) -> None:
        """The loops, at the current level."""
        e, width = self.e, self.width
        columns = self.shape[-1]
        batches = self.shape[0] if len(self.shape) == 3 else 1

        def tiles(batch: Val) -> None:
            loop(e, columns, width, lambda n: strips(batch, n))

        def strips(batch: Val, n: Val) -> None:
            first = 0
            for height, times in self.heights:
                start = e.b.constant(first, "i64")

                def tile(m: Val, start: Val = start, height: int = height) -> None:
                    m = e.total([start, m])
                    if self.before is not None:
                        self.before(m, n, height)
                    self._tile(batch, m, n, width, height)

                loop(e, height * times, height, tile)
                first += height * times

        loop(e, batches, 1, tiles)
        e.buffers[self.op.results[0].id] = self.buffer
        if values.held(self.ty) != self.ty.name:
            self._settle()

    def _settle(self) -> None:
        """Round what has been accumulated in ``f32``."""
        e, size = self.e, 1
        for extent in self.shape:
            size *= extent
        flat = Buffer(self.buffer.pointer, self.ty, (size,))

        def body(identity: tuple[int | None, ...]) -> None:
            e.put(flat, values.settle(e.b, e.get(flat, identity, 0), self.ty), identity, 0)

        e.sweep((size,), body)

    def _tile(self, batch: Val, m: Val, n: Val, width: int, height: int) -> None:
        e, b = self.e, self.b
        outer = b.level
        strides = tuple(b.constant(s, "i64") for s in contiguous_strides(self.shape))
        first = e.element(self.buffer.pointer, self._offset(strides, batch, m, n), self.kind)
        slots = self._rows(first, strides[-2], height, self.kind)
        if self.op.operands[2] is None:
            starts = [b.constant(0, self.kind, width)] * height
        else:
            starts = [e.load_at(s, self.kind, width, outer, aligned=True) for s in slots]
        zero = b.constant(0, "i64")
        first = e.element(self.a.pointer, self._offset(self.a.strides, batch, m, zero), self.a.kind)
        firsts = self._rows(first, self.a.strides[-2], height, self.a.kind)
        beside = self.rhs.strides
        if self.panel:  # a tile is a panel wide
            beside = (*beside[:-1], b.constant(self.panel, "i64"))
        offset = self._offset(beside, batch, zero, n)
        column = e.element(self.rhs.pointer, offset, self.rhs.kind)
        level = b.push()
        iv = Val(b.name("k"), "i64", 0, level)
        names = [Val(b.name("a"), self.kind, width, level) for _ in range(height)]
        arguments = [val.name for val in names]
        at = e.element(column, e.times(iv, self.rhs.strides[-2]), self.rhs.kind)
        along = e.times(iv, self.a.strides[-1])
        places = [e.element(first, along, self.a.kind) for first in firsts]
        ends = names
        unroll = UNROLL if self.trips is not None and self.inner % UNROLL == 0 else 1
        for k in range(unroll):
            down, right = (
                e.times(b.constant(k, "i64"), f.strides[axis])
                for f, axis in ((self.rhs, -2), (self.a, -1))
            )
            place = e.element(at, down, self.rhs.kind)
            row = self._widened(
                e.load_at(place, self.rhs.kind, width, level, aligned=True), self.rhs
            )
            for r in range(height):
                place = e.element(places[r], right, self.a.kind)
                factor = self._widened(e.load_at(place, self.a.kind, 0, level), self.a)
                ends[r] = self._step(factor, row, ends[r])
        b.pop()
        end = b.constant(self.inner, "i64")
        if self.trips is not None:
            end = e.times(self.trips, end)
        bounds = (zero, end, b.constant(unroll, "i64"))
        pairs = [(name, start) for name, start in zip(arguments, starts)]
        totals = b.loop(outer, iv.name, bounds, pairs, level, ends)
        align = values.bits_of(self.kind) // 8
        for slot, total in zip(slots, totals):
            b.line(
                outer,
                f"llvm.store {total.name}, {slot.name} {{alignment = {align} : i64}} "
                f": {total.type}, !llvm.ptr",
            )

    def _rows(self, first: Val, stride: Val, height: int, kind: str) -> list[Val]:
        """Addresses of an element in each row of a tile. Counted from the first, they need no
        registers of their own where the stride is known."""
        e, b = self.e, self.b
        known = b.known(stride)
        steps = [
            e.times(b.constant(r, "i64"), stride) if known is None else b.constant(r * known, "i64")
            for r in range(height)
        ]
        return [e.element(first, step, kind) for step in steps]

    def _offset(self, strides: Sequence[Val], batch: Val, m: Val, n: Val) -> Val:
        """Offset of the element of row ``m`` and column ``n``."""
        e = self.e
        terms = [e.times(m, strides[-2]), e.times(n, strides[-1])]
        if len(strides) == 3:
            terms.append(e.times(batch, strides[0]))
        return e.total(terms)

    # ------------------------------------------------------------------ arithmetic

    def _widened(self, val: Val, factor: Factor) -> Val:
        """An element of a factor in the type of the accumulator."""
        if val.kind == self.kind:
            return val
        if factor.element.is_floating():
            return self.b.cast("arith.extf", val, self.kind)
        return values.resize(self.b, val, self.kind, factor.element.is_signed())

    def _step(self, factor: Val, row: Val, total: Val) -> Val:
        b = self.b
        if self.ty.is_floating():
            return b.fma(factor, row, total)
        return b.binary("arith.addi", total, b.binary("arith.muli", factor, row))
