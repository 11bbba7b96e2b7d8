"""Who wrote and who read each byte: data races between the programs of a grid.

Programs run together in vectorised steps, so an access names a program for each lane. Two programs
race when one stores a value different from what another stored, or from what another loaded, or
loads what another has changed. Storing what is there already harms nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .access import Access
from .memory import Window, overlapping, program_counter

Array = npt.NDArray[Any]

#: In place of a program number (they count from 1): more than one program.
SEVERAL = -1


class Conflict(NamedTuple):
    """Lanes (positions among those of the access) that race, and with whom."""

    lanes: Array
    others: Array
    what: str


class _Granules:
    """Bytes that windows may share: their last writer, who last changed them, who read them."""

    def __init__(self, low: int, high: int, granule: int, programs: int, read: bool) -> None:
        self.low, self.granule = low, granule
        count, counter = (high - low) // granule, program_counter(programs)
        self.writer = np.zeros(count, counter)
        #: Where a program has stored one value after another: nobody else can have stored both.
        self.varied = np.zeros(count, np.bool_)
        # Where nobody loads, nobody is surprised.
        self.changer = np.zeros(count if read else 0, counter)
        self.reader = np.zeros(count if read else 0, counter)
        #: Stores of this chunk: granules, and a program for each (or one for all).
        self.stores: list[tuple[Array, Array]] = []
        self.programs = programs


@dataclass(slots=True)
class Ledger:
    """The accesses to one window. ``where`` is a run of elements or flat indices in lane order;
    ``programs`` a number for each, or one number for all: of a program, or ``SEVERAL``."""

    granules: _Granules
    start: int
    per: int

    def forget_stores(self) -> None:
        """A chunk begins: what other chunks stored is nobody's own."""
        self.granules.stores.clear()

    def _positions(self, where: slice | Array, k: int) -> slice | Array:
        if isinstance(where, slice):
            low, high = self.start + where.start * self.per + k, self.start + where.stop * self.per
            return slice(low, high, self.per)
        return where if self.per == 1 and not self.start else self.start + where * self.per + k

    def note_read(self, where: slice | Array, programs: Array) -> Iterator[Conflict]:
        """A load."""
        shared = self.granules
        for k in range(self.per):
            at = self._positions(where, k)
            changers = shared.changer[at]
            if changers.any():
                foreign = _foreign(changers, programs)
                if foreign.any():
                    foreign &= ~self._own(_flat(at), programs, foreign)
                yield from _conflict(foreign, changers, "sees what was stored by")
            _enter(shared.reader, at, programs)

    def note_write(
        self, where: slice | Array, programs: Array, different: Array
    ) -> Iterator[Conflict]:
        """A store of values that are ``different`` from what is there, or not."""
        shared = self.granules
        for k in range(self.per):
            at = self._positions(where, k)
            writers = shared.writer[at]
            if writers.any():
                foreign = _foreign(writers, programs)
                bad = foreign & (different | shared.varied[at])
                yield from _conflict(bad, writers.copy(), "overwrites what was stored by")
                again = different & (writers != 0) & ~foreign
                if again.any():
                    shared.varied[_flat(at)[again]] = True
            if len(shared.reader):
                readers = shared.reader[at]
                if readers.any():
                    foreign = _foreign(readers, programs) & different
                    yield from _conflict(foreign, readers, "overwrites what was loaded by")
                if different.all():
                    _enter(shared.changer, at, programs)
                elif different.any():
                    some = programs if programs.ndim == 0 else programs[different]
                    _enter(shared.changer, _flat(at)[different], some)
                shared.stores.append((_flat(at), programs))
            _enter(shared.writer, at, programs)

    def _own(self, at: Array, programs: Array, asked: Array) -> Array:
        """Which of the asked lanes load what their own program stored before."""
        found = np.zeros(asked.shape, np.bool_)
        mine = np.broadcast_to(programs, at.shape)[asked]
        keys = at[asked] * (self.granules.programs + 2) + mine
        own = np.zeros(len(keys), np.bool_)
        for stored, by in self.granules.stores:
            if by.ndim == 0 and by == SEVERAL:
                own |= np.isin(at[asked], stored)
            else:
                own |= np.isin(keys, stored * (self.granules.programs + 2) + by)
        found[asked] = own
        return found


def _flat(at: slice | Array) -> Array:
    return np.arange(at.start, at.stop, at.step) if isinstance(at, slice) else at


def _foreign(known: Array, programs: Array) -> Array:
    """Where somebody is known, and it is not just the program itself."""
    return np.asarray((known != 0) & ((known != programs) | (known == SEVERAL)))


def _conflict(lanes: Array, others: Array, what: str) -> Iterator[Conflict]:
    if lanes.any():
        found = np.flatnonzero(lanes)
        yield Conflict(found, others[found], what)


def _enter(column: Array, at: slice | Array, programs: Array) -> None:
    """Add programs to those known for granules."""
    known = column[at]
    new: Array = programs
    if known.any():
        new = np.where((known == 0) | (known == programs), programs, SEVERAL)
    column[at] = new
    if not isinstance(at, slice) and programs.ndim:
        # Lanes of other programs that are entered for the same granule.
        lost = column[at] != new
        if lost.any():
            column[at[lost]] = SEVERAL


def clashes(where: Array, bits: Array, programs: Array) -> Iterator[Conflict]:
    """Lanes of one store that put different values in one place."""
    order = np.argsort(where, kind="stable")
    place, value = where[order], bits[order]
    pairs = np.flatnonzero((place[1:] == place[:-1]) & (value[1:] != value[:-1]))
    first, second = order[pairs], order[pairs + 1]
    by = np.broadcast_to(programs, where.shape)
    apart = by[first] != by[second]
    if apart.any():
        yield Conflict(second[apart], by[first][apart], "overwrites what was stored by")
    if not apart.all():
        yield Conflict(second[~apart], by[first][~apart], "overwrites what another lane stores in")


def keep_ledgers(windows: Iterable[Window], access: Access, programs: int) -> dict[str, Ledger]:
    """A ledger, by argument, for each window that is stored to, or overlaps one that is."""
    found: dict[str, Ledger] = {}
    touched = [w for w in windows if w.argument in access.touched and len(w.elements)]
    for group in overlapping(touched):
        if any(w.argument in access.writes for w in group):
            read = any(w.argument in access.reads for w in group)
            found.update(_ledgers(group, programs, read))
    return found


def _ledgers(group: Sequence[Window], programs: int, read: bool) -> dict[str, Ledger]:
    low = min(w.address for w in group)
    high = max(w.address + w.elements.nbytes for w in group)
    granule = 0
    for window in group:
        granule = math.gcd(granule, window.elements.itemsize, window.address - low)
    shared = _Granules(low, high, granule, programs, read)
    return {
        w.argument: Ledger(shared, (w.address - low) // granule, w.elements.itemsize // granule)
        for w in group
    }
