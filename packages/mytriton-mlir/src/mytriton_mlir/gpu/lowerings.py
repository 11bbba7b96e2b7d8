"""How each operation is written in MLIR: places, shapes and memory here, the others in modules of
their own. Importing this fills the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mytriton.analysis.threads import Layout, operand_layout, permuted
from mytriton.plugin_api import (
    BOOL,
    I8,
    I32,
    Constant,
    PointerType,
    SSAOp,
    element_of,
    is_pointer,
    operand_type,
)

from . import elementwise, matrix, reduction
from .arithmetic import compare
from .pointers import Pointer
from .scalars import memory_type, value_type
from .table import LOWERINGS, lowers, result_scalar, scalar
from .text import quoted

if TYPE_CHECKING:
    from .kernel import Kernel


# ------------------------------------------------------------------ where and how large


@lowers("program_id")
def _program_id(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    return k.block(op.attrs["axis"])


@lowers("num_programs")
def _num_programs(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    return k.programs(op.attrs["axis"])


@lowers("arange")
def _arange(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    start, extent = op.attrs["start"], op.attrs["end"] - op.attrs["start"]
    if extent == 1:
        return k.body.number(start, I32)
    place = k.coordinate(layout[0], extent)
    return place if start == 0 else f"arith.addi {place}, {k.body.number(start, I32)} : i32"


@lowers("zeros")
def _zeros(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    return k.body.constant(Constant(0, result_scalar(op)))


#: What ``empty`` holds is nobody's business: zeros do not make two runs differ.
LOWERINGS["empty"] = _zeros


@lowers("full")
def _full(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    return k.operand(op.operands[0], (), result_scalar(op), stem)


@lowers("trans")
def _trans(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str | Pointer:
    # Nothing moves: the thread that holds an element holds it under its other name too.
    inner = permuted(layout, op.attrs["order"])
    if is_pointer(op.results[0].ty):
        return k.pointer(op.operands[0], inner)
    return k.value(op.operands[0], inner)


@lowers("expand_dims")
def _expand_dims(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str | Pointer:
    axis, (operand,) = op.attrs["axis"], op.operands
    inner = layout[:axis] + layout[axis + 1 :]
    if is_pointer(op.results[0].ty):
        return k.pointer(operand, inner)
    return k.value(operand, inner)


# ------------------------------------------------------------------ memory


@lowers("addptr")
def _addptr(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> Pointer:
    base, offset = op.operands
    inner = operand_type(base)
    pointer = k.pointer(base, operand_layout(layout, inner))
    ty = scalar(offset)
    name = k.operand(offset, layout, ty, stem)
    cast = "arith.index_cast" if ty.is_signed() else "arith.index_castui"
    text = f"{cast} {name} : {value_type(ty)} to index"
    wanted = "idx" + stem.removeprefix("v")
    if not pointer.index:
        return Pointer(pointer.base, pointer.element, k.body.define(text, wanted))
    step = k.body.define(text, f"{wanted}_offset")
    index = k.body.define(f"arith.addi {pointer.index}, {step} : index", wanted)
    return Pointer(pointer.base, pointer.element, index)


def _place(k: Kernel, pointer: Pointer) -> str:
    return f"{pointer.base}[{pointer.index or k.body.index(0)}] : {pointer.type}"


@lowers("load")
def _load(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    pointer, mask, other = op.operands
    ty, number = result_scalar(op), stem.removeprefix("v")
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
    with k.body.deeper():
        k.body.line(f"scf.yield {fallback} : {value_type(ty)}")
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


@lowers("device_assert")
def _assert(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> None:
    condition, mask = op.operands
    name = k.operand(condition, layout, BOOL, "assert")
    if mask is not None:
        here = k.operand(mask, layout, BOOL, "assert")
        elsewhere = k.body.define(f"arith.xori {here}, {k.body.number(1, BOOL)} : i1", "masked_off")
        name = k.body.define(f"arith.ori {name}, {elsewhere} : i1", "assert_holds")
    k.body.line(f"cf.assert {name}, {quoted(op.attrs['message'])}")


__all__ = ["LOWERINGS", "elementwise", "matrix", "reduction"]
