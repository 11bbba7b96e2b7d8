"""Strict mode: the grid runs one program at a time, and everything suspicious is collected.

It finds accesses outside an argument (the lane is then skipped), use of ``tl.empty`` contents, and
programs that depend on each other's order: two that store different values to one element, or one
that loads what another stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import Finding, SanitizerError
from ..ir.numerics import encode
from .machine import Machine
from .memory import Window, watch
from .plan import Plan, Step
from .pointers import Pointer, align
from .regions import EXECUTORS

Array = npt.NDArray[Any]

#: In place of a program number: more than one program.
SEVERAL = -1


def _guesses(dtype: np.dtype[Any]) -> list[Any]:
    """Values undefined contents might have: a result that none of them changes is defined."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        return [0.0, np.nan, 1.0, -np.inf]
    info = np.iinfo(dtype)
    return [0, info.max, info.min, 1]


def _changed(a: Any, b: Any) -> Array:
    """Where two results differ (a NaN equals itself)."""
    if isinstance(a, Pointer):
        return np.asarray(a.array != b.array)
    a, b = np.broadcast_arrays(a, b)
    return np.asarray((a != b) & ((a == a) | (b == b)))


class CheckedMachine(Machine):
    """A machine that runs single programs and collects findings."""

    def __init__(self, plan: Plan, args: Sequence[Any], grid: tuple[int, int, int]) -> None:
        super().__init__(plan, args, grid)
        self._found: dict[tuple[str, int, str], Finding] = {}
        #: Undefined elements of values, by the identity of the value (kept alive beside them).
        self._undefined: dict[int, tuple[Any, Array]] = {}
        access = replace(plan.access, written_once=set())
        watch(self.windows.values(), access, self.total)

    def run_grid(self) -> None:
        for program in range(self.total):
            self._undefined = {}
            self.run_range(program, program + 1)
        if self._found:
            raise SanitizerError(self.plan.function.name, list(self._found.values()))

    def _report(
        self, kind: str, step: Step, message: str, *, argument: str = "",
        index: int | None = None, count: int = 1,
    ) -> None:  # fmt: skip
        key = kind, id(step), argument
        if key in self._found:
            known = self._found[key]
            self._found[key] = replace(known, count=known.count + count)
            return
        program = self.coordinates(self.first)
        self._found[key] = Finding(kind, message, argument, program, index, step.item.span, count)

    # ------------------------------------------------------------------ undefined contents

    def undefined(self, step: Step) -> Array:
        value = super().undefined(step)
        self._mark(value, np.ones(value.shape, np.bool_))
        return value

    def _mark(self, value: Any, lanes: Array) -> None:
        if lanes.any():
            self._undefined[id(value)] = value, lanes

    def _lanes_of(self, value: Any) -> Array | None:
        known = self._undefined.get(id(value))
        return None if known is None else known[1]

    def execute(self, step: Step) -> None:
        if step.opcode in EXECUTORS:
            # What follows the declared operands is carried, which may be undefined.
            names = step.definition.operands
            for name, slot in zip(names, step.operands, strict=False):
                if self._lanes_of(self.regs[slot]) is not None:
                    self._report_undefined(step, name, 1)
        super().execute(step)

    def evaluate(self, step: Step, operands: Sequence[Any]) -> Any:
        value = super().evaluate(step, operands)
        if all(self._lanes_of(operand) is None for operand in operands):
            return value
        if not step.definition.pure:
            self._check_use(step, operands, value)
        elif not isinstance(value, (tuple, list)):
            self._mark(value, self._depends(step, operands, value))
        return value

    def _depends(self, step: Step, operands: Sequence[Any], value: Any) -> Array:
        """Which elements of a result depend on undefined ones: those that change with them."""
        found: Array = np.zeros((), np.bool_)
        for trial in range(4):
            guessed = self._guess(operands, trial)
            found = found | _changed(super().evaluate(step, guessed), value)
        return found

    def _guess(self, operands: Sequence[Any], trial: int) -> list[Any]:
        guessed: dict[int, Any] = {}
        for k, operand in enumerate(operands):
            lanes = self._lanes_of(operand)
            if id(operand) in guessed or lanes is None or isinstance(operand, Pointer):
                guessed.setdefault(id(operand), operand)
                continue
            guesses = _guesses(operand.dtype)
            # Different operands take different values, or their difference would look defined.
            pick = guesses[trial * (k + 1) % len(guesses)]
            guessed[id(operand)] = np.where(lanes, operand.dtype.type(pick), operand)
        return [guessed[id(operand)] for operand in operands]

    def _check_use(self, step: Step, operands: Sequence[Any], value: Any) -> None:
        named = dict(zip(step.definition.operands, operands, strict=False))
        mask = named.get("mask?")
        for name, operand in named.items():
            lanes = self._lanes_of(operand)
            if lanes is None:
                continue
            if name == "other?":
                shown = np.ones(1, np.bool_) if mask is None else ~mask
                self._mark(value, lanes & align(shown, lanes.ndim - 1))
                continue
            if mask is not None and name != "mask?":
                rank = max(lanes.ndim, mask.ndim) - 1
                lanes = align(lanes, rank) & align(mask, rank)
            if lanes.any():
                self._report_undefined(step, name, int(np.count_nonzero(lanes)))

    def _report_undefined(self, step: Step, operand: str, count: int) -> None:
        name = operand.rstrip("?")
        program = self.coordinates(self.first)
        text = f"the {name} of this {step.opcode} is undefined (tl.empty) in program {program}"
        self._report("undefined", step, text, count=count)

    # ------------------------------------------------------------------ memory

    def load(self, step: Step, ptr: Pointer, mask: Array | None, other: Array | None) -> Array:
        lanes = self._inside(step, ptr, mask)
        for window, where, _ in self._parts(ptr, lanes):
            self._note_load(step, window, where)
        return super().load(step, ptr, lanes, other)

    def store(self, step: Step, ptr: Pointer, value: Array, mask: Array | None) -> None:
        lanes = self._inside(step, ptr, mask)
        values = np.broadcast_to(align(value, ptr.array.ndim - 1), lanes.shape)
        for window, where, chosen in self._parts(ptr, lanes):
            self._note_store(step, window, where, encode(values[chosen], window.dtype))
        super().store(step, ptr, value, lanes)

    def _parts(self, ptr: Pointer, lanes: Array) -> Iterator[tuple[Window, Array, Array]]:
        for base, chosen in ptr.arguments(lanes):
            window = self.windows[base]
            yield window, ptr.array[chosen] - window.first, chosen

    def _inside(self, step: Step, ptr: Pointer, mask: Array | None) -> Array:
        """The lanes of an access that stay inside their argument; the others are reported."""
        offsets = ptr.array
        lanes = np.ones(offsets.shape, np.bool_)
        if mask is not None:
            lanes = lanes & align(mask, offsets.ndim - 1)
        for base, chosen in ptr.arguments(lanes):
            window = self.windows[base]
            last = window.first + len(window.elements)
            outside = chosen & ((offsets < window.first) | (offsets >= last))
            if outside.any():
                self._report_outside(step, window, offsets[outside])
                lanes = lanes & ~outside
        return lanes

    def _report_outside(self, step: Step, window: Window, indices: Array) -> None:
        index = int(indices[0])
        where = f"{window.argument}[{index}] in program {self.coordinates(self.first)}"
        text = f"{step.opcode} of {where} is out of bounds ({window.valid})"
        self._report(
            "out-of-bounds", step, text,
            argument=window.argument, index=index, count=len(indices),
        )  # fmt: skip

    def _conflict(
        self, step: Step, window: Window, where: Array, lanes: Array, others: Array, what: str
    ) -> None:
        if not lanes.any():
            return
        lane = int(np.argmax(lanes))
        index = int(where[lane]) + window.first
        other = int(others[lane])
        whom = "other programs" if other == SEVERAL else f"program {self.coordinates(other - 1)}"
        program = self.coordinates(self.first)
        self._report(
            "conflict", step,
            f"{step.opcode} of {window.argument}[{index}] in program {program} {what} {whom}",
            argument=window.argument, index=index, count=int(np.count_nonzero(lanes)),
        )  # fmt: skip

    def _note_load(self, step: Step, window: Window, where: Array) -> None:
        me = self.first + 1
        for last_read, last_write in window.columns or ():
            writers = last_write[where]
            foreign = (writers != 0) & (writers != me)
            self._conflict(step, window, where, foreign, writers, "sees what was stored by")
            readers = last_read[where]
            last_read[where] = np.where((readers == 0) | (readers == me), me, SEVERAL)

    def _note_store(self, step: Step, window: Window, where: Array, values: Array) -> None:
        me = self.first + 1
        unsigned = f"u{window.elements.itemsize}"
        stored = window.elements[where].view(unsigned)
        different = stored != np.ascontiguousarray(values).view(unsigned)
        for last_read, last_write in window.columns or ():
            writers, readers = last_write[where], last_read[where]
            foreign = (writers != 0) & (writers != me) & different
            self._conflict(step, window, where, foreign, writers, "overwrites what was stored by")
            foreign = (readers != 0) & (readers != me)
            self._conflict(step, window, where, foreign, readers, "overwrites what was loaded by")
            last_write[where] = me


def run_checked(plan: Plan, args: Sequence[Any], grid: tuple[int, int, int]) -> None:
    """Run strictly. Raises ``SanitizerError`` after the whole grid when there are findings."""
    CheckedMachine(plan, args, grid).run_grid()
