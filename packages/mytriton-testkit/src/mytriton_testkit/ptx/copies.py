"""cp.async: copies from global to shared memory that land at a wait, and not before."""

from __future__ import annotations

import numpy as np

from .access import (
    check_pending,
    count_access,
    load_lanes,
    race,
    space_of,
    store_lanes,
)
from .errors import PtxUnsupported
from .operands import Names, Step, address_reader, reader
from .state import Copy, Frame, Machine
from .syntax import Immediate, Instruction, Register
from .types import TYPES, Array, Selection

U32 = TYPES["u32"]
UNCOMMITTED = -1


def copy(ins: Instruction, names: Names) -> Step:
    """cp.async.{ca,cg}.shared.global [to], [from], bytes{, source bytes}{, policy}."""
    size_operand = ins.operands[2]
    if not isinstance(size_operand, Immediate) or ins.has("mbarrier", "bulk", "tensor"):
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    size = size_operand.bits or 0
    target = address_reader(ins.operands[0], names, ins)
    source = address_reader(ins.operands[1], names, ins)
    rest = ins.operands[3:]
    if rest and isinstance(rest[-1], Register) and rest[-1].type.bits == 64:
        rest = rest[:-1]
    partial = reader(rest[0], U32, names, ins) if rest else None

    def step(f: Frame, sel: Selection) -> None:
        m = f.machine
        lanes = m.lanes if sel is None else sel
        origin, place = source(f, sel), target(f, sel)
        if partial is None:
            words = fetch(m, sel, origin, size)
        else:
            wanted = np.broadcast_to(partial(f, sel), lanes.shape)
            words = [np.zeros(len(lanes), np.uint32) for _ in range(size // 4)]
            for count in np.unique(wanted):
                at = (wanted == count).nonzero()[0]
                if count:
                    for word, part in zip(
                        words, fetch(m, lanes[at], origin[at], int(count)), strict=False
                    ):
                        word[at] = part
        offsets = m.shared.locate(m, sel, place, size, ins)
        count_access(m, m.shared, sel, offsets, size)
        if m.shared.pending is not None:
            check_pending(m, m.shared, sel, offsets, size, ins)
            m.shared.set_marks(m.shared.pending, offsets, size, 1)
        if m.shared.shadow is not None:
            # Whoever read the place since the last barrier may find it overwritten already.
            at, party = m.shared.party(m, sel, offsets, size)
            raced = m.shared.shadow.write(at, party, np.ones(1, bool))
            if raced is not None:
                race(m, m.shared, sel, raced, at, party, offsets, size, ins)
        group = np.full(len(lanes), UNCOMMITTED, np.int64)
        m.copies.append(Copy(lanes, offsets, words, size, group, ins))

    def fetch(m: Machine, sel: Selection, origin: Array, count: int) -> list[Array]:
        space = space_of(m, "global")
        if count == size:
            offsets = space.locate(m, sel, origin, size, ins)
            count_access(m, space, sel, offsets, size)
            return load_lanes(m, space, sel, offsets, 4, size // 4, ins)
        octets = []
        for i in range(count):
            offsets = space.locate(m, sel, origin + np.uint64(i), 1, ins)
            octets.append(space.views[1].take(offsets))
        octets += [np.zeros(len(origin), np.uint8)] * (-count % 4)
        rows = np.stack(octets, axis=1).view(np.uint32)
        return list(rows.T)

    return step


def commit(ins: Instruction, names: Names) -> Step:
    def step(f: Frame, sel: Selection) -> None:
        m = f.machine
        lanes = slice(None) if sel is None else sel
        for each in m.copies:
            if each.group[0] == UNCOMMITTED or (each.group == UNCOMMITTED).any():
                mine = (each.group == UNCOMMITTED) & members(m, each, sel)
                each.group[mine] = m.commits[each.lanes[mine]]
        m.commits = m.commits.copy()
        m.commits[lanes] += 1

    return step


def members(m: Machine, each: Copy, sel: Selection) -> Array:
    """Which lanes of a copy are in a selection."""
    if sel is None:
        return np.ones(len(each.lanes), bool)
    chosen = np.zeros(m.n, bool)
    chosen[sel] = True
    return chosen[each.lanes]


def wait(ins: Instruction, names: Names) -> Step:
    """cp.async.wait_group N leaves the lane's N latest groups in flight; wait_all none at all."""
    everything = ins.has("wait_all")
    operand = None if everything else ins.operands[0]
    keep = 0
    if isinstance(operand, Immediate):
        keep = operand.bits or 0

    def step(f: Frame, sel: Selection) -> None:
        m = f.machine
        left = []
        for each in m.copies:
            done = members(m, each, sel)
            if not everything:
                done &= each.group != UNCOMMITTED
                done &= m.commits[each.lanes] - each.group > keep
            if done.any():
                land(m, each, done)
            if not done.all():
                left.append(remaining(each, ~done))
        m.copies = left

    return step


def remaining(each: Copy, keep: Array) -> Copy:
    if keep.all():
        return each
    words = [word[keep] for word in each.words]
    return Copy(each.lanes[keep], each.offsets[keep], words, each.size, each.group[keep], each.ins)


def land(m: Machine, each: Copy, done: Array) -> None:
    now = remaining(each, done)
    space = m.shared
    if space.pending is not None:
        space.set_marks(space.pending, now.offsets, now.size, 0)
    store_lanes(m, space, now.lanes, now.offsets, now.words, now.ins)


ASYNC = {"commit_group": commit, "wait_group": wait, "wait_all": wait}


def build(ins: Instruction, names: Names) -> Step:
    if not ins.has("async"):
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    name = ins.one_of(*ASYNC)
    return ASYNC[name](ins, names) if name else copy(ins, names)
