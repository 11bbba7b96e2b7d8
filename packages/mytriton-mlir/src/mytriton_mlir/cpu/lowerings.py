"""The table: for each elementwise operation, what it becomes.

A row is ``(builder, type, operands) -> value``: operands are in the type the registry says the
operation computes in (``type``), the result is in it too, or ``i1`` for comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mytriton.plugin_api as mt

from . import elementary, integers
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


#: Comparison -> predicate on floats, and on integers without the letter of their sign.
_PREDICATES = {
    "lt": ("olt", "lt"), "le": ("ole", "le"), "gt": ("ogt", "gt"), "ge": ("oge", "ge"),
    "eq": ("oeq", ""), "ne": ("une", ""),
}  # fmt: skip


def _comparison(name: str) -> Row:
    on_float, on_int = _PREDICATES[name]

    def row(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
        if ty.is_floating():
            return b.compare("arith.cmpf", on_float, v[0], v[1])
        letter = "s" if ty.is_signed() else "u"
        return b.compare("arith.cmpi", f"{letter}{on_int}" if on_int else name, v[0], v[1])

    return row


def _div(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    return b.binary("arith.divf", v[0], v[1]) if ty.is_floating() else integers.divide(b, ty, v)


def _rem(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    if not ty.is_floating():
        return integers.remainder(b, ty, v)
    name = "fmod" if v[0].kind == "f64" else "fmodf"
    return elementary.library(b, name, *b.level_up(*v))


def _abs(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    return b.unary("math.absf", v[0]) if ty.is_floating() else integers.absolute(b, ty, v)


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
        return elementary.FUNCTIONS[name](b, v[0])

    return row


ELEMENTWISE: dict[str, Row] = {
    "add": _arithmetic("arith.addf", "arith.addi", "arith.xori"),
    "sub": _arithmetic("arith.subf", "arith.subi", "arith.xori"),
    "mul": _arithmetic("arith.mulf", "arith.muli", "arith.andi"),
    "div": _div,
    "rem": _rem,
    "and": integers.bitwise("arith.andi"),
    "or": integers.bitwise("arith.ori"),
    "xor": integers.bitwise("arith.xori"),
    "not": integers.complement,
    "shl": integers.shift(left=True),
    "shr": integers.shift(left=False),
    "umulhi": integers.multiply_high,
    "abs": _abs,
    "fma": lambda b, ty, v: b.fma(*v),
    "broadcast": lambda b, ty, v: v[0],
    **{f"cmp_{name}": _comparison(name) for name in _PREDICATES},
    "neg": _neg,
    "maximum": _extremum("ogt", "sgt", "ugt"),
    "minimum": _extremum("olt", "slt", "ult"),
    "select": _select,
    **{name: _math(name) for name in elementary.FUNCTIONS},
}

#: What recomputing an operation costs, in simple vector instructions (default 1).
COSTS = {
    **dict.fromkeys(elementary.FUNCTIONS, 15), "div": 5, "rem": 8, "sqrt": 5, "rsqrt": 8,
    "floor": 1, "ceil": 1, "trunc": 1, "rint": 1, "broadcast": 0,
}  # fmt: skip
