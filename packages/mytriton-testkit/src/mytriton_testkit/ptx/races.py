"""Data races: who touched which bytes last, and when.

Time is the number of the memory instruction that ran. Two accesses of different threads are
ordered when a barrier of their block lies between them (`since` is the time of a thread's last
barrier), when `bar.warp.sync` does for threads of one warp, or, between blocks, when both blocks
used atomics on one address in that order. Two plain writes of equal values are no race.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .types import Array

MANY = -1
"""Threads of several groups; `-2 - group` stands for several threads of one group."""


@dataclass
class Party:
    """The threads of one access, one entry for each piece of memory they touch.

    `who` are thread numbers of the grid from 1; `since` and `synced` the times of their last
    barrier and warp barrier.
    """

    who: Array
    since: Array
    synced: Array | None
    time: int


class Record:
    """The last threads that accessed each piece of memory in one way."""

    def __init__(self, size: int) -> None:
        self.who: npt.NDArray[np.int32] = np.zeros(size, np.int32)
        self.time: npt.NDArray[np.int32] = np.zeros(size, np.int32)
        self.used = False


class Shadow:
    """The records of a memory. `group` is the number of threads whose order is known together:
    a warp in shared memory, a block in global memory."""

    def __init__(self, size: int, group: int, across_blocks: bool) -> None:
        self.group, self.across = group, across_blocks
        self.writes, self.reads, self.atomics = Record(size), Record(size), Record(size)
        self.order: list[tuple[int, Array, Array]] = []

    def groups(self, who: Array) -> Array:
        return np.where(who > 0, (who - 1) // self.group, -2 - who)

    # ------------------------------------------------------------------ the three accesses

    def read(self, at: Array, party: Party) -> Array | None:
        """Conflicting lanes of a read, or None; then remember it."""
        conflict = self.conflicts(self.writes, at, party)
        if conflict is None:
            conflict = self.conflicts(self.atomics, at, party)
        self.mark_shared(self.reads, at, party)
        return conflict

    def atomic(self, at: Array, party: Party) -> Array | None:
        conflict = self.conflicts(self.writes, at, party)
        if conflict is None:
            conflict = self.conflicts(self.reads, at, party)
        self.mark_shared(self.atomics, at, party)
        return conflict

    def write(self, at: Array, party: Party, changed: Array) -> Array | None:
        """`changed` tells which pieces get other bytes than they had."""
        conflict = self.conflicts(self.writes, at, party)
        if conflict is not None:
            conflict &= changed
            if not conflict.any():
                conflict = None
        for record in (self.reads, self.atomics):
            if conflict is None:
                conflict = self.conflicts(record, at, party)
        self.writes.who[at] = party.who
        self.writes.time[at] = party.time
        self.writes.used = True
        return conflict

    # ------------------------------------------------------------------ rules

    def conflicts(self, record: Record, at: Array, party: Party) -> Array | None:
        if not record.used:
            return None
        before: Array = record.who.take(at)
        found: Array = (before != party.who) & (before != 0)
        if not self.across:
            when: Array = record.time.take(at)
            found &= when > party.since
            if party.synced is None or not found.any():
                return found if found.any() else None
            found &= ~((self.groups(before) == self.groups(party.who)) & (when <= party.synced))
            return found if found.any() else None
        if not found.any():
            return None
        when = record.time.take(at)
        near = self.groups(before) == self.groups(party.who)
        near &= before != MANY
        found &= ~(near & (when <= party.since))
        if party.synced is not None:
            warp = (before > 0) & ((before - 1) >> 5 == (party.who - 1) >> 5)
            found &= ~(warp & (when <= party.synced))
        if self.order and found.any():
            for lane in np.flatnonzero(found):
                if self.synchronised(
                    record, int(before[lane]), int(when[lane]), int(at[lane]), int(party.who[lane])
                ):
                    found[lane] = False
        return found if found.any() else None

    def synchronised(self, record: Record, before: int, time: int, at: int, who: int) -> bool:
        """Whether atomics put an earlier access of other blocks before what a thread does now."""
        later = (who - 1) // self.group
        if before != MANY:
            return self.ordered(int(self.groups(np.int64(before))), later, time)
        if record is not self.atomics:
            # Which blocks read the place is forgotten; where blocks synchronise, trust them.
            return True
        return all(
            self.ordered(int(block), later, when - 1)
            for when, blocks, places in self.order
            for block in np.unique(blocks[places == at])
            if block != later
        )

    def ordered(self, earlier: int, later: int, time: int) -> bool:
        """Whether a block used an atomic after a time, and another block the same one after it.
        Blocks that run one instruction together do so in their order."""
        released: dict[int, tuple[int, int]] = {}
        for when, blocks, places in self.order:
            if when > time:
                for place in places[blocks == earlier]:
                    released.setdefault(int(place), (when, earlier))
                for place in places[blocks == later]:
                    if released.get(int(place), (when, later)) < (when, later):
                        return True
        return False

    def mark_shared(self, record: Record, at: Array, party: Party) -> None:
        """Remember an access that several threads may make at once."""
        before, when = record.who.take(at), record.time.take(at)
        record.who[at] = party.who
        record.time[at] = party.time
        # Earlier accesses that may still meet a later one: not those before a barrier of their block,
        # for which the present access stands from now on.
        still = (before != party.who) & (before != 0)
        if still.any():
            done = when <= party.since
            if self.across:
                done &= (before != MANY) & (self.groups(before) == self.groups(party.who))
            still &= ~done
        several = (record.who.take(at) != party.who) | still
        if several.any():
            self._several(record, at, party, before, when, still, several)
        record.used = True

    def _several(
        self,
        record: Record,
        at: Array,
        party: Party,
        before: Array,
        when: Array,
        still: Array,
        several: Array,
    ) -> None:
        lanes = several.nonzero()[0]
        groups = self.groups(party.who[lanes])
        places, earlier = at[lanes], before[lanes]
        record.who[places] = -2 - groups
        apart = self.groups(earlier) != groups
        apart |= earlier == MANY
        spread = (record.who.take(places) != -2 - groups) | (still[lanes] & apart)
        if spread.any():
            record.who[places[spread]] = MANY
