"""The plan of a body: which blocks are computed together, in which order, and which are kept.

Pure blocks and loads are *lazy*: they are computed inside the loop nest of whatever needs them.
What needs them are the roots: stores, reductions, blocks that are kept in scratch memory and blocks
that a loop hands on. Neighbouring roots of one shape share a nest (a ``Group``). The plan keeps
program order where memory is concerned: a load whose bytes a later store may change is kept before
that store, unless both touch the same element in the same lane of one nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import mytriton.plugin_api as mt

from .facts import Facts
from .tile import normal

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


Step = Group | Loop | mt.SSAOp


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
        from .scan import Scan

        steps = Scan(self, items, last).run()
        from .visit import keep_shared

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
        from .visit import visit

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
            if arg.id in facts.affine.linear and self._used_outside(loop, result):
                return ()  # what follows may need its base, which a tile would keep to itself
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
