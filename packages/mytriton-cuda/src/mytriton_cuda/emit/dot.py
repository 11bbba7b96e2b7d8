"""The matrix product of one thread per element: both operands lie in shared memory, each thread adds
up the products of its element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mytriton.analysis.threads import natural, size
from mytriton.plugin_api import F16, F32, F64, ScalarType, SSAOp, operand_type, scalar_of, shape_of

from .arithmetic import wrapping
from .reduction import Room, at, rooms
from .scalars import convert, settle, value_type

if TYPE_CHECKING:
    from .kernel import Kernel


def shape(operand: Any) -> tuple[int, ...]:
    """The shape of an operand of an operation."""
    return shape_of(operand_type(operand))  # type: ignore[arg-type]


def accumulator(op: SSAOp) -> ScalarType:
    """The type the products are added up in."""
    ty = scalar_of(op.results[0].ty)
    return F32 if ty == F16 else ty


def multiply_add(a: str, b: str, total: str, ty: ScalarType) -> str:
    """``total`` after one more product."""
    if not ty.is_floating():
        return wrapping("+", total, f"({a} * {b})", ty, plain=False)
    return f"fma({a}, {b}, {total})" if ty == F64 else f"fmaf({a}, {b}, {total})"


def product(k: Kernel, op: SSAOp, layout: Any) -> None:
    """Write the product in ``layout``; the first layout also brings the operands to shared memory."""
    a, b, acc = op.operands
    (value,) = op.results
    element, total, result = scalar_of(operand_type(a)), accumulator(op), scalar_of(value.ty)  # type: ignore[arg-type]
    other = scalar_of(operand_type(b))  # type: ignore[arg-type]
    found = rooms(k, [(element, size(shape(a))), (other, size(shape(b)))])
    if layout == k.layouts(op)[0]:
        for operand, room in zip((a, b), found, strict=True):
            _publish(k, op, operand, room)
        k.line("__syncthreads();", op.span)
    begin = "0" if acc is None else k.converted(acc, layout)
    name = k.temporary(f"v{value.id}_sum")
    k.line(f"{value_type(total)} {name} = {begin};", op.span)
    m, n = (k.coordinate(s, e) for s, e in zip(layout[-2:], shape_of(value.ty)[-2:], strict=True))
    depth, columns = shape(a)[-1], shape(b)[-1]
    batch = k.coordinate(layout[0], shape(a)[0]) if len(layout) == 3 else "0"
    row = _sum((batch, size(shape(a)[-2:])), (m, depth), ("k", 1))
    column = _sum((batch, depth * columns), ("k", columns), (n, 1))
    with k.block(f"for (int k = 0; k < {depth}; ++k)", op.span):
        x = convert(at(found[0], row), element, total, k.helpers)
        y = convert(at(found[1], column), other, total, k.helpers)
        k.line(f"{name} = {multiply_add(x, y, name, total)};", op.span)
    k.declare(value, layout, settle(name, total, result, k.helpers), op.span)


def _publish(k: Kernel, op: SSAOp, operand: Any, room: Room) -> None:
    own = shape(operand)
    thread = k.thread()
    statement = f"{at(room, thread)} = {k.converted(operand, natural(own))};"
    if size(own) < k.tile.threads:
        with k.block(f"if ({thread} < {size(own)})", op.span):
            k.line(statement, op.span)
    else:
        k.line(statement, op.span)


def _sum(*terms: tuple[str, int]) -> str:
    """The sum of products with constants."""
    found = [f"{text} * {factor}" if factor != 1 else text for text, factor in terms if text != "0"]
    return " + ".join(found) or "0"
