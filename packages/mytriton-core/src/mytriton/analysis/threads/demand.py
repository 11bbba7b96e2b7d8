"""Which values a kernel needs, and in which layouts. Works backwards from its stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...ir.registry import Effect, get
from ...ir.types import Type, shape_of
from ...ir.values import (
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
)
from .layout import Layout, Tile, drop_axis, natural, operand_layout

Needs = Iterable[tuple[SSAOperand, Layout]]


def _broadcast(op: SSAOp, layout: Layout) -> Needs:
    return [(operand, operand_layout(layout, operand_type(operand))) for operand in op.operands]


def _expand_dims(op: SSAOp, layout: Layout) -> Needs:
    return [(op.operands[0], drop_axis(layout, op.attrs["axis"]))]


def _scalars(op: SSAOp, layout: Layout) -> Needs:
    return [(operand, ()) for operand in op.operands]


def _gathered(op: SSAOp, layout: Layout) -> Needs:
    # A reduction meets its operand in shared memory, in row-major order.
    return [(o, natural(shape_of(_typed(o)))) for o in op.operands]


def _typed(operand: SSAOperand) -> Type:
    ty = operand_type(operand)
    assert ty is not None
    return ty


#: In which layouts an operation needs its operands. Not listed: they broadcast to the result.
NEEDS: dict[str, Callable[[SSAOp, Layout], Needs]] = {
    "expand_dims": _expand_dims,
    "full": _scalars,
    "sum": _gathered,
    "max": _gathered,
    "min": _gathered,
}


class Demand:
    """The layouts each value is computed in, and the layout each store works in."""

    def __init__(self, function: SSAFunction, tile: Tile) -> None:
        self.tile = tile
        #: Value number -> layouts, in the order they were asked for.
        self.layouts: dict[int, list[Layout]] = {}
        #: ``id`` of a store -> its layout.
        self.stores: dict[int, Layout] = {}
        #: ``id`` of every loop that has to run.
        self.loops: set[int] = set()
        self._makers: dict[int, tuple[SSAItem, int]] = {}
        self._pending: list[tuple[SSAOperand, Layout]] = []
        roots: list[SSAOp] = []
        self._scan(function.body, (), roots)
        self._from(roots)

    def of(self, value: SSAValue) -> Sequence[Layout]:
        """The layouts ``value`` is needed in; empty when nobody needs it."""
        return self.layouts.get(value.id, ())

    def _scan(
        self, items: Sequence[SSAItem], outer: tuple[SSAForRange, ...], roots: list[SSAOp]
    ) -> None:
        for item in items:
            for lane, value in enumerate(item.results):
                self._makers[value.id] = item, lane
            if isinstance(item, SSAForRange):
                for lane, arg in enumerate(item.carried_args):
                    self._makers[arg.id] = item, lane
                self._scan(item.body, (*outer, item), roots)
            elif get(item.opcode).effects & (Effect.WRITE | Effect.BARRIER):
                roots.append(item)
                for loop in outer:
                    self._run(loop)

    def _from(self, roots: list[SSAOp]) -> None:
        """Stores of a whole tile or a part of it first: a store that could go either way follows
        the value it stores."""
        later = []
        for store in roots:
            shape = shape_of(_typed(store.operands[0]))
            layout = self.tile.embed(shape) if shape else ()
            if layout is None:
                later.append(store)
            else:
                self._store(store, layout)
        self._settle()
        for store in later:
            self._store(store, self._follow(store))
            self._settle()

    def _follow(self, store: SSAOp) -> Layout:
        shape = shape_of(_typed(store.operands[0]))
        value = store.operands[1]
        if isinstance(value, SSAValue) and shape_of(value.ty) == shape:
            for layout in self.of(value):
                return layout
        return natural(shape)

    def _store(self, store: SSAOp, layout: Layout) -> None:
        self.stores[id(store)] = layout
        self._pending.extend(_broadcast(store, layout))

    def _run(self, loop: SSAForRange) -> None:
        if id(loop) not in self.loops:
            self.loops.add(id(loop))
            self._pending += [(loop.start, ()), (loop.stop, ())]

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
                self._pending += NEEDS.get(item.opcode, _broadcast)(item, layout)
