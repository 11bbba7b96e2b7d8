"""Packed factors of products that later programs need again.

The programs of a grid share the rows of one matrix and the columns of the other. A factor whose
elements follow from a few scalars (where its tiles begin, the bounds of the loop, ...) and from memory
that the kernel never writes is the same whenever those scalars are. What a loop has packed of it is
kept with them, in a table of this call of the function; a program that finds its scalars there packs
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt
from mytriton.analysis.affine import BaseOf

from . import values
from .builder import Level, Val

if TYPE_CHECKING:
    from .emitter import Emitter

#: Bytes of packed factors, for each of the two: a good part of a last-level cache, and together less
#: than the 32 MB from which on the C library maps memory anew each time.
AREA = 12 << 20
#: The same in kernels with more products than one, from the second on.
SMALL_AREA = 1 << 20
#: Entries of a table.
ENTRIES = 64
#: A panel that has not been used while so many times all the others might have been is free.
ROUNDS = 3
#: Words of a table before its entries: how many there are, groups of trips of each, how often another
#: was used than before, and which was last.
_COUNT, _GROUPS, _TIME, _LAST, _HEAD = range(5)


def sources(e: Emitter, loop: mt.SSAForRange, operand: mt.SSAOperand) -> list[mt.SSAValue] | None:
    """The scalars (and bases of blocks of addresses) that a block computed in a loop follows from:
    those from outside of it, and arguments it carries, as they start. ``None``: it may depend on
    memory that the kernel writes, or on what is no scalar."""
    facts = e.facts
    written = {c for item in facts.function.body for c in facts.writes(item)}
    inside = {v.id for item in loop.body for v in item.results}
    ends = dict(zip((a.id for a in loop.carried_args), loop.yields))
    found: list[mt.SSAValue] = []
    pending = [operand] if isinstance(operand, mt.SSAValue) else []
    seen = {loop.index.id}
    while pending:
        value = pending.pop()
        if value.id in seen:
            continue
        seen.add(value.id)
        item = facts.makers.get(value.id)
        if value.id in ends:
            found.append(value)
            if value.id in facts.affine.linear:
                pending += facts.pointer_needs(ends[value.id])
            if facts.carries_data(value):
                if mt.shape_of(value.ty):
                    return None
                end = ends[value.id]
                pending += [end] if isinstance(end, mt.SSAValue) else []
        elif (value.id not in inside and _is_base(e, value)) or (
            not mt.shape_of(value.ty) and (value.id not in inside or _is_program(item))
        ):
            found.append(value)
        elif isinstance(item, mt.SSAOp) and value in item.results and _is_pure(e, item, written):
            pending += facts.needs(item)
        else:
            return None
    return found


def _is_program(item: mt.SSAItem | None) -> bool:
    return item is not None and item.opcode == "program_id"


def _is_base(e: Emitter, value: mt.SSAValue) -> bool:
    """Whether a block is known by its base alone, carried round a loop."""
    form = e.affine.linear.get(value.id)
    return form is not None and form.base == BaseOf(value) and isinstance(form.root, mt.Param)


def _is_pure(e: Emitter, item: mt.SSAOp, written: set[int]) -> bool:
    """Whether an operation gives the same whenever its operands are the same."""
    if item.regions or e.facts.is_solid(item) or item.opcode == "empty":
        return False
    if item.opcode == "load":
        return not e.facts.reads(item) & written
    return mt.get_op(item.opcode).pure


class Panels:
    """The table of one factor: found or made at the current level, before a loop. ``size``: bytes of a
    group of trips; ``groups``: how many of those the loop has; ``key``: what must be the same;
    ``aside``: where groups go, one after another, when a whole panel would not fit."""

    def __init__(
        self, e: Emitter, name: str, size: int, groups: Val, key: Sequence[Val], aside: Val
    ) -> None:
        self.e, self.b = e, e.b
        self._level = e.b.level
        #: What is the same for all programs need not be compared.
        words = [self._word(val) for val in key if val.level is not e.b.root]
        words = list({word.name: word for word in words}.values())
        self._width = 1 + len(words)
        self._table = e.scratch(8 * (_HEAD + ENTRIES * self._width), f"table of {name}")
        for word in range(_HEAD):
            self._put(self._number(0), self._number(word), e.b.root)
        self._bytes = AREA if e.bytes < 2 * AREA else SMALL_AREA
        self._find(words, size, groups, e.scratch(self._bytes, f"panels of {name}"), aside)

    # ------------------------------------------------------------------ the table

    def _number(self, value: int) -> Val:
        return self.b.constant(value, "i64")

    def _get(self, index: Val, level: Level) -> Val:
        place = self.e.element(self._table, index, "i64")
        return self.e.load_at(place, "i64", 0, level, aligned=True)

    def _put(self, val: Val, index: Val, level: Level) -> None:
        place = self.e.element(self._table, index, "i64")
        text = f"llvm.store {val.name}, {place.name} {{alignment = 8 : i64}} : i64, !llvm.ptr"
        self.b.line(level, text)

    def _word(self, val: Val) -> Val:
        """A scalar as 64 bits."""
        if val.kind == "!llvm.ptr":
            text = f"llvm.ptrtoint {val.name} : !llvm.ptr to i64"
            return self.b.emit(text, "i64", 0, (val,))
        if val.kind[0] != "i":
            val = self.b.cast("arith.bitcast", val, f"i{values.bits_of(val.kind)}")
        return self.b.cast("arith.extui", val, "i64")

    def _find(self, words: Sequence[Val], size: int, groups: Val, area: Val, aside: Val) -> None:
        """Look for the panel, and say where it is or goes."""
        b, level, number = self.b, self._level, self._number
        zero, one = number(0), number(1)
        whole = b.binary("arith.muli", groups, number(size))
        slots = b.binary("arith.divui", number(self._bytes), whole)
        slots = b.binary("arith.minui", slots, number(ENTRIES))
        fits = b.compare("arith.cmpi", "ugt", slots, zero)
        before = self._get(number(_TIME), level)
        same = b.compare("arith.cmpi", "eq", self._get(number(_GROUPS), level), groups)
        count = b.select(same, self._get(number(_COUNT), level), zero)
        found, oldest, used = self._search(words, count, before)
        #: Whether the factor has to be packed.
        self.missing = b.compare("arith.cmpi", "slt", found, zero)
        # Programs come back to panels in turn. When there is no more room, one that was not used while
        # all the others might have been several times is free; otherwise the last makes way, so that
        # the rest is there when its turn comes.
        age = b.binary("arith.subi", before, used)
        free = b.compare("arith.cmpi", "ugt", age, b.binary("arith.muli", count, number(ROUNDS)))
        room = b.compare("arith.cmpi", "ult", count, slots)
        last = b.select(fits, b.binary("arith.subi", slots, one), zero)
        place = b.select(room, count, b.select(free, oldest, last))
        place = b.select(self.missing, place, found)
        # Time passes when another panel is used than before.
        again = b.compare("arith.cmpi", "eq", place, self._get(number(_LAST), level))
        again = b.select(self.missing, b.constant(False, "i1"), again)
        now = b.select(again, before, b.binary("arith.addi", before, one))
        grown = b.binary("arith.maxui", count, b.binary("arith.addi", place, one))
        state = (b.select(fits, grown, zero), groups, now, place)
        for number_, val in zip((_COUNT, _GROUPS, _TIME, _LAST), state):
            self._put(val, number(number_), level)
        for k, word in enumerate([now, *words]):
            self._put(word, self._entry(place, k), level)
        own = self.e.element(area, b.binary("arith.muli", place, whole), "i8")
        self._base = b.select(fits, own, aside)
        self._stride = b.select(fits, number(size), zero)

    def _entry(self, index: Val, k: int) -> Val:
        first = self.b.binary("arith.muli", index, self._number(self._width))
        return self.b.binary("arith.addi", first, self._number(_HEAD + k))

    def _search(self, words: Sequence[Val], count: Val, now: Val) -> tuple[Val, Val, Val]:
        """The entry with these words, or -1; and the one that has not been used for longest, with
        when that was."""
        b, outer = self.b, self._level
        body = b.push()
        index = Val(b.name("i"), "i64", 0, body)
        before, oldest, least = (Val(b.name("a"), "i64", 0, body) for _ in range(3))
        equal: Val = b.constant(True, "i1")
        for k, word in enumerate(words):
            one = b.compare("arith.cmpi", "eq", self._get(self._entry(index, 1 + k), body), word)
            equal = one if k == 0 else b.binary("arith.andi", equal, one)
        used = self._get(self._entry(index, 0), body)
        older = b.compare("arith.cmpi", "ult", used, least)
        yields = [
            b.select(equal, index, before),
            b.select(older, index, oldest),
            b.select(older, used, least),
        ]
        b.pop()
        bounds = (self._number(0), count, self._number(1))
        starts = zip((before, oldest, least), (self._number(-1), self._number(0), now))
        carried = [(name.name, start) for name, start in starts]
        found, first, time = b.loop(outer, index.name, bounds, carried, body, yields)
        return found, first, time

    # ------------------------------------------------------------------ its panels

    def group(self, index: Val) -> Val:
        """Where a group of trips is packed."""
        return self.e.element(self._base, self.b.binary("arith.muli", index, self._stride), "i8")
