"""Reductions over a block: a tree in workgroup memory.

The operands come in row-major order, so that element ``e`` is held by thread ``e`` and lies in
``scratch[e]``; elements are added onto each other until the first of each group is its result. Every
thread that needs a result reads it there, so it may be laid out in any way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mytriton.analysis.threads import Layout, natural, size
from mytriton.plugin_api import (
    BOOL,
    I32,
    ScalarType,
    SSAOp,
    SSAOperand,
    operand_type,
    shape_of,
)

from .arithmetic import combine, compare, first_of
from .scalars import scratch_type, value_type
from .table import lowers, scalar

if TYPE_CHECKING:
    from .kernel import Kernel

#: Two lists of elements -> the names of what is left of them.
Combine = Callable[[list[str], list[str]], list[str]]


@dataclass(frozen=True)
class Lane:
    """One of the values that are reduced together, in its scratch buffer."""

    ty: ScalarType
    #: The name of this thread's element.
    source: str
    #: Name and type of the buffer.
    buffer: str
    memref: str

    @property
    def work(self) -> ScalarType:
        """The type of the buffer."""
        return scratch_type(self.ty)

    def put(self, k: Kernel, name: str, slot: str) -> None:
        """Store a value of the working type."""
        k.body.line(f"memref.store {name}, {self.buffer}[{slot}] : {self.memref}")

    def get(self, slot: str) -> str:
        """The text that reads one."""
        return f"memref.load {self.buffer}[{slot}] : {self.memref}"

    def widened(self, k: Kernel, name: str, stem: str) -> str:
        """A value in the working type."""
        if self.work == self.ty or not (self.ty == BOOL or self.work.is_floating()):
            return name
        widen = "arith.extui" if self.ty == BOOL else "arith.extf"
        text = f"{widen} {name} : {value_type(self.ty)} to {value_type(self.work)}"
        return k.body.define(text, f"{stem}_{self.work}_in")

    def narrowed(self, k: Kernel, text: str, stem: str) -> str:
        """The text of a value, from that of the working type."""
        if self.work == self.ty or not (self.ty == BOOL or self.work.is_floating()):
            return text
        name = text if text.startswith("%") else k.body.define(text, f"{stem}_{self.work}")
        if self.ty == BOOL:
            return compare("!=", name, k.body.number(0, self.work), self.work)
        return f"arith.truncf {name} : {value_type(self.work)} to {value_type(self.ty)}"


def lane_of(k: Kernel, ty: ScalarType, source: str, place: int) -> Lane:
    """A lane in the scratch buffer with number ``place`` of its type."""
    work = scratch_type(ty)
    return Lane(ty, source, k.scratch(work, place), k.scratch_memref(work))


@lowers("sum", "max", "min", "xor_sum")
def reduction(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    """The text that reads the result in ``layout``; the first layout also gets the tree."""
    (operand,) = op.operands
    shape, ty = block_shape(operand), scalar(operand)
    source = k.value(operand, natural(shape))
    if size(shape) == 1:
        return source
    lane = lane_of(k, ty, source, 0)
    if layout == k.layouts(op)[0]:

        def step(mine: list[str], other: list[str]) -> list[str]:
            text = combine(op.opcode, mine[0], other[0], lane.work, parity=ty == BOOL)
            return [k.body.define(text, f"{stem}_both")]

        write_tree(k, op, [lane], stem, step)
    return lane.narrowed(k, lane.get(result_slot(k, op, layout, stem)), stem)


@lowers("argmax", "argmin")
def _position(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    (operand,) = op.operands
    shape, ty = block_shape(operand), scalar(operand)
    if size(shape) == 1:
        return k.body.number(0, I32)
    # Groups of one go the same way as others: its barriers order what is around it.
    extent, inner = _group(op, shape)
    value = lane_of(k, ty, k.value(operand, natural(shape)), 0)
    place = lane_of(k, I32, k.coordinate(inner, extent), 1)
    if layout == k.layouts(op)[0]:
        symbol = ">" if op.opcode == "argmax" else "<"

        def step(mine: list[str], other: list[str]) -> list[str]:
            def write(text: str, what: str) -> str:
                return k.body.define(text, f"{stem}_{what}")

            return first_of(symbol, mine, other, value.work, write)

        write_tree(k, op, [value, place], stem, step)
    return place.get(result_slot(k, op, layout, stem))


def write_reduce(k: Kernel, op: SSAOp) -> None:
    """Write a reduction with a function of the user's, and bind its results."""
    if not any(map(k.demand.of, op.results)):
        return
    shape = block_shape(op.operands[0])
    sources = [k.value(operand, natural(shape)) for operand in op.operands]
    stem = f"v{op.results[0].id}"
    types = [scalar(operand) for operand in op.operands]
    # Types that are widened to the same one must not meet in one buffer.
    works = [scratch_type(ty) for ty in types]
    lanes = [
        lane_of(k, ty, source, works[:place].count(works[place]))
        for place, (ty, source) in enumerate(zip(types, sources, strict=True))
    ]
    if size(shape) != 1:
        write_tree(k, op, lanes, stem, lambda mine, other: _called(k, op, lanes, mine, other))
    for lane, value in zip(lanes, op.results, strict=True):
        for layout in k.demand.of(value):
            name = k.name(value, layout)
            found = lane.source
            if size(shape) != 1:
                text = lane.narrowed(k, lane.get(result_slot(k, op, layout, name)), name)
                k.body.line(f"%{name} = {text}")
                found = f"%{name}"
            k.bind(value, layout, found)


