"""Which element of a block a thread holds: one thread per element.

A layout gives a block's axes their *strides over threads*: along an axis of stride ``s`` and extent
``E`` a thread holds element ``(thread / s) % E``. A stride of 0 stands for an axis of extent 1.
A value needed in two layouts (``r[:, None]`` and ``r[None, :]`` of one range) is computed in both;
nothing is ever moved between threads but the operand of a reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.types import BlockType, Type, shape_of
from ...ir.values import SSAFunction, operand_type, walk

Layout = tuple[int, ...]


def natural(shape: tuple[int, ...]) -> Layout:
    """The row-major layout: consecutive threads hold consecutive elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(0 if extent == 1 else step)
        step *= extent
    return tuple(reversed(strides))


def size(shape: tuple[int, ...]) -> int:
    """Number of elements."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def operand_layout(result: Layout, operand: Type | None) -> Layout:
    """The layout of an operand that broadcasts to a result (missing leading axes are 1)."""
    shape = shape_of(operand) if operand is not None else ()
    kept = result[len(result) - len(shape) :]
    return tuple(0 if extent == 1 else s for s, extent in zip(kept, shape, strict=True))


def drop_axis(layout: Layout, axis: int) -> Layout:
    """The layout of a block before ``expand_dims`` inserted ``axis``."""
    return layout[:axis] + layout[axis + 1 :]


def permuted(layout: Layout, order: Sequence[int]) -> Layout:
    """The layout of a block before ``trans`` made axis ``order[k]`` its axis ``k``."""
    strides = [0] * len(layout)
    for stride, axis in zip(layout, order, strict=True):
        strides[axis] = stride
    return tuple(strides)


@dataclass(frozen=True)
class Tile:
    """The threads of one program, seen as the shape of its largest block."""

    shape: tuple[int, ...]

    @property
    def threads(self) -> int:
        return size(self.shape)

    @property
    def layout(self) -> Layout:
        return natural(self.shape)

    def embed(self, shape: tuple[int, ...]) -> Layout | None:
        """The layout of a block that is the tile, or one row or column of it."""
        if len(shape) != len(self.shape):
            return None
        pairs = zip(shape, self.shape, strict=True)
        if any(extent not in (1, whole) for extent, whole in pairs):
            return None
        return tuple(0 if e == 1 else s for s, e in zip(self.layout, shape, strict=True))

    def coordinate(self, stride: int, extent: int) -> tuple[bool, bool]:
        """How a thread's place ``(thread / stride) % extent`` is computed: whether it needs the
        division, and whether it needs the remainder."""
        return stride > 1, stride * extent != self.threads

    def axis(self, stride: int, extent: int) -> int | None:
        """The axis of the tile that has these numbers."""
        pairs = list(zip(self.layout, self.shape, strict=True))
        return pairs.index((stride, extent)) if (stride, extent) in pairs else None

    def unique(self, layout: Layout, shape: tuple[int, ...]) -> bool:
        """Whether every thread holds an element of its own."""
        return size(shape) == self.threads and not self.spare(layout, shape)

    def spare(self, layout: Layout, shape: tuple[int, ...]) -> list[tuple[int, int]]:
        """The (stride, extent) parts of a thread's index that a layout does not look at: threads
        that differ there only hold the same element. The one with all of them 0 is in charge."""
        covered = sorted((s, e) for s, e in zip(layout, shape, strict=True) if s)
        found = []
        reached = 1
        for stride, extent in covered:
            if stride > reached:
                found.append((reached, stride // reached))
            reached = stride * extent
        if reached < self.threads:
            found.append((reached, 0))
        return found


def tile_of(function: SSAFunction) -> Tile:
    """The largest block of a function; among equals the one of the highest rank, then the first."""
    best: tuple[int, ...] = ()
    for shape in _shapes(function):
        if (size(shape), len(shape)) > (size(best), len(best)):
            best = shape
    return Tile(best)


def _shapes(function: SSAFunction) -> Sequence[tuple[int, ...]]:
    types: list[Type | None] = []
    for item in walk(function.body):
        types.extend(operand_type(operand) for operand in item.inputs)
        types.extend(value.ty for value in item.results)
        types.extend(arg.ty for region in item.regions for arg in region.args)
    return [ty.shape for ty in types if isinstance(ty, BlockType)]
