"""How each operation is written in CUDA C++: one function per operation, in one table.

A renderer returns the expression of the result, which the kernel then declares a variable for, or
``None`` when it wrote statements of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mytriton.analysis.threads import Layout, permuted
from mytriton.plugin_api import (
    F64,
    Constant,
    PointerType,
    ScalarType,
    SSAOp,
    element_of,
    get_op,
    operand_type,
    scalar_of,
    shape_of,
)

from .arithmetic import extremum, negation, quotient, wrapping
from .dot import product
from .reduction import reduction
from .scalars import convert, from_memory, literal, settle, to_memory, value_type

if TYPE_CHECKING:
    from .kernel import Kernel

Renderer = Callable[["Kernel", SSAOp, Layout], "str | None"]
RENDERERS: dict[str, Renderer] = {}


def renders(name: str) -> Callable[[Renderer], Renderer]:
    """Enter a renderer into the table."""

    def enter(renderer: Renderer) -> Renderer:
        RENDERERS[name] = renderer
        return renderer

    return enter


def _result(op: SSAOp) -> ScalarType:
    return scalar_of(op.results[0].ty)


def operands_of(k: Kernel, op: SSAOp, layout: Any) -> tuple[list[str], ScalarType]:
    """The operands of an elementwise operation in its compute type, and the last such type."""
    types = [operand_type(operand) for operand in op.operands]
    computed = get_op(op.opcode).compute_types(types, op.results[0].ty)
    texts = [
        k.converted(operand, layout, wanted)
        for operand, wanted in zip(op.operands, computed, strict=True)
    ]
    return texts, computed[-1]


# ------------------------------------------------------------------ where and how large


@renders("program_id")
def _program_id(k: Kernel, op: SSAOp, layout: Layout) -> str:
    return f"blockIdx.{'xyz'[op.attrs['axis']]}"


@renders("arange")
def _arange(k: Kernel, op: SSAOp, layout: Layout) -> str:
    start, end = op.attrs["start"], op.attrs["end"]
    if end - start == 1:
        return str(start)
    place = k.coordinate(layout[0], end - start)
    if start == 0:
        return place
    # threadIdx is unsigned: it must be an int before it meets another number.
    place = f"(int){place}" if place == "threadIdx.x" else place
    return f"({place} + {start})" if start > 0 else f"({place} - {-start})"


@renders("num_programs")
def _num_programs(k: Kernel, op: SSAOp, layout: Layout) -> str:
    return f"gridDim.{'xyz'[op.attrs['axis']]}"


@renders("zeros")
def _zeros(k: Kernel, op: SSAOp, layout: Layout) -> str:
    return literal(Constant(0, _result(op)))


@renders("full")
def _full(k: Kernel, op: SSAOp, layout: Layout) -> str:
    return k.converted(op.operands[0], (), _result(op))


@renders("empty")
def _empty(k: Kernel, op: SSAOp, layout: Layout) -> None:
    k.declare(op.results[0], layout, None, op.span)


@renders("expand_dims")
def _expand_dims(k: Kernel, op: SSAOp, layout: Layout) -> None:
    axis = op.attrs["axis"]
    k.alias(op.results[0], layout, op.operands[0], layout[:axis] + layout[axis + 1 :])


@renders("trans")
def _trans(k: Kernel, op: SSAOp, layout: Layout) -> None:
    k.alias(op.results[0], layout, op.operands[0], permuted(layout, op.attrs["order"]))


@renders("broadcast")
def _broadcast(k: Kernel, op: SSAOp, layout: Layout) -> str:
    return k.converted(op.operands[0], layout)


# ------------------------------------------------------------------ elementwise


def _wrapping(symbol: str) -> Renderer:
    def render(k: Kernel, op: SSAOp, layout: Layout) -> str:
        (a, b), ty = operands_of(k, op, layout)
        text = wrapping(symbol, a, b, ty, plain=k.address_only(op))
        return settle(text, ty, _result(op), k.helpers)

    return render


for _name, _symbol in (("add", "+"), ("sub", "-"), ("mul", "*")):
    RENDERERS[_name] = _wrapping(_symbol)


@renders("div")
def _div(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a, b), ty = operands_of(k, op, layout)
    return settle(quotient(a, b, ty, op.operands[1]), ty, _result(op), k.helpers)


@renders("neg")
def _neg(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a,), ty = operands_of(k, op, layout)
    return negation(a, ty, plain=k.address_only(op))


@renders("exp")
def _exp(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a,), ty = operands_of(k, op, layout)
    text = f"exp({a})" if ty == F64 else f"expf({a})"
    return settle(text, ty, _result(op), k.helpers)


@renders("maximum")
def _maximum(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a, b), ty = operands_of(k, op, layout)
    return extremum(">", a, b, ty)


@renders("minimum")
def _minimum(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (a, b), ty = operands_of(k, op, layout)
    return extremum("<", a, b, ty)


@renders("select")
def _select(k: Kernel, op: SSAOp, layout: Layout) -> str:
    (condition, x, y), _ = operands_of(k, op, layout)
    return f"({condition} ? {x} : {y})"


@renders("cast")
def _cast(k: Kernel, op: SSAOp, layout: Layout) -> str:
    source = scalar_of(operand_type(op.operands[0]))  # type: ignore[arg-type]
    return convert(k.text(op.operands[0], layout), source, _result(op), k.helpers)


# ------------------------------------------------------------------ memory


@renders("addptr")
def _addptr(k: Kernel, op: SSAOp, layout: Layout) -> None:
    k.fold_pointer(op, layout)


@renders("load")
def _load(k: Kernel, op: SSAOp, layout: Layout) -> str:
    pointer, mask, other = op.operands
    ty = _result(op)
    value = from_memory(k.element(pointer, layout), ty, k.helpers)
    if mask is None:
        return value
    condition = k.converted(mask, layout)
    fallback = literal(Constant(0, ty)) if other is None else k.converted(other, layout)
    return f"({condition} ? {value} : {fallback})"


@renders("store")
def _store(k: Kernel, op: SSAOp, layout: Layout) -> None:
    pointer, value, mask = op.operands
    element = element_of(operand_type(pointer))  # type: ignore[arg-type]
    assert isinstance(element, PointerType)
    conditions = k.in_charge(layout, shape_of(operand_type(pointer)))  # type: ignore[arg-type]
    if mask is not None:
        conditions.append(k.converted(mask, layout))
    target = k.element(pointer, layout)
    stored = to_memory(k.converted(value, layout), element.element, k.helpers)
    statement = f"{target} = {stored};"
    if conditions:
        with k.block(f"if ({' && '.join(conditions)})", op.span):
            k.line(statement, op.span)
    else:
        k.line(statement, op.span)


for _name in ("sum", "max", "min", "xor_sum", "argmax", "argmin"):
    RENDERERS[_name] = reduction
RENDERERS["dot"] = product


__all__ = ["RENDERERS", "Renderer", "operands_of", "renders", "value_type"]

from . import output as _output  # noqa: E402,F401  (these enter the rest of the table)
from . import pointwise as _pointwise  # noqa: E402,F401
