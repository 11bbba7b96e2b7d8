"""Bitwise operations and the arithmetic that only integers have."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import rules
from ..numerics import decode, encode, storage_dtype
from ..registry import OpDef, register
from ..types import ScalarType, Type, scalar_of, shape_of, with_shape
from ..values import SSAOp, SSAOperand
from .pointwise import _all_ones, _constant, _keeps


def _fold_or(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    if lhs == rhs:
        return _keeps(op, lhs)
    for operand, other in ((lhs, rhs), (rhs, lhs)):
        if _constant(op, operand, 0):
            return _keeps(op, other)
        if _all_ones(op, operand):
            return _keeps(op, operand)
    return None


def _fold_xor(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    for operand, other in ((lhs, rhs), (rhs, lhs)):
        if _constant(op, operand, 0):
            return _keeps(op, other)
    return None


def _fold_shift(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    return _keeps(op, lhs) if _constant(op, rhs, 0) else None


def _width(a: Any) -> int:
    return int(a.dtype.itemsize) * 8


def _in_range(ev: Any, a: Any, b: Any) -> Any:
    """Where a shift is specified: by less than the width."""
    return (b >= 0) & (b < _width(a))


def _shift(shift: Any) -> Any:
    def meaning(ev: Any, a: Any, b: Any) -> Any:
        # NumPy, like C, leaves shifts by the width undefined: keep them in range.
        return shift(a, b & b.dtype.type(_width(a) - 1))

    return meaning


def _exact_shl(a: Any, b: Any) -> Any:
    # Shifts out of range are another matter; here they must only stay affordable.
    if isinstance(b, int):
        return a << min(max(b, 0), 64)
    return a << np.clip(b, 0, 31 if a.dtype.kind == "i" else 63)


def _infer_umulhi(types: rules.Types, attrs: rules.Attrs) -> Type:
    ty: Type = rules.bitwise("umulhi")(types, attrs)
    if scalar_of(ty).bits not in (32, 64):
        raise rules.OpRuleError(f"umulhi needs 32- or 64-bit integers, got {types[0]}, {types[1]}")
    return ty


def _umulhi(ev: Any, a: Any, b: Any) -> Any:
    if a.dtype.itemsize == 4:
        wide = a.astype(np.uint32).astype(np.uint64) * b.astype(np.uint32).astype(np.uint64)
        return (wide >> np.uint64(32)).astype(np.uint32).astype(a.dtype)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & mask)
    return (x1 * y1 + (middle >> half) + (other >> half)).astype(a.dtype)


def _infer_bitcast(types: rules.Types, attrs: rules.Attrs) -> Type:
    (ty,) = types
    source, dtype = rules.number(ty, "bitcast"), rules.static_dtype("bitcast", attrs)
    if source.bits != dtype.bits:
        raise rules.OpRuleError(
            f"bitcast: {source} has {source.bits} bits and {dtype} has {dtype.bits}; they must agree"
        )
    return with_shape(shape_of(ty), dtype)  # type: ignore[arg-type]


def _bitcast(ev: Any, a: Any) -> Any:
    dtype: ScalarType = ev.attrs["dtype"]
    stored = np.ascontiguousarray(encode(a, ev.source))
    return decode(stored.view(storage_dtype(dtype)), dtype).reshape(a.shape)


def _source_type(types: rules.Types, result: Type | None) -> ScalarType:
    return scalar_of(types[0])  # type: ignore[arg-type]


or_ = register(
    OpDef(
        "or", ("lhs", "rhs"), rules.bitwise("or"), lambda ev, a, b: a | b,
        "Bitwise or of integers, disjunction of bools.",
        elementwise=True, commutative=True, symbol="|", fold=_fold_or,
    )
)  # fmt: skip
xor = register(
    OpDef(
        "xor", ("lhs", "rhs"), rules.bitwise("xor"), lambda ev, a, b: a ^ b,
        "Bitwise exclusive or of integers or bools.",
        elementwise=True, commutative=True, symbol="^", fold=_fold_xor,
    )
)  # fmt: skip
not_ = register(
    OpDef(
        "not", ("operand",), rules.same("not", "bits"), lambda ev, a: np.invert(a),
        "Bitwise complement of an integer, negation of a bool.", elementwise=True, symbol="~",
    )
)  # fmt: skip
shl = register(
    OpDef(
        "shl", ("lhs", "rhs"), rules.bitwise("shl"), _shift(np.left_shift),
        "Shift left; [integers wrap](#integers). A shift by the width of the type or more is undefined.",
        elementwise=True, symbol="<<", fold=_fold_shift, defined=_in_range,
        hazard="shift-out-of-range", exact=_exact_shl,
    )
)  # fmt: skip
shr = register(
    OpDef(
        "shr", ("lhs", "rhs"), rules.bitwise("shr"), _shift(np.right_shift),
        "Shift right: signed integers copy their sign, unsigned ones fill with zeros. A shift by the "
        "width of the type or more is undefined.",
        elementwise=True, symbol=">>", fold=_fold_shift, defined=_in_range,
        hazard="shift-out-of-range",
    )
)  # fmt: skip
umulhi = register(
    OpDef(
        "umulhi", ("lhs", "rhs"), _infer_umulhi, _umulhi,
        "The upper half of the product of two 32- or 64-bit integers taken as unsigned.",
        elementwise=True, commutative=True,
    )
)  # fmt: skip
bitcast = register(
    OpDef(
        "bitcast", ("operand",), _infer_bitcast, _bitcast,
        "The same bits read as another type of the same width.",
        attrs=("dtype",), elementwise=True, compute=_source_type, constants="peer", foldable=False,
    )
)  # fmt: skip