def _called(
    k: Kernel, op: SSAOp, lanes: Sequence[Lane], mine: list[str], other: list[str]
) -> list[str]:
    (region,) = op.regions
    twice = [*lanes, *lanes]
    for arg, lane, name in zip(region.args, twice, [*mine, *other], strict=True):
        stem = f"v{arg.id}"
        text = lane.narrowed(k, name, stem)
        k.bind(arg, (), name if text == name else k.body.define(text, stem))
    k.items(region.body)
    found = [k.value(operand, ()) for operand in region.yields]
    return [
        lane.widened(k, name, f"v{value.id}")
        for lane, name, value in zip(lanes, found, op.results, strict=True)
    ]


# ------------------------------------------------------------------ the tree


def block_shape(operand: SSAOperand) -> tuple[int, ...]:
    """The shape of an operand."""
    return shape_of(operand_type(operand))  # type: ignore[arg-type]


def store_all(k: Kernel, lanes: Sequence[Lane], count: int, stem: str) -> tuple[str, str]:
    """Every thread's elements to the buffers. Returns this thread's slot, and the condition under
    which it has one (``""``: it does)."""
    body, thread = k.body, k.thread()
    named = [lane.widened(k, lane.source, stem) for lane in lanes]
    active = ""
    if count < k.tile.threads:
        text = f"arith.cmpi ult, {thread}, {body.number(count, I32)} : i32"
        active = body.define(text, f"{stem}_active")
    slot = body.define(f"arith.index_cast {thread} : i32 to index", f"{stem}_slot")
    with body.block(f"scf.if {active}") if active else nullcontext():
        for lane, name in zip(lanes, named, strict=True):
            lane.put(k, name, slot)
    return slot, active


def write_tree(k: Kernel, op: SSAOp, lanes: Sequence[Lane], stem: str, step: Combine) -> None:
    """Reduce what the lanes hold. Sums of halves; neighbours in order for a function of the
    user's, which may look at the order."""
    body, shape = k.body, block_shape(op.operands[0])
    count = size(shape)
    slot, active = store_all(k, lanes, count, stem)
    body.line("gpu.barrier")
    extent, inner = _group(op, shape)
    if extent == 1:
        return
    ordered = op.opcode == "reduce"
    member = k.thread()
    if not ordered and extent * inner != count:
        text = f"arith.remui {member}, {body.number(extent * inner, I32)} : i32"
        member = body.define(text, f"{stem}_member")
    place = k.coordinate(inner, extent) if ordered else ""
    with _strides(k, extent, inner, stem, ordered) as stride:
        if ordered:
            guard = _first_of_pair(k, place, stride, inner, stem)
        else:
            guard = body.define(f"arith.cmpi ult, {member}, {stride} : i32", f"{stem}_adds")
        if active and (ordered or extent * inner != count):
            # Threads beyond the block are in no group.
            guard = body.define(f"arith.andi {guard}, {active} : i1", f"{stem}_adds_here")
        with body.block(f"scf.if {guard}"):
            _step(k, lanes, slot, stride, stem, step)
        body.line("gpu.barrier")


