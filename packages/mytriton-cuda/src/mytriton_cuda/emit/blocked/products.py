"""Matrix products: both operands go to shared memory. Tensor cores take their fragments from there
and add to accumulators in registers; where there is no instruction for a type, every thread adds up
the products of its own elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mytriton.plugin_api import ScalarType, SSAOp, SSAOperand, operand_type, scalar_of

from ..dot import accumulator, multiply_add
from ..dot import shape as shape
from ..reduction import Room, at, rooms
from ..scalars import convert, settle, to_memory, value_type
from .demand import Demand
from .instructions import Instruction, instruction
from .reductions import buffer_of
from .tiles import Layout

if TYPE_CHECKING:
    from .kernel import BlockedKernel

#: Bytes between two rows in shared memory, beside the row: rows then begin in different banks.
PADDING = 16


def _own(op: SSAOp, demand: Demand) -> Layout:
    """The layout tensor cores leave the result in."""
    return demand.tile.layout(shape(op.results[0]))


def _fragments(found: Instruction) -> str:
    return f"scratch_{found.kind.split()[1]}"


def buffers(op: SSAOp, demand: Demand) -> tuple[str, ...]:
    """The scratch buffers a product works in."""
    found = instruction(op)
    if found is None:
        types = {scalar_of(operand_type(o)) for o in op.operands[:2]}  # type: ignore[arg-type]
        return tuple(sorted(map(buffer_of, types)))
    moved = any(each != _own(op, demand) for each in demand.of(op.results[0]))
    return (_fragments(found), *([buffer_of(accumulator(op))] if moved else []))


def product(k: BlockedKernel, op: SSAOp) -> None:
    """Write all of a product, and its result in every layout that is asked for."""
    found = instruction(op)
    if found is None:
        _plain(k, op)
    else:
        _tensor(k, op, found)


def _gather(k: BlockedKernel, op: SSAOp, operand: SSAOperand, target: str, text: str) -> None:
    """Write an operand to shared memory: ``target`` and ``text`` are about the current element."""
    source = k.demand.factor(operand)
    with k.unrolled("r", source.count, op.span), k.registers(source):
        k.guarded(k.charged(source), [f"{target} = {text};"], op.span)


# ------------------------------------------------------------------ ordinary arithmetic


def _plain(k: BlockedKernel, op: SSAOp) -> None:
    a, b, _ = op.operands
    element, other = (scalar_of(operand_type(o)) for o in (a, b))  # type: ignore[arg-type]
    sizes = [_size(shape(o)) for o in (a, b)]
    found = rooms(k, list(zip((element, other), sizes, strict=True)))
    for operand, room in zip((a, b), found, strict=True):
        source = k.demand.factor(operand)
        with k.registers(source):
            target = at(room, k.position(source, shape(operand)))
            text = k.text(operand, source)
        _gather(k, op, operand, target, text)
    k.line("__syncthreads();", op.span)
    for wanted in k.layouts(op):
        _sums(k, op, wanted, found, (element, other))


def _sums(
    k: BlockedKernel, op: SSAOp, wanted: Layout, found: list[Room], types: tuple[ScalarType, ...]
) -> None:
    a, b, acc = op.operands
    (value,) = op.results
    total = accumulator(op)
    name = k.fresh(f"v{value.id}_sum")
    with k.registers(wanted):
        begin = "0" if acc is None else k.converted(acc, wanted)
        k.define(name, value_type(total), wanted, begin, op.span)
        rank, (depth, columns) = len(shape(a)), shape(b)[-2:]
        row, column = k.place(wanted, rank - 2), k.place(wanted, rank - 1)
        batch = k.place(wanted, 0) if rank == 3 else "0"
        left = _sum((batch, _size(shape(a)[-2:])), (row, depth), ("k", 1))
        right = _sum((batch, depth * columns), ("k", columns), (column, 1))
        target = k.indexed(name, wanted)
        x = convert(at(found[0], left), types[0], total, k.helpers)
        y = convert(at(found[1], right), types[1], total, k.helpers)
        trips = k.block(f"for (int k = 0; k < {depth}; ++k)", op.span)
        with trips, k.unrolled("r", wanted.count, op.span):
            k.line(f"{target} = {multiply_add(x, y, target, total)};", op.span)
        k.declare(value, wanted, settle(target, total, scalar_of(value.ty), k.helpers), op.span)


# ------------------------------------------------------------------ tensor cores


def _tensor(k: BlockedKernel, op: SSAOp, found: Instruction) -> None:
    acc = op.operands[2]
    (value,) = op.results
    own, total = _own(op, k.demand), accumulator(op)
    name = k.fresh(f"v{value.id}_sum")
    with k.registers(own):
        begin = "0" if acc is None else k.converted(acc, own)
        k.define(name, value_type(total), own, begin, op.span)
    k.flush()
    _instructions(k, op, found, name, own)
    result = scalar_of(value.ty)
    if all(each == own for each in k.layouts(op)):
        with k.registers(own):
            k.declare(value, own, settle(k.indexed(name, own), total, result, k.helpers), op.span)
        return
    room = rooms(k, [(total, _size(shape(value)))])[0]
    with k.unrolled("r", own.count, op.span), k.registers(own):
        target = at(room, k.position(own, shape(value)))
        k.guarded(k.charged(own), [f"{target} = {k.indexed(name, own)};"], op.span)
    k.line("__syncthreads();", op.span)
    for wanted in k.layouts(op):
        with k.registers(wanted):
            place = at(room, k.position(wanted, shape(value), clamp=True))
            k.declare(value, wanted, settle(place, total, result, k.helpers), op.span)


def _instructions(k: BlockedKernel, op: SSAOp, found: Instruction, name: str, own: Layout) -> None:
    """Operands to shared memory, the second one transposed: the elements of one sum follow one
    another in both. Then the sums, one step of ``depth`` after the other."""
    a, b, _ = op.operands
    rows, depth = shape(a)[-2:]
    columns, rank = shape(b)[-1], len(shape(a))
    batches = shape(a)[0] if rank == 3 else 1
    pitch = depth + PADDING // found.size
    start = batches * rows * pitch
    buffer = k.raw(_fragments(found), found.kind, found.size, start + batches * columns * pitch)
    for operand, outer, inner, extent, base in ((a, -2, -1, rows, 0), (b, -1, -2, columns, start)):
        source = k.demand.factor(operand)
        with k.registers(source):
            axes = [k.place(source, rank + axis) for axis in (outer, inner)]
            batch = k.place(source, 0) if rank == 3 else "0"
            place = _sum((batch, extent * pitch), (axes[0], pitch), (axes[1], 1), (str(base), 1))
            text = _element(k, found, k.text(operand, source), operand)
        _gather(k, op, operand, f"{buffer}[{place}]", text)
    k.line("__syncthreads();", op.span)
    _sums_of_fragments(k, op, found, name, own, buffer, pitch, start)


def _element(k: BlockedKernel, found: Instruction, text: str, operand: SSAOperand) -> str:
    """An element as the instruction takes it."""
    if found.name == "mma_tf32":
        return k.helpers.call("to_tf32", text)
    if found.name == "mma_f16":
        return k.helpers.call("float_to_half", text)
    ty = scalar_of(operand_type(operand))  # type: ignore[arg-type]
    return to_memory(text, ty, k.helpers) if ty.is_floating() else f"({found.kind}){text}"


def _sums_of_fragments(
    k: BlockedKernel, op: SSAOp, found: Instruction, name: str, own: Layout, buffer: str,
    pitch: int, start: int,
) -> None:  # fmt: skip
    tile, span = own.tile, op.span
    assert tile is not None
    rows, columns = shape(op.results[0])[-2:]
    depth = shape(op.operands[0])[-1]
    row_axis, column_axis = len(tile.shape) - 2, len(tile.shape) - 1
    across = tile.registers(column_axis)
    down, apart = tile.registers(row_axis), tile.threads[row_axis]
    batches = tile.registers(0) if row_axis == 1 else 1
    k.helpers.need(found.name)
    k.helpers.need("pair_at")
    mine, theirs = k.fresh("left"), k.fresh("right")
    with k.registers(own):
        row = k.first(row_axis) or "0"
        batch = k.first(0) if row_axis == 1 else ""
    lane = f"threadIdx.x % 4 * {found.packed}"
    half = 4 * found.packed
    with k.unrolled("e", batches, span):
        number = "e" if batches > 1 else "0"
        held = number
        if row_axis == 1:
            number = _sum((batch or "0", 1), (number, tile.threads[0]))
        left = _sum((number, rows * pitch), (row, pitch), (lane, 1))
        right = _sum(
            (str(start), 1), (number, columns * pitch), ("threadIdx.x % 32 / 4", pitch), (lane, 1)
        )
        k.line(f"const {found.kind}* {mine} = {buffer} + {left};", span)
        k.line(f"const {found.kind}* {theirs} = {buffer} + {right};", span)
        with k.block(f"for (int k = 0; k < {depth}; k += {found.depth})", span):
            k.line(f"unsigned int b[{columns // 8}][2];", span)
            k.line("#pragma unroll", span)
            with k.block(f"for (int n = 0; n < {columns // 8}; ++n)", span):
                for part in (0, 1):
                    place = _sum(("n", 8 * pitch), ("k", 1), (str(part * half), 1))
                    k.line(f"b[n][{part}] = pair_at({theirs} + {place});", span)
            k.line("#pragma unroll", span)
            with k.block(f"for (int m = 0; m < {down}; m += 2)", span):
                k.line("unsigned int a[4];", span)
                for part in range(4):
                    lower, later = part & 1, part >> 1
                    place = _sum(
                        (f"(m + {lower})" if lower else "m", apart * pitch),
                        ("k", 1),
                        (str(later * half), 1),
                    )
                    k.line(f"a[{part}] = pair_at({mine} + {place});", span)
                k.line("#pragma unroll", span)
                with k.block(f"for (int n = 0; n < {columns // 8}; ++n)", span):
                    at_ = _sum((held, down * across), ("m", across), ("2 * n", 1))
                    k.line(
                        f"{found.name}(&{name}[{at_}], &{name}[{at_} + {across}], a, b[n]);", span
                    )


def _size(extents: tuple[int, ...]) -> int:
    count = 1
    for n in extents:
        count *= n
    return count


def _sum(*terms: tuple[str, int]) -> str:
    """The sum of products with constants."""
    found = []
    for text, factor in terms:
        if text == "0":
            continue
        plain = text.replace("_", "").isalnum()
        found.append(text if factor == 1 else f"{text if plain else f'({text})'} * {factor}")
    return " + ".join(found) or "0"
