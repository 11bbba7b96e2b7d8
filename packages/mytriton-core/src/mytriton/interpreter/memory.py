"""Memory as the interpreter sees it: one window for each array argument.

A window is a flat array of elements over the very bytes the argument's view spans, so arguments
that overlap share memory like they do for the caller. Every access is checked against the window
before memory is touched.

Programs that run together (one *chunk*, in vectorised steps) must leave memory as if they had run
one after another. Windows written by no one, or by one store that each program executes once,
need no check: NumPy assigns lanes in order, so the last program wins as it would in sequence. All
other windows share a ``Shadow`` that keeps, for every granule of bytes, the last program that read
and the last that wrote it (timestamp ordering): an access that comes after one of a *later*
program to the same bytes raises ``ConflictError``, and the machine repeats the chunk one program
at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ir.numerics import storage_dtype
from ..ir.types import ScalarType
from ..runtime.argview import ArgView
from .access import Access

Array = npt.NDArray[Any]


class ConflictError(Exception):
    """Programs of a chunk depend on each other's order. Never leaves the machine."""


class _Bytes:
    """Memory at an address, as NumPy's array interface describes it."""

    def __init__(self, address: int, dtype: np.dtype[Any], count: int) -> None:
        self.__array_interface__ = {
            "version": 3, "data": (address, False), "shape": (count,), "typestr": dtype.str,
        }  # fmt: skip


def map_memory(address: int, dtype: np.dtype[Any], count: int) -> Array:
    """``count`` elements at ``address``, which need not be aligned. The caller keeps them alive."""
    if count == 0:
        return np.empty(0, dtype)
    return np.asarray(_Bytes(address, dtype, count))


def program_counter(programs: int) -> np.dtype[Any]:
    """The dtype in which ``programs`` programs are numbered from 1."""
    return np.dtype("i4" if programs < 2**31 - 1 else "i8")


class Shadow:
    """Last reader and last writer of each granule of a range of bytes that several windows may
    share. Programs count from 1 here; 0 is nobody."""

    __slots__ = ("granule", "last_read", "last_write", "low")

    def __init__(self, low: int, high: int, granule: int, programs: int) -> None:
        self.low = low
        self.granule = granule
        counter = program_counter(programs)
        self.last_read = np.zeros((high - low) // granule, counter)
        self.last_write = np.zeros((high - low) // granule, counter)

    def columns(self, window: Window) -> list[tuple[Array, Array]]:
        """Views of the granules under each element of ``window``: element ``i`` covers position
        ``i`` of every pair ``(last_read, last_write)``."""
        per = window.elements.itemsize // self.granule
        start = (window.address - self.low) // self.granule
        stop = start + per * len(window.elements)
        return [
            (self.last_read[start:stop][k::per], self.last_write[start:stop][k::per])
            for k in range(per)
        ]


@dataclass(slots=True, eq=False)
class Window:
    """One array argument. Element ``i`` of the argument is ``elements[i - first]``."""

    argument: str
    dtype: ScalarType
    elements: Array
    #: Element index of ``elements[0]``: negative where strides are.
    first: int
    address: int
    #: Shadow views, where programs may meet in these bytes.
    columns: list[tuple[Array, Array]] | None = None
    #: Whether the window is its programs' own business because each stores to it once.
    once: bool = False
    #: Chunk in which that store happened.
    stored_in: int = field(default=-1)

    @property
    def valid(self) -> str:
        if not len(self.elements):
            return "it has no elements"
        return f"valid: {self.first} to {self.first + len(self.elements) - 1}"

    def outside(self, low: int, high: int) -> bool:
        """Whether a range of element indices leaves the window."""
        return low < self.first or high >= self.first + len(self.elements)

    def note_read(self, where: slice | Array, low: Any, high: Any) -> None:
        """Programs ``low`` to ``high`` (numbers, or arrays with one for each lane) read the
        elements at ``where``: a run, or flat indices in lane order."""
        if self.columns is None:
            if self.once:  # the operation did more than its declared effects say
                raise ConflictError
            return
        for last_read, last_write in self.columns:
            if (last_write[where] > low).any():
                raise ConflictError
            # Lanes are in program order, so where two meet the later program stays.
            last_read[where] = np.maximum(last_read[where], high)

    def note_write(self, where: slice | Array, low: Any, high: Any, chunk: int) -> None:
        """Programs ``low`` to ``high`` write."""
        if self.columns is None:
            if not self.once or self.stored_in == chunk:
                raise ConflictError
            self.stored_in = chunk
            return
        for last_read, last_write in self.columns:
            if (last_write[where] > low).any() or (last_read[where] > low).any():
                raise ConflictError
            last_write[where] = high


def open_window(name: str, view: ArgView) -> Window:
    """The window of one array argument."""
    low, high = view.span
    size = view.dtype.itemsize
    # Elements lie at the base pointer plus a multiple of their size, whatever the strides.
    first = -((view.pointer - low) // size)
    count = max(0, (high - view.pointer) // size - first)
    address = view.pointer + first * size
    elements = map_memory(address, storage_dtype(view.dtype), count)
    return Window(name, view.dtype, elements, first, address)


def watch(windows: Iterable[Window], access: Access, programs: int) -> None:
    """Give shadows to the windows in which the order of programs may matter."""
    touched = [w for w in windows if w.argument in access.touched and len(w.elements)]
    for group in overlapping(touched):
        name = group[0].argument
        if len(group) == 1 and name in access.written_once and name not in access.reads:
            group[0].once = True
        elif any(window.argument in access.writes for window in group):
            _share_shadow(group, programs)


def overlapping(windows: Sequence[Window]) -> list[list[Window]]:
    """The windows grouped by overlap of their bytes."""
    groups: list[list[Window]] = []
    end = -1
    for window in sorted(windows, key=lambda w: w.address):
        if window.address >= end:
            groups.append([])
        groups[-1].append(window)
        end = max(end, window.address + window.elements.nbytes)
    return groups


def _share_shadow(windows: Sequence[Window], programs: int) -> None:
    low = min(w.address for w in windows)
    high = max(w.address + w.elements.nbytes for w in windows)
    granule = 0
    for window in windows:
        granule = math.gcd(granule, window.elements.itemsize, window.address - low)
    shadow = Shadow(low, high, granule, programs)
    for window in windows:
        window.columns = shadow.columns(window)
