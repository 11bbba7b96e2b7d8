"""Which values a kernel needs in which layouts, from its stores backwards; how wide it accesses
memory, which decides the tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mytriton.analysis.axis import AxisInfo
from mytriton.plugin_api import (
    Effect,
    PointerType,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    element_of,
    get_op,
    operand_type,
    shape_of,
    walk,
)

from .tiles import SCALAR, Layout, Tile, spread, squeezed, whole

REDUCTIONS = frozenset({"sum", "max", "min"})
#: Bytes of the widest access.
WIDEST = 16


def shape(operand: SSAOperand) -> tuple[int, ...]:
    ty = operand_type(operand)
    return () if ty is None else shape_of(ty)


def vector_width(
    pointer: SSAOperand, mask: SSAOperand, axis: int, info: Mapping[int, AxisInfo]
) -> int:
    """How many elements along ``axis`` one access may take: they follow one another, the first is
    aligned, and the mask is the same for all of them."""
    known = info.get(pointer.id) if isinstance(pointer, SSAValue) else None
    if known is None or not shape(pointer):
        return 1
    element = element_of(operand_type(pointer))  # type: ignore[arg-type]
    assert isinstance(element, PointerType)
    size = element.element.itemsize
    width = min(known.contiguity[axis], max(1, known.divisibility[axis] // size), WIDEST // size)
    place = axis - (len(shape(pointer)) - len(shape(mask)))
    if isinstance(mask, SSAValue) and place >= 0 and shape(mask)[place] != 1:
        about = info.get(mask.id)
        width = min(width, about.constancy[place] if about is not None else 1)
    return max(1, width)


class Tiles:
    """One tile for every shape of a function."""

    def __init__(self, function: SSAFunction, info: Mapping[int, AxisInfo], total: int) -> None:
        self.threads = total
        self._known: dict[tuple[int, ...], Tile] = {}
        #: Shape -> best width along each axis.
        self._widths: dict[tuple[int, ...], list[int]] = {}
        for item in walk(function.body):
            if item.opcode in ("load", "store"):
                self._look(item, info)

    def _look(self, item: SSAItem, info: Mapping[int, AxisInfo]) -> None:
        pointer, mask = item.inputs[0], item.inputs[1 if item.opcode == "load" else 2]
        axes = [a for a, n in enumerate(shape(pointer)) if n > 1]
        found = [vector_width(pointer, mask, a, info) for a in axes]
        best = self._widths.setdefault(squeezed(shape(pointer)), [1] * len(axes))
        for k, width in enumerate(found):
            best[k] = max(best[k], width)

    def of(self, shape: tuple[int, ...]) -> Tile | None:
        """The tile of a shape; ``None`` for a single element."""
        kept = squeezed(shape)
        if not kept:
            return None
        if kept not in self._known:
            widths = self._widths.get(kept) or [1] * len(kept)
            # Among equals the last axis.
            fast = max(range(len(kept)), key=lambda a: (widths[a], a))
            self._known[kept] = spread(kept, self.threads, fast, widths[fast])
        return self._known[kept]

    def layout(self, shape: tuple[int, ...]) -> Layout:
        """A block in the tile of its own shape."""
        return whole(self.of(shape), shape)

    def unique(self, layout: Layout, shape: tuple[int, ...]) -> bool:
        """Whether every element is held by one thread only."""
        tile = layout.tile
        if tile is None:
            return self.threads == 1
        every = set(range(len(tile.shape))) == {a for a in layout.axes if a is not None}
        return every and tile.active == tile.total


def folds(op: SSAItem) -> bool:
    """Whether a reduction has more than one element to combine."""
    own, axis = shape(op.inputs[0]), op.attrs.get("axis")
    return any(n > 1 for n in own) if axis is None else own[axis] > 1


class Demand:
    """The layouts each value is computed in, and the layout each store works in."""

    def __init__(self, function: SSAFunction, tiles: Tiles) -> None:
        self.tile = tiles
        self.layouts: dict[int, list[Layout]] = {}
        self.stores: dict[int, Layout] = {}
        self.loops: set[int] = set()
        self._makers: dict[int, tuple[SSAItem, int]] = {}
        self._pending: list[tuple[SSAOperand, Layout]] = []
        self._scan(function.body, ())
        self._settle()

    def of(self, value: SSAValue) -> Sequence[Layout]:
        """The layouts ``value`` is needed in; empty when nobody needs it."""
        return self.layouts.get(value.id, ())

    def _scan(self, items: Sequence[SSAItem], outer: tuple[SSAForRange, ...]) -> None:
        for item in items:
            for lane, value in enumerate(item.results):
                self._makers[value.id] = item, lane
            if isinstance(item, SSAForRange):
                for lane, arg in enumerate(item.carried_args):
                    self._makers[arg.id] = item, lane
                self._scan(item.body, (*outer, item))
            elif get_op(item.opcode).effects & (Effect.WRITE | Effect.BARRIER):
                layout = self.tile.layout(shape(item.operands[0]))
                self.stores[id(item)] = layout
                self._pending += [(o, layout.operand(operand_type(o))) for o in item.operands]
                for loop in outer:
                    self._run(loop)

    def _run(self, loop: SSAForRange) -> None:
        if id(loop) not in self.loops:
            self.loops.add(id(loop))
            self._pending += [(loop.start, SCALAR), (loop.stop, SCALAR)]

    def _settle(self) -> None:
        while self._pending:
            operand, layout = self._pending.pop()
            if not isinstance(operand, SSAValue):
                continue
            known = self.layouts.setdefault(operand.id, [])
            if layout in known:
                continue
            known.append(layout)
            if operand.id not in self._makers:
                continue  # the index of a loop
            item, lane = self._makers[operand.id]
            if isinstance(item, SSAForRange):
                self._run(item)
                ends = (item.carried_inputs, item.carried_args, item.yields, item.results)
                self._pending += [(end[lane], layout) for end in ends]
            else:
                self._pending += self._needs(item, layout)

    def _needs(self, op: SSAOp, layout: Layout) -> list[tuple[SSAOperand, Layout]]:
        if op.opcode == "expand_dims":
            return [(op.operands[0], layout.without(op.attrs["axis"]))]
        if op.opcode == "full":
            return [(op.operands[0], SCALAR)]
        if op.opcode in REDUCTIONS:
            return [(op.operands[0], self.source(op, layout))]
        return [(o, layout.operand(operand_type(o))) for o in op.operands]

    def source(self, op: SSAOp, result: Layout) -> Layout:
        """The layout in which a reduction takes its operand."""
        own = shape(op.operands[0])
        if folds(op):
            return self.tile.layout(own)
        axis = op.attrs.get("axis")
        return whole(None, own) if axis is None else result.inserted(axis)
