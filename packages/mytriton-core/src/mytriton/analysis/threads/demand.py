"""Which values a kernel needs, and in which layouts. Works backwards from its stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...ir.registry import Effect, get
from ...ir.types import Type, broadcast_shapes, shape_of
from ...ir.values import SSAFunction, SSAOp, SSAOperand, SSAValue, operand_type
from .backward import Backward
from .layout import Layout, Tile, drop_axis, natural, operand_layout, permuted

Needs = Iterable[tuple[SSAOperand, Layout]]


def _broadcast(op: SSAOp, layout: Layout) -> Needs:
    return [(operand, operand_layout(layout, operand_type(operand))) for operand in op.operands]


def _expand_dims(op: SSAOp, layout: Layout) -> Needs:
    return [(op.operands[0], drop_axis(layout, op.attrs["axis"]))]


def _trans(op: SSAOp, layout: Layout) -> Needs:
    return [(op.operands[0], permuted(layout, op.attrs["order"]))]


def _scalars(op: SSAOp, layout: Layout) -> Needs:
    return [(operand, ()) for operand in op.operands]


def _gathered(op: SSAOp, layout: Layout) -> Needs:
    # A reduction meets its operand in shared memory, in row-major order.
    return [(o, natural(shape_of(_typed(o)))) for o in op.operands]


def _product(op: SSAOp, layout: Layout) -> Needs:
    a, b, acc = op.operands
    return [(o, natural(shape_of(_typed(o)))) for o in (a, b)] + [(acc, layout)]


def _typed(operand: SSAOperand) -> Type:
    ty = operand_type(operand)
    assert ty is not None
    return ty


#: In which layouts an operation needs its operands. Not listed: they broadcast to the result.
NEEDS: dict[str, Callable[[SSAOp, Layout], Needs]] = {
    "expand_dims": _expand_dims,
    "trans": _trans,
    "full": _scalars,
    "dot": _product,
    **dict.fromkeys(("sum", "max", "min", "xor_sum", "argmax", "argmin", "reduce"), _gathered),
}


class Demand(Backward[Layout]):
    """The layouts each value is computed in, and the layout each store works in."""

    scalar = ()

    def __init__(self, function: SSAFunction, tile: Tile) -> None:
        self.tile = tile
        #: ``id`` of a store -> its layout.
        self.stores: dict[int, Layout] = {}
        super().__init__(function)

    def needs(self, op: SSAOp, layout: Layout) -> Needs:
        return NEEDS.get(op.opcode, _broadcast)(op, layout)

    def start(self, roots: Sequence[SSAOp]) -> None:
        """Stores of a whole tile or a part of it first: a store that could go either way follows
        the value it stores."""
        later = []
        for store in roots:
            if get(store.opcode).effects & Effect.IO:
                self._output(store)
                continue
            shape = shape_of(_typed(store.operands[0])) if store.operands else ()
            layout = self.tile.embed(shape) if shape else ()
            if layout is None:
                later.append(store)
            else:
                self._store(store, layout)
        self.settle()
        for store in later:
            self._store(store, self._follow(store))
            self.settle()

    def own(self, shape: tuple[int, ...]) -> Layout:
        """A layout for a block that nothing else asks to be anywhere."""
        found = self.tile.embed(shape)
        return natural(shape) if found is None else found

    def _output(self, op: SSAOp) -> None:
        """Assertions look at condition and mask together, prints at each value on its own."""
        shapes = [shape_of(ty) for ty in map(operand_type, op.operands) if ty is not None]
        together = get(op.opcode).variadic is False
        layout = self.own(broadcast_shapes(*shapes)) if together else ()
        self.stores[id(op)] = layout
        for operand in op.operands:
            if operand is not None:
                alone = self.own(shape_of(_typed(operand)))
                needed = operand_layout(layout, operand_type(operand)) if together else alone
                self.ask([(operand, needed)])

    def _follow(self, store: SSAOp) -> Layout:
        shape = shape_of(_typed(store.operands[0]))
        value = store.operands[1] if len(store.operands) > 1 else None
        if isinstance(value, SSAValue) and shape_of(value.ty) == shape:
            for layout in self.of(value):
                return layout
        return natural(shape)

    def _store(self, store: SSAOp, layout: Layout) -> None:
        self.stores[id(store)] = layout
        self.ask(_broadcast(store, layout))
