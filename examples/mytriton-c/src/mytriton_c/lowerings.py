"""The table: for each operation, the C it becomes.

A row is a function ``(emitter, op) -> lines``. Rows know nothing of one another, so that one can be
read, replaced and tested alone. ``yield`` is no operation of its own: it is how a trip of a loop
hands its values to the next.
"""

from __future__ import annotations

import mytriton.plugin_api as mt

from .emitter import Emitter, Lanes, Lines, Lowering, indent
from .values import convert, encode, literal, stored, working


def _arithmetic(ty: mt.ScalarType, sign: str, x: str, y: str) -> str:
    """Floats as C does; integers modulo 2^64, of which the low bits are right for every width."""
    return f"{x} {sign} {y}" if ty.is_floating() else f"as_{ty}(U({x}) {sign} U({y}))"


def _add(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x, y: _arithmetic(ty, "+", x, y))


def _sub(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x, y: _arithmetic(ty, "-", x, y))


def _mul(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x, y: _arithmetic(ty, "*", x, y))


def _div(e: Emitter, op: mt.SSAOp) -> Lines:
    def meaning(ty: mt.ScalarType, x: str, y: str) -> str:
        if ty.is_floating():
            return f"{x} / {y}"
        # What would trap is unspecified and must not: zero.
        overflow = f" || ({x} == {literal(ty.int_range()[0], ty)} && {y} == -1)"
        return f"{y} == 0{overflow if ty.is_signed() else ''} ? 0 : {x} / {y}"

    return e.elementwise(op, meaning)


def _neg(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x: f"-{x}" if ty.is_floating() else f"as_{ty}(0 - U({x}))")


def _and(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x, y: f"{x} & {y}")


def _cmp_lt(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x, y: f"{x} < {y}")


def _maximum(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x, y: f"{x} > {y} || {x} != {x} ? {x} : {y}")


def _minimum(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x, y: f"{x} < {y} || {x} != {x} ? {x} : {y}")


def _select(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x, y, z: f"{x} ? {y} : {z}")


def _exp(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x: f"exp({x})" if ty.name == "f64" else f"expf({x})")


