"""Where a loop nest stands: positions, vector axis, and which masks it may take for granted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mytriton.analysis.affine import Mask

from .builder import Level, Val

#: For each axis of a value, the axis of the iteration it runs along (``None``: its extent is 1).
AxisMap = tuple["int | None", ...]


@dataclass
class Tile:
    """The lanes that are computed at once: ``width`` along ``axis``, ``rows`` along ``row_axis``."""

    shape: tuple[int, ...] = ()
    axis: int = -1
    width: int = 0
    row_axis: int = -1
    rows: int = 1
    #: Position along each axis (``i64``).
    positions: dict[int, Val] = field(default_factory=dict)
    #: The innermost loop's body; ``None`` outside of loops.
    inner: Level | None = None
    #: Whether long runs are walked from end to end.
    streams: bool = False
    #: Whether masks that hold in every lane need not be applied; those are noted in ``assumed``.
    full: bool = False
    assumed: list[tuple[Mask, AxisMap]] = field(default_factory=list)

    def row(self, amap: AxisMap, r: int) -> int:
        """``r`` for a value that differs between rows, else 0."""
        return r if self.row_axis in amap else 0

    def identity(self) -> AxisMap:
        """The map of a value of the iteration's own shape."""
        return normal(tuple(range(len(self.shape))), self.shape)


@lru_cache(1024)
def normal(amap: AxisMap, shape: tuple[int, ...]) -> AxisMap:
    """Axes of extent 1 run along nothing."""
    return tuple(None if extent == 1 else axis for axis, extent in zip(amap, shape, strict=True))


@lru_cache(1024)
def trailing(amap: AxisMap, shape: tuple[int, ...]) -> AxisMap:
    """The map of an operand that broadcasts to a value mapped by ``amap``."""
    return normal(amap[len(amap) - len(shape) :], shape)


def vector_axis(shape: tuple[int, ...]) -> int:
    """The last axis with more than one element (-1: there is none)."""
    return max((d for d, extent in enumerate(shape) if extent > 1), default=-1)


def contiguous_strides(shape: tuple[int, ...]) -> Iterator[int]:
    """Strides of a C-ordered block, in elements."""
    stride, found = 1, []
    for extent in reversed(shape):
        found.append(stride)
        stride *= extent
    return reversed(found)


def dropped(amap: AxisMap, axis: int) -> AxisMap:
    """The map without an axis."""
    return (*amap[:axis], *amap[axis + 1 :])


def transposed(amap: AxisMap, order: Sequence[int]) -> AxisMap:
    """The map of what ``trans`` reorders to a value mapped by ``amap``."""
    found: list[int | None] = [None] * len(amap)
    for axis, source in zip(amap, order, strict=True):
        found[source] = axis
    return tuple(found)
