"""Which elements of a block a thread holds, and in which of its registers.

A *tile* spreads a shape over the threads of a program: along each axis a thread holds ``each``
consecutive elements, ``threads`` threads follow one another, and the whole is repeated until the
axis is covered. A *layout* says which axis of a tile each axis of a value lies along, so that a
column ``[:, None]``, a row ``[None, :]`` and the tile they are broadcast to agree without moving
anything between threads. A value that is needed in two layouts is computed in both; only results of
reductions and the operands of matrix products pass through shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mytriton.plugin_api import Type, shape_of

WARP = 32


@dataclass(frozen=True)
class Tile:
    """A shape without axes of extent 1, spread over ``total`` threads."""

    shape: tuple[int, ...]
    #: Consecutive elements of a thread.
    each: tuple[int, ...]
    #: Threads along each axis, and how far apart their numbers are.
    threads: tuple[int, ...]
    steps: tuple[int, ...]
    total: int
    #: Axes, the one along which neighbouring threads lie first.
    order: tuple[int, ...]

    @property
    def fast(self) -> int:
        return self.order[0]

    @property
    def active(self) -> int:
        """Threads that hold elements nobody before them holds."""
        count = 1
        for n in self.threads:
            count *= n
        return count

    def registers(self, axis: int) -> int:
        """Registers along an axis."""
        span = self.each[axis] * self.threads[axis]
        return self.each[axis] * -(-self.shape[axis] // span)

    def exact(self, axis: int) -> bool:
        """Whether every register along an axis holds an element."""
        return self.registers(axis) * self.threads[axis] == self.shape[axis]


def covering(n: int) -> int:
    """The smallest power of two that is not below ``n``."""
    return 1 << max(0, n - 1).bit_length()


def spread(shape: tuple[int, ...], total: int, fast: int, vector: int) -> Tile:
    """A tile for ``shape``: ``vector`` elements along axis ``fast`` for each thread where there are
    enough, then as many threads as there are elements, the fast axis first."""
    order = (fast, *(a for a in reversed(range(len(shape))) if a != fast))
    sizes = [covering(n) for n in shape]
    count = 1
    for n in sizes:
        count *= n
    vector = max(1, min(vector, sizes[fast], count // total))
    each, threads, steps = [1] * len(shape), [1] * len(shape), [1] * len(shape)
    each[fast] = vector
    left, step = total, 1
    for axis in order:
        threads[axis] = min(left, sizes[axis] // each[axis])
        steps[axis] = step
        step *= threads[axis]
        left //= threads[axis]
    return Tile(tuple(shape), tuple(each), tuple(threads), tuple(steps), total, order)


def accumulators(shape: tuple[int, ...], total: int) -> Tile:
    """The tile of results of tensor cores, of shape (..., rows, columns): along the columns two
    elements and four threads, along the rows eight threads and then warps, so that two registers
    along the rows and two along the columns are what one ``mma`` instruction gives a thread."""
    *batch, rows, _ = shape
    warps = total // WARP
    along = min(warps, rows // 16)
    threads, steps, left, step = [8 * along, 4], [4, 1], warps // along, WARP * along
    for n in reversed(batch):
        count = min(left, covering(n))
        threads.insert(0, count)
        steps.insert(0, step)
        left, step = left // count, step * count
    each = [1] * (len(shape) - 1) + [2]
    order = tuple(reversed(range(len(shape))))
    return Tile(tuple(shape), tuple(each), tuple(threads), tuple(steps), total, order)


@dataclass(frozen=True)
class Layout:
    """For each axis of a value the axis of the tile, ``None`` for extent 1. Without a tile every
    thread holds the value."""

    tile: Tile | None
    axes: tuple[int | None, ...]

    @property
    def used(self) -> tuple[int, ...]:
        """The tile's axes with several registers, the slowest first."""
        if self.tile is None:
            return ()
        kept = (a for a in reversed(self.tile.order) if a in self.axes)
        return tuple(a for a in kept if self.tile.registers(a) > 1)

    @property
    def count(self) -> int:
        """Registers of a thread."""
        found = 1
        for axis in self.used:
            assert self.tile is not None
            found *= self.tile.registers(axis)
        return found

    def operand(self, ty: Type | None) -> Layout:
        """The layout of an operand that broadcasts to a result in this one."""
        shape = shape_of(ty) if ty is not None else ()
        kept = self.axes[len(self.axes) - len(shape) :]
        return layout(self.tile, [None if n == 1 else a for n, a in zip(shape, kept, strict=True)])

    def without(self, axis: int) -> Layout:
        """The layout before ``expand_dims`` inserted ``axis``."""
        return layout(self.tile, [*self.axes[:axis], *self.axes[axis + 1 :]])

    def permuted(self, order: Sequence[int]) -> Layout:
        """The layout before ``trans`` made axis ``order[k]`` its axis ``k``."""
        axes: list[int | None] = [None] * len(self.axes)
        for mine, theirs in zip(self.axes, order, strict=True):
            axes[theirs] = mine
        return layout(self.tile, axes)

    def inserted(self, axis: int) -> Layout:
        """The layout of a value that has one more axis of extent 1."""
        return layout(self.tile, [*self.axes[:axis], None, *self.axes[axis:]])


SCALAR = Layout(None, ())


def layout(tile: Tile | None, axes: list[int | None]) -> Layout:
    """A layout; one that uses no axis of its tile has none."""
    return Layout(tile if any(a is not None for a in axes) else None, tuple(axes))


def squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n > 1)


def whole(tile: Tile | None, shape: tuple[int, ...]) -> Layout:
    """The layout of a block that is the tile."""
    numbers = iter(range(len(shape)))
    return layout(tile, [None if n == 1 else next(numbers) for n in shape])


@dataclass(frozen=True)
class Registers:
    """The registers that text is about: those of a layout, the current one called ``name``; or for
    each axis of the tile an expression."""

    layout: Layout
    name: str = "r"
    parts: tuple[tuple[int, str], ...] = ()

    def part(self, axis: int) -> str:
        """The place along an axis of the tile."""
        for known, text in self.parts:
            if known == axis:
                return text
        tile, used = self.layout.tile, self.layout.used
        if tile is None or axis not in used:
            return "0"
        step = 1
        for later in used[used.index(axis) + 1 :]:
            step *= tile.registers(later)
        text = self.name if step == 1 else f"{self.name} / {step}"
        return text if used[0] == axis else f"{text} % {tile.registers(axis)}"

    def index(self, wanted: Layout) -> str:
        """Which register of a value in another layout of the tile; ``""`` when it has only one."""
        used = wanted.used
        if not used:
            return ""
        if not self.parts and used == self.layout.used:
            return self.name
        assert wanted.tile is not None
        terms, step = [], 1
        for axis in reversed(used):
            part = self.part(axis)
            if part != "0":
                plain = part if part.isalnum() else f"({part})"
                terms.append(part if step == 1 else f"{plain} * {step}")
            step *= wanted.tile.registers(axis)
        return " + ".join(reversed(terms)) or "0"
