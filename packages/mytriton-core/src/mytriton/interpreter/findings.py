"""What strict mode found, put into words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import Finding, Link, Span, outside_text
from ..ir.types import scalar_of
from .chain import Chain, Lane, Place
from .memory import Window
from .plan import Step
from .races import SEVERAL, Conflict
from .taint import Cause

if TYPE_CHECKING:
    from .sanitizer import CheckedMachine

Array = npt.NDArray[Any]

#: Indices shown of one finding: those that come first when programs run one after another.
SHOWN = 8
#: An index, and the program that was there.
Shown = tuple[int, int]

_HEADLINES = {
    "division-by-zero": "integer division by zero, or of the least integer by -1",
    "shift-out-of-range": "shift by the width of the type or more",
    "cast-out-of-range": "cast of a float that the integer type cannot hold",
    "overflow": "signed overflow in an offset",
    "nan": "NaN made of numbers",
}


@dataclass(frozen=True)
class Lanes:
    """Lanes of a block of programs: flat positions in ``shape``, which leads with the programs."""

    flat: Array
    shape: tuple[int, ...]
    count: int
    #: Whether the programs share the block, so that each lane happens in all of them.
    shared: bool

    @classmethod
    def of(cls, chosen: Array, machine: CheckedMachine) -> Lanes:
        """The lanes where an array of flags is true."""
        flat = np.flatnonzero(chosen)
        shared = machine.together and chosen.shape[0] == 1
        count = len(flat) * (machine.last - machine.first if shared else 1)
        return cls(flat, chosen.shape, count, shared)

    @property
    def row(self) -> int:
        """The program of the first lane, counted within the chunk."""
        return int(self.flat[0]) // int(np.prod(self.shape[1:], dtype=np.int64))

    def firsts(self, indices: Array) -> list[Shown]:
        """The first ``SHOWN`` different ones of ``indices``, one for each lane."""
        size = int(np.prod(self.shape[1:], dtype=np.int64))
        places = np.sort(np.unique(indices, return_index=True)[1])[:SHOWN]
        return [(int(self.flat[k]) // size, int(indices[k])) for k in places]

    @property
    def lane(self) -> tuple[int, ...]:
        """The first lane."""
        return tuple(int(k) for k in np.unravel_index(int(self.flat[0]), self.shape)[1:])


class Findings:
    """Collects findings: one for each kind, place in the source and argument."""

    def __init__(self, machine: CheckedMachine, kinds: frozenset[str] | None) -> None:
        self._machine = machine
        self._kinds = kinds
        self._found: dict[Hashable, tuple[int, Finding]] = {}
        #: Their indices.
        self._shown: dict[Hashable, list[Shown]] = {}
        #: How NaNs came about, by slot, and in which program.
        self._born: dict[int, tuple[int, Finding]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def copy(self) -> Findings:
        """What is known now."""
        known = Findings(self._machine, self._kinds)
        known._found, known._born = dict(self._found), dict(self._born)
        known._shown = dict(self._shown)
        return known

    def all(self) -> list[Finding]:
        return [finding for _, finding in self._found.values()]

    def _key(
        self, kind: str, step: Step, argument: str, where: Lanes, indices: Array | None = None
    ) -> Hashable:
        """Where to enter a finding; ``None`` when one of an earlier program is known already."""
        if self._kinds is not None and kind not in self._kinds:
            return None
        span = step.item.span
        key = kind, id(step) if span is None else span, argument
        if indices is not None:
            new = [(self._machine.first + row, index) for row, index in where.firsts(indices)]
            self._shown[key] = _merged(self._shown.get(key, []), new)
        if key in self._found:
            number, known = self._found[key]
            shown = tuple(index for _, index in self._shown.get(key, ()))
            known = replace(known, count=known.count + where.count, indices=shown)
            self._found[key] = number, known
            if number <= self._machine.first + where.row:
                return None
        return key

    def _enter(self, key: Hashable, row: int, finding: Finding) -> None:
        before = self._found[key][1].count if key in self._found else finding.count
        number = self._machine.first + row
        shown = tuple(index for _, index in self._shown.get(key, ()))
        self._found[key] = number, replace(finding, count=before, indices=shown)

    # ------------------------------------------------------------------ accesses

    def outside(self, step: Step, window: Window, indices: Array, where: Lanes) -> None:
        """An access outside its argument."""
        key = self._key("out-of-bounds", step, window.argument, where, indices)
        if key is None:
            return
        program, index = self._machine.coordinates(self._machine.first + where.row), int(indices[0])
        text = outside_text(step.opcode, window.argument, index, program, window.valid)
        mask = self._mask(step, where)
        self._enter(key, where.row, Finding(
            "out-of-bounds", text, window.argument, program, index, step.item.span, where.count,
            mask=mask, lane=where.lane, chain=self._chain(step, where, mask),
        ))  # fmt: skip

    def conflict(
        self, step: Step, window: Window, indices: Array, conflict: Conflict, where: Lanes
    ) -> None:
        """A race."""
        key = self._key("conflict", step, window.argument, where, indices)
        if key is None:
            return
        machine = self._machine
        number = machine.first + where.row
        other, index = int(conflict.others[0]), int(indices[0])
        if where.shared and other == number + 1:
            number += 1  # all do it, and nobody races with itself
        if other == SEVERAL:
            whom = "other programs"
        else:
            whom = f"program {machine.coordinates(other - 1)}"
        program = machine.coordinates(number)
        text = f"{step.opcode} of {window.argument}[{index}] in program {program} {conflict.what} {whom}"
        mask = self._mask(step, where)
        self._enter(key, where.row, Finding(
            "conflict", text, window.argument, program, index, step.item.span, where.count,
            mask=mask, lane=where.lane, chain=self._chain(step, where, mask),
        ))  # fmt: skip

    def _mask(self, step: Step, where: Lanes) -> bool | None:
        names = step.definition.operands
        if "mask?" not in names:
            return None
        value = self._machine.regs[step.operands[names.index("mask?")]]
        # A lane that its mask switches off does nothing that could be found.
        return None if value is None else True

    def _chain(self, step: Step, where: Lanes, mask: bool | None) -> tuple[Link, ...]:
        names = step.definition.operands
        places = [Place(step.operands[names.index("ptr")], where.lane)]
        if mask is not None:
            places.append(Place(step.operands[names.index("mask?")], where.lane))
        return Chain(self._machine, where.row).links(*places)

    # ------------------------------------------------------------------ values

    def use(self, cause: Cause, step: Step, operand: str, slot: int, where: Lanes) -> None:
        """An unspecified value that reaches an effect or a condition."""
        at = step if cause.kind == "undefined" else cause.step
        argument = self._argument(step, where)
        key = self._key(cause.kind, at, argument, where)
        if key is None:
            return
        machine = self._machine
        program = machine.coordinates(machine.first + where.row)
        chain = Chain(machine, where.row)
        place = Place(slot, where.lane)
        if cause.kind == "undefined":
            text = (
                f"the {operand} of this {step.opcode} is undefined (tl.empty) in program {program}"
                + (f"; it comes from line {made.line}" if (made := cause.step.item.span) else "")
            )
        else:
            used = f"it is used as the {operand} of the {step.opcode}{_at(step.item.span)}"
            lane = chain.origin(cause.step, place)
            text = f"{self._headline(cause.kind, cause.step, chain, lane, program)}; {used}"
        self._enter(key, where.row, Finding(
            cause.kind, text, argument, program, None, at.item.span, where.count,
            lane=where.lane, chain=chain.links(place),
        ))  # fmt: skip

    def _headline(
        self, kind: str, step: Step, chain: Chain, lane: Lane, program: tuple[int, int, int]
    ) -> str:
        text = f"{_HEADLINES.get(kind, kind)} in program {program}"
        if lane is None:
            return text
        text += f": {step.opcode} of {' and '.join(chain.operands(step, lane))}"
        if kind == "overflow" and step.result_type is not None:
            text += f" does not fit in {scalar_of(step.result_type)}"
        return text

    def _argument(self, step: Step, where: Lanes) -> str:
        names = step.definition.operands
        if "ptr" not in names:
            return ""
        shown = Chain(self._machine, where.row).show(
            Place(step.operands[names.index("ptr")], where.lane)
        )
        return shown.partition("[")[0]

    def prepare_nan(self, step: Step, slot: int, where: Lanes) -> None:
        """Remember how a NaN came about, in case it is stored: a loop may overwrite the values."""
        self._born[slot] = self._machine.first + where.row, self._birth(step, slot, where)

    def _birth(self, step: Step, slot: int, where: Lanes) -> Finding:
        machine = self._machine
        program = machine.coordinates(machine.first + where.row)
        chain = Chain(machine, where.row)
        text = self._headline("nan", step, chain, where.lane, program)
        return Finding(
            "nan", text, "", program, None, step.item.span, where.count, lane=where.lane,
            chain=chain.links(Place(slot, where.lane)),
        )  # fmt: skip

    def nan(self, birth: Step, slot: int, step: Step, where: Lanes) -> None:
        """A NaN that ``birth`` made is stored."""
        key = self._key("nan", birth, "", where)
        if key is None:
            return
        number, known = self._born[slot]
        if number != self._machine.first + where.row:
            known = self._birth(birth, slot, where)
        text = f"{known.message}; it is stored{_at(step.item.span)}"
        self._enter(key, where.row, replace(known, message=text, count=where.count))


def _merged(known: list[Shown], new: list[Shown]) -> list[Shown]:
    """The first of both, in the order of the programs, each index once."""
    found: dict[int, int] = {}
    for program, index in sorted([*known, *new], key=lambda shown: shown[0]):
        found.setdefault(index, program)
    return [(program, index) for index, program in found.items()][:SHOWN]


def _at(span: Span | None) -> str:
    return f" at line {span.line}" if span is not None else ""
