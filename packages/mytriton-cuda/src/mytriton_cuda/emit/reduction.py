"""Reductions over a block: a tree in shared memory.

The operand comes in row-major order, so that element ``e`` is held by thread ``e`` and lies in
``scratch[e]``; halves are added onto each other until the first element of each group is its
result. Every thread that needs a result reads it there, so it may be laid out in any way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mytriton.analysis.threads import Layout, natural, size
from mytriton.plugin_api import I32, ScalarType, SSAOp, Type, operand_type, scalar_of, shape_of

from .arithmetic import beats, combine
from .scalars import settle, value_type

if TYPE_CHECKING:
    from .kernel import Kernel

#: A buffer in shared memory, and where in it something begins.
Room = tuple[str, int]
POSITIONS = frozenset({"argmax", "argmin"})


def rooms(k: Kernel, wanted: Sequence[tuple[ScalarType, int]]) -> list[Room]:
    """Room for values of several types at once. Buffers are by C++ type."""
    used: dict[str, int] = {}
    found = []
    for ty, count in wanted:
        start = used.get(value_type(ty), 0)
        used[value_type(ty)] = start + count
        found.append((k.scratch(ty, start + count), start))
    return found


def at(room: Room, place: str) -> str:
    """The element of a buffer at ``place``."""
    buffer, start = room
    if start and place == "0":
        return f"{buffer}[{start}]"
    return f"{buffer}[{place} + {start}]" if start else f"{buffer}[{place}]"


def reduction(k: Kernel, op: SSAOp, layout: Layout) -> str:
    """The expression that reads the result in ``layout``; the first layout also gets the tree."""
    (operand,) = op.operands
    shape, element = _typed(op)
    ty = scalar_of(op.results[0].ty)
    source = k.converted(operand, natural(shape))
    count = size(shape)
    if count == 1:
        return "0" if op.opcode in POSITIONS else source
    if op.opcode in POSITIONS:
        found = rooms(k, [(element, count), (I32, count)])
        written = [source, _number(k, op, shape)]
    else:
        found, written = rooms(k, [(ty, count)]), [source]
    if layout == k.layouts(op)[0]:
        _publish(k, op, shape, list(zip(found, written, strict=True)))
        _tree(k, op, shape, found)
    return settle(at(found[-1], _place(k, op, shape, layout)), ty, ty, k.helpers)


def _typed(op: SSAOp) -> tuple[tuple[int, ...], ScalarType]:
    ty: Type = operand_type(op.operands[0])  # type: ignore[assignment]
    return shape_of(ty), scalar_of(ty)


def _number(k: Kernel, op: SSAOp, shape: tuple[int, ...]) -> str:
    """The position of a thread's element among those that it is compared with."""
    extent, inner = _group(op, shape)
    text = k.thread() if inner == 1 else f"{k.thread()} / {inner}"
    return text if extent * inner == size(shape) else f"{text} % {extent}"


def _active(k: Kernel, shape: tuple[int, ...]) -> list[str]:
    return [f"{k.thread()} < {size(shape)}"] if size(shape) < k.tile.threads else []


def _publish(
    k: Kernel, op: SSAOp, shape: tuple[int, ...], written: Sequence[tuple[Room, str]]
) -> None:
    """Every thread writes its element."""
    lines = [f"{at(room, k.thread())} = {text};" for room, text in written]
    if active := _active(k, shape):
        with k.block(f"if ({active[0]})", op.span):
            for text in lines:
                k.line(text, op.span)
    else:
        for text in lines:
            k.line(text, op.span)
    k.line("__syncthreads();", op.span)


def _tree(k: Kernel, op: SSAOp, shape: tuple[int, ...], found: Sequence[Room]) -> None:
    thread, count = k.thread(), size(shape)
    extent, inner = _group(op, shape)
    if extent == 1:
        return
    whole = extent * inner == count
    member = thread if whole else f"{thread} % {extent * inner}"
    # A condition on all threads of one group: those beyond the block have none.
    guard = [f"{member} < stride"] if whole else [*_active(k, shape), f"{member} < stride"]
    end = "stride > 0" if inner == 1 else f"stride >= {inner}"
    with k.block(f"for (int stride = {extent * inner // 2}; {end}; stride /= 2)", op.span):
        with k.block(f"if ({' && '.join(guard)})", op.span):
            mine = [at(room, thread) for room in found]
            other = [at(room, f"{thread} + stride") for room in found]
            if op.opcode in POSITIONS:
                pairs = zip(mine, other, strict=True)
                better = beats(op.opcode, mine[0], mine[1], other[0], other[1], _typed(op)[1])
                with k.block(f"if ({better})", op.span):
                    for a, b in pairs:
                        k.line(f"{a} = {b};", op.span)
            else:
                ty = scalar_of(op.results[0].ty)
                k.line(f"{mine[0]} = {combine(op.opcode, mine[0], other[0], ty)};", op.span)
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


# ------------------------------------------------------------------ with a function of the user's


def custom_reduction(k: Kernel, op: SSAOp) -> None:
    """Write all of a ``reduce``. Neighbours are combined in order."""
    if not any(map(k.needed, op.results)):
        return
    shape = _typed(op)[0]
    source = natural(shape)
    if size(shape) == 1:
        for result, operand in zip(op.results, op.operands, strict=True):
            for layout in k.needed(result):
                k.declare(result, layout, k.text(operand, source), op.span)
        return
    found = rooms(k, [(scalar_of(r.ty), size(shape)) for r in op.results])
    texts = [k.text(operand, source) for operand in op.operands]
    _publish(k, op, shape, list(zip(found, texts, strict=True)))
    extent, inner = _group(op, shape)
    if extent > 1:
        thread = k.thread()
        first = (
            f"{thread} % (2 * step) == 0" if inner == 1 else f"{thread} / {inner} % (2 * step) == 0"
        )
        other = f"{thread} + step" if inner == 1 else f"{thread} + step * {inner}"
        with k.block(f"for (int step = 1; step < {extent}; step *= 2)", op.span):
            with k.block(f"if ({' && '.join([*_active(k, shape), first])})", op.span):
                combine_with(k, op, found, thread, other)
            k.line("__syncthreads();", op.span)
    for result, room in zip(op.results, found, strict=True):
        for layout in k.needed(result):
            k.declare(result, layout, at(room, _place(k, op, shape, layout)), op.span)


def combine_with(k: Kernel, op: SSAOp, found: Sequence[Room], mine: str, other: str) -> None:
    """The statements that combine two places of the buffers; the result goes to the first."""
    (region,) = op.regions
    for number, arg in enumerate(region.args):
        room = found[number % len(found)]
        place = mine if number < len(found) else other
        name = f"v{arg.id}"
        k.line(f"{value_type(arg.ty)} {name} = {at(room, place)};", op.span)
        k.name_scalar(arg, name)
    k.items(region.body)
    for room, end in zip(found, region.yields, strict=True):
        k.line(f"{at(room, mine)} = {k.scalar(end)};", op.span)
