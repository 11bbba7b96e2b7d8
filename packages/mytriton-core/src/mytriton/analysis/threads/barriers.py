"""Where threads must wait for each other so that memory order is program order.

Every thread takes the same branches: a condition is a scalar that all of them compute, and what it
is loaded from is ordered like every other access. So a barrier may stand inside a branch.

A barrier goes before an access that another thread's earlier access could meet: one of them writes,
and nothing proves that every thread comes back to its own element. Two arguments of one element
type may be the same array. Shared memory of reductions is watched by the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...ir.registry import Effect, get
from ...ir.types import I32, PointerType, ScalarType, element_of, scalar_of, shape_of
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
from .backward import structured
from .demand import Demand
from .layout import Layout

REDUCTIONS = frozenset({"sum", "max", "min", "xor_sum", "argmax", "argmin", "reduce"})
#: Operations that meet their operands in shared memory.
GATHERING = REDUCTIONS | {"dot"}


#: Why a backend of threads declines what ``gathering_in_combine`` finds.
COMBINE_GATHERS = "its function reduces a block, and not all threads call it"


def gathering_in_combine(function: SSAFunction) -> SSAItem | None:
    """An operation of ``GATHERING`` in the function of a ``reduce``, if there is one: only some threads
    combine, and no others may be waited for there."""
    for item in walk(function.body):
        if item.opcode == "reduce":
            for inner in walk(item.regions[0].body):
                if inner.opcode in GATHERING:
                    return inner
    return None


@dataclass(frozen=True)
class Access:
    """Memory touched since the last barrier."""

    #: Element type of global memory, or the name of the scratch buffer.
    space: str
    writes: bool
    #: Equal keys: every thread touches its own element, the same one. ``None``: not known.
    key: object = None
    #: Numbers of the values the key depends on.
    values: frozenset[int] = frozenset()

    def merged(self, other: Access | None) -> Access:
        """One access for two of the same space and kind: their key, if they agree."""
        return self if other is None or self.key == other.key else Access(self.space, self.writes)

    def meets(self, other: Access | None) -> bool:
        """Whether the two, one of which writes, could touch one element from different threads."""
        return other is not None and (self.key is None or self.key != other.key)


#: One access for each space and kind, which stands for all of them.
State = Mapping[tuple[str, bool], Access]


def _with(state: State, accesses: Iterable[Access]) -> State:
    found = dict(state)
    for access in accesses:
        place = access.space, access.writes
        found[place] = access.merged(found.get(place))
    return found


def _clashes(access: Access, state: State) -> bool:
    """Whether an earlier access must be complete before ``access``."""
    if access.meets(state.get((access.space, True))):
        return True
    return access.writes and access.meets(state.get((access.space, False)))


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
            self._run(function.body, {})

    def before(self, item: SSAItem) -> bool:
        """Whether every thread waits before ``item``."""
        return id(item) in self._before

    def _run(self, items: Sequence[SSAItem], state: State) -> State:
        for item in items:
            if structured(item):
                if id(item) in self._demand.loops:
                    state = (
                        self._branch(item, state)
                        if item.opcode == "if"
                        else self._loop(item, state)
                    )
                continue
            assert isinstance(item, SSAOp)
            if item.opcode in GATHERING:
                state = self._reduction(item, state)
            else:
                state = self._step(item, list(self._accesses(item)), state)
        return state

    def _branch(self, item: SSAItem, state: State) -> State:
        then, other = (self._run(region.body, state) for region in item.regions)
        return _with(then, other.values())

    def _loop(self, loop: SSAItem, state: State) -> State:
        inside: set[int] = set()
        for region in loop.regions:
            inside.update(arg.id for arg in region.args)
            for item in walk(region.body):
                inside.update(value.id for value in item.results)
                inside.update(arg.id for inner in item.regions for arg in inner.args)
        # What runs once more than the rest: the condition.
        first = () if isinstance(loop, SSAForRange) else loop.regions[0].body
        rest = loop.regions[-1].body
        while True:
            left = self._run(first, state)
            after = self._run(rest, left)
            # In the next trip the values of the body are others.
            old = (replace(a, key=None) if a.values & inside else a for a in after.values())
            entered = _with(state, old)
            if entered == state:
                return left
            state = entered

    def _step(self, item: SSAItem, accesses: Sequence[Access], state: State) -> State:
        if id(item) in self._before or any(_clashes(access, state) for access in accesses):
            self._before.add(id(item))
            state = {}
        return _with(state, accesses)

    def _reduction(self, op: SSAOp, state: State) -> State:
        shape = shape_of(operand_type(op.operands[0]))  # type: ignore[arg-type]
        if not any(map(self._demand.of, op.results)):
            return state
        if op.opcode != "dot" and all(extent == 1 for extent in shape):
            return state
        count = 2 if op.opcode == "dot" else len(op.operands)
        types = [scalar_of(ty) for ty in map(operand_type, op.operands[:count]) if ty is not None]
        if op.opcode in ("argmax", "argmin"):
            types.append(I32)
        buffers = sorted({"scratch " + self._buffer_of(ty) for ty in types})
        self._step(op, [Access(buffer, True) for buffer in buffers], state)
        # It has barriers inside, after which threads read the result at their own pace.
        return _with({}, [Access(buffer, False) for buffer in buffers])

    def _accesses(self, op: SSAOp) -> Iterable[Access]:
        effects = get(op.opcode).effects
        if not effects & (Effect.READ | Effect.WRITE) or not op.operands:
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
            yield Access(f"global {element.element}", writes, key, values)

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
        values = frozenset(o.id for o in (*offsets, mask) if isinstance(o, SSAValue))
        if distinct(offsets, shape, None, self._makers):
            return (tuple(offsets), layout), values
        if distinct(offsets, shape, mask, self._makers):
            return (tuple(offsets), layout, mask), values
        return None, frozenset()
