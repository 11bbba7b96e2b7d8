"""How each operation is written in MLIR: one function per operation, in one table.

A lowering returns the text of the operation that gives the result, which the kernel then names; or
the result itself: the name (``%...``) of a value that exists already, or a ``Pointer``. ``stem`` is
the name the result will have: names of values that are needed on the way begin with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mytriton.plugin_api import (
    BOOL,
    I8,
    I32,
    Constant,
    PointerType,
    ScalarType,
    SSAOp,
    SSAOperand,
    element_of,
    get_op,
    is_pointer,
    operand_type,
    scalar_of,
)

from .arithmetic import choose, compare, extremum, negation, quotient, simple
from .pointers import Pointer
from .reduction import reduction
from .scalars import conversion, memory_type, value_type

if TYPE_CHECKING:
    from mytriton.analysis.threads import Layout

    from .kernel import Kernel

    Lowering = Callable[[Kernel, SSAOp, Layout, str], "str | Pointer | None"]

LOWERINGS: dict[str, Lowering] = {}


def lowers(name: str) -> Callable[[Lowering], Lowering]:
    """Enter a lowering into the table."""

    def enter(lowering: Lowering) -> Lowering:
        LOWERINGS[name] = lowering
        return lowering

    return enter


def _result(op: SSAOp) -> ScalarType:
    return scalar_of(op.results[0].ty)


def _scalar(operand: SSAOperand) -> ScalarType:
    return scalar_of(operand_type(operand))  # type: ignore[arg-type]


# ------------------------------------------------------------------ where and how large


@lowers("program_id")
def _program_id(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    return k.block(op.attrs["axis"])


@lowers("arange")
def _arange(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    start, extent = op.attrs["start"], op.attrs["end"] - op.attrs["start"]
    if extent == 1:
        return k.body.number(start, I32)
    place = k.coordinate(layout[0], extent)
    return place if start == 0 else f"arith.addi {place}, {k.body.number(start, I32)} : i32"


@lowers("zeros")
def _zeros(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    return k.body.constant(Constant(0, _result(op)))


#: What ``empty`` holds is nobody's business: zeros do not make two runs differ.
LOWERINGS["empty"] = _zeros


@lowers("full")
def _full(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    return k.operand(op.operands[0], (), _result(op), stem)


@lowers("expand_dims")
def _expand_dims(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str | Pointer:
    axis, (operand,) = op.attrs["axis"], op.operands
    inner = layout[:axis] + layout[axis + 1 :]
    if is_pointer(op.results[0].ty):
        return k.pointer(operand, inner)
    return k.value(operand, inner)


# ------------------------------------------------------------------ elementwise


def _elementwise(
    rule: Callable[[Kernel, SSAOp, list[str], ScalarType, str], str],
) -> Lowering:
    """A lowering from a rule that gets the operands in the compute type (the last operand's)."""

    def lower(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
        types = [operand_type(operand) for operand in op.operands]
        computed = get_op(op.opcode).compute_types(types, op.results[0].ty)
        names = [
            k.operand(operand, layout, ty, stem)
            for operand, ty in zip(op.operands, computed, strict=True)
        ]
        text, ty, result = rule(k, op, names, computed[-1], stem), computed[-1], _result(op)
        steps = [] if result.is_bool() else conversion(ty, result)
        for operation, narrower in steps:
            name = k.body.define(text, f"{stem}_{ty}")
            text, ty = k.convert(operation, name, ty, narrower), narrower
        return text

    return lower


def _writer(k: Kernel, stem: str) -> Callable[[str, str], str]:
    return lambda text, what: k.body.define(text, f"{stem}_{what}")


@_elementwise
def _simple(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    a, b = names
    return simple(op.opcode, a, b, ty)


@_elementwise
def _div(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    a, b = names
    return quotient(a, b, ty, op.operands[1], _writer(k, stem), k.body.number)


@_elementwise
def _neg(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return negation(names[0], ty, k.body.number)


@_elementwise
def _exp(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return f"math.exp {names[0]} : {value_type(ty)}"


@_elementwise
def _extremum(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    a, b = names
    return extremum(">" if op.opcode == "maximum" else "<", a, b, ty, _writer(k, stem))


@_elementwise
def _cmp_lt(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return compare("<", names[0], names[1], ty)


@_elementwise
def _and(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return f"arith.andi {names[0]}, {names[1]} : {value_type(ty)}"


@_elementwise
def _select(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    condition, x, y = names
    return choose(condition, x, y, ty)


LOWERINGS |= {
    "add": _simple, "sub": _simple, "mul": _simple, "div": _div, "neg": _neg, "exp": _exp,
    "maximum": _extremum, "minimum": _extremum, "cmp_lt": _cmp_lt, "and": _and, "select": _select,
}  # fmt: skip


@lowers("cast")
def _cast(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    (operand,) = op.operands
    if isinstance(operand, Constant):
        return k.operand(operand, layout, _result(op), stem)
    ty, text = _scalar(operand), k.value(operand, layout)
    for operation, wanted in conversion(ty, _result(op)):
        name = text if text.startswith("%") else k.body.define(text, f"{stem}_{ty}")
        text, ty = k.convert(operation, name, ty, wanted), wanted
    return text


# ------------------------------------------------------------------ memory


@lowers("addptr")
def _addptr(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> Pointer:
    base, offset = op.operands
    inner = operand_type(base)
    pointer = k.pointer(base, _broadcast(layout, inner))
    ty = _scalar(offset)
    name = k.operand(offset, layout, ty, stem)
    cast = "arith.index_cast" if ty.is_signed() else "arith.index_castui"
    text = f"{cast} {name} : {value_type(ty)} to index"
    wanted = "idx" + stem.removeprefix("v")
    if not pointer.index:
        return Pointer(pointer.base, pointer.element, k.body.define(text, wanted))
    step = k.body.define(text, f"{wanted}_offset")
    index = k.body.define(f"arith.addi {pointer.index}, {step} : index", wanted)
    return Pointer(pointer.base, pointer.element, index)


def _broadcast(layout: Layout, ty: object) -> Layout:
    from mytriton.analysis.threads import operand_layout

    return operand_layout(layout, ty)  # type: ignore[arg-type]


def _place(k: Kernel, pointer: Pointer) -> str:
    return f"{pointer.base}[{pointer.index or k.body.index(0)}] : {pointer.type}"


@lowers("load")
def _load(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    pointer, mask, other = op.operands
    ty, number = _result(op), stem.removeprefix("v")
    place = _place(k, k.pointer(pointer, layout))
    if mask is None:
        if not ty.is_bool():
            return f"memref.load {place}"
        return _truth(k, k.body.define(f"memref.load {place}", f"loaded{number}"))
    condition = k.operand(mask, layout, BOOL, stem)
    other = Constant(0, ty) if other is None else other
    fallback = k.operand(other, layout, ty, stem)
    loaded = k.body.names.fresh(f"loaded{number}")
    if ty.is_bool():
        k.body.number(0, I8)  # before the block
    with k.body.block(f"%{stem} = scf.if {condition} -> ({value_type(ty)})", "} else {"):
        k.body.line(f"%{loaded} = memref.load {place}")
        value = f"%{loaded}"
        if ty.is_bool():
            value = k.body.define(_truth(k, value), f"{loaded}_true")
        k.body.line(f"scf.yield {value} : {value_type(ty)}")
    k.body.deeper(f"scf.yield {fallback} : {value_type(ty)}")
    k.body.line("}")
    return f"%{stem}"


def _truth(k: Kernel, byte: str) -> str:
    return compare("!=", byte, k.body.number(0, I8), I8)


@lowers("store")
def _store(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> None:
    pointer, value, mask = op.operands
    element = element_of(operand_type(pointer))  # type: ignore[arg-type]
    assert isinstance(element, PointerType)
    target = k.pointer(pointer, layout)
    conditions = k.in_charge(layout, pointer, "store")
    if mask is not None:
        conditions.append(k.operand(mask, layout, BOOL, "store"))
    name = k.operand(value, layout, element.element, "store")
    place = _place(k, target)
    while len(conditions) > 1:
        first, second, *rest = conditions
        both = k.body.define(f"arith.andi {first}, {second} : i1", "store_mask")
        conditions = [both, *rest]
    if element.element.is_bool():
        name = k.body.define(f"arith.extui {name} : i1 to {memory_type(BOOL)}", "store_byte")
    statement = f"memref.store {name}, {place}"
    if conditions:
        with k.body.block(f"scf.if {conditions[0]}"):
            k.body.line(statement)
    else:
        k.body.line(statement)


for _name in ("sum", "max", "min"):
    LOWERINGS[_name] = reduction

__all__ = ["LOWERINGS", "Lowering", "lowers"]
