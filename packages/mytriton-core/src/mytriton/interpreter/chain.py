"""How a value came about, in one lane of one program: from an access back to the arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import Link, Span
from ..ir.expr import Param
from ..ir.types import is_pointer, shape_of
from .hazards import know
from .plan import Step
from .pointers import Offsets, Pointer

if TYPE_CHECKING:
    from .sanitizer import CheckedMachine

Array = npt.NDArray[Any]
Lane = tuple[int, ...] | None

#: Links of a chain. Longer ones help nobody.
LONGEST = 12
#: Values looked at for one.
_FARTHEST = 200


@dataclass(frozen=True)
class Place:
    """One lane of the value in a slot; ``None`` where a value has no lane of its own in the result
    (what was reduced)."""

    slot: int
    lane: Lane


class Chain:
    """Walks back from values of a machine that keeps all of them. ``row`` is the program, counted
    within the chunk."""

    def __init__(self, machine: CheckedMachine, row: int) -> None:
        self.machine = machine
        self.row = row
        self.makers = know(machine.plan).makers

    def links(self, *places: Place) -> tuple[Link, ...]:
        """The chain of some values."""
        found: list[Link] = []
        for place, step, k in self._walk(places):
            link = self._link(place, step, k)
            if link is not None and link not in found:
                found.append(link)
            if len(found) == LONGEST:
                break
        return tuple(found)

    def origin(self, step: Step, *places: Place) -> Lane:
        """The lane of the result of ``step`` that the places depend on."""
        for place, maker, _ in self._walk(places):
            if maker is step:
                return place.lane
        return None

    def operands(self, step: Step, lane: Lane) -> list[str]:
        """``lhs = 7`` for each operand of a step."""
        places = self._operands(step, lane)
        named = zip(step.definition.operands, places, strict=False)
        return [f"{name.rstrip('?*')} = {self.show(place)}" for name, place in named]

    def show(self, place: Place) -> str:
        """The value at a place."""
        value = self.machine.regs[place.slot]
        if value is None:
            return "?"
        array = value.array if isinstance(value, Pointer) else value
        if place.lane is None and array.shape[1:]:
            return "?"
        if isinstance(value, Pointer):
            base = int(self._element(value.bases(value.array.ndim - 1), place.lane))
            name = self.machine.windows[base].argument
            return f"{name}[{int(self._element(value.array, place.lane))}]"
        return str(self._element(value, place.lane))

    def _element(self, array: Array, lane: Lane) -> Any:
        lane = _within(lane or (), array.shape[1:])
        where = (min(self.row, len(array) - 1), *lane)
        return array[where]

    # ------------------------------------------------------------------ walking

    def _walk(self, places: tuple[Place, ...]) -> Iterator[tuple[Place, Step | None, int]]:
        """Places with what made them: ``(place, step, k)``; the step is ``None`` for arguments,
        ``k`` is -1 for a result and the number of the block argument otherwise."""
        stack = list(reversed(places))
        seen: set[Place] = set()
        while stack and len(seen) < _FARTHEST:
            place = stack.pop()
            if place in seen:
                continue
            seen.add(place)
            made = self.makers.get(place.slot)
            if made is None:
                yield place, None, -1
                continue
            step, block, k = made
            if block >= 0:
                yield place, step, k
                continue
            through = self._through(step, k, place.lane)
            if through is not None:
                stack.append(through)
                continue
            yield place, step, -1
            stack += reversed(self._operands(step, place.lane))

    def _through(self, step: Step, k: int, lane: Lane) -> Place | None:
        """Where a result of control flow comes from."""
        if step.opcode == "if":
            condition = self._element(self.machine.regs[step.operands[0]], ())
            return Place(step.blocks[0 if condition else 1].yields[k], lane)
        if step.opcode in ("for", "while"):
            body = step.blocks[-1].yields[k]
            first = step.operands[k + (3 if step.opcode == "for" else 0)]
            return Place(first if self.machine.regs[body] is None else body, lane)
        return None

    def _operands(self, step: Step, lane: Lane) -> list[Place]:
        """The lanes of the operands that one lane of the result is made of."""
        if step.definition.elementwise or step.opcode == "addptr" or not step.definition.pure:
            return [
                Place(slot, None if lane is None or ty is None else _within(lane, shape_of(ty)))
                for slot, ty in zip(step.operands, step.types, strict=True)
                if ty is not None
            ]
        where = self._moved_from(step, lane)
        return [
            Place(slot, where if shape_of(ty) else ())
            for slot, ty in zip(step.operands, step.types, strict=True)
            if ty is not None
        ]

    def _moved_from(self, step: Step, lane: Lane) -> Lane:
        """Which lane of its operand an operation that only moves lanes put into ``lane``."""
        if lane is None or len(step.operands) != 1 or len(step.results) != 1 or step.blocks:
            return None
        shape = shape_of(step.types[0])  # type: ignore[arg-type]
        numbers = np.arange(int(np.prod(shape))).reshape(1, *shape)
        pointer = is_pointer(step.types[0])  # type: ignore[arg-type]
        operand = Pointer(0, Offsets(numbers)) if pointer else numbers
        try:
            moved = self.machine.meaning_of(step, operand)
        except Exception:  # no operation that takes just any numbers
            return None
        moved = moved.array if isinstance(moved, Pointer) else moved
        if moved.shape[1:] != shape_of(step.result_types[0]) or not _is_move(moved, numbers):
            return None
        source = int(moved[0][lane])
        return tuple(int(i) for i in np.unravel_index(source, shape))

    # ------------------------------------------------------------------ telling

    def _link(self, place: Place, step: Step | None, k: int) -> Link | None:
        if step is None:
            for position, slot in enumerate(self.machine.plan.params):
                param = self.machine.plan.function.params[position]
                if slot == place.slot and isinstance(param, Param) and not is_pointer(param.ty):
                    return Link(param.name, self.show(place))
            return None
        text = self.show(place)
        if text == "?":
            return None
        item = step.item
        if k >= 0:
            what = "" if step.opcode == "for" and k == 0 else " (carried round the loop)"
            return Link(snippet(item.span, whole_line=True) + what, text, item.span)
        return Link(snippet(item.span) or step.opcode, text, item.span)


def _is_move(moved: Array, numbers: Array) -> bool:
    """Whether the elements of ``moved`` are elements of ``numbers``, none left out."""
    if moved.dtype.kind != "i" or moved.size < numbers.size:
        return False
    return np.array_equal(np.unique(moved), numbers.reshape(-1))


def _within(lane: Lane, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The lane of an operand of a narrower shape that broadcasts to ``lane``."""
    if lane is None:
        return ()
    last = lane[len(lane) - len(shape) :] if len(shape) <= len(lane) else lane
    return tuple(0 if extent == 1 else k for k, extent in zip(last, shape, strict=False))


def snippet(span: Span | None, whole_line: bool = False) -> str:
    """The source text of a span, as far as it is on one line."""
    if span is None:
        return ""
    line = span.source_line()
    if whole_line:
        return line[span.col - 1 :].strip().rstrip(":")
    if span.end_line != span.line or span.end_col <= span.col:
        return line[span.col - 1 :].strip()
    return line[span.col - 1 : span.end_col - 1].strip()
