"""Reductions by a function of two elements: neighbours are combined until one is left.

The operands have been copied to buffers. Seen as ``(outer, extent, inner)``, every pass halves the
extent in place. Where ``inner`` is 1, the elements of a vector are neighbours: even and odd lanes
are told apart first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from . import values
from .builder import Val
from .evaluate import Buffer
from .product import loop
from .region import combine
from .scratch import count

if TYPE_CHECKING:
    from .emitter import Emitter

Combine = Callable[[Sequence[Val], Sequence[Val]], list[Val]]


def _first_of(e: Emitter, op: mt.SSAOp) -> Combine:
    """``argmax`` and ``argmin``: of a value and its position, on either side."""
    operand = op.operands[0]
    assert operand is not None
    ty, b = mt.scalar_of(operand.ty), e.b
    larger = op.opcode == "argmax"

    def function(left: Sequence[Val], right: Sequence[Val]) -> list[Val]:
        x, y = left[0], right[0]
        if ty.is_floating():
            better = b.compare("arith.cmpf", "ogt" if larger else "olt", y, x)
            # A number is better than none.
            none = b.compare("arith.cmpf", "uno", x, x)
            better = b.binary("arith.ori", better, none)
            better = b.binary("arith.andi", better, b.compare("arith.cmpf", "ord", y, y))
        else:
            letter = "s" if ty.is_signed() else "u"
            better = b.compare("arith.cmpi", f"{letter}{'gt' if larger else 'lt'}", y, x)
        return [b.select(better, q, p) for p, q in zip(left, right)]

    return function


class Fold:
    """One reduction being written."""

    def __init__(self, e: Emitter, op: mt.SSAOp) -> None:
        self.e, self.b, self.op = e, e.b, op
        operand = op.operands[0]
        assert operand is not None
        shape, axis = mt.shape_of(operand.ty), op.attrs.get("axis")
        self.shape = shape
        if axis is None:
            self.outer, self.extent, self.inner = 1, count(shape), 1
        else:
            self.outer, self.extent = count(shape[:axis]), shape[axis]
            self.inner = count(shape[axis + 1 :])
        self.buffers = [e.slots[id(op), f"fold {k}"] for k in range(len(op.operands))]
        self.combine: Combine
        if op.opcode == "reduce":
            self.combine = lambda left, right: combine(e, op, left, right)
        else:
            self.combine = _first_of(e, op)
            self.buffers.append(self._positions())

    def _positions(self) -> Buffer:
        """A buffer of the position of every element along the reduction."""
        e, b = self.e, self.b
        buffer = e.new_buffer(mt.I32, self.shape, "positions")
        flat = Buffer(buffer.pointer, mt.I32, (count(self.shape),))

        def body(identity: tuple[int | None, ...]) -> None:
            at = b.cast("arith.trunci", e.position(identity[0]), "i32")
            if e.tile.axis >= 0:
                at = b.binary("arith.addi", at, b.iota("i32", e.tile.width))
            w = at.width
            if self.inner > 1:
                at = b.binary("arith.divui", at, b.constant(self.inner, "i32", w))
            if self.outer > 1:
                at = b.binary("arith.remui", at, b.constant(self.extent, "i32", w))
            e.put(flat, at, identity, 0)

        e.sweep(flat.shape, body)
        return buffer

    # ------------------------------------------------------------------ passes

    def write(self) -> None:
        """The passes, then the results to where they are looked for."""
        extent = self.extent
        while extent > 1:
            extent //= 2
            self._pass(extent)
        first = 1 if self.op.opcode != "reduce" else 0
        for result, buffer in zip(self.op.results, self.buffers[first:]):
            self._result(result, buffer)

    def _pass(self, extent: int) -> None:
        """From ``2 * extent`` elements to ``extent``."""
        e = self.e
        lanes = e.target.vector_bits // 32 if self._vectors() else 1

        def rows(outer: Val) -> None:
            if self.inner > 1:
                width = _largest(min(lanes, self.inner), self.inner)
                loop(e, extent, 1, lambda i: loop(
                    e, self.inner, width, lambda j: self._beside(outer, i, j, width)
                ))  # fmt: skip
            else:
                width = min(lanes, extent)
                loop(e, extent, width, lambda i: self._within(outer, i, width))

        loop(e, self.outer, 1, rows)

    def _vectors(self) -> bool:
        return self.op.opcode != "reduce" or vectorisable(self.op.regions[0])

    def _address(self, buffer: Buffer, *terms: tuple[Val, int]) -> Val:
        e = self.e
        parts = [e.times(val, e.b.constant(factor, "i64")) for val, factor in terms]
        return e.element(buffer.pointer, e.total(parts), buffer.kind)

    def _load(self, buffer: Buffer, at: Val, width: int) -> Val:
        val = self.e.load_at(at, buffer.kind, width, self.b.level, aligned=True)
        if isinstance(buffer.element, mt.ScalarType) and buffer.element.is_bool():
            return values.decode(self.b, val, mt.BOOL)
        return val

    def _store(self, buffer: Buffer, val: Val, at: Val) -> None:
        b = self.b
        if val.kind == "i1":
            val = b.cast("arith.extui", val, "i8")
        align = values.bits_of(val.kind) // 8
        b.line(
            b.level,
            f"llvm.store {val.name}, {at.name} {{alignment = {align} : i64}} : {val.type}, !llvm.ptr",
        )

    def _beside(self, outer: Val, i: Val, j: Val, width: int) -> None:
        """Combine two rows of the inner axes."""
        row, block = self.inner, self.extent * self.inner
        lanes = 0 if width == 1 else width
        left, right = [], []
        for buffer in self.buffers:
            at = self._address(buffer, (outer, block), (i, 2 * row), (j, 1))
            left.append(self._load(buffer, at, lanes))
            next_ = self.e.element(at, self.b.constant(row, "i64"), buffer.kind)
            right.append(self._load(buffer, next_, lanes))
        for buffer, val in zip(self.buffers, self.combine(left, right)):
            at = self._address(buffer, (outer, block), (i, row), (j, 1))
            self._store(buffer, self.b.spread(val, lanes), at)

    def _within(self, outer: Val, i: Val, width: int) -> None:
        """Combine neighbours in a row."""
        left, right = [], []
        for buffer in self.buffers:
            at = self._address(buffer, (outer, self.extent), (i, 2))
            if width == 1:
                left.append(self._load(buffer, at, 0))
                next_ = self.e.element(at, self.b.constant(1, "i64"), buffer.kind)
                right.append(self._load(buffer, next_, 0))
                continue
            both = self._load(buffer, at, 2 * width)
            left.append(self._every_other(both, 0))
            right.append(self._every_other(both, 1))
        for buffer, val in zip(self.buffers, self.combine(left, right)):
            at = self._address(buffer, (outer, self.extent), (i, 1))
            self._store(buffer, self.b.spread(val, 0 if width == 1 else width), at)

    def _every_other(self, both: Val, first: int) -> Val:
        picks = ", ".join(str(k) for k in range(first, both.width, 2))
        ty = f"vector<{both.width // 2}x{both.kind}>"
        text = f"vector.shuffle {both.name}, {both.name} [{picks}] : {both.type}, {both.type}"
        return self.b.emit(text, both.kind, both.width // 2, (both,)) if ty else both

    # ------------------------------------------------------------------ results

    def _result(self, result: mt.SSAValue, buffer: Buffer) -> None:
        e, shape = self.e, mt.shape_of(result.ty)
        if not shape:
            val = self._load(buffer, buffer.pointer, 0)
            e.remember(result, (), 0, val)
            return
        found = e.own_buffer(result)
        zero = self.b.constant(0, "i64")
        width = _largest(e.target.vector_bits // 32, self.inner)
        lanes = 0 if width == 1 else width

        def copy(outer: Val, j: Val) -> None:
            at = self._address(buffer, (outer, self.extent * self.inner), (j, 1))
            to = self._address(found, (outer, self.inner), (j, 1), (zero, 1))
            self._store(found, self._load(buffer, at, lanes), to)

        loop(e, self.outer, 1, lambda i: loop(e, self.inner, width, lambda j: copy(i, j)))
        e.buffers[result.id] = found


def _largest(most: int, extent: int) -> int:
    """The largest power of two that divides ``extent``, up to ``most``."""
    return min(most, extent & -extent)


def vectorisable(region: mt.Region) -> bool:
    """Whether a function of scalars is one of lanes as well."""
    for item in mt.walk(region.body):
        if item.opcode == "if":
            continue
        if isinstance(item, mt.SSAForRange) or item.regions:
            return False
        if not mt.get_op(item.opcode).elementwise and item.opcode not in ("cast", "bitcast"):
            return False
    return True
