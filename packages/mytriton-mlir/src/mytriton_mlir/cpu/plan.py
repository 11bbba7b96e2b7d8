"""The plan of a body: which blocks are computed together, in which order, and which are kept.

Pure blocks and loads are *lazy*: they are computed inside the loop nest of whatever needs them.
What needs them are the roots: stores, reductions, blocks that are kept in scratch memory and blocks
that a loop hands on. Neighbouring roots of one shape share a nest (a ``Group``). The plan keeps
program order where memory is concerned: a load whose bytes a later store may change is kept before
that store, unless both touch the same element in the same lane of one nest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Union

import mytriton.plugin_api as mt

from .facts import CAP, Facts
from .tile import AxisMap, normal, trailing

#: A value that costs more than this to compute is kept when several nests need it.
KEEP_ABOVE = 8
#: Roots in one nest: more would only fill the registers.
MOST_ROOTS = 12


@dataclass
class Root:
    """Something a nest computes: ``store`` and ``reduce`` (with ``op``), ``keep`` a value in its
    own buffer, ``carry`` a value into the buffer of a loop argument."""

    kind: str
    operand: mt.SSAOperand
    shape: tuple[int, ...]
    op: mt.SSAOp | None = None
    target: mt.SSAValue | None = None


@dataclass
class Group:
    """Roots that share a loop nest over ``shape``."""

    shape: tuple[int, ...]
    roots: list[Root] = field(default_factory=list)


@dataclass
class Loop:
    """A loop with a plan of its own. ``carried``: arguments that live in buffers; ``staged``: those
    whose new value must not overwrite the old one before everything has been computed. A ``tiled``
    loop has no body of steps: its trips are cut into chunks, and each tile of the carried blocks
    runs through a chunk in registers."""

    item: mt.SSAForRange
    start: list[Group]
    body: list[Step]
    carried: list[mt.SSAValue]
    staged: frozenset[int]
    tiled: bool = False


Step = Union[Group, Loop, mt.SSAOp]


class Planner:
    """Plans the bodies of one function."""

    def __init__(self, facts: Facts, registers: int, lanes_bits: int) -> None:
        self.facts = facts
        self.kept: set[int] = set()
        self.fused: dict[int, mt.SSAForRange] = {}
        self._registers = registers
        self._bits = lanes_bits

    def body(self, items: Sequence[mt.SSAItem], last: Sequence[Root] = ()) -> list[Step]:
        """The steps of a body; ``last`` are roots after its last item."""
        scan = _Scan(self, items, last)
        steps = scan.run()
        keep_shared(self, steps, {v.id for item in items for v in item.results})
        return steps

    def loop(self, loop: mt.SSAForRange) -> Loop:
        """The plan of a loop that stays a loop around nests."""
        facts = self.facts
        carried = [
            arg for arg in loop.carried_args if mt.shape_of(arg.ty) and facts.carries_data(arg)
        ]
        numbers = {arg.id for arg in carried}
        start, ends = [], []
        for arg, first, end in zip(loop.carried_args, loop.carried_inputs, loop.yields):
            if arg.id in numbers:
                shape = mt.shape_of(arg.ty)
                start.append(Group(shape, [Root("start", first, shape, target=arg)]))
                ends.append(Root("carry", end, shape, target=arg))
        if self.tiles(loop):
            return Loop(loop, start, [], carried, frozenset(), tiled=True)
        body = self.body(loop.body, ends)
        return Loop(loop, start, body, carried, self._staged(body, numbers))

    def _staged(self, body: list[Step], carried: set[int]) -> frozenset[int]:
        """Carried arguments that are read in another lane, or in a later nest, than the one that
        writes their new value."""
        written: set[int] = set()
        staged: set[int] = set()
        for step in body:
            if not isinstance(step, Group):
                continue
            writes = {r.target.id for r in step.roots if r.kind == "carry" and r.target}
            if not writes and not written:
                continue
            for value, amap in visit(self, step):
                if value.id in carried:
                    own = normal(tuple(range(len(step.shape))), step.shape)
                    here = mt.shape_of(value.ty) == step.shape and amap == own
                    if value.id in written or (value.id in writes and not here):
                        staged.add(value.id)
            written |= writes
        return frozenset(staged)

    # ------------------------------------------------------------------ loops inside a nest

    def fuses(self, loop: mt.SSAForRange) -> bool:
        """Whether a loop can run inside a nest, once for each tile, with its carried blocks in
        registers."""
        facts = self.facts
        shape = self._common_shape(loop)
        if not shape:
            return False
        whole = streamed = False
        for item in mt.walk(loop.body):
            if isinstance(item, mt.SSAForRange):
                if self._common_shape(item) != shape:
                    return False
            elif item.opcode == "store" or facts.reduces(item):
                return False
            elif item.opcode == "load" and item.results[0].id in facts.demanded:
                whole |= mt.shape_of(item.results[0].ty) == shape
                streamed |= not facts.in_rows(item.operands[0])
        if self._vectors(loop) <= self._registers // 2 and len([d for d in shape if d > 1]) <= 1:
            return True
        # Each tile runs the whole loop: that pays if the loads are rows and columns that the
        # tiles of a register block share, and not when it would walk a stream in strips.
        return len([d for d in shape if d > 1]) > 1 and not whole and not streamed

    def tiles(self, loop: mt.SSAForRange) -> bool:
        """Whether a loop runs through its tiles chunk by chunk: what a chunk reads then stays in the
        nearest cache until the last tile has read it. Needs nothing carried but blocks."""
        shape = self._common_shape(loop)
        blocks = all(
            mt.shape_of(arg.ty) and arg.id not in self.facts.affine.linear
            for arg in loop.carried_args
        )
        return blocks and len([d for d in shape if d > 1]) > 1 and self.fuses(loop)

    def _common_shape(self, loop: mt.SSAForRange) -> tuple[int, ...]:
        """The shape of all carried blocks (empty: none, several, or a scalar that is used)."""
        facts, shapes = self.facts, set()
        for arg, result in zip(loop.carried_args, loop.results):
            if not facts.carries_data(arg):
                if self._used_outside(loop, result):
                    return ()
                continue
            if mt.is_pointer(arg.ty):
                return ()
            shapes.add(mt.shape_of(arg.ty))
            if not mt.shape_of(arg.ty):
                # A scalar that only the loop itself uses is no obstacle.
                if self._used_outside(loop, result):
                    return ()
                shapes.discard(())
        return shapes.pop() if len(shapes) == 1 else ()

    def _used_outside(self, loop: mt.SSAForRange, result: mt.SSAValue) -> bool:
        for item in mt.walk(self.facts.function.body):
            if any(o == result for o in item.inputs):
                return True
            if any(o == result for region in item.regions for o in region.yields):
                return True
        return False

    def _vectors(self, loop: mt.SSAForRange) -> int:
        bits = 0
        for arg in loop.carried_args:
            if isinstance(arg.ty, mt.BlockType) and self.facts.carries_data(arg):
                bits += arg.ty.numel * max(32, mt.scalar_of(arg.ty).bits)
        return -(-bits // self._bits)


class _Scan:
    """One pass over the items of a body, in program order."""

    def __init__(self, planner: Planner, items: Sequence[mt.SSAItem], last: Sequence[Root]) -> None:
        self.planner = planner
        self.facts = planner.facts
        self.items = items
        self.ends = last
        self.steps: list[Step] = []
        self.open: Group | None = None
        #: Nests finished; a value that nest ``n`` makes is ready for nest ``n + 1``.
        self.done = 0
        self.ready: dict[int, int] = {}
        #: Position of the last root that needs a lazy value.
        self.last: dict[int, int] = {}
        #: Loads (and loops inside nests) that are still to be computed.
        self.live: list[mt.SSAItem] = []
        self.read_here: dict[int, mt.SSAItem] = {}
        self.stored_here: list[mt.SSAItem] = []

    def run(self) -> list[Step]:
        self._last_uses()
        for position, item in enumerate(self.items):
            if isinstance(item, mt.SSAForRange):
                self._loop(item, position)
            elif item.opcode == "store":
                self._store(item, position)
            elif self.facts.is_scalar(item):
                self._scalar(item)
            elif self.facts.reduces(item):
                operand = item.operands[0]
                assert operand is not None
                self._join(Root("reduce", operand, mt.shape_of(operand.ty), item))
                self.ready[item.results[0].id] = self.done + 1
            else:
                self._lazy(item)
        for root in self.ends:
            self._join(root)
        self._close()
        return self.steps

    # ------------------------------------------------------------------ preparation

    def _is_root(self, item: mt.SSAItem) -> bool:
        if isinstance(item, mt.SSAForRange):
            return item.results[0].id not in self.planner.fused if item.results else True
        return item.opcode == "store" or self.facts.is_scalar(item) or self.facts.reduces(item)

    def _last_uses(self) -> None:
        planner, end = self.planner, len(self.items)
        for item in self.items:
            if isinstance(item, mt.SSAForRange) and planner.fuses(item) and not planner.tiles(item):
                planner.fused.update((v.id, item) for v in item.results)
        for root in self.ends:
            if isinstance(root.operand, mt.SSAValue):
                self.last[root.operand.id] = end
        for position in reversed(range(end)):
            item = self.items[position]
            if self._is_root(item):
                until = position
            else:
                until = max((self.last.get(v.id, -1) for v in item.results), default=-1)
            for value in self.facts.needs(item):
                self.last[value.id] = max(self.last.get(value.id, -1), until)

    # ------------------------------------------------------------------ items

    def _when(self, item: mt.SSAItem) -> int:
        return max((self.ready.get(v.id, 0) for v in self.facts.needs(item)), default=0)

    def _lazy(self, item: mt.SSAItem) -> None:
        when = self._when(item)
        reads = self.facts.reads(item)
        if reads:
            if any(reads & self.facts.writes(s) for s in self.stored_here):
                when = max(when, self.done + 1)
            self.live.append(item)
        for value in item.results:
            self.ready[value.id] = when

    def _scalar(self, item: mt.SSAOp) -> None:
        if self._when(item) > self.done:
            self._close()
        reads = self.facts.reads(item)
        if reads and any(reads & self.facts.writes(s) for s in self.stored_here):
            self._close()
        self.steps.append(item)

    def _store(self, item: mt.SSAOp, position: int) -> None:
        self._keep_loads(item, position)
        ptr = item.operands[0]
        assert ptr is not None
        shape = mt.shape_of(ptr.ty)
        if not shape:
            self._close()
            self.steps.append(item)
            return
        self._join(Root("store", item.operands[1], shape, item))
        self.stored_here.append(item)

    def _loop(self, item: mt.SSAForRange, position: int) -> None:
        if item.results and item.results[0].id in self.planner.fused:
            self._lazy(item)
            return
        self._keep_loads(item, position)
        for value in self.facts.needs(item):
            if mt.shape_of(value.ty) and self.facts.costs.get(value.id, 0) > KEEP_ABOVE:
                self._keep(value)
        self._close()
        plan = self.planner.loop(item)
        self.steps.extend(plan.start)
        self.steps.append(plan)
        self.done += len(plan.start)

    # ------------------------------------------------------------------ memory order

    def _keep_loads(self, item: mt.SSAItem, position: int) -> None:
        """Keep loads that are needed after ``item`` has written what they read."""
        writes = self.facts.writes(item)
        live = []
        for load in self.live:
            until = max((self.last.get(v.id, -1) for v in load.results), default=-1)
            if until < position:
                continue
            if not self.facts.reads(load) & writes:
                live.append(load)
            elif until == position and self.facts.same_lane(load, item):
                live.append(load)
            else:
                for value in load.results:
                    if self.last.get(value.id, -1) >= position:
                        self._keep(value)
        kept = len(live) < len(self.live)
        self.live = live
        if kept and writes:
            self._close()

    def _keep(self, value: mt.SSAValue) -> None:
        if value.id in self.planner.kept or value.id not in self.facts.demanded:
            return
        item = self.facts.makers[value.id]
        if value not in item.results or not mt.shape_of(value.ty):
            return  # an argument of the loop around us: it is in a buffer already
        if isinstance(item, mt.SSAForRange) and value.id not in self.planner.fused:
            return
        if self.facts.reduces(item):
            return
        shape = mt.shape_of(value.ty)
        self._join(Root("keep", value, shape, target=value))
        self.planner.kept.add(value.id)
        self.ready[value.id] = self.done + 1

    # ------------------------------------------------------------------ nests

    def _join(self, root: Root) -> None:
        if self.open is not None and not self._fits(root):
            self._close()
        if self.open is None:
            self.open = Group(root.shape)
        self.open.roots.append(root)
        for load in self._loads(root):
            self.read_here[load.results[0].id] = load

    def _fits(self, root: Root) -> bool:
        assert self.open is not None
        if root.shape != self.open.shape or len(self.open.roots) >= MOST_ROOTS:
            return False
        needed = self.facts.needs(root.op) if root.op else []
        if isinstance(root.operand, mt.SSAValue):
            needed = [*needed, root.operand]
        if any(self.ready.get(v.id, 0) > self.done for v in needed):
            return False
        if root.kind == "store":
            assert root.op is not None
            writes = self.facts.writes(root.op)
            for other in self.stored_here:
                if self.facts.writes(other) & writes and not self.facts.same_lane(other, root.op):
                    return False
            for load in self.read_here.values():
                if self.facts.reads(load) & writes and not self.facts.same_lane(load, root.op):
                    return False
        return True

    def _loads(self, root: Root) -> list[mt.SSAItem]:
        found = []
        probe = Group(root.shape, [root])
        for value, _ in visit(self.planner, probe):
            item = self.facts.makers.get(value.id)
            if item is not None and value in item.results and self.facts.reads(item):
                if isinstance(item, mt.SSAOp) or value.id in self.planner.fused:
                    found.append(item)
        return found

    def _close(self) -> None:
        if self.open is not None:
            self.steps.append(self.open)
            self.open = None
            self.done += 1
            self.read_here = {}
            self.stored_here = []


def visit(planner: Planner, group: Group) -> Iterator[tuple[mt.SSAValue, AxisMap]]:
    """The lazy blocks a nest computes, each with how its axes run, users first. What is marked as
    kept while visiting is not looked into."""
    facts = planner.facts
    own = normal(tuple(range(len(group.shape))), group.shape)
    pending: list[tuple[mt.SSAValue, AxisMap]] = []
    for root in group.roots:
        if isinstance(root.operand, mt.SSAValue):
            pending.append((root.operand, trailing(own, mt.shape_of(root.operand.ty))))
        if root.op is not None and root.op.opcode == "store":
            pending += _spread(facts.needs(root.op), own)
    seen: set[tuple[int, AxisMap]] = set()
    roots = {r.target.id for r in group.roots if r.kind == "keep" and r.target}
    while pending:
        value, amap = pending.pop()
        if (value.id, amap) in seen or not mt.shape_of(value.ty):
            continue
        seen.add((value.id, amap))
        yield value, amap
        if value.id in planner.kept and value.id not in roots:
            continue
        item = facts.makers.get(value.id)
        if item is None or value not in item.results:
            continue
        if isinstance(item, mt.SSAForRange):
            if value.id in planner.fused:
                pending += _spread(facts.needs(item), own)
        elif not facts.reduces(item):
            pending += operand_maps(planner, item, amap)


def operand_maps(
    planner: Planner, item: mt.SSAOp, amap: AxisMap
) -> list[tuple[mt.SSAValue, AxisMap]]:
    """The blocks an operation needs, with how their axes run."""
    axis = item.attrs.get("axis")
    if item.opcode == "expand_dims":
        amap = (*amap[:axis], *amap[axis + 1 :])
    elif planner.facts.squeezes(item) if item.opcode in ("sum", "max", "min") else False:
        operand = item.operands[0]
        assert operand is not None
        rank = len(mt.shape_of(operand.ty))
        amap = (None,) * rank if axis is None else (*amap[:axis], None, *amap[axis:])
    return _spread(planner.facts.needs(item), amap)


def _spread(needed: Sequence[mt.SSAValue], amap: AxisMap) -> list[tuple[mt.SSAValue, AxisMap]]:
    return [
        (v, trailing(amap, mt.shape_of(v.ty)))
        for v in needed
        if len(mt.shape_of(v.ty)) <= len(amap)
    ]


def keep_shared(planner: Planner, steps: list[Step], own: set[int]) -> None:
    """Keep expensive values that several nests need (of those this body defines)."""
    facts = planner.facts
    first: dict[int, tuple[Group, AxisMap]] = {}
    before: list[tuple[Step, Group]] = []
    for step in steps:
        if not isinstance(step, Group):
            continue
        identity = normal(tuple(range(len(step.shape))), step.shape)
        new: dict[int, tuple[Group, AxisMap]] = {}
        skip: set[int] = set()
        for value, amap in visit(planner, step):
            if value.id in skip or value.id in planner.kept or value.id not in own:
                continue
            shape = mt.shape_of(value.ty)
            straight = shape == step.shape and amap == identity
            item = facts.makers[value.id]
            if facts.reduces(item) or (isinstance(item, mt.SSAForRange) and value.id not in planner.fused):
                continue
            if value.id in first and facts.costs[value.id] > KEEP_ABOVE:
                home, at = first[value.id]
                root = Root("keep", value, shape, target=value)
                if home.shape == shape and at == normal(tuple(range(len(shape))), shape):
                    home.roots.append(root)
                else:
                    before.append((home, Group(shape, [root])))
                planner.kept.add(value.id)
            elif value.id in planner.fused and not straight:
                before.append((step, Group(shape, [Root("keep", value, shape, target=value)])))
                planner.kept.add(value.id)
            else:
                new.setdefault(value.id, (step, amap))
        for number, place in new.items():
            first.setdefault(number, place)
    for place, group in before:
        steps.insert(next(i for i, s in enumerate(steps) if s is place), group)


__all__ = ["CAP", "Group", "Loop", "Planner", "Root", "Step"]
