"""atom and red: read, modify, write, one lane after another where lanes share an address."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import alu
from .access import (
    check_pending,
    count_access,
    note_order,
    parts,
    race,
    report,
    space_name,
)
from .errors import PtxUnsupported
from .operands import Names, Step, address_reader, reader, writer
from .spaces import Space
from .state import Frame, Machine
from .syntax import Instruction, Vector
from .types import Array, Selection, bits_type

Update = Callable[..., Array]


def _increment(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


UPDATES: dict[str, Update] = {
    "exch": lambda old, new: new,
    "cas": lambda old, expected, new: np.where(old == expected, new, old),
    "inc": _increment,
    "dec": _decrement,
}

SHORTCUTS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
"""Operations whose result nobody reads and that NumPy can do in place, lane by lane."""


def operation(ins: Instruction) -> str:
    return ins.one_of(*UPDATES, *SHORTCUTS)


def update_of(ins: Instruction) -> Update:
    name = operation(ins)
    if name in UPDATES:
        return UPDATES[name]
    plain = Instruction(f"{name}.{ins.type.name}", [None, None, None], None, ins.site)
    return alu.function_of(plain)


def in_turns(offsets: Array) -> list[Array]:
    """Positions split so that no two of one part share an address, in order of the lanes."""
    order = np.argsort(offsets, kind="stable")
    ordered = offsets[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]]
    if starts.all():
        return [np.arange(len(offsets))]
    index = np.arange(len(offsets))
    rank = np.empty_like(index)
    rank[order] = index - np.maximum.accumulate(np.where(starts, index, 0))
    by_rank = np.argsort(rank, kind="stable")
    return np.split(by_rank, np.cumsum(np.bincount(rank))[:-1])


def check(m: Machine, space: Space, sel: Selection, offsets: Array, ins: Instruction) -> None:
    size = ins.type.size
    if space.fresh is not None:
        bad = space.marked(space.fresh, offsets, size)
        if bad is not None:
            text = "{what} reads {place}, which nobody has written"
            report(m, space, sel, bad, offsets, size, "uninitialised", text, ins)
    if space.pending is not None:
        check_pending(m, space, sel, offsets, size, ins)
    if space.shadow is not None:
        at, party = space.party(m, sel, offsets, size)
        raced = space.shadow.atomic(at, party)
        if raced is not None:
            race(m, space, sel, raced, at, party, offsets, size, ins)
        note_order(m, space, sel, offsets, party.time)


def atomic(ins: Instruction, names: Names) -> Step:
    """atom (result first) and red (no result)."""
    red = ins.base == "red"
    operands = ([None, *ins.operands]) if red else ins.operands
    if any(isinstance(each, Vector) for each in operands) or not ins.types:
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    name, type_ = space_name(ins), ins.type
    bits = bits_type(type_.bits)
    address = address_reader(operands[1], names, ins)
    reads = [reader(each, bits, names, ins) for each in operands[2:]]
    write = writer(operands[0], bits, ins)
    update = update_of(ins)
    shortcut = SHORTCUTS.get(operation(ins)) if type_.kind in "busf" else None

    def run(
        m: Machine, space: Space, lanes: Selection, inside: Array, values: list[Array]
    ) -> Array:
        offsets = space.locate(m, lanes, inside, type_.size, ins)
        count_access(m, space, lanes, offsets, type_.size)
        check(m, space, lanes, offsets, ins)
        at = offsets >> (type_.size.bit_length() - 1)
        view = space.views[type_.size]
        before = view.take(at)
        turns = in_turns(at)
        if len(turns) > 1 and ins.unused_result and shortcut is not None:
            shortcut.at(view.view(type_.dtype), at, values[0].view(type_.dtype))
            return before
        for turn in turns:
            old = view.take(at[turn])
            before[turn] = old
            new = update(old.view(type_.dtype), *[each[turn].view(type_.dtype) for each in values])
            view[at[turn]] = np.asarray(new).view(bits.dtype)
        return before

    def step(f: Frame, sel: Selection) -> None:
        m, where = f.machine, address(f, sel)
        values = [
            value if len(value) == len(where) else np.repeat(value, len(where))
            for value in (read(f, sel) for read in reads)
        ]
        result = np.zeros(len(where), bits.dtype)
        for space, lanes, at, inside in parts(m, sel, where, name):
            if at is None:
                result = run(m, space, lanes, inside, values)
            else:
                result[at] = run(m, space, lanes, inside, [value[at] for value in values])
        write(f, sel, result)

    return step
