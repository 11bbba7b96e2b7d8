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
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from .facts import Facts, lanes
from .in_place import InPlace, factors
from .tile import normal

if TYPE_CHECKING:
    from .ahead import Hint

#: A value that costs more than this to compute is kept when several nests need it.
KEEP_ABOVE = 8
#: Extent up to which products of several trips are made one.
DEEP = 256
#: What is not done tile by tile: it acts, or needs other lanes.
_NOT_FUSED = frozenset({"store", "device_print", "device_assert"})
#: Roots in one nest: more would only fill the registers.
MOST_ROOTS = 12


@dataclass
class Root:
    """Something a nest computes: ``store`` and ``reduce`` (with ``op``), ``keep`` a value in its
    own buffer, ``carry`` a value into the buffer of a loop argument (or the result of a branch),
    ``start`` its first value, ``put`` an operand of ``op`` into the buffer ``slot`` of that."""

    kind: str
    operand: mt.SSAOperand
    shape: tuple[int, ...]
    op: mt.SSAOp | None = None
    target: mt.SSAValue | None = None
    slot: str = ""


@dataclass
class Group:
    """Roots that share a loop nest over ``shape``, and what the nest fetches on the side."""

    shape: tuple[int, ...]
    roots: list[Root] = field(default_factory=list)
    hints: list[Hint] = field(default_factory=list)


@dataclass
class Loop:
    """A loop with a plan of its own. ``carried``: arguments that live in buffers; ``staged``: those
    whose new value must not overwrite the old one before everything has been computed. A ``tiled``
    loop has no body of steps: its trips are cut into chunks, and each tile of the carried blocks
    runs through a chunk in registers. A ``product`` is computed once for several trips, whose
    factors the steps of the body put side by side."""

    item: mt.SSAForRange
    start: list[Group]
    body: list[Step]
    carried: list[mt.SSAValue]
    staged: frozenset[int]
    tiled: bool = False
    product: mt.SSAOp | None = None


@dataclass
class While:
    """A ``while`` loop: the steps of its condition, and the rest as for a ``Loop``."""

    item: mt.SSAOp
    start: list[Group]
    condition: list[Step]
    body: list[Step]
    carried: list[mt.SSAValue]
    staged: frozenset[int]


@dataclass
class Branch:
    """An ``if``: the steps of its regions. ``blocks``: results that live in buffers."""

    item: mt.SSAOp
    regions: list[list[Step]]
    blocks: list[mt.SSAValue]


#: An operation of its own: scalars, stores of scalars, products, folds.
Step = Group | Loop | While | Branch | mt.SSAOp


