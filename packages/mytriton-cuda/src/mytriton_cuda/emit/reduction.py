"""Reductions over a block: a tree in shared memory.

The operand comes in row-major order, so that element ``e`` is held by thread ``e`` and lies in
``scratch[e]``; halves are added onto each other until the first element of each group is its
result. Every thread that needs a result reads it there, so it may be laid out in any way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mytriton.analysis.threads import Layout, natural, size
from mytriton.plugin_api import SSAOp, operand_type, scalar_of, shape_of

from .arithmetic import combine
from .scalars import settle

if TYPE_CHECKING:
    from .kernel import Kernel


def reduction(k: Kernel, op: SSAOp, layout: Layout) -> str:
    """The expression that reads the result in ``layout``; the first layout also gets the tree."""
    (operand,) = op.operands
    shape = shape_of(operand_type(operand))  # type: ignore[arg-type]
    ty = scalar_of(op.results[0].ty)
    source = k.converted(operand, natural(shape))
    count = size(shape)
    if count == 1:
        return source
    scratch = k.scratch(ty, count)
    if layout == k.layouts(op)[0]:
        _tree(k, op, shape, source, scratch)
    return settle(f"{scratch}[{_place(k, op, shape, layout)}]", ty, ty, k.helpers)


def _tree(k: Kernel, op: SSAOp, shape: tuple[int, ...], source: str, scratch: str) -> None:
    ty = scalar_of(op.results[0].ty)
    thread, count = k.thread(), size(shape)
    extent, inner = _group(op, shape)
    active = [f"{thread} < {count}"] if count < k.tile.threads else []
    write = f"{scratch}[{thread}] = {source};"
    if active:
        with k.block(f"if ({active[0]})", op.span):
            k.line(write, op.span)
    else:
        k.line(write, op.span)
    k.line("__syncthreads();", op.span)
    if extent == 1:
        return
    whole = extent * inner == count
    member = thread if whole else f"{thread} % {extent * inner}"
    # A condition on all threads of one group: those beyond the block have none.
    guard = [f"{member} < stride"] if whole else [*active, f"{member} < stride"]
    end = "stride > 0" if inner == 1 else f"stride >= {inner}"
    with k.block(f"for (int stride = {extent * inner // 2}; {end}; stride /= 2)", op.span):
        with k.block(f"if ({' && '.join(guard)})", op.span):
            mine, other = f"{scratch}[{thread}]", f"{scratch}[{thread} + stride]"
            k.line(f"{mine} = {combine(op.opcode, mine, other, ty)};", op.span)
        k.line("__syncthreads();", op.span)


def _group(op: SSAOp, shape: tuple[int, ...]) -> tuple[int, int]:
    """How many elements make one result, and how far apart they lie."""
    axis = op.attrs.get("axis")
    if axis is None:
        return size(shape), 1
    return shape[axis], size(shape[axis + 1 :])


def _place(k: Kernel, op: SSAOp, shape: tuple[int, ...], layout: Layout) -> str:
    """Where in the scratch buffer this thread's result lies."""
    axis = op.attrs.get("axis")
    kept = [] if axis is None else [a for a in range(len(shape)) if a != axis]
    terms = []
    for stride, a in zip(layout, kept, strict=True):
        if shape[a] == 1:
            continue
        place = k.coordinate(stride, shape[a])
        step = size(shape[a + 1 :])
        terms.append(place if step == 1 else f"{place} * {step}")
    return " + ".join(terms) or "0"
