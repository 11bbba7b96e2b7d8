"""The table: for each elementwise operation, what it becomes.

A row is ``(builder, type, operands) -> value``: operands are in the type the registry says the
operation computes in (``type``), the result is in it too, or ``i1`` for comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mytriton.plugin_api as mt

from . import mathlib
from .builder import Builder, Val

Row = Callable[[Builder, mt.ScalarType, Sequence[Val]], Val]

#: ``a * b + c`` may contract to a fused multiply-add, as the language allows.
_CONTRACT = " fastmath<contract>"


def _arithmetic(on_float: str, on_int: str, on_bool: str) -> Row:
    def row(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
        if ty.is_floating():
            # 16-bit floats are rounded after every operation: nothing to fuse with.
            return b.binary(on_float, v[0], v[1], _CONTRACT if ty.bits >= 32 else "")
        return b.binary(on_bool if ty.is_bool() else on_int, v[0], v[1])

    return row


def _less(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    if ty.is_floating():
        return b.compare("arith.cmpf", "olt", v[0], v[1])
    return b.compare("arith.cmpi", "slt" if ty.is_signed() else "ult", v[0], v[1])


def _div(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    if ty.is_floating():
        return b.binary("arith.divf", v[0], v[1])
    x, y = b.level_up(*v)
    kind, w = x.kind, x.width
    if ty.is_bool():
        return b.binary("arith.andi", x, y)  # x / 1; division by 0 is 0
    # What would trap is unspecified and must not: the quotient by 1, then 0.
    bad = b.compare("arith.cmpi", "eq", y, b.constant(0, kind, w))
    if ty.is_signed():
        least = b.constant(ty.int_range()[0], kind, w)
        minus_one = b.compare("arith.cmpi", "eq", y, b.constant(-1, kind, w))
        overflow = b.binary("arith.andi", minus_one, b.compare("arith.cmpi", "eq", x, least))
        bad = b.binary("arith.ori", bad, overflow)
    y = b.select(bad, b.constant(1, kind, w), y)
    return b.select(bad, b.constant(0, kind, w), _quotient(b, ty, x, y))


def _quotient(b: Builder, ty: mt.ScalarType, x: Val, y: Val) -> Val:
    if not x.width or ty.bits == 64:
        return b.binary("arith.divsi" if ty.is_signed() else "arith.divui", x, y)
    # Vectors have no integer division. A float with twice the bits of the operands gives the
    # exact quotient: what is not whole is further from a whole number than it rounds.
    wide = "f64" if ty.bits == 32 else "f32"
    to, back = (
        ("arith.sitofp", "arith.fptosi") if ty.is_signed() else ("arith.uitofp", "arith.fptoui")
    )
    return b.cast(back, b.binary("arith.divf", b.cast(to, x, wide), b.cast(to, y, wide)), x.kind)


def _neg(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    if ty.is_floating():
        return b.unary("arith.negf", v[0])
    return b.binary("arith.subi", b.constant(0, v[0].kind, v[0].width), v[0])


def _extremum(on_float: str, signed: str, unsigned: str) -> Row:
    def row(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
        x, y = b.level_up(*v)
        if not ty.is_floating():
            predicate = signed if ty.is_signed() else unsigned
            return b.select(b.compare("arith.cmpi", predicate, x, y), x, y)
        # NaN propagates, and the right operand wins ties.
        chosen = b.select(b.compare("arith.cmpf", on_float, x, y), x, y)
        return b.select(b.compare("arith.cmpf", "uno", x, x), x, chosen)

    return row


def _select(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    return b.select(*v)


def _math(name: str) -> Row:
    def row(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
        return mathlib.FUNCTIONS[name](b, v[0])

    return row


ELEMENTWISE: dict[str, Row] = {
    "add": _arithmetic("arith.addf", "arith.addi", "arith.xori"),
    "sub": _arithmetic("arith.subf", "arith.subi", "arith.xori"),
    "mul": _arithmetic("arith.mulf", "arith.muli", "arith.andi"),
    "div": _div,
    "and": lambda b, ty, v: b.binary("arith.andi", v[0], v[1]),
    "cmp_lt": _less,
    "neg": _neg,
    "maximum": _extremum("ogt", "sgt", "ugt"),
    "minimum": _extremum("olt", "slt", "ult"),
    "select": _select,
    **{name: _math(name) for name in mathlib.FUNCTIONS},
}

#: What recomputing an operation costs, in simple vector instructions (default 1).
COSTS = {"exp": 15, "div": 5}
