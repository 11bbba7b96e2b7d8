"""How operations are written in the blocked mapping, where it is not as in the other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mytriton.analysis.threads import GATHERING
from mytriton.plugin_api import (
    F32,
    F64,
    Constant,
    PointerType,
    ScalarType,
    SSAOp,
    SSAOperand,
    element_of,
    operand_type,
    scalar_of,
    shape_of,
)

from ..arithmetic import quotient
from ..renderers import RENDERERS, operands_of
from ..scalars import from_memory, literal, settle, stored_type, to_memory
from .demand import vector_width
from .kernel import BlockedKernel
from .tiles import SCALAR, Layout, Registers

Renderer = Callable[[Any, SSAOp, Any], "str | None"]
OPERATIONS: dict[str, Renderer] = dict(RENDERERS)


def renders(name: str) -> Callable[[Renderer], Renderer]:
    """Replace a renderer of the other mapping."""

    def enter(renderer: Renderer) -> Renderer:
        OPERATIONS[name] = renderer
        return renderer

    return enter


def _result(op: SSAOp) -> ScalarType:
    return scalar_of(op.results[0].ty)


# ------------------------------------------------------------------ where and how large


@renders("arange")
def _arange(k: BlockedKernel, op: SSAOp, layout: Layout) -> str:
    start = op.attrs["start"]
    (axis,) = layout.axes
    if axis is None:
        return str(start)
    text = k.along(axis)
    if start == 0:
        return text
    return f"{text} + {start}" if start > 0 else f"{text} - {-start}"


@renders("full")
def _full(k: BlockedKernel, op: SSAOp, layout: Layout) -> str:
    return k.converted(op.operands[0], SCALAR, _result(op))


@renders("expand_dims")
def _expand_dims(k: BlockedKernel, op: SSAOp, layout: Layout) -> None:
    k.alias(op.results[0], layout, op.operands[0], layout.without(op.attrs["axis"]))


@renders("trans")
def _trans(k: BlockedKernel, op: SSAOp, layout: Layout) -> None:
    k.alias(op.results[0], layout, op.operands[0], layout.permuted(op.attrs["order"]))


@renders("addptr")
def _addptr(k: BlockedKernel, op: SSAOp, layout: Layout) -> None:
    k.fold(op, layout)


# ------------------------------------------------------------------ as fast as Triton's


@renders("exp")
def _exp(k: BlockedKernel, op: SSAOp, layout: Layout) -> str:
    (a,), ty = operands_of(k, op, layout)
    if ty == F64:
        return f"exp({a})"
    return settle(k.helpers.call("fast_exp", a), ty, _result(op), k.helpers)


@renders("div")
def _div(k: BlockedKernel, op: SSAOp, layout: Layout) -> str:
    (a, b), ty = operands_of(k, op, layout)
    if ty != F32:
        return settle(quotient(a, b, ty, op.operands[1]), ty, _result(op), k.helpers)
    return settle(k.helpers.call("fast_divide", f"{a}, {b}"), ty, _result(op), k.helpers)


# ------------------------------------------------------------------ memory


def _width(k: BlockedKernel, pointer: SSAOperand, mask: SSAOperand, layout: Layout) -> int:
    """Elements of one access."""
    tile = layout.tile
    if tile is None or tile.fast not in layout.axes:
        return 1
    axis = layout.axes.index(tile.fast)
    return min(tile.each[tile.fast], vector_width(pointer, mask, axis, k.info))


def _extents(operand: SSAOperand) -> tuple[int, ...]:
    return shape_of(operand_type(operand))  # type: ignore[arg-type]


@renders("load")
def _load(k: BlockedKernel, op: SSAOp, layout: Layout) -> str | None:
    pointer, mask, other = op.operands
    ty = _result(op)
    width = _width(k, pointer, mask, layout)
    if width > 1:
        _load_vector(k, op, layout, width)
        return None
    value = from_memory(k.element(pointer, layout), ty, k.helpers)
    conditions = k.inside(layout, _extents(pointer))
    if mask is not None:
        conditions.append(k.converted(mask, layout))
    if not conditions:
        return value
    return f"({' && '.join(conditions)} ? {value} : {_fallback(k, other, layout, ty)})"


def _fallback(k: BlockedKernel, other: SSAOperand, layout: Layout, ty: ScalarType) -> str:
    return literal(Constant(0, ty)) if other is None else k.converted(other, layout)


def _load_vector(k: BlockedKernel, op: SSAOp, layout: Layout, width: int) -> None:
    """``width`` elements at once. The mask is the same for all of them."""
    pointer, mask, other = op.operands
    (value,) = op.results
    ty, span = _result(op), op.span
    name = k.declare(value, layout, None, span)
    kind = stored_type(ty)
    k.helpers.need("Pack")
    each = Registers(layout, "k" if layout.count == width else "(r + k)")

    def fill(text: str) -> None:
        with k.registers(layout, each), k.unrolled("k", width, span):
            k.line(f"{k.indexed(name, layout)} = {text};", span)

    single = layout.count == width
    with k.unrolled("r", 1 if single else layout.count, span, step=width):
        with k.registers(layout, Registers(layout, "0" if single else "r")):
            conditions = k.inside(layout, _extents(pointer))
            if mask is not None:
                conditions.append(k.converted(mask, layout))
            place = k.element(pointer, layout)
        group = k.fresh("group")
        read = f"const Pack<{kind}, {width}> {group} = read_pack<{kind}, {width}>(&{place});"
        element = f"{group}.at[k]"
        if ty.itemsize == 1:
            k.helpers.need("byte_at")
            element = f"byte_at({group}, k)"
        found = from_memory(element, ty, k.helpers)
        if not conditions:
            k.line(read, span)
            fill(found)
            return
        with k.block(f"if ({' && '.join(conditions)})", span):
            k.line(read, span)
            fill(found)
        with k.block("else", span):
            with k.registers(layout, each):
                text = _fallback(k, other, layout, ty)
            fill(text)


@renders("store")
def _store(k: BlockedKernel, op: SSAOp, layout: Layout) -> None:
    pointer, value, mask = op.operands
    element = element_of(operand_type(pointer))  # type: ignore[arg-type]
    assert isinstance(element, PointerType)
    ty, span = element.element, op.span
    width = _width(k, pointer, mask, layout)
    conditions = k.charged(layout)
    kind = stored_type(ty)
    single = layout.count == width
    with k.unrolled("r", 1 if single else layout.count, span, step=width):
        with k.registers(layout, Registers(layout, "0" if single else "r")):
            conditions += k.inside(layout, _extents(pointer))
            if mask is not None:
                conditions.append(k.converted(mask, layout))
            target = k.element(pointer, layout)
            stored = to_memory(k.converted(value, layout), ty, k.helpers)
        if width == 1:
            k.guarded(conditions, [f"{target} = {stored};"], span)
            return
        k.helpers.need("Pack")
        group = k.fresh("group")
        k.line(f"Pack<{kind}, {width}> {group};", span)
        with k.registers(layout, Registers(layout, "k" if single else "(r + k)")):
            stored = to_memory(k.converted(value, layout), ty, k.helpers)
            with k.unrolled("k", width, span):
                k.line(f"{group}.at[k] = {stored};", span)
        k.guarded(conditions, [f"write_pack<{kind}, {width}>(&{target}, {group});"], span)


for _name in GATHERING:
    OPERATIONS.pop(_name, None)