def _cast(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.elementwise(op, lambda ty, x: convert(ty, op.attrs["dtype"], x))


def _program_id(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.each(op, lambda lanes: [f"pid{op.attrs['axis']}"])


def _arange(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.each(op, lambda lanes: [f"(int32_t)({op.attrs['start']} + (int64_t)i)"])


def _zeros(e: Emitter, op: mt.SSAOp) -> Lines:
    return e.each(op, lambda lanes: ["0"])


def _full(e: Emitter, op: mt.SSAOp) -> Lines:
    dtype = op.attrs["dtype"]
    return e.each(op, lambda lanes: [encode(dtype, e.value(op.operands[0], lanes, dtype))])


def _expand_dims(e: Emitter, op: mt.SSAOp) -> Lines:
    # The order of the elements does not change.
    (source,), (result,) = op.operands, op.results
    return [*e.define(result, op.span), *e.copy(e.name(result), result.ty, e.name(source))]


def _addptr(e: Emitter, op: mt.SSAOp) -> Lines:
    base, offset = op.operands
    pointer = mt.element_of(op.results[0].ty)
    assert isinstance(pointer, mt.PointerType)
    size = f"sizeof({stored(pointer.element)})"
    return e.each(op, lambda at: [f"{e.read(base, at)} + (uintptr_t){e.read(offset, at)} * {size}"])


def _load(e: Emitter, op: mt.SSAOp) -> Lines:
    ptr, mask, other = op.operands
    found = f"load_{mt.scalar_of(op.results[0].ty)}"

    def body(lanes: Lanes) -> Lines:
        here = f"{found}({e.read(ptr, lanes)})"
        if mask is None:
            return [here]
        return [f"{e.read(mask, lanes)} ? {here} : {e.read(other, lanes) if other else '0'}"]

    return e.each(op, body)


def _store(e: Emitter, op: mt.SSAOp) -> Lines:
    ptr, value, mask = op.operands
    assert ptr is not None
    assert value is not None
    lanes = Lanes(mt.shape_of(ptr.ty), op.operands)
    guard = f"if ({e.read(mask, lanes)}) " if mask is not None else ""
    put = f"store_{mt.scalar_of(value.ty)}({e.read(ptr, lanes)}, {e.read(value, lanes)});"
    return lanes.around([guard + put])


def _sum(e: Emitter, op: mt.SSAOp) -> Lines:
    ty = mt.scalar_of(op.results[0].ty)
    if ty.is_floating():
        end = f"({working(ty)})sum_end(s, c)"
        return e.reduction(op, "double s = -0.0, c = 0;", "sum_add(&s, &c, x);", end)
    return e.reduction(op, "uint64_t s = 0;", "s += U(x);", f"as_{ty}(s)")


def _max(e: Emitter, op: mt.SSAOp) -> Lines:
    begin = f"{working(mt.scalar_of(op.results[0].ty))} m = x;"
    return e.reduction(op, begin, "if (x > m || m != m) m = x;", "m")


def _min(e: Emitter, op: mt.SSAOp) -> Lines:
    begin = f"{working(mt.scalar_of(op.results[0].ty))} m = x;"
    return e.reduction(op, begin, "if (x < m || m != m) m = x;", "m")


def _for(e: Emitter, loop: mt.SSAForRange) -> Lines:
    k, lines, scalar = loop.index.id, [], Lanes((), [])
    for arg, value in zip(loop.carried_args, loop.carried_inputs, strict=True):
        lines += e.define(arg, loop.span)
        lines += e.copy(e.name(arg), arg.ty, e.name(value))
    ty = mt.scalar_of(loop.index.ty)
    start, stop, step = (e.value(bound, scalar, ty) for bound in loop.inputs[:3])
    # Counting trips: neither the index nor the bound can overflow.
    lines.append(f"const uint64_t n{k} = trips({start}, {stop}, {step});")
    lines.append(f"for (uint64_t trip{k} = 0; trip{k} < n{k}; trip{k}++) {{")
    inside = e.define(loop.index, loop.span)
    inside.append(f"{e.name(loop.index)} = as_{ty}(U({start}) + trip{k} * U({step}));")
    inside += e.body(loop.body)
    inside += e.lowerings["yield"](e, loop)
    for result, arg in zip(loop.results, loop.carried_args, strict=True):
        e.names[result.id] = e.name(arg)
    return [*lines, *indent(inside), "}"]


def _yield(e: Emitter, loop: mt.SSAForRange) -> Lines:
    # All at once: a value that another assignment is about to replace is put aside first.
    args = [e.name(arg) for arg in loop.carried_args]
    aside, assign = [], []
    for arg, name, value in zip(loop.carried_args, args, loop.yields, strict=True):
        source = e.name(value)
        if source == name:
            continue
        if isinstance(value, mt.SSAValue) and source in args:
            kept, lines = e.declare(f"t{arg.id}", arg.ty)
            aside += [*lines, *e.copy(kept, arg.ty, source)]
            source = kept
        assign += e.copy(name, arg.ty, source)
    return [*aside, *assign]


LOWERINGS: dict[str, Lowering] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "and": _and,
    "cmp_lt": _cmp_lt,
    "exp": _exp,
    "maximum": _maximum,
    "minimum": _minimum,
    "select": _select,
    "cast": _cast,
    "program_id": _program_id,
    "arange": _arange,
    "zeros": _zeros,
    "empty": _zeros,  # any contents will do
    "full": _full,
    "expand_dims": _expand_dims,
    "addptr": _addptr,
    "load": _load,
    "store": _store,
    "sum": _sum,
    "max": _max,
    "min": _min,
    "for": _for,
    "yield": _yield,
}