@contextmanager
def _strides(k: Kernel, extent: int, inner: int, stem: str, ordered: bool) -> Iterator[str]:
    """A loop over the strides of a tree: down by halves, or, to keep the order, up by doubles."""
    body = k.body
    halvings = extent.bit_length() - 1
    first = inner if ordered else extent * inner // 2
    if halvings == 1:
        yield body.number(first, I32)
        return
    start, step = body.number(0, I32), body.number(1, I32)
    stop, half = body.number(halvings, I32), body.number(first, I32)
    level = "%" + body.names.fresh(f"{stem}_level")
    shift = "shli" if ordered else "shrui"
    with body.block(f"scf.for {level} = {start} to {stop} step {step} : i32"):
        yield body.define(f"arith.{shift} {half}, {level} : i32", f"{stem}_stride")


def _first_of_pair(k: Kernel, place: str, stride: str, inner: int, stem: str) -> str:
    """Whether the place in the group is a multiple of twice the stride (in places)."""
    body = k.body
    if inner != 1:
        text = f"arith.divui {stride}, {body.number(inner, I32)} : i32"
        stride = body.define(text, f"{stem}_places")
    double = body.define(f"arith.addi {stride}, {stride} : i32", f"{stem}_double")
    rest = body.define(f"arith.subi {double}, {body.number(1, I32)} : i32", f"{stem}_rest")
    apart = body.define(f"arith.andi {place}, {rest} : i32", f"{stem}_apart")
    return body.define(compare("==", apart, body.number(0, I32), I32), f"{stem}_adds")


def _step(
    k: Kernel, lanes: Sequence[Lane], slot: str, stride: str, stem: str, step: Combine
) -> None:
    body = k.body
    mine = [body.define(lane.get(slot), f"{stem}_mine") for lane in lanes]
    at = body.define(f"arith.addi {k.thread()}, {stride} : i32", f"{stem}_at")
    there = body.define(f"arith.index_cast {at} : i32 to index", f"{stem}_other_slot")
    other = [body.define(lane.get(there), f"{stem}_other") for lane in lanes]
    for lane, name in zip(lanes, step(mine, other), strict=True):
        lane.put(k, name, slot)


def _group(op: SSAOp, shape: tuple[int, ...]) -> tuple[int, int]:
    """How many elements make one result, and how far apart they lie."""
    axis = op.attrs.get("axis")
    if axis is None:
        return size(shape), 1
    return shape[axis], size(shape[axis + 1 :])


def result_slot(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    """Where in the scratch buffer this thread's result lies, as an index."""
    shape, axis = block_shape(op.operands[0]), op.attrs.get("axis")
    kept = [] if axis is None else [a for a in range(len(shape)) if a != axis]
    return slot_of(k, shape, dict(zip(kept, layout, strict=True)), stem)


def slot_of(k: Kernel, shape: tuple[int, ...], strides: dict[int, int], stem: str) -> str:
    """The row-major index of this thread's element among axes laid out with ``strides``; the other
    axes are at their start."""
    total = ""
    for a, stride in strides.items():
        if shape[a] == 1:
            continue
        place = k.coordinate(stride, shape[a])
        step = size(shape[a + 1 :])
        if step != 1:
            text = f"arith.muli {place}, {k.body.number(step, I32)} : i32"
            place = k.body.define(text, f"{stem}_row")
        if total:
            place = k.body.define(f"arith.addi {total}, {place} : i32", f"{stem}_place")
        total = place
    if not total:
        return k.body.index(0)
    return k.body.define(f"arith.index_cast {total} : i32 to index", f"{stem}_index")
