"""Writing one kernel in the blocked mapping: registers are arrays, loops over them are unrolled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mytriton.analysis.axis import axis_info
from mytriton.analysis.offsets import address_only
from mytriton.analysis.threads import GATHERING
from mytriton.plugin_api import (
    Constant,
    MytritonError,
    Param,
    ScalarType,
    Span,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    UnsupportedFeature,
    operand_type,
    scalar_of,
)
from mytriton_cuda_info import MAX_SHARED

from ..control import Move
from ..kernel import _INDENT, PLAIN_SHARED, Kernel, Pointer, check_supported, numbers
from ..names import Names
from ..prelude import Helpers
from ..scalars import NARROW_FLOATS, convert, literal, value_type
from .demand import Demand, Tiles
from .gathering import BlockedBarriers, gathered
from .reductions import buffer_of, plans
from .tiles import SCALAR, WARP, Layout, Registers

MAX_WARPS = 32
_LOCALS = ("r", "s", "k", "m", "n", "e", "a", "b", "step", "other", "other_at")


def default_warps(elements: int) -> int:
    """Warps for a kernel whose user named none: 4, or more so that no thread holds above 32
    elements of the largest block."""
    warps = 4
    while warps < MAX_WARPS and warps * WARP * 32 < elements:
        warps *= 2
    return warps


def checked_warps(warps: int) -> int:
    """Raises ``MytritonError`` for a number that makes no thread block."""
    if not 1 <= warps <= MAX_WARPS or warps & (warps - 1):
        raise MytritonError(f"num_warps must be a power of two up to {MAX_WARPS}, got {warps}")
    return warps


@dataclass(frozen=True)
class Offset:
    """A pointer that is folded into the accesses that use it."""

    base: SSAOperand
    offset: SSAOperand


class BlockedKernel(Kernel):
    """What renderers see. Text about a block is about the current registers."""

    scalar_layout: Any = SCALAR

    def __init__(
        self, function: SSAFunction, warps: int, divisible_by: Mapping[str, int] | None = None
    ) -> None:
        check_supported(function)
        self.function = function
        self.threads = WARP * checked_warps(warps)
        self.info = axis_info(function, divisible_by)
        self.tiles = Tiles(function, self.info, self.threads)
        self.demand = self._demand = Demand(function, self.tiles)
        self.plans = plans(function, self.demand)
        self._barriers = BlockedBarriers(function, self.demand, self.plans)
        self._address_only = address_only(function)
        self._names = Names(f"v{number}" for number in numbers(function))
        for name in _LOCALS:
            self._names.reserve(name)
        self.helpers = Helpers()
        self._params: dict[str, str] = {}
        self._values: dict[Any, Any] = {}
        self._lines: list[tuple[str, Span | None]] = []
        self._depth = 1
        self._coordinates: dict[str, str] = {}
        self._firsts: dict[tuple[Any, int], str] = {}
        self._scratch: dict[str, tuple[str, int, int]] = {}
        self._buffers: dict[str, str] = {}
        self._at = Registers(SCALAR)
        #: Statements for every register of a layout, written together.
        self._group: tuple[Layout, list[str], list[tuple[str, Span | None]]] | None = None

    def emit_threads(self) -> int:
        return self.threads

    def _shared_bytes(self) -> tuple[int, int]:
        used = sum(count * size for _, count, size in self._scratch.values())
        return (used, 0) if self._bytes() <= PLAIN_SHARED else (0, self._bytes())

    def _bytes(self) -> int:
        """Shared memory with every buffer at a multiple of 16."""
        return sum(_rounded(count * size) for _, count, size in self._scratch.values())

    def _declarations(self) -> list[str]:
        buffers = sorted(self._scratch.items())
        if self._shared_bytes()[1]:
            pool, at = self._names.fresh("shared_memory"), 0
            found = [f"extern __shared__ __align__(16) unsigned char {pool}[];"]
            for name, (kind, count, size) in buffers:
                found.append(f"{kind}* {name} = reinterpret_cast<{kind}*>({pool} + {at});")
                at += _rounded(count * size)
        else:
            found = [f"__shared__ __align__(16) {t} {n}[{c}];" for n, (t, c, _) in buffers]
        return found + [f"int {n} = {e};" for n, e in sorted(self._coordinates.items())]

    # ------------------------------------------------------------------ operands

    def text(self, operand: SSAOperand, layout: Any) -> str:
        if isinstance(operand, Constant):
            return literal(operand)
        if isinstance(operand, Param):
            return self._params[operand.name]
        assert isinstance(operand, SSAValue)
        known = self._values[operand.id, layout]
        if isinstance(known, Offset):
            return str(self._pointer(operand, layout))
        return self.indexed(known, layout)

    def indexed(self, name: str, layout: Layout) -> str:
        """A variable of a layout, at the current register."""
        index = self._at.index(layout)
        return f"{name}[{index}]" if index else name

    def converted(self, operand: SSAOperand, result: Any, ty: ScalarType | None = None) -> str:
        text = self.text(operand, result.operand(operand_type(operand)))
        own = scalar_of(operand_type(operand))  # type: ignore[arg-type]
        if isinstance(operand, Constant) and ty is not None and ty != own:
            return self._constant(operand, ty, text)
        return text if ty is None else convert(text, own, ty, self.helpers)

    def converted_source(self, op: SSAOp, result: Layout) -> str:
        """The operand of a reduction at the current registers."""
        return self.text(op.operands[0], self.demand.source(op, result))

    def fresh(self, name: str) -> str:
        return self._names.fresh(name)

    # ------------------------------------------------------------------ registers

    @contextmanager
    def registers(self, layout: Layout, at: Registers | None = None) -> Iterator[None]:
        """Text is about the registers of ``layout``."""
        before, self._at = self._at, at or Registers(layout)
        yield
        self._at = before

    @contextmanager
    def unrolled(
        self, name: str, count: int, span: Span | None, *, start: int = 0, step: int = 1
    ) -> Iterator[None]:
        """A loop over registers; none for a single one."""
        if count == 1:
            yield
            return
        self.line("#pragma unroll", span)
        head = f"for (int {name} = {start}; {name} < {count}; "
        with self.block(head + (f"++{name})" if step == 1 else f"{name} += {step})"), span):
            yield

    def along(self, axis: int) -> str:
        """The element along an axis of the tile that the current register holds."""
        tile = self._at.layout.tile
        assert tile is not None
        part, each, threads = self._at.part(axis), tile.each[axis], tile.threads[axis]
        if part == "0" or tile.registers(axis) == each:
            moved = "" if part == "0" else part
        elif each == 1:
            moved = f"{_factor(part)} * {threads}"
        else:
            # Runs of `each` elements.
            moved = f"{_factor(part)} / {each} * {each * threads} + {_factor(part)} % {each}"
        first = self.first(axis)
        return " + ".join(t for t in (first, moved) if t) or "0"

    def first(self, axis: int) -> str:
        """The first element of a thread along an axis, ``""`` for 0."""
        tile = self._at.layout.tile
        assert tile is not None
        if tile.threads[axis] == 1:
            return ""
        key = tile, axis
        if key not in self._firsts:
            step, threads, each = tile.steps[axis], tile.threads[axis], tile.each[axis]
            text = "threadIdx.x" if step == 1 else f"threadIdx.x / {step}"
            if step * threads < tile.total:
                text += f" % {threads}"
            text += f" * {each}" if each > 1 else ""
            name = "first" if len(tile.shape) == 1 else f"first_{'ijklmnop'[axis]}"
            self._firsts[key] = name = self._names.fresh(name)
            self._coordinates[name] = text
        return self._firsts[key]

    def inside(self, layout: Layout, extents: Sequence[int]) -> list[str]:
        """Conditions under which the current register holds an element at all."""
        tile = layout.tile
        found = []
        for axis, extent in zip(layout.axes, extents, strict=True):
            if tile is not None and axis is not None and not tile.exact(axis):
                found.append(f"{self.along(axis)} < {extent}")
        return found

    def charged(self, layout: Layout) -> list[str]:
        """Which threads act for a block that is its tile: those that hold elements first."""
        tile = layout.tile
        if tile is None:
            return ["threadIdx.x == 0"]
        return [f"threadIdx.x < {tile.active}"] if tile.active < tile.total else []

    def in_charge(self, layout: Any, shape: tuple[int, ...]) -> list[str]:
        return [*self.charged(layout), *self.inside(layout, shape)]

    def places(self, layout: Any, shape: tuple[int, ...]) -> list[str]:
        return [self.place(layout, axis) for axis in range(len(shape))]

    @contextmanager
    def every(self, layout: Any, span: Span | None) -> Iterator[None]:
        self.flush()
        with self.unrolled("r", layout.count, span), self.registers(layout):
            yield

    def place(self, layout: Layout, axis: int) -> str:
        """The current element's place along an axis of a value."""
        along = layout.axes[axis]
        return "0" if along is None else self.along(along)

    def position(self, layout: Layout, extents: Sequence[int], *, clamp: bool = False) -> str:
        """The row-major number of the current element; with ``clamp`` a valid one in any case."""
        terms: list[str] = []
        step = 1
        for axis, extent in reversed(list(zip(layout.axes, extents, strict=True))):
            if axis is not None:
                text = self.along(axis)
                if clamp and layout.tile is not None and not layout.tile.exact(axis):
                    text = f"({text} < {extent} ? {text} : 0)"
                terms.append(text if step == 1 else f"{_factor(text)} * {step}")
            step *= extent
        return " + ".join(t for t in reversed(terms) if t != "0") or "0"

    # ------------------------------------------------------------------ shared memory

    def scratch(self, ty: ScalarType, count: int) -> str:
        return self.shared(buffer_of(ty), ty, count)

    def shared(self, buffer: str, ty: ScalarType, count: int) -> str:
        """The name of a scratch buffer, which has room for ``count`` values at least."""
        size = 4 if ty in NARROW_FLOATS else ty.itemsize
        return self.raw(buffer, value_type(ty), size, count)

    def raw(self, buffer: str, kind: str, size: int, count: int) -> str:
        """The same for values of any C++ type and their size in bytes."""
        if buffer not in self._buffers:
            self._buffers[buffer] = self._names.fresh(buffer)
        name = self._buffers[buffer]
        most = max(self._scratch.get(name, ("", 0, 0))[1], count)
        self._scratch[name] = (kind, most, size)
        if self._bytes() > MAX_SHARED:
            raise UnsupportedFeature(
                f"limit.shared>{MAX_SHARED}", "a large reduction or matrix product"
            )
        return name

    # ------------------------------------------------------------------ pointers

    def fold(self, op: SSAOp, layout: Layout) -> None:
        base, offset = op.operands
        self._values[op.results[0].id, layout] = Offset(base, offset)

    def element(self, operand: SSAOperand, layout: Any) -> str:
        pointer = self._pointer(operand, layout)
        return f"{pointer.base}[{pointer.index or '0'}]"

    def _pointer(self, operand: SSAOperand, layout: Any) -> Pointer:
        known = self._values.get((operand.id, layout)) if isinstance(operand, SSAValue) else None
        if isinstance(known, Offset):
            inner = self._pointer(known.base, layout.operand(operand_type(known.base)))
            return inner.plus(self.converted(known.offset, layout))
        return Pointer(self.text(operand, layout))

    # ------------------------------------------------------------------ statements

    def line(self, text: str, span: Span | None = None) -> None:
        self.flush()
        super().line(text, span)

    def guarded(
        self, conditions: Sequence[str], statements: Sequence[str], span: Span | None
    ) -> None:
        """Statements under conditions."""
        if conditions:
            with self.block(f"if ({' && '.join(conditions)})", span):
                self.guarded((), statements, span)
        else:
            for statement in statements:
                self.line(statement, span)

    def flush(self) -> None:
        """Write the statements that are waiting."""
        if self._group is None:
            return
        layout, declarations, statements = self._group
        self._group = None
        for text in declarations:
            super().line(text, statements[0][1] if statements else None)
        if statements:
            with self.unrolled("r", layout.count, statements[0][1]):
                for text, span in statements:
                    super().line(text, span)

    def statement(self, layout: Layout, declaration: str, text: str, span: Span | None) -> None:
        """A statement for every register of a layout."""
        if self._group is not None:
            known = self._group[0]
            if known.tile != layout.tile or known.used != layout.used:
                self.flush()
        if self._group is None:
            self._group = layout, [], []
        if declaration:
            self._group[1].append(declaration)
        if text:
            self._group[2].append((text, span))

    def declare(self, value: SSAValue, layout: Any, text: str | None, span: Span | None) -> str:
        name = self._variable(value, layout)
        self._values[value.id, layout] = name
        self.define(name, value_type(value.ty), layout, text, span)
        return name

    def define(
        self, name: str, kind: str, layout: Layout, text: str | None, span: Span | None
    ) -> None:
        """Declare a variable with the registers of a layout."""
        if layout.count == 1:
            start = "" if text is None else f" = {text}"
            self.line(f"{kind} {name}{start};", span)
            return
        with self.registers(layout):
            target = self.indexed(name, layout)
        assign = "" if text is None else f"{target} = {text};"
        self.statement(layout, f"{kind} {name}[{layout.count}];", assign, span)

    def alias(self, value: SSAValue, layout: Any, other: SSAOperand, inner: Any) -> None:
        assert isinstance(other, SSAValue)
        known = self._values[other.id, inner]
        if isinstance(known, Offset):
            with self.registers(layout):
                self.declare(value, layout, self.text(other, inner), None)
        else:
            self._values[value.id, layout] = known

    # ------------------------------------------------------------------ items

    def items(self, items: Sequence[SSAItem]) -> None:
        super().items(items)
        self.flush()

    def _operation(self, op: SSAOp) -> None:
        from .operations import OPERATIONS

        if op.opcode in GATHERING:
            if any(map(self.needed, op.results)):
                self.flush()
                gathered(self, op)
            return
        render = OPERATIONS[op.opcode]
        if op.result is None:
            layout = self._demand.stores[id(op)]
            with self.registers(layout):
                render(self, op, layout)
            return
        (value,) = op.results
        for layout in self._demand.of(value):
            with self.registers(layout):
                text = render(self, op, layout)
            if text is not None:
                self.declare(value, layout, text, op.span)

    # ------------------------------------------------------------------ control flow

    def scalar(self, operand: SSAOperand) -> str:
        return self.text(operand, SCALAR)

    def name_scalar(self, value: SSAValue, name: str) -> None:
        self.name(value, SCALAR, name)

    def assign(self, name: str, layout: Any, text: str, span: Span | None) -> None:
        with self.registers(layout):
            target = self.indexed(name, layout)
        self.statement(layout, "", f"{target} = {text};", span)

    def carry(self, moves: Sequence[Move], span: Span | None) -> None:
        """All carried values move at once: first aside, then to their places."""
        texts = []
        for name, end, layout, result in moves:
            with self.registers(layout):
                text = self.text(end, layout)
            if len(moves) > 1:
                aside = self._names.fresh(f"{name}_next")
                self.define(aside, value_type(result.ty), layout, text, span)
                with self.registers(layout):
                    text = self.indexed(aside, layout)
            texts.append((name, layout, text))
        for name, layout, text in texts:
            self.assign(name, layout, text, span)
        self.flush()


def _rounded(size: int) -> int:
    """A number of bytes, up to a multiple of 16."""
    return -(-size // 16) * 16


def _factor(text: str) -> str:
    return text if text.replace("_", "").isalnum() else f"({text})"


__all__ = ["_INDENT", "BlockedKernel", "checked_warps", "default_warps"]
