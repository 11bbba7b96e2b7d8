"""Operations that apply to each element: arithmetic, comparisons, bits, functions, conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mytriton.plugin_api import F32, Constant, ScalarType, SSAOp, get_op, operand_type

from .arithmetic import (
    Write,
    bitwise,
    choose,
    compare,
    complement,
    extremum,
    magnitude,
    negation,
    quotient,
    remainder,
    shift,
    simple,
)
from .scalars import conversion, value_type
from .table import lowers, result_scalar, scalar

if TYPE_CHECKING:
    from mytriton.analysis.threads import Layout

    from .kernel import Kernel
    from .table import Lowering

    #: Gets the operands in the compute type (the last operand's), gives the result's text in it.
    Rule = Callable[[Kernel, SSAOp, list[str], ScalarType, str], str]


def _elementwise(*opcodes: str) -> Callable[[Rule], Lowering]:
    """Enter operations that a rule lowers."""

    def enter(rule: Rule) -> Lowering:
        def lower(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
            types = [operand_type(operand) for operand in op.operands]
            computed = get_op(op.opcode).compute_types(types, op.results[0].ty)
            names = [
                k.operand(operand, layout, ty, stem)
                for operand, ty in zip(op.operands, computed, strict=True)
            ]
            ty, result = computed[-1], result_scalar(op)
            text = rule(k, op, names, ty, stem)
            steps = [] if result.is_bool() else conversion(ty, result)
            for operation, narrower in steps:
                name = k.body.define(text, f"{stem}_{ty}")
                text, ty = k.convert(operation, name, ty, narrower, stem), narrower
            return text

        return lowers(*opcodes)(lower)

    return enter


def _writer(k: Kernel, stem: str) -> Write:
    return lambda text, what: k.body.define(text, f"{stem}_{what}")


@_elementwise("add", "sub", "mul")
def _simple(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    a, b = names
    return simple(op.opcode, a, b, ty)


@_elementwise("div", "rem")
def _division(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    a, b = names
    divide = quotient if op.opcode == "div" else remainder
    return divide(a, b, ty, op.operands[1], _writer(k, stem), k.body.number)


@_elementwise("neg")
def _neg(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return negation(names[0], ty, k.body.number)


@_elementwise("abs")
def _abs(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return magnitude(names[0], ty, _writer(k, stem), k.body.number)


@_elementwise("fma")
def _fma(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return f"math.fma {', '.join(names)} : {value_type(ty)}"


@_elementwise("maximum", "minimum")
def _extremum(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    a, b = names
    return extremum(">" if op.opcode == "maximum" else "<", a, b, ty, _writer(k, stem))


_COMPARISONS = {
    "cmp_lt": "<", "cmp_le": "<=", "cmp_gt": ">", "cmp_ge": ">=", "cmp_eq": "==", "cmp_ne": "!=",
}  # fmt: skip


@_elementwise(*_COMPARISONS)
def _compare(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return compare(_COMPARISONS[op.opcode], names[0], names[1], ty)


@_elementwise("and", "or", "xor")
def _bitwise(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return bitwise(op.opcode, names[0], names[1], ty)


@_elementwise("not")
def _not(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return complement(names[0], ty, k.body.number)


@_elementwise("shl", "shr")
def _shift(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    a, b = names
    return shift(op.opcode, a, b, ty, op.operands[1], _writer(k, stem), k.body.number)


@_elementwise("umulhi")
def _umulhi(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    a, b = names
    low = "%" + k.body.names.fresh(f"{stem}_low")
    high = "%" + k.body.names.fresh(f"{stem}_high")
    k.body.line(f"{low}, {high} = arith.mului_extended {a}, {b} : {value_type(ty)}")
    return high


@_elementwise("select")
def _select(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    condition, x, y = names
    return choose(condition, x, y, ty)


@_elementwise("broadcast")
def _broadcast(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return names[0]


# ------------------------------------------------------------------ functions

#: What MLIR calls them, and NVIDIA's library of functions has.
_FUNCTIONS = {
    "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "rsqrt": "rsqrt", "sin": "sin",
    "cos": "cos", "tanh": "tanh", "erf": "erf", "floor": "floor", "ceil": "ceil",
    "rint": "roundeven",
}  # fmt: skip


@_elementwise(*_FUNCTIONS)
def _function(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    return f"math.{_FUNCTIONS[op.opcode]} {names[0]} : {value_type(ty)}"


@_elementwise("sqrt")
def _sqrt(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    if ty == F32:  # math.sqrt is an approximation there
        return f'llvm.inline_asm "sqrt.rn.f32 $0, $1;", "=f,f" {names[0]} : (f32) -> f32'
    return f"math.sqrt {names[0]} : {value_type(ty)}"


@_elementwise("trunc")
def _trunc(k: Kernel, op: SSAOp, names: list[str], ty: ScalarType, stem: str) -> str:
    (x,), write, spelled = names, _writer(k, stem), value_type(ty)
    up = write(f"math.ceil {x} : {spelled}", "up")
    down = write(f"math.floor {x} : {spelled}", "down")
    text = compare("<", x, k.body.constant(Constant(0.0, ty)), ty)
    return choose(write(text, "negative"), up, down, ty)


# ------------------------------------------------------------------ conversions


@lowers("cast")
def _cast(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    (operand,) = op.operands
    if isinstance(operand, Constant):
        return k.operand(operand, layout, result_scalar(op), stem)
    ty, text = scalar(operand), k.value(operand, layout)
    for operation, wanted in conversion(ty, result_scalar(op)):
        name = text if text.startswith("%") else k.body.define(text, f"{stem}_{ty}")
        text, ty = k.convert(operation, name, ty, wanted, stem), wanted
    return text


@lowers("bitcast")
def _bitcast(k: Kernel, op: SSAOp, layout: Layout, stem: str) -> str:
    (operand,) = op.operands
    source, result = value_type(scalar(operand)), value_type(result_scalar(op))
    name = k.operand(operand, layout, scalar(operand), stem)
    return name if source == result else f"arith.bitcast {name} : {source} to {result}"
