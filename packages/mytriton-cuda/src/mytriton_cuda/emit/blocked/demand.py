"""Which values a kernel needs in which layouts, from its stores backwards; how wide it accesses
memory, which decides the tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mytriton.analysis.axis import AxisInfo
from mytriton.analysis.threads import REDUCTIONS, Backward
from mytriton.plugin_api import (
    Effect,
    PointerType,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    broadcast_shapes,
    element_of,
    get_op,
    operand_type,
    shape_of,
    walk,
)

from .instructions import instruction
from .tiles import SCALAR, Layout, Tile, accumulators, layout, spread, squeezed, whole

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
        self._loaded: dict[tuple[int, ...], Tile] = {}
        #: Shape -> best width along each axis.
        self._widths: dict[tuple[int, ...], list[int]] = {}
        for item in walk(function.body):
            if item.opcode in ("load", "store"):
                self._look(item, info)
            elif item.opcode == "dot" and instruction(item):
                kept = squeezed(shape(item.results[0]))
                self._known[kept] = accumulators(kept, total)

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
        if kept and kept not in self._known:
            self._known[kept] = self._spread(kept)
        return self._known.get(kept)

    def _spread(self, kept: tuple[int, ...]) -> Tile:
        if kept not in self._loaded:
            widths = self._widths.get(kept) or [1] * len(kept)
            # Among equals the last axis.
            fast = max(range(len(kept)), key=lambda a: (widths[a], a))
            self._loaded[kept] = spread(kept, self.threads, fast, widths[fast])
        return self._loaded[kept]

    def as_loaded(self, shape: tuple[int, ...]) -> Layout:
        """A block as it is best loaded, whatever the tile of its shape is."""
        kept = squeezed(shape)
        return whole(self._spread(kept) if kept else None, shape)

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


class Demand(Backward[Layout]):
    """The layouts each value is computed in, and the layout each store works in."""

    scalar = SCALAR

    def __init__(self, function: SSAFunction, tiles: Tiles) -> None:
        self.tile = tiles
        self.stores: dict[int, Layout] = {}
        super().__init__(function)

    def start(self, roots: Sequence[SSAOp]) -> None:
        for op in roots:
            if get_op(op.opcode).variadic:  # prints look at each value on its own
                self.stores[id(op)] = SCALAR
                self.ask((o, self.own(shape(o))) for o in op.operands)
                continue
            whole = self._extents(op)
            self.stores[id(op)] = layout = self.own(whole)
            self.ask((o, layout.operand(operand_type(o))) for o in op.operands)

    def _extents(self, op: SSAOp) -> tuple[int, ...]:
        if get_op(op.opcode).effects & Effect.IO:
            return broadcast_shapes(*map(shape, op.operands))
        return shape(op.operands[0]) if op.operands else ()

    def own(self, extents: tuple[int, ...]) -> Layout:
        """A layout for a block that nothing else asks to be anywhere."""
        return self.tile.layout(extents)

    def needs(self, op: SSAOp, layout: Layout) -> list[tuple[SSAOperand, Layout]]:
        if op.opcode == "expand_dims":
            return [(op.operands[0], layout.without(op.attrs["axis"]))]
        if op.opcode == "trans":
            return [(op.operands[0], layout.permuted(op.attrs["order"]))]
        if op.opcode == "full":
            return [(op.operands[0], SCALAR)]
        if op.opcode in REDUCTIONS:
            return [(o, self.source(op, layout)) for o in op.operands]
        if op.opcode == "dot":
            a, b, acc = op.operands
            return [(a, self.factor(a)), (b, self.factor(b)), (acc, self.total(op, layout))]
        return [(o, layout.operand(operand_type(o))) for o in op.operands]

    def source(self, op: SSAOp, result: Layout) -> Layout:
        """The layout in which a reduction takes its operand."""
        own = shape(op.operands[0])
        if folds(op) or op.opcode == "reduce":
            return self.tile.layout(own)
        axis = op.attrs.get("axis")
        return whole(None, own) if axis is None else result.inserted(axis)

    def total(self, op: SSAOp, wanted: Layout) -> Layout:
        """The layout in which a matrix product adds up: that of the tensor cores, or any."""
        return self.tile.layout(shape(op.results[0])) if instruction(op) else wanted

    def factor(self, operand: SSAOperand) -> Layout:
        """The layout in which an operand of a matrix product is computed before it goes to shared
        memory: as it is loaded, or as it was made by another product."""
        made = self._makers.get(operand.id, (None, 0))[0] if isinstance(operand, SSAValue) else None
        if made is not None and made.opcode == "trans":
            inner, order = self.factor(made.inputs[0]), made.attrs["order"]
            return layout(inner.tile, [inner.axes[axis] for axis in order])
        own = shape(operand)
        return self.tile.layout(own) if self._computed(operand) else self.tile.as_loaded(own)

    def _computed(self, operand: SSAOperand) -> bool:
        """Whether an operand is made, element by element, from a matrix product."""
        pending, seen = [operand], set()
        while pending:
            current = pending.pop()
            if not isinstance(current, SSAValue) or current.id in seen:
                continue
            seen.add(current.id)
            made = self._makers.get(current.id, (None, 0))[0]
            if made is None or shape(current) != shape(operand):
                continue
            if made.opcode == "dot":
                return True
            if isinstance(made, SSAOp) and get_op(made.opcode).elementwise:
                pending += made.operands
        return False
