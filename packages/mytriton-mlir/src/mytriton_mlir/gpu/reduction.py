"""Reductions over a block: a tree in workgroup memory.

The operand comes in row-major order, so that element ``e`` is held by thread ``e`` and lies in
``scratch[e]``; halves are added onto each other until the first element of each group is its
result. Every thread that needs a result reads it there, so it may be laid out in any way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from mytriton.analysis.threads import Layout, natural, size
from mytriton.plugin_api import BOOL, I32, ScalarType, SSAOp, operand_type, scalar_of, shape_of

from .arithmetic import combine, compare
from .scalars import scratch_type, value_type

if TYPE_CHECKING:
    from .kernel import Kernel


def reduction(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    """The text that reads the result in ``layout``; the first layout also gets the tree."""
    (operand,) = op.operands
    shape = shape_of(operand_type(operand))  # type: ignore[arg-type]
    ty = scalar_of(op.results[0].ty)
    work = scratch_type(ty)
    source = k.value(operand, natural(shape))
    if size(shape) == 1:
        return source
    scratch = k.scratch(work, size(shape))
    if layout == k.layouts(op)[0]:
        _tree(k, op, shape, source, scratch, stem)
    place = _place(k, op, shape, layout, stem)
    text = f"memref.load {scratch}[{place}] : {k.scratch_memref(work)}"
    if work == ty:
        return text
    name = k.body.define(text, f"{stem}_{work}")
    if ty == BOOL:
        return compare("!=", name, k.body.number(0, work), work)
    return f"arith.truncf {name} : {value_type(work)} to {value_type(ty)}"


def _tree(
    k: Kernel, op: SSAOp, shape: tuple[int, ...], source: str, scratch: str, stem: str
) -> None:
    body, ty = k.body, scalar_of(op.results[0].ty)
    work, count = scratch_type(ty), size(shape)
    thread, buffer = k.thread(), k.scratch_memref(work)
    if work != ty:
        widen = "arith.extui" if ty == BOOL else "arith.extf"
        text = f"{widen} {source} : {value_type(ty)} to {value_type(work)}"
        source = body.define(text, f"{stem}_{work}_in")
    active = ""
    if count < k.tile.threads:
        text = f"arith.cmpi ult, {thread}, {body.number(count, I32)} : i32"
        active = body.define(text, f"{stem}_active")
    slot = body.define(f"arith.index_cast {thread} : i32 to index", f"{stem}_slot")
    with body.block(f"scf.if {active}") if active else nullcontext():
        body.line(f"memref.store {source}, {scratch}[{slot}] : {buffer}")
    body.line("gpu.barrier")
    extent, inner = _group(op, shape)
    if extent == 1:
        return
    member = thread
    if extent * inner != count:
        text = f"arith.remui {thread}, {body.number(extent * inner, I32)} : i32"
        member = body.define(text, f"{stem}_member")
    with _strides(k, extent, extent * inner // 2, stem) as stride:
        guard = body.define(f"arith.cmpi ult, {member}, {stride} : i32", f"{stem}_adds")
        if active and extent * inner != count:
            # Threads beyond the block are in no group.
            guard = body.define(f"arith.andi {guard}, {active} : i1", f"{stem}_adds_here")
        with body.block(f"scf.if {guard}"):
            _step(k, op.opcode, (scratch, buffer), slot, stride, stem, work, ty)
        body.line("gpu.barrier")


@contextmanager
def _strides(k: Kernel, extent: int, first: int, stem: str) -> Iterator[str]:
    """A loop over the strides of a tree, from ``first`` down by halves."""
    body = k.body
    halvings = extent.bit_length() - 1
    if halvings == 1:
        yield body.number(first, I32)
        return
    start, step = body.number(0, I32), body.number(1, I32)
    stop, half = body.number(halvings, I32), body.number(first, I32)
    level = "%" + body.names.fresh(f"{stem}_level")
    with body.block(f"scf.for {level} = {start} to {stop} step {step} : i32"):
        yield body.define(f"arith.shrui {half}, {level} : i32", f"{stem}_stride")


def _step(
    k: Kernel, name: str, buffer: tuple[str, str], slot: str, stride: str, stem: str,
    work: ScalarType, ty: ScalarType,
) -> None:  # fmt: skip
    scratch, spelled = buffer
    body = k.body
    mine = body.define(f"memref.load {scratch}[{slot}] : {spelled}", f"{stem}_mine")
    at = body.define(f"arith.addi {k.thread()}, {stride} : i32", f"{stem}_at")
    there = body.define(f"arith.index_cast {at} : i32 to index", f"{stem}_other_slot")
    other = body.define(f"memref.load {scratch}[{there}] : {spelled}", f"{stem}_other")
    text = combine(name, mine, other, work, parity=ty == BOOL)
    both = body.define(text, f"{stem}_both")
    body.line(f"memref.store {both}, {scratch}[{slot}] : {spelled}")


def _group(op: SSAOp, shape: tuple[int, ...]) -> tuple[int, int]:
    """How many elements make one result, and how far apart they lie."""
    axis = op.attrs.get("axis")
    if axis is None:
        return size(shape), 1
    return shape[axis], size(shape[axis + 1 :])


def _place(k: Kernel, op: SSAOp, shape: tuple[int, ...], layout: Layout, stem: str) -> str:
    """Where in the scratch buffer this thread's result lies, as an index."""
    axis = op.attrs.get("axis")
    kept = [] if axis is None else [a for a in range(len(shape)) if a != axis]
    total = ""
    for stride, a in zip(layout, kept, strict=True):
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
