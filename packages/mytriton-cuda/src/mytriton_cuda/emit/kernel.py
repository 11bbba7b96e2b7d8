"""Writing one kernel: names of values, statements, loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mytriton.analysis.offsets import address_only
from mytriton.analysis.threads import (
    GATHERING,
    Barriers,
    Demand,
    Layout,
    gathering_in_combine,
    operand_layout,
    structured,
    tile_of,
)
from mytriton.plugin_api import (
    Constant,
    Param,
    ScalarType,
    Span,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    UnsupportedFeature,
    get_op,
    is_pointer,
    operand_type,
    scalar_of,
    shape_of,
    walk,
)

from .control import Move, control
from .coordinates import coordinate
from .loops import parallel_copy
from .names import Names, kernel_name, plain
from .prelude import Helpers
from .reduction import custom_reduction
from .renderers import RENDERERS
from .scalars import NARROW_FLOATS, convert, from_memory, literal, stored_type, value_type

_INDENT = "    "
MAX_THREADS = 1024
#: Bytes of shared memory that a kernel may use without asking for them at launch.
PLAIN_SHARED = 48 * 1024


@dataclass(frozen=True)
class Pointer:
    """A pointer as far as it is folded into array indexing: ``base[index]``."""

    base: str
    index: str = ""

    def plus(self, offset: str) -> Pointer:
        return Pointer(str(self), offset)

    def __str__(self) -> str:
        return f"({self.base} + {self.index})" if self.index else self.base


@dataclass
class Emitted:
    """The text of a kernel and what launching it takes."""

    text: str
    entry: str
    #: Threads of one block.
    threads: int
    #: Bytes of static shared memory.
    shared_bytes: int
    #: Where each line of the text (from 1) comes from, as far as it is known.
    spans: dict[int, Span] = field(default_factory=dict)
    #: Bytes of shared memory that the launch has to ask for.
    dynamic_bytes: int = 0


class Kernel:
    """What renderers see: operands as text, the tile, and a place to write statements."""

    scalar_layout: Any = ()

    def __init__(self, function: SSAFunction) -> None:
        self.function = function
        self.tile = tile_of(function)
        if self.tile.threads > MAX_THREADS:
            raise UnsupportedFeature(
                f"limit.block>{MAX_THREADS}", f"a block of {self.tile.threads}"
            )
        check_supported(function)
        self.helpers = Helpers()
        self._demand: Any = Demand(function, self.tile)
        self._barriers = Barriers(function, self._demand, value_type)
        self._address_only = address_only(function)
        self._names = Names(f"v{number}" for number in numbers(function))
        self._params: dict[str, str] = {}
        self._values: dict[Any, Any] = {}
        self._lines: list[tuple[str, Span | None]] = []
        self._depth = 1
        #: Coordinate name -> expression.
        self._coordinates: dict[str, str] = {}
        self._places: dict[tuple[int, int], str] = {}
        #: Scratch buffer -> (C++ type, elements, bytes of one).
        self._scratch: dict[str, tuple[str, int, int]] = {}

    def emit(self) -> Emitted:
        """Write everything."""
        entry = kernel_name(self.function.name)
        parameters, conversions = self._parameters()
        self.items(self.function.body)
        prelude = self.helpers.text()
        head = ['extern "C" __global__', f"void {entry}({', '.join(parameters)}) {{"]
        opening = [*self._declarations(), *conversions]
        lines: list[tuple[str, Span | None]] = [(text, None) for text in head]
        lines += [(_INDENT + text, None) for text in opening]
        lines += [*self._lines, ("}", None)]
        first = prelude.count("\n") + 1
        spans = {first + k: span for k, (_, span) in enumerate(lines) if span is not None}
        text = prelude + "".join(f"{line}\n" for line, _ in lines)
        static, dynamic = self._shared_bytes()
        return Emitted(text, entry, self.emit_threads(), static, spans, dynamic)

    def _shared_bytes(self) -> tuple[int, int]:
        """Bytes of static shared memory, and those that the launch has to ask for."""
        return sum(count * size for _, count, size in self._scratch.values()), 0

    def emit_threads(self) -> int:
        """Threads of one block."""
        return self.tile.threads

    # ------------------------------------------------------------------ operands

    def text(self, operand: SSAOperand, layout: Layout) -> str:
        """An operand as an expression of its own type, in exactly ``layout``."""
        if isinstance(operand, Constant):
            return literal(operand)
        if isinstance(operand, Param):
            return self._params[operand.name]
        assert isinstance(operand, SSAValue)
        return str(self._values[operand.id, layout])

    def converted(self, operand: SSAOperand, result: Layout, ty: ScalarType | None = None) -> str:
        """An operand that broadcasts to a result in layout ``result``, converted to ``ty``."""
        text = self.text(operand, operand_layout(result, operand_type(operand)))
        own = scalar_of(operand_type(operand))  # type: ignore[arg-type]
        if isinstance(operand, Constant) and ty is not None and ty != own:
            return self._constant(operand, ty, text)
        return text if ty is None else convert(text, own, ty, self.helpers)

    def _constant(self, operand: Constant, ty: ScalarType, text: str) -> str:
        """A constant in another type, if that is as good as converting it at run time."""
        exact = operand.ty.is_integer() and abs(operand.value) < 1 << 11
        if exact and ty.is_integer():
            low, high = ty.int_range()
            exact = low <= operand.value <= high
        if exact and not ty.is_bool():
            return literal(Constant(operand.value, ty))
        return convert(text, operand.ty, ty, self.helpers)

    def layouts(self, op: SSAOp) -> Sequence[Any]:
        """The layouts the result of ``op`` is needed in."""
        found: Sequence[Any] = self._demand.of(op.results[0])
        return found

    def address_only(self, op: SSAOp) -> bool:
        """Whether overflow of the result may be undefined."""
        return op.results[0].id in self._address_only

    # ------------------------------------------------------------------ threads

    def coordinate(self, stride: int, extent: int) -> str:
        """A thread's place along an axis, as a name or ``threadIdx.x``."""
        if extent == 1:
            return "0"
        if (stride, extent) not in self._places:
            name, expression = coordinate(self.tile, stride, extent)
            if name:
                if name not in _OURS:
                    name = self._names.fresh(name)
                self._coordinates[name] = expression
            self._places[stride, extent] = name or expression
        return self._places[stride, extent]

    def thread(self) -> str:
        """The thread's number as an ``int``."""
        self._coordinates["thread"] = "threadIdx.x"
        return "thread"

    def in_charge(self, layout: Any, shape: tuple[int, ...]) -> list[str]:
        """The conditions under which a thread acts for the element it shares with others."""
        found = []
        for stride, extent in self.tile.spare(layout, shape):
            if extent:
                found.append(f"{self.coordinate(stride, extent)} == 0")
            else:
                found.append("threadIdx.x == 0" if stride == 1 else f"threadIdx.x < {stride}")
        return found

    def places(self, layout: Any, shape: tuple[int, ...]) -> list[str]:
        """The place of a thread's element along every axis."""
        return [self.coordinate(s, e) for s, e in zip(layout, shape, strict=True)]

    @contextmanager
    def every(self, layout: Any, span: Span | None) -> Iterator[None]:
        """Statements for every element that a thread holds: here one."""
        yield

    def own(self, operand: SSAOperand) -> Any:
        """The layout in which a value is printed."""
        return self._demand.own(shape_of(operand_type(operand)))  # type: ignore[arg-type]

    def scratch(self, ty: ScalarType, count: int) -> str:
        """A shared buffer for ``count`` values. One buffer per C++ type serves the whole kernel."""
        label = "f32" if ty in NARROW_FLOATS else ty.name
        name = f"scratch_{label}"
        if name not in self._scratch:
            name = self._names.fresh(name) if name not in _OURS else name
        size = 4 if ty in NARROW_FLOATS else ty.itemsize
        known = self._scratch.get(name, ("", 0, 0))[1]
        self._scratch[name] = (value_type(ty), max(known, count), size)
        return name

    def _declarations(self) -> list[str]:
        """Shared memory and coordinates. A tile of rank 2 and up has all of its coordinates."""
        if len(self.tile.shape) > 1 and any(n.startswith("tile_") for n in self._coordinates):
            for stride, extent in zip(self.tile.layout, self.tile.shape, strict=True):
                if extent > 1:
                    self.coordinate(stride, extent)
        found = [f"__shared__ {t} {n}[{c}];" for n, (t, c, _) in sorted(self._scratch.items())]
        return found + [f"int {n} = {e};" for n, e in sorted(self._coordinates.items())]

    def _parameters(self) -> tuple[list[str], list[str]]:
        """Declarations of the parameters, and statements that bring 16-bit floats to registers."""
        parameters, conversions = [], []
        for param in self.function.params:
            name = self._names.fresh(plain(param.name))
            self._params[param.name] = name
            ty = param.ty
            if not isinstance(ty, ScalarType) or ty not in NARROW_FLOATS:
                parameters.append(f"{value_type(ty)} {name}")
                continue
            bits = self._names.fresh(f"{name}_bits")
            parameters.append(f"{stored_type(ty)} {bits}")
            conversions.append(f"float {name} = {from_memory(bits, ty, self.helpers)};")
        return parameters, conversions

    # ------------------------------------------------------------------ pointers

    def fold_pointer(self, op: SSAOp, layout: Layout) -> None:
        """``base + offset``, to be folded into the accesses that use it."""
        base, offset = op.operands
        pointer = self._pointer(base, operand_layout(layout, operand_type(base)))
        self._values[op.results[0].id, layout] = pointer.plus(self.converted(offset, layout))

    def element(self, operand: SSAOperand, layout: Layout) -> str:
        """The memory element a pointer points to, as an lvalue."""
        pointer = self._pointer(operand, layout)
        return f"{pointer.base}[{pointer.index or '0'}]"

    def _pointer(self, operand: SSAOperand, layout: Layout) -> Pointer:
        if isinstance(operand, SSAValue):
            known = self._values[operand.id, layout]
            return known if isinstance(known, Pointer) else Pointer(known)
        return Pointer(self.text(operand, layout))

    # ------------------------------------------------------------------ statements

    def line(self, text: str, span: Span | None = None) -> None:
        """Write one line."""
        self._lines.append((_INDENT * self._depth + text, span))

    @contextmanager
    def block(self, head: str, span: Span | None = None) -> Iterator[None]:
        """``head { ... }``."""
        self.line(f"{head} {{", span)
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}", span)

    def declare(self, value: SSAValue, layout: Layout, text: str | None, span: Span | None) -> str:
        """Declare the variable of a value."""
        name = self._variable(value, layout)
        self._values[value.id, layout] = name
        start = "" if text is None else f" = {text}"
        self.line(f"{value_type(value.ty)} {name}{start};", span)
        return name

    def temporary(self, name: str) -> str:
        """A name that nothing else has."""
        return self._names.fresh(name)

    def alias(self, value: SSAValue, layout: Layout, other: SSAOperand, inner: Layout) -> None:
        """Let a value be another one, seen in another shape."""
        pointers = is_pointer(value.ty)
        self._values[value.id, layout] = (
            self._pointer(other, inner) if pointers else self.text(other, inner)
        )

    def _variable(self, value: SSAValue, layout: Layout) -> str:
        place = list(self._demand.of(value)).index(layout)
        return f"v{value.id}" if place == 0 else self._names.fresh(f"v{value.id}_{place + 1}")

    # ------------------------------------------------------------------ items

    def items(self, items: Sequence[SSAItem]) -> None:
        """Write what has to happen of a body."""
        for item in items:
            if self._barriers.before(item):
                # A comment where no shared memory nearby says why.
                why = (
                    "" if item.opcode in GATHERING else "  // program order: what is above is done"
                )
                self.line(f"__syncthreads();{why}", item.span)
            if structured(item):
                if id(item) in self._demand.loops:
                    control(self, item)
            else:
                assert isinstance(item, SSAOp)
                self._operation(item)

    def _operation(self, op: SSAOp) -> None:
        if op.opcode == "reduce":
            custom_reduction(self, op)
            return
        render = RENDERERS[op.opcode]
        if op.result is None:
            render(self, op, self._demand.stores[id(op)])
            return
        (value,) = op.results
        for layout in self._demand.of(value):
            text = render(self, op, layout)
            if text is not None:
                self.declare(value, layout, text, op.span)

    # ------------------------------------------------------------------ control flow

    def needed(self, value: SSAValue) -> Sequence[Any]:
        """The layouts a value is needed in."""
        found: Sequence[Any] = self._demand.of(value)
        return found

    def scalar(self, operand: SSAOperand) -> str:
        """A scalar as an expression."""
        return self.text(operand, ())

    def name_scalar(self, value: SSAValue, name: str) -> None:
        """Let a scalar be the variable ``name``."""
        self.name(value, (), name)

    def name(self, value: SSAValue, layout: Any, name: str) -> None:
        """Let a value be the variable ``name``, which is declared already."""
        self._values[value.id, layout] = name

    @contextmanager
    def registers(self, layout: Any) -> Iterator[None]:
        """Text is about the registers of ``layout``: here a thread has one."""
        yield

    def assign(self, name: str, layout: Any, text: str, span: Span | None) -> None:
        """Give a declared variable a value."""
        self.line(f"{name} = {text};", span)

    def carry(self, moves: Sequence[Move], span: Span | None) -> None:
        """The end of a trip: all carried values move at once."""
        texts = [(name, self.text(end, layout)) for name, end, layout, _ in moves]
        types = {name: value_type(result.ty) for name, _, _, result in moves}
        for text in parallel_copy(texts, types, self._names):
            self.line(text, span)

    def flush(self) -> None:
        """Write the statements that are waiting: none are."""


#: Names that are kept from parameters, whatever they are.
_OURS = frozenset({"tile_i", "tile_j", "tile_k", "thread"})


def numbers(function: SSAFunction) -> Iterator[int]:
    for item in walk(function.body):
        yield from (value.id for value in item.results)
        yield from (arg.id for region in item.regions for arg in region.args)


def check_supported(function: SSAFunction) -> None:
    """Raise ``UnsupportedFeature`` for what has no renderer."""
    for item in walk(function.body):
        if structured(item) or item.opcode == "reduce":
            continue
        if item.opcode not in RENDERERS:
            raise UnsupportedFeature(get_op(item.opcode).feature_id, span=item.span)
    if (inner := gathering_in_combine(function)) is not None:
        raise UnsupportedFeature("reduce.custom", "a reduction in it", inner.span)


def emit(function: SSAFunction) -> Emitted:
    """The CUDA C++ of ``function``, one thread per element.

    Raises ``UnsupportedFeature`` for an operation without a renderer, and for a block that has more
    elements than a thread block has threads.
    """
    return Kernel(function).emit()
