"""Where threads must wait for each other so that memory order is program order.

A barrier goes before an access that another thread's earlier access could meet: one of them writes,
and nothing proves that every thread comes back to its own element. Two arguments of one element
type may be the same array. Shared memory of reductions is watched by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ...ir.registry import Effect, get
from ...ir.types import PointerType, ScalarType, element_of, scalar_of, shape_of
from ...ir.values import (
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
    walk,
)
from ..lanes import definitions, distinct
from .demand import Demand
from .layout import Layout

REDUCTIONS = frozenset({"sum", "max", "min"})


@dataclass(frozen=True)
class Access:
    """Memory touched since the last barrier."""

    writes: bool
    #: Element type of global memory, or the name of the scratch buffer.
    space: str
    #: Equal keys: every thread touches its own element, the same one. ``None``: not known.
    key: object = None
    #: Numbers of the values the key depends on.
    values: frozenset[int] = frozenset()

    def meets(self, other: Access) -> bool:
        """Whether the two could touch one element from different threads."""
        if self.space != other.space or not (self.writes or other.writes):
            return False
        return self.key is None or self.key != other.key


State = frozenset[Access]


class Barriers:
    """The items that need a barrier in front."""

    def __init__(
        self, function: SSAFunction, demand: Demand, buffer_of: Callable[[ScalarType], str] = str
    ) -> None:
        """``buffer_of``: which scratch buffer a reduction of a type works in."""
        self._demand = demand
        self._buffer_of = buffer_of
        self._makers = definitions(function)
        self._before: set[int] = set()
        if demand.tile.threads > 1:
            self._run(function.body, frozenset())

    def before(self, item: SSAItem) -> bool:
        """Whether every thread waits before ``item``."""
        return id(item) in self._before

    def _run(self, items: Sequence[SSAItem], state: State) -> State:
        for item in items:
            if isinstance(item, SSAForRange):
                if id(item) in self._demand.loops:
                    state = self._loop(item, state)
            elif item.opcode in REDUCTIONS:
                state = self._reduction(item, state)
            else:
                state = self._step(item, self._accesses(item), state)
        return state

    def _loop(self, loop: SSAForRange, state: State) -> State:
        inside = {loop.index.id, *(arg.id for arg in loop.carried_args)}
        for item in walk(loop.body):
            inside.update(value.id for value in item.results)
            inside.update(arg.id for region in item.regions for arg in region.args)
        while True:
            after = self._run(loop.body, state)
            # In the next trip the values of the body are others.
            stale = frozenset(
                replace(a, key=None, values=frozenset()) if a.values & inside else a for a in after
            )
            if stale <= state:
                return state
            state |= stale

    def _step(self, item: SSAItem, accesses: Iterable[Access], state: State) -> State:
        accesses = list(accesses)
        if id(item) in self._before:
            state = frozenset()
        elif any(new.meets(old) for new in accesses for old in state):
            self._before.add(id(item))
            state = frozenset()
        return state | frozenset(accesses)

    def _reduction(self, op: SSAOp, state: State) -> State:
        (result,) = op.results
        shape = shape_of(operand_type(op.operands[0]))  # type: ignore[arg-type]
        if not self._demand.of(result) or all(extent == 1 for extent in shape):
            return state
        buffer = "scratch " + self._buffer_of(scalar_of(result.ty))
        self._step(op, [Access(True, buffer)], state)
        # It has barriers inside, after which threads read the result at their own pace.
        return frozenset({Access(False, buffer)})

    def _accesses(self, op: SSAOp) -> Iterable[Access]:
        effects = get(op.opcode).effects
        if not effects & (Effect.READ | Effect.WRITE):
            return
        pointer = op.operands[0]
        element = element_of(operand_type(pointer))  # type: ignore[arg-type]
        assert isinstance(element, PointerType)
        writes = bool(effects & Effect.WRITE)
        if writes:
            layouts: Sequence[Layout] = [self._demand.stores[id(op)]]
        else:
            layouts = self._demand.of(op.results[0])
        mask = op.operands[2 if writes else 1]
        for layout in layouts:
            key, values = self._key(pointer, mask, layout)
            yield Access(writes, f"global {element.element}", key, values)

    def _key(
        self, pointer: SSAOperand, mask: SSAOperand, layout: Layout
    ) -> tuple[object, frozenset[int]]:
        """What identifies the elements a block access touches, lane by lane, provided that every
        thread has a lane of its own and no two lanes share an element."""
        shape = shape_of(operand_type(pointer))  # type: ignore[arg-type]
        if not self._demand.tile.unique(layout, shape):
            return None, frozenset()
        offsets: list[SSAOperand] = []
        base = pointer
        while isinstance(base, SSAValue):
            op = self._makers.get(base.id)
            if not isinstance(op, SSAOp) or op.opcode != "addptr":
                return None, frozenset()
            base = op.operands[0]
            offsets.append(op.operands[1])
        blocks = [o for o in offsets if shape_of(operand_type(o))]  # type: ignore[arg-type]
        if len(blocks) != 1 or shape_of(operand_type(blocks[0])) != shape:  # type: ignore[arg-type]
            return None, frozenset()
        values = frozenset(o.id for o in (*offsets, mask) if isinstance(o, SSAValue))
        if distinct(blocks[0], None, self._makers):
            return (tuple(offsets), layout), values
        if distinct(blocks[0], mask, self._makers):
            return (tuple(offsets), layout, mask), values
        return None, frozenset()
