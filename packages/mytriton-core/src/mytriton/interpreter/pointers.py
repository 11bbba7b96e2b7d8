"""Pointer values: which argument, and how many elements past its base."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def align(array: Array, rank: int) -> Array:
    """``(P, *shape)`` with axes of extent 1 inserted after the program axis, so that blocks of
    different rank broadcast as the language says."""
    missing = rank + 1 - array.ndim
    if missing <= 0:
        return array
    return array.reshape(array.shape[0], *(1,) * missing, *array.shape[1:])


class Offsets:
    """``int64`` element offsets ``(P, *shape)`` and, computed when first asked for, their range and
    whether they are one run of consecutive elements (then memory is sliced, not gathered)."""

    __slots__ = ("_range", "_run", "array")

    def __init__(self, array: Array) -> None:
        self.array = array
        self._range: tuple[int, int] | None = None
        self._run: bool | None = None

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest offset."""
        if self._range is None:
            self._range = int(self.array.min()), int(self.array.max())
        return self._range

    @property
    def consecutive(self) -> bool:
        """Whether the offsets, programs first, count up by one."""
        if self._run is None:
            low, high = self.range
            self._run = False
            if high - low == self.array.size - 1:
                flat = self.array.reshape(-1)
                self._run = bool((flat[1:] - flat[:-1] == 1).all())
        return self._run


class Pointer:
    """Pointers of one SSA value. ``base`` is the position of the argument they point into, or an
    array of positions where the lanes point into different arguments."""

    __slots__ = ("base", "offsets")

    def __init__(self, base: int | Array, offsets: Offsets) -> None:
        self.base = base
        self.offsets = offsets

    @property
    def array(self) -> Array:
        return self.offsets.array

    def bases(self, rank: int) -> Array:
        """The argument position of each lane, broadcastable to the offsets."""
        if isinstance(self.base, int):
            return np.full((1,) * (rank + 1), self.base, np.int64)
        return align(self.base, rank)

    def rearranged(self, move: Callable[[Array], Array]) -> Pointer:
        """The same pointers in another order or shape: what ``move`` does to an array of them."""
        base = self.base
        if not isinstance(base, int):
            base = move(np.broadcast_to(self.bases(self.array.ndim - 1), self.array.shape))
        return Pointer(base, Offsets(move(self.array)))

    def arguments(self, lanes: Array) -> Iterator[tuple[int, Array]]:
        """The arguments that the chosen lanes point into, each with its share of them."""
        if isinstance(self.base, int):
            yield self.base, lanes
            return
        bases = np.broadcast_to(self.bases(lanes.ndim - 1), lanes.shape)
        for base in np.unique(bases[lanes]).tolist():
            yield base, lanes & (bases == base)


def choose(condition: Array, new: Any, old: Any) -> Any:
    """``new`` for the programs where ``condition`` (one flag a program) holds, else ``old``."""
    if new is old:
        return new
    if isinstance(new, Pointer):
        rank = new.array.ndim - 1
        flags = align(condition, rank)
        base: int | Array = new.base
        # Either may be an array, whose comparison is no truth value.
        if not (isinstance(base, int) and isinstance(old.base, int) and base == old.base):
            base = np.where(flags, new.bases(rank), old.bases(rank))
        return Pointer(base, Offsets(np.where(flags, new.array, old.array)))
    return np.where(align(condition, new.ndim - 1), new, old)
