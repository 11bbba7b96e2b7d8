"""One pass over the items of a body: which roots share a nest, and what is kept for memory's sake."""

from __future__ import annotations

from collections.abc import Sequence

import mytriton.plugin_api as mt

from .facts import CONTROL, FOLDS, is_root
from .plan import KEEP_ABOVE, MOST_ROOTS, Branch, Group, Loop, Planner, Root, Step, While
from .rowwise import is_rowwise
from .visit import Reads


class Scan:
    """One pass over the items of a body, in program order."""

    def __init__(self, planner: Planner, items: Sequence[mt.SSAItem], last: Sequence[Root]) -> None:
        self.planner = planner
        self.facts = planner.facts
        self.items = items
        self.ends = last
        self.own = {v.id for item in items for v in item.results}
        self.steps: list[Step] = []
        self.open: Group | None = None
        #: Nests finished; a value that nest ``n`` makes is ready for nest ``n + 1``.
        self.done = 0
        self.ready: dict[int, int] = {}
        #: Position of the last root that needs a lazy value.
        self.last: dict[int, int] = {}
        #: Loads (and loops inside nests) that are still to be computed.
        self.live: list[mt.SSAItem] = []
        self.reads = Reads(planner)
        self.read_here: dict[int, mt.SSAItem] = {}
        #: Those whose lanes go elsewhere in the nest (transposed, ...).
        self.moved_here: set[int] = set()
        self.stored_here: list[mt.SSAItem] = []

    def run(self) -> list[Step]:
        self._last_uses()
        for position, item in enumerate(self.items):
            if isinstance(item, mt.SSAForRange) or item.opcode in CONTROL:
                self._structured(item, position)
            elif item.opcode == "dot":
                self._dot(item)
            elif item.opcode in FOLDS and self.facts.reduces(item):
                self._put_operands(item, "fold")
            elif item.opcode in ("device_print", "device_assert"):
                self._put_operands(item, "said")
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
        facts = self.facts
        return is_root(item) or facts.is_scalar(item) or facts.is_solid(item)

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

    def _structured(self, item: mt.SSAItem, position: int) -> None:
        if isinstance(item, mt.SSAForRange) and item.results:
            if item.results[0].id in self.planner.fused:
                self._lazy(item)
                return
        self._keep_loads(item, position)
        for value in self._terms(self.facts.needs(item)):
            if mt.shape_of(value.ty) and (
                self.facts.costs.get(value.id, 0) > KEEP_ABOVE or value.id in self.planner.factors
            ):
                self._keep(value)
        self._close()
        plan: Loop | While | Branch
        if isinstance(item, mt.SSAForRange):
            plan = self.planner.loop(item)
        else:
            plan = self.planner.branch(item) if item.opcode == "if" else self.planner.repeat(item)
        if not isinstance(plan, Branch):
            self.steps.extend(plan.start)
            self.done += len(plan.start)
        self.steps.append(plan)

    def _terms(self, needed: Sequence[mt.SSAValue]) -> list[mt.SSAValue]:
        """The values, addresses of rows taken apart: what is worth keeping is in their terms."""
        found, pending, seen = [], list(needed), set()
        while pending:
            value = pending.pop(0)
            if value.id in seen:
                continue
            seen.add(value.id)
            if value.id in self.own and is_rowwise(self.facts, value):
                if self.facts.affine.of(value) is None:
                    pending += self.facts.needs(self.facts.makers[value.id])
                continue
            found.append(value)
        return found

    def _dot(self, item: mt.SSAOp) -> None:
        """A product of what has been put into buffers."""
        a, b, acc = item.operands
        for k, operand in enumerate((a, b)):
            assert isinstance(operand, mt.SSAValue)
            base, _ = self.facts.untransposed(operand) if k == 0 else (operand, ())
            if self.planner.in_buffer(base):
                continue
            alone = id(item) in self.planner.deep or base.id not in self.own
            if k == 0 and not alone:
                if not self.planner.is_direct(operand):
                    self._keep(base)
            elif alone or self.facts.uses(operand) == 1:
                shape = mt.shape_of(operand.ty)
                self._join(Root("put", operand, shape, item, slot=f"factor {k}"))
            else:
                self._keep(operand)
        result = item.results[0]
        if acc is not None and result.id not in self.planner.in_place.bare:
            self._join(Root("put", acc, mt.shape_of(result.ty), item, slot="product"))
        self._close()
        self.steps.append(item)

    def _put_operands(self, item: mt.SSAOp, what: str) -> None:
        """An operation on copies of its operands."""
        for k, operand in enumerate(item.operands):
            if operand is not None and (shape := mt.shape_of(operand.ty)):
                self._join(Root("put", operand, shape, item, slot=f"{what} {k}"))
        self._close()
        self.steps.append(item)

    def _is_own(self, value: mt.SSAValue) -> bool:
        """Whether a block is computed by an operation of this body, when something needs it."""
        item = self.facts.makers.get(value.id)
        if item is None or value.id not in self.own or self.facts.is_solid(item):
            return False
        return not isinstance(item, mt.SSAForRange) or value.id in self.planner.fused

    # ------------------------------------------------------------------ memory order

    def _keep_loads(self, item: mt.SSAItem, position: int) -> None:
        """Keep loads that are needed after ``item`` has written what they read."""
        writes = self.facts.writes(item)
        live = []
        for load in self.live:
            until = max((self.last.get(v.id, -1) for v in load.results), default=-1)
            if until < position:
                continue
            if not self.facts.reads(load) & writes or (
                until == position and self.facts.same_lane(load, item) and self._stays(load, item)
            ):
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
        # Not arguments of the loop around us, which are in buffers already.
        if not mt.shape_of(value.ty) or not self._is_own(value):
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
        for value, moved in self.reads.of(root):
            load = self.facts.makers[value.id]
            self.read_here[load.results[0].id] = load
            if moved:
                self.moved_here.add(load.results[0].id)

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
            moved = self.moved_here | self._moved(root)
            for number, load in self.read_here.items():
                if self.facts.reads(load) & writes:
                    if number in moved or not self.facts.same_lane(load, root.op):
                        return False
        return True

    def _moved(self, root: Root) -> set[int]:
        """Numbers of what a root reads for other lanes than its own."""
        makers = self.facts.makers
        return {makers[v.id].results[0].id for v, moved in self.reads.of(root) if moved}

    def _stays(self, load: mt.SSAItem, item: mt.SSAItem) -> bool:
        """Whether every lane of a store takes the same lane of a load, if any."""
        assert isinstance(item, mt.SSAOp)
        pointer = item.operands[0]
        assert pointer is not None
        root = Root("store", item.operands[1], mt.shape_of(pointer.ty), item)
        return load.results[0].id not in self._moved(root)

    def _close(self) -> None:
        if self.open is not None:
            self.steps.append(self.open)
            self.open = None
            self.done += 1
            self.read_here = {}
            self.moved_here = set()
            self.stored_here = []
