"""Strict mode: the grid runs in vectorised steps, and everything suspicious is collected.

It finds accesses outside an argument (the lane is then skipped), unspecified values that reach an
address, a mask, a condition or a store (``tl.empty`` contents, division by zero, shifts by the
width, signed overflow in offsets), programs that race, and on request NaNs that an operation made
of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DeviceAssertionError, OutOfBoundsError, SanitizerError
from ..ir.numerics import encode
from ..ir.registry import Effect
from .findings import Findings, Lanes
from .hazards import Ranges, know, slice_of, undefined_lanes
from .machine import CHUNK_ELEMENTS, Machine
from .memory import ConflictError, Window, watch
from .plan import Block, Plan, Step
from .pointers import Pointer, align
from .races import SEVERAL, Conflict, Ledger, clashes, keep_ledgers
from .regions import EXECUTORS
from .taint import Taints

Array = npt.NDArray[Any]

#: Elements that may be kept for all values of the programs that run together.
KEPT_ELEMENTS = 1 << 23
#: Structured operations that hand values on as they are, so that marks stay with them.
CARRIERS = frozenset({"for", "if", "while"})
#: Trips of ``while`` loops that a chunk may make after the first finding. A lane that was skipped
#: loads zero, and what waits for another value would wait forever.
PATIENCE = 10_000


class _EndlessError(Exception):
    """A loop goes on because of what was found. Never leaves this module."""


class CheckedMachine(Machine):
    """A machine that collects findings. All values are kept, to tell how one came about."""

    def __init__(
        self, plan: Plan, args: Sequence[Any], grid: tuple[int, int, int], *, nan: bool = False,
        kinds: frozenset[str] | None = None,
    ) -> None:  # fmt: skip
        """``kinds`` are the findings wanted (``None``: all); ``nan`` asks for NaNs too."""
        super().__init__(plan, args, grid)
        self._known = know(plan)
        self._nan = nan
        self._kinds = kinds
        #: Whether only bounds are looked at: the launch then does what it does without strict mode.
        self._plain = kinds is not None and kinds <= {"out-of-bounds"}
        self._begin()

    def _begin(self) -> None:
        self.findings = Findings(self, self._kinds)
        self.taints = Taints()
        self._ranges = Ranges()
        windows = self.windows.values()
        self._ledgers = {} if self._plain else keep_ledgers(windows, self.plan.access, self.total)
        #: Slots whose values had NaNs made of numbers, and in which lanes.
        self._births: dict[int, tuple[Step, Array]] = {}
        self._trips = 0
        #: The access in progress, and which of its lanes have no usable address.
        self._step: Step | None = None
        self._skip: Array | None = None
        #: While a combine function runs: its region, and the marks of what it yields.
        self._combining: Block | None = None
        self._combined: list[Array] = []

    # ------------------------------------------------------------------ the grid

    def run_grid(self) -> None:
        together = min(CHUNK_ELEMENTS // self.plan.largest, KEPT_ELEMENTS // self._known.elements)
        together = 1 if self.plan.talks else max(1, min(self.total, together))
        if self._plain and together > 1:
            watch(self.windows.values(), self.plan.access, self.total)
        waits = self._known.waits and not self._plain
        saved = self._save() if together > 1 and waits else []
        try:
            self._run_chunks(together)
        except ConflictError:  # a program waits for one that runs with it
            for window, contents in saved:
                window.elements[:] = contents
            self._begin()
            self._run_chunks(1)
        except _EndlessError:
            pass
        except DeviceAssertionError as error:
            if self.findings:
                raise self._error() from error
            raise
        if self.findings:
            raise self._error()

    def _run_chunks(self, together: int) -> None:
        for first in range(0, self.total, together):
            self.taints.clear()
            self._ranges.clear()
            self._births.clear()
            self._trips = 0
            for ledger in self._ledgers.values():
                ledger.forget_stores()
            last = min(first + together, self.total)
            if not self._plain:
                self.run_range(first, last)
            elif not self._run_together(first, last):
                for program in range(first, last):
                    self._trips = 0
                    self.run_range(program, program + 1)

    def _run_together(self, first: int, last: int) -> bool:
        found = self.findings.copy()
        if super()._run_together(first, last):
            return True
        self.findings = found  # perhaps of values read too early
        return False

    def _save(self) -> list[tuple[Window, Array]]:
        written = self.plan.access.writes
        return [(w, w.elements.copy()) for w in self.windows.values() if w.argument in written]

    def _error(self) -> SanitizerError:
        return SanitizerError(self.plan.function.name, self.findings.all())

    @property
    def may_meet(self) -> bool:
        return super().may_meet if self._plain else self.together and bool(self._ledgers)

    def count_trip(self) -> None:
        self._trips += bool(self.findings)
        if self._trips > PATIENCE:
            raise _EndlessError

    def meaning_of(self, step: Step, *operands: Any) -> Any:
        """What an operation gives for other operands."""
        return super().evaluate(step, operands)

    # ------------------------------------------------------------------ values

    def run_block(self, block: Block, args: Sequence[Any]) -> list[Any]:
        regs = self.regs
        for slot, value in zip(block.args, args, strict=True):
            regs[slot] = value
        for step in block.steps:
            self.execute(step)
        found = [regs[slot] for slot in block.yields]
        if block is self._combining and self.taints:
            marks = [self.taints.of(value) for value in found]
            self._combined += [m for m in marks if m is not None]
        return found

    def execute(self, step: Step) -> None:
        if step.opcode in EXECUTORS and step.opcode not in CARRIERS:
            self.define(step, self._combine(step))
        else:
            super().execute(step)

    def _combine(self, step: Step) -> list[Any]:
        """A structured operation whose region works on lanes: what is marked there marks the result
        they end in, and marked operands are tried with other contents."""
        executor = EXECUTORS[step.opcode]
        slots = step.operands
        operands = [self.regs[slot] for slot in slots]

        def again(_: Step, guessed: Sequence[Any]) -> list[Any]:
            for slot, value in zip(slots, guessed, strict=True):
                self.regs[slot] = value
            try:
                return executor(self, step)
            finally:
                for slot, value in zip(slots, operands, strict=True):
                    self.regs[slot] = value

        self._combining, self._combined = step.blocks[0], []
        try:
            values = executor(self, step)
        finally:
            self._combining = None
        for value in values:
            for marks in self._combined:
                rows = marks.reshape(value.size, -1) if marks.size % value.size == 0 else marks
                causes = rows.max(axis=1).reshape(value.shape) if rows.ndim == 2 else marks.max()
                self.taints.mark(value, np.asarray(causes))
        if self.taints:
            self.taints.spread(again, step, operands, values)
        for slot, value in zip(step.results, values, strict=True):
            if self._nan and value.dtype.kind == "f":
                self._look_for_nan(step, operands, value, slot)
        return values

    def evaluate(self, step: Step, operands: Sequence[Any]) -> Any:
        if not step.definition.pure:
            return self._effect(step, operands)
        value = super().evaluate(step, operands)
        if self._plain:
            return value
        undefined: Array | None = None
        if id(step) in self._known.partial:
            undefined = undefined_lanes(step, operands)
            if undefined.any():
                value = self._born(step.definition.hazard, step, undefined, value, operands)
        if id(step) in self._known.offsets:
            lanes = self._ranges.overflow(step, operands, value)
            if lanes is not None and undefined is not None:  # no result that could be too large
                lanes = lanes & ~undefined
            if lanes is not None:
                value = self._born("overflow", step, lanes, value, operands)
        if self.taints:
            self.taints.spread(super().evaluate, step, operands, value)
        if self._nan and self._combining is None and isinstance(value, np.ndarray):
            if value.dtype.kind == "f":
                self._look_for_nan(step, operands, value, step.results[0])
        return value

    def _born(
        self, kind: str, step: Step, lanes: Array, value: Array, operands: Sequence[Any]
    ) -> Array:
        """A result with lanes that are unspecified from here on."""
        if any(value is operand for operand in operands):
            value = value.copy()
        number = self.taints.number(kind, step)
        self.taints.mark(value, np.where(lanes, np.int16(number), np.int16(0)))
        return value

    def undefined(self, step: Step) -> Array:
        value = super().undefined(step)
        if self._plain:
            return value
        number = self.taints.number("undefined", step)
        self.taints.mark(value, np.full(value.shape, number, np.int16))
        return value

    def choose(self, condition: Array, new: Any, old: Any) -> Any:
        value = super().choose(condition, new, old)
        if self.taints and value is not new:
            a, b = self.taints.of(new), self.taints.of(old)
            if a is not None or b is not None:
                rank = (value.array if isinstance(value, Pointer) else value).ndim - 1
                marks = np.where(align(condition, rank), _or_nothing(a), _or_nothing(b))
                self.taints.mark(value, marks)
        return value

    # ------------------------------------------------------------------ uses

    def decides(self, step: Step, operand: str, value: Array) -> None:
        marks = self.taints.of(value) if self.taints else None
        if marks is None:
            return
        if self._combining is not None:  # rows are no programs here: the result depends on it
            self._combined.append(marks)
            return
        if step.opcode == "while":
            slot = step.blocks[0].yields[0]
        else:
            slot = step.operands[step.definition.operands.index(operand)]
        self._report_use(step, operand, slot, marks, self._running(0))

    def _running(self, rank: int) -> Array:
        """Which programs run, broadcastable to values of a rank."""
        if self.active is None:
            return np.ones((1,) * (rank + 1), np.bool_)
        return align(self.active, rank)

    def _effect(self, step: Step, operands: Sequence[Any]) -> Any:
        """An operation that does something with its operands."""
        self._step, self._skip = step, None
        if not self.taints:
            return super().evaluate(step, operands)
        names = [*step.definition.operands]
        if step.definition.variadic:
            names += [names[-1]] * (len(operands) - len(names))
        named = list(zip(names, operands, step.operands, strict=False))
        mask = next((value for name, value, _ in named if name == "mask?"), None)
        hidden: Array | None = None
        for name, value, slot in named:
            marks = None if value is None else self.taints.of(value)
            if marks is None:
                continue
            rank = max(marks.ndim - 1, 0 if mask is None else mask.ndim - 1)
            marks = align(marks, rank)
            if name == "other?":
                hidden = marks if mask is None else np.where(align(mask, rank), 0, marks)
                continue
            lanes = self._running(rank)
            if mask is not None and name != "mask?":
                lanes = lanes & align(mask, rank)
            self._report_use(step, name.rstrip("?*"), slot, marks, lanes)
            if name in ("ptr", "mask?"):
                skip = marks != 0
                self._skip = skip if self._skip is None else _either(self._skip, skip)
        found = super().evaluate(step, operands)
        if hidden is not None and isinstance(found, np.ndarray):
            self.taints.mark(found, hidden)
        return found

    def _report_use(self, step: Step, operand: str, slot: int, marks: Array, lanes: Array) -> None:
        marks, lanes = np.broadcast_arrays(marks, lanes)
        used = np.where(lanes, marks, 0)
        for number in np.unique(used[used != 0]).tolist():
            where = Lanes.of(used == number, self)
            self.findings.use(self.taints.cause(number), step, operand, slot, where)

    # ------------------------------------------------------------------ memory

    def load(self, step: Step, ptr: Pointer, mask: Array | None, other: Array | None) -> Array:
        mask = self._usable(ptr, mask)
        try:
            return super().load(step, ptr, mask, other)
        except OutOfBoundsError:
            return super().load(step, ptr, self._inside(step, ptr, mask), other)

    def store(self, step: Step, ptr: Pointer, value: Array, mask: Array | None) -> None:
        if self._nan and value.dtype.kind == "f" and np.isnan(value).any():
            self._report_nan(step, ptr, value, mask)
        mask = self._usable(ptr, mask)
        try:
            super().store(step, ptr, value, mask)
        except OutOfBoundsError:
            super().store(step, ptr, value, self._inside(step, ptr, mask))

    def _usable(self, ptr: Pointer, mask: Array | None) -> Array | None:
        """The mask without lanes whose address nobody knows."""
        if self._skip is None:
            return mask
        kept: Array = align(~self._skip, ptr.array.ndim - 1)
        if mask is not None:
            kept = kept & align(mask, kept.ndim - 1)
        return kept

    def _inside(self, step: Step, ptr: Pointer, mask: Array | None) -> Array:
        """The lanes of an access that stay inside their argument; the others are reported."""
        rank = ptr.array.ndim - 1
        lanes = self._lanes(mask, rank)
        lanes = np.ones((1,) * (rank + 1), np.bool_) if lanes is None else lanes
        offsets, lanes = np.broadcast_arrays(ptr.array, lanes)
        kept: Array = lanes.copy()
        for base, chosen in ptr.arguments(lanes):
            window = self.windows[base]
            last = window.first + len(window.elements)
            outside = chosen & ((offsets < window.first) | (offsets >= last))
            if outside.any():
                where = Lanes.of(outside, self)
                self.findings.outside(step, window, offsets[outside], where)
                kept &= ~outside
        return kept

    def _ledger(self, window: Window) -> Ledger | None:
        """Where the access in progress is entered. Atomic ones are not: they do not race."""
        assert self._step is not None
        if Effect.ATOMIC in self._step.definition.effects:
            return None
        return self._ledgers.get(window.argument)

    def _numbers(self, shape: tuple[int, ...], lanes: Array | None) -> Array:
        """The program of each lane of an access, or one number for all."""
        if shape[0] == 1:
            return np.asarray(SEVERAL if self.together else self.first + 1, self._counter)
        found, _ = self._programs(shape, lanes)
        return np.asarray(found)

    def _read(
        self, window: Window, where: slice | Array, shape: tuple[int, ...], lanes: Array | None
    ) -> Array:
        ledger = self._ledger(window)
        if ledger is not None:
            conflicts = ledger.note_read(where, self._numbers(shape, lanes))
            self._report_conflicts(window, where, shape, lanes, conflicts)
        return super()._read(window, where, shape, lanes)

    def _write(
        self,
        window: Window,
        where: slice | Array,
        values: Array,
        shape: tuple[int, ...],
        lanes: Array | None,
    ) -> None:
        if self._plain:
            super()._write(window, where, values, shape, lanes)
            return
        ledger = self._ledger(window)
        unsigned = f"u{window.elements.itemsize}"
        stored = np.ascontiguousarray(encode(values, window.dtype))
        if stored.dtype != window.elements.dtype:
            stored = stored.astype(window.elements.dtype)
        if ledger is None:
            window.elements[where] = stored
            return
        programs = self._numbers(shape, lanes)
        bits = stored.view(unsigned)
        different = np.asarray(window.elements[where]).view(unsigned) != bits
        conflicts = list(ledger.note_write(where, programs, different))
        window.elements[where] = stored
        if not isinstance(where, slice) and (window.elements[where].view(unsigned) != bits).any():
            conflicts += clashes(where, bits, programs)
        self._report_conflicts(window, where, shape, lanes, conflicts)

    def _report_conflicts(
        self, window: Window, where: slice | Array, shape: tuple[int, ...], lanes: Array | None,
        conflicts: Iterator[Conflict] | list[Conflict],
    ) -> None:  # fmt: skip
        assert self._step is not None
        for conflict in conflicts:
            found = conflict.lanes
            at = found + where.start if isinstance(where, slice) else where[found]
            flat = found if lanes is None else np.flatnonzero(lanes)[found]
            place = Lanes(flat, shape, len(flat), self.together and shape[0] == 1)
            self.findings.conflict(self._step, window, at + window.first, conflict, place)

    # ------------------------------------------------------------------ NaN

    def _look_for_nan(self, step: Step, operands: Sequence[Any], value: Array, slot: int) -> None:
        """Note the lanes in which an operation made a NaN of numbers."""
        new: Array = np.isnan(value)
        if not new.any():
            return
        rank = value.ndim - 1
        for operand in operands:
            if isinstance(operand, np.ndarray) and operand.dtype.kind == "f":
                old: Array = np.isnan(operand)
                if not step.definition.elementwise:
                    old = np.asarray(old.reshape(len(old), -1).any(axis=1))
                new = new & ~align(old, rank)
        new = new & self._running(rank)
        if not new.any():
            return
        known = self._births.get(slot)
        if known is None:
            self.regs[slot] = value
            self.findings.prepare_nan(step, slot, Lanes.of(new, self))
            self._births[slot] = step, new
        elif known[1].shape == new.shape:
            self._births[slot] = step, known[1] | new

    def _report_nan(self, step: Step, ptr: Pointer, value: Array, mask: Array | None) -> None:
        """A store of NaNs: made by what the stored value is computed from, in the same program."""
        rank = max(ptr.array.ndim, value.ndim) - 1
        lanes: Array = np.isnan(align(value, rank)) & self._running(rank)
        if mask is not None:
            lanes = lanes & align(mask, rank)
        stored = _rows(lanes)
        made_of = slice_of(self.plan, step.item.inputs[1])
        for slot, (birth, born) in self._births.items():
            both = stored & _rows(born)
            if both.any() and not made_of.isdisjoint(v.id for v in birth.item.results):
                where = Lanes.of(born & align(both, born.ndim - 1), self)
                self.findings.nan(birth, slot, step, where)
                stored = stored & ~both


def _rows(lanes: Array) -> Array:
    """The programs with any of the lanes."""
    found: Array = np.asarray(lanes.reshape(len(lanes), -1).any(axis=1))
    return found


def _or_nothing(marks: Array | None) -> Array:
    return np.zeros((), np.int16) if marks is None else marks


def _either(a: Array, b: Array) -> Array:
    rank = max(a.ndim, b.ndim) - 1
    return align(a, rank) | align(b, rank)


def run_checked(
    plan: Plan, args: Sequence[Any], grid: tuple[int, int, int], mode: str = "1"
) -> None:
    """Run strictly. ``mode`` is ``"1"``, ``"nan"`` (NaNs too) or ``"bounds"`` (accesses outside
    arguments only). Raises ``SanitizerError`` after the whole grid when there are findings."""
    kinds = frozenset({"out-of-bounds"}) if mode == "bounds" else None
    CheckedMachine(plan, args, grid, nan=mode == "nan", kinds=kinds).run_grid()
