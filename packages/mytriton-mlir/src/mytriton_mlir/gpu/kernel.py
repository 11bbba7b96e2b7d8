"""Writing one kernel in the GPU dialect: one thread per element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mytriton.analysis.pointers import pointer_roots
from mytriton.analysis.threads import (
    Barriers,
    Demand,
    Layout,
    gathering_in_combine,
    operand_layout,
    structured,
    tile_of,
)
from mytriton.plugin_api import (
    I32,
    Constant,
    Param,
    PointerType,
    ScalarType,
    Span,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    UnsupportedFeature,
    element_of,
    get_op,
    operand_type,
    scalar_of,
    shape_of,
    walk,
)

from .arithmetic import compare
from .branches import write_if, write_while
from .float8 import STEPS as FLOAT8_STEPS
from .float8 import step as float8_step
from .loops import write_loop
from .lowerings import LOWERINGS
from .names import Names, kernel_name, plain
from .pointers import Pointer
from .reduction import write_reduce
from .scalars import (
    conversion,
    converted_constant,
    memory_type,
    memref,
    scratch_type,
    value_type,
)
from .text import Body

MAX_THREADS = 1024
#: Bytes of shared memory that every GPU gives a block.
MAX_SHARED = 48 * 1024
#: Depth of a function's body in the text.
_DEPTH = 3
#: What writes an operation with regions, and binds its results.
REGIONS: dict[str, Callable[[Kernel, SSAOp], None]] = {
    "if": write_if, "while": write_while, "reduce": write_reduce,
}  # fmt: skip
_TILE_NAMES = ("tile_i", "tile_j", "tile_k")


@dataclass
class Emitted:
    """The text of a kernel and what launching it takes."""

    text: str
    entry: str
    #: Threads of one block.
    threads: int
    #: Bytes of workgroup memory.
    shared_bytes: int
    #: Where each line of the text (from 1) comes from, as far as it is known.
    spans: dict[int, Span] = field(default_factory=dict)


class Kernel:
    """What lowerings see: operands by name, the tile, and a place to write operations."""

    def __init__(self, function: SSAFunction) -> None:
        self.function = function
        self.tile = tile_of(function)
        if self.tile.threads > MAX_THREADS:
            raise UnsupportedFeature(
                f"limit.block>{MAX_THREADS}", f"a block of {self.tile.threads}"
            )
        _check(function)
        self.demand = Demand(function, self.tile)
        self.roots = pointer_roots(function)
        self._barriers = Barriers(function, self.demand, lambda ty: scratch_type(ty).name)
        self.body = Body(Names(_reserved(function)), _DEPTH)
        self._params: dict[str, str | Pointer] = {}
        self._values: dict[tuple[int, Layout], str | Pointer] = {}
        self._places: dict[tuple[int, int], str] = {}
        #: Axes of the grid that are read -> name of the block's number there.
        self._blocks: dict[int, str] = {}
        #: Axes of the grid whose extent is read -> its name.
        self._grid: dict[int, str] = {}
        self._thread = ""
        #: Scratch type and number of the buffer -> its name.
        self._scratch: dict[tuple[ScalarType, int], str] = {}

    def emit(self) -> Emitted:
        """Write everything."""
        entry = kernel_name(self.function.name)
        parameters = ", ".join(self._parameters())
        self.items(self.function.body)
        self.body.span = None
        self.body.line("gpu.return")
        opening = [(f"{'  ' * _DEPTH}{text}", None) for text in self._opening()]
        head: list[tuple[str, Span | None]] = [
            ("module attributes {gpu.container_module} {", None),
            ("  gpu.module @kernels {", None),
            (f"    gpu.func @{entry}({parameters}){self._workgroup()} kernel {{", None),
        ]
        tail: list[tuple[str, Span | None]] = [("    }", None), ("  }", None), ("}", None)]
        lines = [*head, *opening, *self.body.lines, *tail]
        spans = {k: span for k, (_, span) in enumerate(lines, 1) if span is not None}
        shared = sum(ty.itemsize * self.tile.threads for ty, _ in self._scratch)
        if shared > MAX_SHARED:
            raise UnsupportedFeature(
                f"limit.shared>{MAX_SHARED}", f"{shared} bytes of shared memory"
            )
        text = "".join(f"{line}\n" for line, _ in lines)
        return Emitted(text, entry, self.tile.threads, shared, spans)

    # ------------------------------------------------------------------ operands

    def value(self, operand: SSAOperand, layout: Layout) -> str:
        """The name of an operand, in exactly ``layout``."""
        if isinstance(operand, Constant):
            return self.body.constant(operand)
        found = self._find(operand, layout)
        assert isinstance(found, str)
        return found

    def pointer(self, operand: SSAOperand, layout: Layout) -> Pointer:
        """A pointer operand, in exactly ``layout``."""
        found = self._find(operand, layout)
        assert isinstance(found, Pointer)
        return found

    def _find(self, operand: SSAOperand, layout: Layout) -> str | Pointer:
        if isinstance(operand, Param):
            return self._params[operand.name]
        assert isinstance(operand, SSAValue)
        return self._values[operand.id, layout]

    def operand(self, operand: SSAOperand, result: Layout, ty: ScalarType, stem: str) -> str:
        """The name of an operand that broadcasts to a result in layout ``result``, as a ``ty``.
        ``stem`` begins the names of values that are needed on the way."""
        own = scalar_of(operand_type(operand))  # type: ignore[arg-type]
        if isinstance(operand, Constant):
            return self.body.constant(operand if own == ty else converted_constant(operand, ty))
        name = self.value(operand, operand_layout(result, operand_type(operand)))
        for text in self.steps(name, own, ty, stem):
            name = text
        return name

    def steps(self, name: str, src: ScalarType, dst: ScalarType, stem: str) -> Iterator[str]:
        """Names of what a conversion gives, one after the other; the last is the result."""
        for operation, ty in conversion(src, dst):
            text = self.convert(operation, name, src, ty, stem)
            name, src = self.body.define(text, f"{stem}_{ty}"), ty
            yield name

    def convert(
        self, operation: str, name: str, src: ScalarType, dst: ScalarType, stem: str
    ) -> str:
        """One step of a conversion (see ``scalars.conversion``)."""
        if operation in FLOAT8_STEPS:
            return float8_step(self.body, operation, name, src, dst, stem)
        if operation == "!= 0":
            return compare("!=", name, self.body.constant(Constant(0, src)), src)
        if operation == "llvm.freeze":
            return f"llvm.freeze {name} : {value_type(dst)}"
        return f"{operation} {name} : {value_type(src)} to {value_type(dst)}"

    def base_of(self, param: str) -> str:
        """The memref of a parameter."""
        found = self._params[param]
        assert isinstance(found, Pointer)
        return found.base

    def layouts(self, op: SSAOp) -> Sequence[Layout]:
        """The layouts the result of ``op`` is needed in."""
        return self.demand.of(op.results[0])

    # ------------------------------------------------------------------ threads

    def block(self, axis: int) -> str:
        """The program's number along an axis of the grid."""
        if axis not in self._blocks:
            self._blocks[axis] = "%" + self.body.names.fresh(f"block_id_{'xyz'[axis]}")
        return self._blocks[axis]

    def programs(self, axis: int) -> str:
        """The extent of the grid along an axis."""
        if axis not in self._grid:
            self._grid[axis] = "%" + self.body.names.fresh(f"grid_dim_{'xyz'[axis]}")
        return self._grid[axis]

    def thread(self) -> str:
        """The thread's number."""
        if not self._thread:
            self._thread = "%" + self.body.names.fresh("thread_id_x")
        return self._thread

    def coordinate(self, stride: int, extent: int) -> str:
        """The thread's place ``(thread / stride) % extent``."""
        if extent == 1:
            return self.body.number(0, I32)
        if (stride, extent) not in self._places:
            self._places[stride, extent] = self._coordinate(stride, extent)
        return self._places[stride, extent]

    def _coordinate(self, stride: int, extent: int) -> str:
        divides, wraps = self.tile.coordinate(stride, extent)
        name = self.thread()
        axis = self.tile.axis(stride, extent)
        whole = f"thread_{stride}_{extent}"
        if axis is not None:
            whole = _TILE_NAMES[axis] if len(self.tile.shape) <= 3 else f"tile_{axis}"
        if divides:
            by = self.body.number(stride, I32)
            wanted = f"{whole}_rest" if wraps else whole
            name = self.body.lift(f"arith.divui {name}, {by} : i32", wanted)
        if wraps:
            by = self.body.number(extent, I32)
            name = self.body.lift(f"arith.remui {name}, {by} : i32", whole)
        return name

    def in_charge(self, layout: Layout, pointer: SSAOperand, stem: str) -> list[str]:
        """The conditions under which a thread stores the element it shares with others."""
        shape = shape_of(operand_type(pointer))  # type: ignore[arg-type]
        found = []
        for stride, extent in self.tile.spare(layout, shape):
            if extent or stride == 1:
                place = self.coordinate(stride, extent) if extent else self.thread()
                text = compare("==", place, self.body.number(0, I32), I32)
            else:
                text = f"arith.cmpi ult, {self.thread()}, {self.body.number(stride, I32)} : i32"
            found.append(self.body.define(text, f"{stem}_first"))
        return found

    def scratch(self, ty: ScalarType, place: int) -> str:
        """Workgroup memory for a value of each thread. The buffers of a type, by their number,
        serve the whole kernel."""
        if (ty, place) not in self._scratch:
            wanted = f"scratch_{ty}_{place}" if place else f"scratch_{ty}"
            self._scratch[ty, place] = "%" + self.body.names.fresh(wanted)
        return self._scratch[ty, place]

    def scratch_memref(self, ty: ScalarType) -> str:
        """The type of a scratch buffer."""
        count = self.tile.threads
        return f"memref<{count}x{memory_type(ty)}, #gpu.address_space<workgroup>>"

    # ------------------------------------------------------------------ the frame

    def _parameters(self) -> Iterator[str]:
        for param in self.function.params:
            name = "%" + self.body.names.fresh(plain(param.name))
            element = element_of(param.ty)
            if isinstance(element, PointerType):
                self._params[param.name] = Pointer(name, element.element)
                yield f"{name}: {memref(element.element)}"
            else:
                self._params[param.name] = name
                yield f"{name}: {value_type(element)}"

    def _workgroup(self) -> str:
        if not self._scratch:
            return ""
        listed = ", ".join(
            f"{name}: {self.scratch_memref(ty)}" for (ty, _), name in self._scratch.items()
        )
        return f" workgroup({listed})"

    def _opening(self) -> Iterator[str]:
        """The numbers of the block and of the thread."""
        ids = [(f"block_id {'xyz'[axis]}", name) for axis, name in sorted(self._blocks.items())]
        ids += [("thread_id x", self._thread)] if self._thread else []
        ids += [(f"grid_dim {'xyz'[axis]}", name) for axis, name in sorted(self._grid.items())]
        short = {"block_id": "bid", "thread_id": "tid", "grid_dim": "dim"}
        casts = []
        for query, name in ids:
            kind, axis_name = query.split()
            raw = "%" + self.body.names.fresh(f"{short[kind]}_{axis_name}")
            yield f"{raw} = gpu.{query}"
            casts.append(f"{name} = arith.index_cast {raw} : index to i32")
        yield from casts

    # ------------------------------------------------------------------ items

    def items(self, items: Sequence[SSAItem]) -> None:
        """Write items, those of their regions included."""
        for item in items:
            with self.body.item(item.span):
                if self._barriers.before(item):
                    self.body.line("gpu.barrier")
                self._item(item)

    def _item(self, item: SSAItem) -> None:
        if structured(item) and id(item) not in self.demand.loops:
            return
        if isinstance(item, SSAForRange):
            write_loop(self, item)
        elif item.opcode in REGIONS:
            REGIONS[item.opcode](self, item)
        else:
            self._operation(item)

    def _operation(self, op: SSAOp) -> None:
        lower = LOWERINGS[op.opcode]
        if op.result is None:
            lower(self, op, self.demand.stores[id(op)], "")
            return
        (value,) = op.results
        for layout in self.demand.of(value):
            name = self.name(value, layout)
            found = lower(self, op, layout, name)
            if isinstance(found, str) and not found.startswith("%"):
                self.body.line(f"%{name} = {found}")
                found = f"%{name}"
            assert found is not None
            self._values[value.id, layout] = found

    def name(self, value: SSAValue, layout: Layout) -> str:
        """What a value is called in one of its layouts, without the ``%``."""
        place = list(self.demand.of(value)).index(layout)
        return f"v{value.id}" if place == 0 else self.body.names.fresh(f"v{value.id}_{place + 1}")

    def bind(self, value: SSAValue, layout: Layout, found: str | Pointer) -> None:
        """Say what a value is in one of its layouts."""
        self._values[value.id, layout] = found


def _reserved(function: SSAFunction) -> Iterator[str]:
    """Names that go with the number of a value, kept from parameters."""
    for item in walk(function.body):
        for value in (*item.results, *(arg for region in item.regions for arg in region.args)):
            yield f"v{value.id}"


def _check(function: SSAFunction) -> None:
    """Raise ``UnsupportedFeature`` for what has no lowering here."""
    for item in walk(function.body):
        known = isinstance(item, SSAForRange) or item.opcode in REGIONS
        if not known and item.opcode not in LOWERINGS:
            raise UnsupportedFeature(get_op(item.opcode).feature_id, span=item.span)
    if (inner := gathering_in_combine(function)) is not None:
        raise UnsupportedFeature("reduce.custom", "a reduction in it", inner.span)


def emit(function: SSAFunction) -> Emitted:
    """The MLIR of ``function``, one thread per element.

    Raises ``UnsupportedFeature`` for an operation or type without a lowering, and for a block that
    has more elements than a thread block has threads.
    """
    return Kernel(function).emit()
