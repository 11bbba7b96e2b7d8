"""What is fetched into the nearest cache before it is needed.

Waiting for memory and computing take turns unless something is fetched meanwhile. A nest that walks a
run from end to end fetches what its own later strips read. Where several nests of a program walk the
same run, the second does more: it fetches what the next program is going to read, and one before a
store fetches the lines that are going to be written. A hint never traps: a wrong guess costs the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt
from mytriton.analysis.affine import Binary, Scalar, add, mul, sub

from . import values
from .builder import Val
from .evaluate import pointee
from .plan import Group, Step
from .rowwise import split
from .visit import visit

if TYPE_CHECKING:
    from .emitter import Emitter
    from .evaluate import Evaluator

#: Elements from which on a run is fetched ahead.
STREAM = 512
#: Bytes of a line of the cache, and how far ahead of what is read a stream is fetched.
LINE_BYTES, AHEAD_BYTES = 64, 512
#: Operations that a difference between programs is followed through.
DEEPEST = 32


@dataclass(frozen=True)
class Hint:
    """Elements to fetch beside a strip: those that a block of pointers points to, ``distance``
    further on. ``write``: they are going to be written."""

    ptr: mt.SSAValue
    distance: Scalar = 0
    write: bool = False


def prefetch(place: Val, locality: int, write: bool = False) -> str:
    """A hint that an address is going to be read, or written."""
    return (
        f'"llvm.intr.prefetch"({place.name}) <{{rw = {int(write)} : i32, '
        f"hint = {locality} : i32, cache = 1 : i32}}> : (!llvm.ptr) -> ()"
    )


def fetch_lines(e: Evaluator, address: Val, size: int, write: bool = False) -> None:
    """Fetch ``size`` bytes from an address, in the innermost loop."""
    level = e.b.deepest((address,), e.tile.inner)
    for first in range(0, size, LINE_BYTES):
        place = e.element(address, e.b.constant(first, "i64"), "i8")
        e.b.line(level, prefetch(place, 3, write))


def fetch(e: Evaluator, hint: Hint) -> None:
    """Fetch what a hint says, for the strip at hand."""
    found = split(e, hint.ptr, e.tile.identity(), 0)
    if found is None or found.base is None:
        return
    kind = values.in_memory(pointee(hint.ptr))
    place = e.element(found.base, e.total([*found.terms, e.scalar(hint.distance)]), kind)
    fetch_lines(e, place, e.tile.width * values.bits_of(kind) // 8, hint.write)


def give_hints(e: Emitter, steps: Sequence[Step]) -> None:
    """Let the groups of a body fetch for each other. Loads that a hint fetches need no other."""
    groups = [step for step in steps if isinstance(step, Group)]
    programs = Programs(e)
    read: set[int] = set()
    for before, group in pairwise(groups):
        if before.shape != group.shape or not _is_long(group):
            continue
        for root in group.roots:
            ptr = root.op.operands[0] if root.op is not None else None
            # Stores that bypass the caches want no line in them.
            if root.kind != "store" or e.streams(root):
                continue
            if programs.distance(ptr) is not None:
                before.hints.append(Hint(_block(ptr), write=True))
        for load in _loads(e, before):
            number, ptr = load.results[0].id, load.operands[0]
            distance = programs.distance(ptr)
            if number in read or distance in (None, 0):
                continue
            read.add(number)
            e.fetched.add(number)
            group.hints.append(Hint(_block(ptr), distance or 0))


def _is_long(group: Group) -> bool:
    """Whether a group is one run that is worth fetching ahead."""
    return max(group.shape, default=0) >= STREAM and sum(n > 1 for n in group.shape) == 1


def _loads(e: Emitter, group: Group) -> list[mt.SSAOp]:
    """Loads of whole runs in a group."""
    made = (e.makers.get(value.id) for value, amap in visit(e.planner, group))
    return [
        item for item in made
        if isinstance(item, mt.SSAOp) and item.opcode == "load"
        and mt.shape_of(item.results[0].ty) == group.shape
    ]  # fmt: skip


def _block(ptr: mt.SSAOperand) -> mt.SSAValue:
    assert isinstance(ptr, mt.SSAValue)
    return ptr


class Programs:
    """How scalars and runs differ from one program to the next along axis 0 of the grid."""

    def __init__(self, e: Emitter) -> None:
        self._affine, self._makers = e.affine, e.makers
        self._steps: dict[int, Scalar | None] = {}

    def distance(self, ptr: mt.SSAOperand) -> Scalar | None:
        """How many elements behind a run that of the next program lies; ``None`` where it is no run,
        or starts somewhere that parameters and the number of the program do not tell."""
        form = self._affine.of(ptr) if isinstance(ptr, mt.SSAValue) else None
        if form is None or not isinstance(form.root, mt.Param) or form.strides[-1:] != (1,):
            return None
        return self._step(form.base, DEEPEST)

    def _step(self, value: Scalar | mt.SSAOperand, depth: int) -> Scalar | None:
        """By how much a scalar differs; ``None``: it takes more than a sum of products to tell."""
        if isinstance(value, (int, mt.Constant, mt.Param)):
            return 0
        if isinstance(value, Binary):
            return self._combine(value.op, value.lhs, value.rhs, depth)
        if not isinstance(value, mt.SSAValue):
            return None
        if value.id not in self._steps:
            self._steps[value.id] = self._of_value(value, depth)
        return self._steps[value.id]

    def _of_value(self, value: mt.SSAValue, depth: int) -> Scalar | None:
        item = self._makers.get(value.id)
        if not isinstance(item, mt.SSAOp) or mt.shape_of(value.ty):
            return None
        if not mt.scalar_of(value.ty).is_integer():
            return None
        if item.opcode == "program_id":
            return int(item.attrs["axis"] == 0)
        if item.opcode == "cast":
            return self._step(item.operands[0], depth - 1) if depth else None
        name = {"add": "+", "sub": "-", "mul": "*"}.get(item.opcode)
        return self._combine(name, item.operands[0], item.operands[1], depth) if name else None

    def _combine(
        self, name: str, lhs: Scalar | mt.SSAOperand, rhs: Scalar | mt.SSAOperand, depth: int
    ) -> Scalar | None:
        if not depth:
            return None
        first, second = self._step(lhs, depth - 1), self._step(rhs, depth - 1)
        if first is None or second is None or (name == "*" and first != 0 and second != 0):
            return None
        if name == "*":
            return add(mul(first, _scalar(rhs)), mul(_scalar(lhs), second))
        return add(first, second) if name == "+" else sub(first, second)


def _scalar(value: Scalar | mt.SSAOperand) -> Scalar:
    assert value is not None
    return int(value.value) if isinstance(value, mt.Constant) else value
