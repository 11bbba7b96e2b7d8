"""The layouts each value is needed in, found from the stores backwards through control flow. What an
operation asks of its operands is left to the mapping to threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from ...ir.registry import Effect, get
from ...ir.values import SSAForRange, SSAFunction, SSAItem, SSAOp, SSAOperand, SSAValue

L = TypeVar("L")

#: What always has to happen, whoever looks at the results.
LASTING = Effect.WRITE | Effect.BARRIER | Effect.IO


class Backward(Generic[L]):
    """Works out ``layouts``; a subclass says what operations and roots need."""

    #: The layout of a scalar.
    scalar: L

    def __init__(self, function: SSAFunction) -> None:
        #: Value number -> layouts, in the order they were asked for.
        self.layouts: dict[int, list[L]] = {}
        #: ``id`` of every loop and branch that has to run.
        self.loops: set[int] = set()
        self._makers: dict[int, tuple[SSAItem, int]] = {}
        self._pending: list[tuple[SSAOperand, L]] = []
        roots: list[SSAOp] = []
        self._scan(function.body, (), roots)
        self.start(roots)
        self.settle()

    def of(self, value: SSAValue) -> Sequence[L]:
        """The layouts ``value`` is needed in; empty when nobody needs it."""
        return self.layouts.get(value.id, ())

    # ------------------------------------------------------------------ for subclasses

    def start(self, roots: Sequence[SSAOp]) -> None:
        """Ask for what operations with lasting effects need, in program order."""
        raise NotImplementedError

    def needs(self, op: SSAOp, layout: L) -> Iterable[tuple[SSAOperand, L]]:
        """The operands of ``op``, and the layouts in which they make its result in ``layout``."""
        raise NotImplementedError

    def ask(self, needs: Iterable[tuple[SSAOperand, L]]) -> None:
        """Ask for values; ``settle`` then follows them."""
        self._pending += needs

    # ------------------------------------------------------------------ the walk

    def _scan(
        self, items: Sequence[SSAItem], outer: tuple[SSAItem, ...], roots: list[SSAOp]
    ) -> None:
        for item in items:
            for lane, value in enumerate(item.results):
                self._makers[value.id] = item, lane
            if carries(item):
                for arguments in carried_args(item):
                    for lane, arg in enumerate(arguments):
                        self._makers[arg.id] = item, lane
            for region in item.regions:
                self._scan(region.body, (*outer, item), roots)
            if isinstance(item, SSAOp) and get(item.opcode).effects & LASTING:
                roots.append(item)
                for each in outer:
                    self._run(each)

    def _run(self, item: SSAItem) -> None:
        if id(item) in self.loops:
            return
        self.loops.add(id(item))
        self.ask((decider, self.scalar) for decider in deciders(item))

    def settle(self) -> None:
        """Follow everything that was asked for to what it is made of."""
        while self._pending:
            operand, layout = self._pending.pop()
            if not isinstance(operand, SSAValue):
                continue
            known = self.layouts.setdefault(operand.id, [])
            if layout in known:
                continue
            known.append(layout)
            if operand.id not in self._makers:
                continue  # the index of a loop, an argument of a combine function
            item, lane = self._makers[operand.id]
            if structured(item):
                self._run(item)
                self.ask((end[lane], layout) for end in _ends(item))
            else:
                assert isinstance(item, SSAOp)
                self.ask(self.needs(item, layout))
                self.ask((end, self.scalar) for region in item.regions for end in region.yields)


def structured(item: SSAItem) -> bool:
    """Whether an item is control flow."""
    return item.opcode in ("for", "if", "while")


def carries(item: SSAItem) -> bool:
    """Whether an item is a loop, whose arguments, yields and results are one variable each."""
    return item.opcode in ("for", "while")


def carried_args(item: SSAItem) -> list[tuple[SSAValue, ...]]:
    """The arguments of a loop that stand for its carried values, region by region."""
    if isinstance(item, SSAForRange):
        return [item.carried_args]
    return [region.args for region in item.regions]


def deciders(item: SSAItem) -> list[SSAOperand]:
    """The scalars that decide what control flow does."""
    if isinstance(item, SSAForRange):
        return [item.start, item.stop]
    return list(item.inputs if item.opcode == "if" else item.regions[0].yields)


def _ends(item: SSAItem) -> list[Sequence[SSAOperand]]:
    """Per lane of the results: everything that shares their layouts."""
    if isinstance(item, SSAForRange):
        return [item.carried_inputs, item.carried_args, item.yields, item.results]
    if item.opcode == "if":
        return [*(region.yields for region in item.regions), item.results]
    return [item.inputs, *carried_args(item), item.regions[1].yields, item.results]
