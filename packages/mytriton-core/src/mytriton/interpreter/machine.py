"""The machine: runs a plan for a range of programs at once.

Every value is an array with the program axis in front: ``(P, *block_shape)``, where ``P`` is the
number of programs that run together, or 1 for a value they all share. What an operation does comes
from the registry; the machine itself knows structured control flow and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DeviceAssertionError, OutOfBoundsError, format_error, outside_text
from ..ir.evaluate import elementwise
from ..ir.numerics import convert, decode, encode, held_dtype
from ..ir.types import ScalarType, Type, is_pointer, scalar_of, shape_of
from ..ir.values import SSAFunction
from .memory import ConflictError, Window, open_window, program_counter, watch
from .plan import Block, Plan, Step, make_plan, scalar_argument
from .pointers import Offsets, Pointer, align, choose
from .regions import EXECUTORS

Array = npt.NDArray[Any]

#: Block elements that run together: large enough to hide NumPy's cost per call, small enough that
#: temporaries stay in the cache.
CHUNK_ELEMENTS = 1 << 15


class Evaluation:
    """The ``ev`` that the NumPy meaning of an operation receives."""

    __slots__ = ("_machine", "_step")

    def __init__(self, machine: Machine, step: Step) -> None:
        self._machine = machine
        self._step = step

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self._step.attrs

    @property
    def types(self) -> tuple[Type | None, ...]:
        return self._step.types

    @property
    def result_type(self) -> Type | None:
        return self._step.result_type

    @property
    def source(self) -> ScalarType:
        """The scalar type of the first operand."""
        first = self._step.types[0]
        assert first is not None
        return scalar_of(first)

    def program_id(self, axis: int) -> Array:
        """Index of each running program along a grid axis."""
        return self._machine.program_id(axis)

    def num_programs(self, axis: int) -> Array:
        """Extent of the grid along an axis."""
        return np.array([self._machine.grid[axis]], np.int32)

    def print(self, values: Sequence[Array]) -> None:
        """``tl.device_print``: one line for each lane of each value."""
        self._machine.print(self._step, values)

    def check(self, condition: Array, mask: Array | None) -> None:
        """``tl.device_assert``."""
        self._machine.check(self._step, condition, mask)

    def fill(self, value: Array) -> Array:
        """A block of the result type filled with one scalar a program, converted to it."""
        assert self.result_type is not None
        shape = shape_of(self.result_type)
        value = convert(value, self.source, scalar_of(self.result_type))
        return np.broadcast_to(align(value, len(shape)), (len(value), *shape))

    def undefined(self) -> Array:
        """A block of the result type that nothing may be assumed of."""
        return self._machine.undefined(self._step)

    def advance(self, ptr: Pointer, offset: Array) -> Pointer:
        """``ptr`` moved by ``offset`` elements."""
        return self._machine.advance(ptr, offset)

    def load(self, ptr: Pointer, mask: Array | None, other: Array | None) -> Array:
        """What memory holds at ``ptr``; ``other`` (or zero) where the mask is false."""
        return self._machine.load(self._step, ptr, mask, other)

    def store(self, ptr: Pointer, value: Array, mask: Array | None) -> None:
        """Write ``value`` at ``ptr`` where the mask is true."""
        self._machine.store(self._step, ptr, value, mask)

    def region(self, index: int, *args: Any) -> list[Any]:
        """Run a region of the operation with these block arguments; gives what it yields."""
        return self._machine.run_block(self._step.blocks[index], args)


class Machine:
    """One launch. ``run_range`` executes programs together; ``run_grid`` all of them, in order."""

    def __init__(self, plan: Plan, args: Sequence[Any], grid: tuple[int, int, int]) -> None:
        self.plan = plan
        self.grid = grid
        self.total = grid[0] * grid[1] * grid[2]
        self._counter = program_counter(self.total)
        self.windows: dict[int, Window] = {}
        self.initial = list(plan.initial)
        self._base = Offsets(np.zeros(1, np.int64))
        self._bind(args)
        self.regs: list[Any] = []
        self.first = 0
        self.last = 0
        #: Programs that execute the current step (``None``: all): loops of unequal length
        #: leave some idle.
        self.active: Array | None = None
        #: Trips made so far in this chunk on bounds that may yet change (see ``regions``).
        self.trusted_trips = 0
        self._undo: list[tuple[Window, slice | Array, Array]] = []
        self._advanced: dict[int, tuple[Array, Offsets]] = {}

    def _bind(self, args: Sequence[Any]) -> None:
        params = self.plan.function.params
        for position, (param, slot, arg) in enumerate(
            zip(params, self.plan.params, args, strict=True)
        ):
            if not is_pointer(param.ty):
                self.initial[slot] = scalar_argument(arg, scalar_of(param.ty))
                continue
            written = self.plan.access.writes.get(param.name)
            if arg.readonly and written:
                text = f"argument {param.name!r} is read-only and the kernel stores to it"
                raise ValueError(format_error(text, written[0].span))
            self.windows[position] = open_window(param.name, arg)
            self.initial[slot] = Pointer(position, self._base)

    # ------------------------------------------------------------------ programs

    def run_grid(self) -> None:
        """Every program, as if one after another in ascending order."""
        together = max(1, min(self.total, CHUNK_ELEMENTS // self.plan.largest))
        if self.plan.talks:  # what is printed comes once, and in order
            together = 1
        if together > 1:
            watch(self.windows.values(), self.plan.access, self.total)
        for first in range(0, self.total, together):
            last = min(first + together, self.total)
            if not self._run_together(first, last):
                for program in range(first, last):
                    self.run_range(program, program + 1)

    def _run_together(self, first: int, last: int) -> bool:
        """Run a chunk in vectorised steps; false (and memory restored) if that is not possible."""
        if last - first == 1:
            return False
        self._undo = []
        try:
            self.run_range(first, last)
        except (ConflictError, OutOfBoundsError):
            # Out of bounds: perhaps because of a value read too early, and certainly not always in
            # the program that comes first. One at a time, the right one reports.
            for window, where, old in reversed(self._undo):
                window.elements[where] = old
            return False
        return True

    def run_range(self, first: int, last: int) -> None:
        """Programs ``first`` up to ``last`` in vectorised steps."""
        self.first, self.last = first, last
        self.trusted_trips = 0
        self.active = None
        self._advanced = {}
        self.regs = list(self.initial)
        self.run_block(self.plan.body, ())

    @property
    def together(self) -> bool:
        return self.last - self.first > 1

    @property
    def may_meet(self) -> bool:
        """Whether programs of this chunk may see each other's stores."""
        return self.together and any(w.columns for w in self.windows.values())

    def choose(self, condition: Array, new: Any, old: Any) -> Any:
        """``new`` for the programs where ``condition`` holds, else ``old``."""
        return choose(condition, new, old)

    def decides(self, step: Step, operand: str, value: Array) -> None:
        """Control flow depends on a value (strict mode looks at it)."""

    def count_trip(self) -> None:
        """A ``while`` goes round once more (strict mode ends loops that its findings made endless)."""

    def run_block(self, block: Block, args: Sequence[Any]) -> list[Any]:
        """The steps of a block with its arguments bound; gives what it yields."""
        regs = self.regs
        for slot, value in zip(block.args, args, strict=True):
            regs[slot] = value
        for step in block.steps:
            self.execute(step)
            for slot in step.dead:
                regs[slot] = None
        return [regs[slot] for slot in block.yields]

    def execute(self, step: Step) -> None:
        """One item."""
        executor = EXECUTORS.get(step.opcode)
        if executor is not None:
            self.define(step, executor(self, step))
        elif step.results:
            value = self.evaluate(step, [self.regs[slot] for slot in step.operands])
            self.define(step, value if isinstance(value, (tuple, list)) else (value,))
        else:
            self.evaluate(step, [self.regs[slot] for slot in step.operands])

    def define(self, step: Step, values: Sequence[Any]) -> None:
        for slot, value in zip(step.results, values, strict=True):
            self.regs[slot] = value

    def evaluate(self, step: Step, operands: Sequence[Any]) -> Any:
        """The meaning of an operation without regions of its own flow."""
        definition = step.definition
        if definition.elementwise:
            assert step.result_type is not None
            shape = shape_of(step.result_type)
            arrays: list[Any] = [a if a is None else align(a, len(shape)) for a in operands]
            value = elementwise(definition, step.attrs, step.types, step.result_type, arrays)
            if value.shape[1:] != shape:
                value = np.broadcast_to(value, (*value.shape[:1], *shape))
            return value
        # A canonical layout: the order NumPy reduces in must not depend on how many programs run.
        arrays = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in operands]
        meaning: Callable[..., Any] | None = definition.numpy
        if meaning is None:
            raise NotImplementedError(f"the interpreter cannot execute {step.opcode!r}")
        evaluation = Evaluation(self, step)
        if len(arrays) == 1 and isinstance(arrays[0], Pointer) and is_pointer(step.result_type):  # type: ignore[arg-type]
            return arrays[0].rearranged(lambda array: meaning(evaluation, array))
        return meaning(evaluation, *arrays)

    def undefined(self, step: Step) -> Array:
        """Contents of a block that was never written: zeros, as good as any."""
        assert step.result_type is not None
        dtype = held_dtype(scalar_of(step.result_type))
        return np.zeros((1, *shape_of(step.result_type)), dtype)

    def program_id(self, axis: int) -> Array:
        """Index along ``axis`` of each running program; axis 0 counts fastest."""
        if self.grid[axis] == 1:
            return np.zeros(1, np.int32)
        before = int(np.prod(self.grid[:axis], dtype=np.int64))
        numbers = np.arange(self.first, self.last, dtype=np.int64)
        return (numbers // before % self.grid[axis]).astype(np.int32)

    def coordinates(self, number: int) -> tuple[int, int, int]:
        """The program id of the ``number``-th program."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    # ------------------------------------------------------------------ memory

    def advance(self, ptr: Pointer, offset: Array) -> Pointer:
        rank = max(ptr.array.ndim, offset.ndim) - 1
        if ptr.offsets is not self._base:
            moved = align(ptr.array, rank) + align(offset, rank).astype(np.int64)
            return Pointer(ptr.base, Offsets(moved))
        # Arrays are often indexed alike: what is learnt about the offsets is shared.
        known = self._advanced.get(id(offset))
        if known is None or known[0] is not offset:
            if len(self._advanced) > 8:
                self._advanced = {}
            known = self._advanced[id(offset)] = offset, Offsets(offset.astype(np.int64))
        return Pointer(ptr.base, known[1])

    def _lanes(self, mask: Array | None, rank: int) -> Array | None:
        """The mask of an access, idle programs included; ``None`` when every lane takes part."""
        if mask is not None:
            mask = align(mask, rank)
        if self.active is not None:
            active = align(self.active, rank)
            mask = active if mask is None else mask & active
        return None if mask is None or mask.all() else mask

    def _programs(self, shape: tuple[int, ...], lanes: Array | None) -> tuple[Any, Any]:
        """First and last program (counted from 1) that accesses each lane of ``shape``."""
        if shape[0] == 1:  # an access that all programs share
            return self.first + 1, self.last
        numbers = np.arange(self.first + 1, self.last + 1, dtype=self._counter)
        flat = np.broadcast_to(align(numbers, len(shape) - 1), shape)
        chosen = flat.reshape(-1) if lanes is None else flat[lanes]
        return chosen, chosen

    def load(self, step: Step, ptr: Pointer, mask: Array | None, other: Array | None) -> Array:
        rank = ptr.array.ndim - 1
        lanes = self._lanes(mask, rank)
        if lanes is None and isinstance(ptr.base, int):
            window = self.windows[ptr.base]
            where = self._whole(step, window, ptr.offsets)
            return self._read(window, where, ptr.array.shape, None).reshape(ptr.array.shape)
        lanes = np.ones((1,) * (rank + 1), np.bool_) if lanes is None else lanes
        parts = [ptr.array, lanes] if other is None else [ptr.array, lanes, align(other, rank)]
        offsets, lanes, *rest = np.broadcast_arrays(*parts)
        assert step.result_type is not None
        dtype = held_dtype(scalar_of(step.result_type))
        result = rest[0].astype(dtype) if rest else np.zeros(offsets.shape, dtype)
        for base, chosen in ptr.arguments(lanes):
            window = self.windows[base]
            where = self._some(step, window, offsets, chosen)
            result[chosen] = self._read(window, where, offsets.shape, chosen)
        return result

    def store(self, step: Step, ptr: Pointer, value: Array, mask: Array | None) -> None:
        rank = ptr.array.ndim - 1
        value = align(value, rank)
        lanes = self._lanes(mask, rank)
        if lanes is None and isinstance(ptr.base, int) and len(ptr.array) >= len(value):
            window = self.windows[ptr.base]
            where = self._whole(step, window, ptr.offsets)
            flat = np.broadcast_to(value, ptr.array.shape).reshape(-1)
            self._write(window, where, flat, ptr.array.shape, None)
            return
        lanes = np.ones((1,) * (rank + 1), np.bool_) if lanes is None else lanes
        offsets, lanes, value = np.broadcast_arrays(ptr.array, lanes, value)
        for base, chosen in ptr.arguments(lanes):
            window = self.windows[base]
            where = self._some(step, window, offsets, chosen)
            self._write(window, where, value[chosen], offsets.shape, chosen)

    def _whole(self, step: Step, window: Window, offsets: Offsets) -> slice | Array:
        """Where in the window all lanes are: a slice when they follow one another."""
        low, high = offsets.range
        if window.outside(low, high):
            self._complain(step, window, offsets.array, np.ones(offsets.array.shape, np.bool_))
        if offsets.consecutive:
            return slice(low - window.first, high - window.first + 1)
        flat = offsets.array.reshape(-1)
        return flat - window.first if window.first else flat

    def _some(self, step: Step, window: Window, offsets: Array, lanes: Array) -> Array:
        """Where in the window the chosen lanes are."""
        flat = offsets[lanes]
        if flat.size and window.outside(int(flat.min()), int(flat.max())):
            self._complain(step, window, offsets, lanes)
        return flat - window.first if window.first else flat

    def _read(
        self, window: Window, where: slice | Array, shape: tuple[int, ...], lanes: Array | None
    ) -> Array:
        if self.together and (window.columns is not None or window.once):
            window.note_read(where, *self._programs(shape, lanes))
        found = window.elements[where]
        # A slice is a view, and later stores must not show in what was loaded.
        return decode(found.copy() if isinstance(where, slice) else found, window.dtype)

    def _write(
        self,
        window: Window,
        where: slice | Array,
        values: Array,
        shape: tuple[int, ...],
        lanes: Array | None,
    ) -> None:
        if self.together:
            window.note_write(where, *self._programs(shape, lanes), self.first)
            self._undo.append((window, where, window.elements[where].copy()))
        # Indices are one-dimensional: NumPy assigns them in order, so the last lane wins.
        window.elements[where] = encode(values, window.dtype)

    def print(self, step: Step, values: Sequence[Array]) -> None:
        if self.active is not None and not self.active.any():
            return
        start = f"pid {self.coordinates(self.first)}"
        prefix = step.attrs["prefix"]
        spell = hex if step.attrs.get("hex") else str
        for number, value in enumerate(values):
            name = f" (operand {number})" if len(values) > 1 else ""
            for lane in np.ndindex(value.shape[1:]):
                where = f"{start} idx ({', '.join(map(str, lane))})"
                print(f"{where}{prefix}{name} {spell(value[0][lane].item())}")
        if not values:
            print(f"{start} idx (){prefix}")

    def check(self, step: Step, condition: Array, mask: Array | None) -> None:
        lanes = self._lanes(mask, condition.ndim - 1)
        failed = (
            ~condition if lanes is None else np.logical_and(*np.broadcast_arrays(~condition, lanes))
        )
        if not failed.any():
            return
        lane = tuple(int(k) for k in np.argwhere(failed)[0][1:])
        where = f" at index {lane}" if lane else ""
        message = step.attrs["message"]
        raise DeviceAssertionError(
            f"device_assert failed in program {self.coordinates(self.first)}{where}"
            + (f": {message}" if message else ""),
            step.item.span,
        )

    def _complain(self, step: Step, window: Window, offsets: Array, lanes: Array) -> None:
        last = window.first + len(window.elements)
        outside = lanes & ((offsets < window.first) | (offsets >= last))
        lane = tuple(np.argwhere(outside)[0])
        index = int(offsets[lane])
        program = self.coordinates(self.first + int(lane[0]))
        raise OutOfBoundsError(
            outside_text(step.opcode, window.argument, index, program, window.valid),
            step.item.span, argument=window.argument, index=index, program=program,
        )  # fmt: skip


def run(
    function: SSAFunction | Plan,
    args: Sequence[Any],
    grid: tuple[int, int, int],
    *,
    sanitize: bool | str = False,
) -> None:
    """Run ``function`` over ``grid``. ``args`` follow its parameters: an ``ArgView`` for an array,
    a Python bool, int or float for a scalar. Memory afterwards is as if the programs had run one
    after another, axis 0 fastest; ``sanitize`` (true, or a mode of ``sanitizer.run_checked``) checks
    strictly and raises ``SanitizerError``.
    """
    plan = function if isinstance(function, Plan) else make_plan(function)
    with np.errstate(all="ignore"):
        if sanitize:
            from .sanitizer import run_checked

            run_checked(plan, args, grid, sanitize if isinstance(sanitize, str) else "1")
        else:
            Machine(plan, args, grid).run_grid()