class Planner:
    """Plans the bodies of one function."""

    def __init__(self, facts: Facts, registers: int, lanes_bits: int) -> None:
        self.facts = facts
        self.kept: set[int] = set()
        self.fused: dict[int, mt.SSAForRange] = {}
        self._registers = registers
        self._bits = lanes_bits
        #: Products that are computed for several trips at once.
        self.deep: set[int] = set()
        #: Blocks that are read from a buffer by products.
        self.factors = factors(facts)
        self.in_place = InPlace(facts)

    def body(self, items: Sequence[mt.SSAItem], last: Sequence[Root] = ()) -> list[Step]:
        """The steps of a body; ``last`` are roots after its last item."""
        from .scan import Scan

        steps = Scan(self, items, last).run()
        from .visit import keep_shared

        keep_shared(self, steps, {v.id for item in items for v in item.results})
        return steps

    def loop(self, loop: mt.SSAForRange) -> Loop:
        """The plan of a loop that stays a loop around nests."""
        start, ends, carried = self._carried(loop)
        if self.tiles(loop):
            return Loop(loop, start, [], carried, frozenset(), tiled=True)
        product = self.deep_product(loop)
        if product is not None:
            self.deep.add(id(product))
        body = self.body(loop.body, ends)
        staged = self._staged(body, {arg.id for arg in carried})
        if product is not None:
            body.remove(product)
        return Loop(loop, start, body, carried, staged, product=product)

    def deep_product(self, loop: mt.SSAForRange) -> mt.SSAOp | None:
        """The product that is all a loop computes, when several trips of it can be one."""
        facts, found = self.facts, None
        for item in loop.body:
            if isinstance(item, mt.SSAForRange) or item.regions or item.opcode in _NOT_FUSED:
                return None
            if item.opcode == "dot":
                if found is not None:
                    return None
                found = item
            elif facts.is_solid(item):
                return None
        if found is None or len(mt.shape_of(found.results[0].ty)) != 2:
            return None
        arg = self.in_place.home.get(found.results[0].id)
        blocks = [a for a in loop.carried_args if mt.shape_of(a.ty) and facts.carries_data(a)]
        if found.results[0].id not in self.in_place.bare or blocks != [arg]:
            return None
        own = {v.id for item in loop.body for v in item.results}
        factors = found.operands[:2]
        if not all(isinstance(v, mt.SSAValue) and v.id in own for v in factors):
            return None
        inner = mt.shape_of(factors[0].ty)[-1]  # type: ignore[union-attr]
        # The lanes of a factor of one column are its rows, which cannot be put side by side.
        return found if 1 < inner < DEEP else None

    def repeat(self, item: mt.SSAOp) -> While:
        """The plan of a ``while``."""
        start, ends, carried = self._carried(item)
        condition = self.body(item.regions[0].body)
        body = self.body(item.regions[1].body, ends)
        staged = self._staged(body, {arg.id for arg in carried})
        return While(item, start, condition, body, carried, staged)

    def branch(self, item: mt.SSAOp) -> Branch:
        """The plan of an ``if``."""
        blocks = [v for v in item.results if mt.shape_of(v.ty) and self.facts.carries_data(v)]
        numbers = {v.id for v in blocks}
        regions = []
        for region in item.regions:
            ends = [
                Root("carry", end, mt.shape_of(v.ty), target=v)
                for v, end in zip(item.results, region.yields)
                if v.id in numbers
            ]
            regions.append(self.body(region.body, ends))
        return Branch(item, regions, blocks)

    def is_direct(self, value: mt.SSAValue) -> bool:
        """Whether a product reads a factor from where it is loaded."""
        base, _ = self.facts.untransposed(value)
        return base.id not in self.kept and self.facts.direct_load(value) is not None

    def in_buffer(self, value: mt.SSAValue) -> bool:
        """Whether a block is in a buffer once it has been computed."""
        item = self.facts.makers.get(value.id)
        if value.id in self.kept or item is None:
            return value.id in self.kept
        if value not in item.results:  # carried round a loop
            return True
        if isinstance(item, mt.SSAForRange):
            return value.id not in self.fused
        return self.facts.is_solid(item)

    def _carried(self, item: mt.SSAItem) -> tuple[list[Group], list[Root], list[mt.SSAValue]]:
        """How the blocks that a loop carries start and end, and which arguments they are."""
        start, ends, carried = [], [], []
        for arg, (first, end) in lanes(item):
            shape = mt.shape_of(arg.ty)
            if not shape or not self.facts.carries_data(arg):
                continue
            carried.append(arg)
            start.append(Group(shape, [Root("start", first, shape, target=arg)]))
            if arg.id not in self.in_place.ends:
                ends.append(Root("carry", end, shape, target=arg))
        return start, ends, carried

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
            elif item.opcode in _NOT_FUSED or item.opcode == "trans" or facts.is_solid(item):
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
                if self.facts.uses(result):
                    return ()
                continue
            if mt.is_pointer(arg.ty):
                return ()
            if arg.id in facts.affine.linear and self.facts.uses(result):
                return ()  # what follows may need its base, which a tile would keep to itself
            shapes.add(mt.shape_of(arg.ty))
            if not mt.shape_of(arg.ty):
                # A scalar that only the loop itself uses is no obstacle.
                if self.facts.uses(result):
                    return ()
                shapes.discard(())
        return shapes.pop() if len(shapes) == 1 else ()

    def _vectors(self, loop: mt.SSAForRange) -> int:
        bits = 0
        for arg in loop.carried_args:
            if isinstance(arg.ty, mt.BlockType) and self.facts.carries_data(arg):
                bits += arg.ty.numel * max(32, mt.scalar_of(arg.ty).bits)
        return -(-bits // self._bits)
