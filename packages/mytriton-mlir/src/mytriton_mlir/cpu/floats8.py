"""8-bit floats, which are only stored: to ``f32`` and back.

``f8e5`` is the upper half of an ``f16``. ``f8e4nv`` has no infinity and one NaN of each sign; its
exponent and mantissa, moved to where those of an ``f32`` are, read as a number ``2**-120`` as large.
"""

from __future__ import annotations

import math

import mytriton.plugin_api as mt

from .builder import Builder, Val

_MANTISSA = {"f8e4nv": 3, "f8e5": 2}
#: Smallest number with a full mantissa.
_NORMAL = {"f8e4nv": 2.0**-6, "f8e5": 2.0**-14}
#: What is rounded to this or more does not fit.
_TOO_LARGE = {"f8e4nv": 480.0, "f8e5": 65536.0}
_NAN_CODE = 0x7F


def _and(b: Builder, val: Val, mask: int) -> Val:
    return b.binary("arith.andi", val, b.constant(mask, val.kind, val.width))


def _shift(b: Builder, op: str, val: Val, by: int) -> Val:
    return b.binary(op, val, b.constant(by, val.kind, val.width))


def decode(b: Builder, val: Val, ty: mt.ScalarType) -> Val:
    """Bits to the number they mean."""
    if ty.name == "f8e5":
        wide = _shift(b, "arith.shli", b.cast("arith.extui", val, "i16"), 8)
        return b.cast("arith.extf", b.cast("arith.bitcast", wide, "f16"), "f32")
    bits, w = b.cast("arith.extui", val, "i32"), val.width
    size = _and(b, bits, 0x7F)
    small = b.cast("arith.bitcast", _shift(b, "arith.shli", size, 20), "f32")
    number = b.binary("arith.mulf", small, b.constant(2.0**120, "f32", w))
    nan = b.compare("arith.cmpi", "eq", size, b.constant(_NAN_CODE, "i32", w))
    number = b.select(nan, b.constant(math.nan, "f32", w), number)
    return _signed(b, number, _shift(b, "arith.shli", _and(b, bits, 0x80), 24))


def _signed(b: Builder, size: Val, sign: Val) -> Val:
    bits = b.binary("arith.ori", b.cast("arith.bitcast", size, "i32"), sign)
    return b.cast("arith.bitcast", bits, "f32")


def encode(b: Builder, val: Val, ty: mt.ScalarType) -> Val:
    """A number that the type has, to its bits."""
    bits, w = b.cast("arith.bitcast", val, "i32"), val.width
    if ty.name == "f8e5":
        half = b.cast("arith.bitcast", b.cast("arith.truncf", val, "f16"), "i16")
        code = b.cast("arith.extui", _shift(b, "arith.shrui", half, 8), "i32")
    else:
        small = b.binary("arith.mulf", val, b.constant(2.0**-120, "f32", w))
        code = _shift(b, "arith.shrui", b.cast("arith.bitcast", small, "i32"), 20)
    sign = _shift(b, "arith.shrui", _and(b, bits, -(1 << 31)), 24)
    code = b.binary("arith.ori", _and(b, code, 0x7F), sign)
    nan = b.binary("arith.ori", sign, b.constant(_NAN_CODE, "i32", w))
    code = b.select(b.compare("arith.cmpf", "uno", val, val), nan, code)
    return b.cast("arith.trunci", code, "i8")


def round_to(b: Builder, val: Val, ty: mt.ScalarType) -> Val:
    """The nearest number of the type, ties to even."""
    w, dropped = val.width, 23 - _MANTISSA[ty.name]
    bits, size = b.cast("arith.bitcast", val, "i32"), b.unary("math.absf", val)
    whole = b.cast("arith.bitcast", size, "i32")
    odd = _and(b, _shift(b, "arith.shrui", whole, dropped), 1)
    up = b.binary("arith.addi", odd, b.constant((1 << (dropped - 1)) - 1, "i32", w))
    near = _and(b, b.binary("arith.addi", whole, up), -(1 << dropped))
    near = b.cast("arith.bitcast", near, "f32")
    # Below, numbers are evenly spaced: adding a large one rounds to a multiple of that space.
    spacing = _NORMAL[ty.name] * 2.0 ** -_MANTISSA[ty.name]
    magic = b.constant(spacing * 3 * 2.0**22, "f32", w)
    fine = b.binary("arith.subf", b.binary("arith.addf", size, magic), magic)
    below = b.compare("arith.cmpf", "olt", size, b.constant(_NORMAL[ty.name], "f32", w))
    near = b.select(below, fine, near)
    limit = b.constant(_TOO_LARGE[ty.name], "f32", w)
    beyond = math.inf if ty.name == "f8e5" else math.nan
    fits = b.compare("arith.cmpf", "olt", near, limit)
    near = b.select(fits, near, b.constant(beyond, "f32", w))
    near = b.select(b.compare("arith.cmpf", "uno", val, val), val, near)
    return _signed(b, near, _and(b, bits, -(1 << 31)))
