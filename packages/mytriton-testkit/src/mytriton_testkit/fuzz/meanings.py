"""What operations mean, with a bound on how far a right answer may be off (see ``reference``).

Floats are carried as ``float64`` arrays that hold values of their type, beside an absolute error
bound: zero where every conforming machine gets the same bits, infinity where anything goes (a
comparison that rounding may turn around, an overflow that may or may not happen).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mytriton.ir.types import ScalarType

from ..cases.build import FLOATS, STORED, dtype, rounded

Array = npt.NDArray[Any]

#: Half an ulp of 1, the largest finite value, the smallest denormal.
UNIT = {
    "f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53, "f8e4nv": 2.0**-4,
    "f8e5": 2.0**-3,
}  # fmt: skip
LARGEST = {
    "f16": 65504.0, "bf16": 3.3895e38, "f32": 3.4028234e38, "f64": 1.797e308, "f8e4nv": 448.0,
    "f8e5": 57344.0,
}  # fmt: skip
TINY = {
    "f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 5e-324, "f8e4nv": 2.0**-9,
    "f8e5": 2.0**-16,
}  # fmt: skip


def is_float(name: str) -> bool:
    return name in FLOATS or name in STORED


@dataclass(slots=True)
class Value:
    """Numbers of one type. ``v``: the values, ``e``: the error bound of each."""

    ty: str
    v: Array
    e: Array

    def widened(self, shape: tuple[int, ...]) -> Value:
        return Value(self.ty, np.broadcast_to(self.v, shape), np.broadcast_to(self.e, shape))


def held_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(np.float64) if is_float(name) else dtype(name)


def _settle(name: str, exact: Array, error: Array, spread: Array | float = 0.0) -> Value:
    """A float result: rounded, with the rounding of what it depends on and a spread of its own."""
    v = rounded(exact, name).astype(np.float64)
    with np.errstate(all="ignore"):
        size = np.abs(v) + error
        carried = np.where(error > 0, error + 2 * UNIT[name] * size + TINY[name], 0.0)
        e = carried + np.where(np.isfinite(v), spread, 0.0)
        e = np.where((e > 0) & ~(np.abs(v) + e < LARGEST[name]), np.inf, e)
    return Value(name, v, np.where(np.isnan(e), np.inf, e))


def _unknown(shape: Sequence[int], *errors: Array) -> Array:
    """Infinite where any of the errors is not zero."""
    flags = np.zeros(tuple(shape), np.bool_)
    for error in errors:
        flags = flags | (error > 0)
    return np.where(flags, np.inf, 0.0)


def convert(x: Value, name: str) -> Value:
    """A C cast."""
    if x.ty == name:
        return x
    shape = x.v.shape
    if is_float(x.ty) and is_float(name):
        return _settle(name, x.v, x.e)
    if is_float(name):
        v = x.v.astype(np.float32 if name == "bf16" else dtype(name)).astype(np.float64)
        v = rounded(v, name).astype(np.float64)
        return Value(name, v, _unknown(shape, x.e))
    if name == "bool":
        near = (x.e > 0) & ~(np.abs(x.v) > x.e) if is_float(x.ty) else x.e > 0
        return Value(name, np.asarray(x.v != 0), np.where(near, np.inf, 0.0))
    if is_float(x.ty):
        with np.errstate(all="ignore"):
            info = np.iinfo(dtype(name))
            low, high = np.trunc(x.v - x.e), np.trunc(x.v + x.e)
            inside = (np.trunc(x.v) >= float(info.min)) & (np.trunc(x.v) <= float(info.max))
            v = np.where(inside, np.nan_to_num(x.v, nan=0.0, posinf=0.0, neginf=0.0), 0.0)
        return Value(name, v.astype(dtype(name)), np.where(inside & (low == high), 0.0, np.inf))
    return Value(name, x.v.astype(dtype(name)), _unknown(shape, x.e))


# ---------------------------------------------------------------------------- elementwise


def _add(name: str, a: Value, b: Value, sign: int = 1) -> Value:
    if name == "bool":
        return Value(name, a.v ^ b.v, _unknown(a.v.shape, a.e, b.e))
    v = a.v + b.v if sign > 0 else a.v - b.v
    if not is_float(name):
        return Value(name, v, _unknown(v.shape, a.e, b.e))
    return _settle(name, v, a.e + b.e)


def _mul(name: str, a: Value, b: Value) -> Value:
    v = a.v * b.v
    if not is_float(name):
        return Value(name, v, _unknown(v.shape, a.e, b.e))
    error = np.where(a.e + b.e > 0, np.abs(a.v) * b.e + np.abs(b.v) * a.e + a.e * b.e, 0.0)
    # It may be fused into an addition and then not be rounded at all.
    return _settle(name, v, error, UNIT[name] * np.abs(v) + TINY[name])


def _div(name: str, a: Value, b: Value) -> Value:
    if not is_float(name):
        safe = np.where(b.v == 0, b.v.dtype.type(1), b.v)
        quotient = a.v // safe
        trunc = quotient + ((quotient * safe != a.v) & ((a.v < 0) != (safe < 0)))
        bad = b.v == 0
        if a.v.dtype.kind == "i":
            bad = bad | ((b.v == -1) & (a.v == np.iinfo(a.v.dtype).min))
        e = np.where(bad, np.inf, _unknown(bad.shape, a.e, b.e))
        return Value(name, trunc.astype(a.v.dtype), e)
    v = a.v / b.v
    away = np.abs(b.v) - b.e
    error = np.where(a.e + b.e > 0, np.where(away > 0, (a.e + np.abs(v) * b.e) / away, np.inf), 0.0)
    return _settle(name, v, error, 5 * UNIT[name] * np.abs(v) + TINY[name])


def _whole(name: str, v: Array, *operands: Value) -> Value:
    """A result that is known exactly or not at all."""
    return Value(name, np.asarray(v), _unknown(v.shape, *(o.e for o in operands)))


def _rem(name: str, a: Value, b: Value) -> Value:
    """What a division that truncates leaves."""
    if is_float(name):
        return _whole(name, np.fmod(a.v, b.v), a, b)
    quotient = _div(name, a, b)
    return Value(name, a.v - quotient.v * b.v, quotient.e)


def _upper(name: str, a: Array, b: Array) -> Array:
    bits = dtype(name).itemsize * 8
    left, right = (x.astype(object) % 2**bits for x in (a, b))
    high = (left * right) >> bits
    return np.asarray(high).astype(np.uint64).astype(dtype(name)).reshape(a.shape)


def bitcast(name: str, x: Value) -> Value:
    """The same bits; from integers only."""
    v = np.ascontiguousarray(x.v).view(dtype(name)).reshape(x.v.shape)
    return _whole(name, v.astype(held_dtype(name)), x)


COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "cmp_lt": np.less, "cmp_le": np.less_equal, "cmp_gt": np.greater, "cmp_ge": np.greater_equal,
    "cmp_eq": np.equal, "cmp_ne": np.not_equal,
}  # fmt: skip


def compare(opcode: str, a: Value, b: Value) -> Value:
    slack = a.e + b.e
    close = (slack > 0) & ~(np.abs(a.v.astype(np.float64) - b.v) > slack)
    if not is_float(a.ty):
        close = slack > 0
    return Value("bool", COMPARISONS[opcode](a.v, b.v), np.where(close, np.inf, 0.0))


def _extremum(name: str, a: Value, b: Value, larger: bool) -> Value:
    first = a.v > b.v if larger else a.v < b.v
    v = np.where(first | (a.v != a.v), a.v, b.v)
    if not is_float(name):
        return Value(name, v, _unknown(v.shape, a.e, b.e))
    return Value(name, v, np.maximum(a.e, b.e))


def select(name: str, c: Value, a: Value, b: Value) -> Value:
    return Value(name, np.where(c.v, a.v, b.v), np.where(c.e > 0, np.inf, np.where(c.v, a.e, b.e)))


BINARY: Mapping[str, Callable[[str, Value, Value], Value]] = {
    "add": _add, "sub": lambda n, a, b: _add(n, a, b, -1), "mul": _mul, "div": _div,
    "rem": lambda n, a, b: _rem(n, a, b), "and": lambda n, a, b: _whole(n, a.v & b.v, a, b),
    "or": lambda n, a, b: _whole(n, a.v | b.v, a, b),
    "xor": lambda n, a, b: _whole(n, a.v ^ b.v, a, b),
    "shl": lambda n, a, b: _whole(n, a.v << b.v, a, b),
    "shr": lambda n, a, b: _whole(n, a.v >> b.v, a, b),
    "umulhi": lambda n, a, b: _whole(n, _upper(n, a.v, b.v), a, b),
    "maximum": lambda n, a, b: _extremum(n, a, b, True),
    "minimum": lambda n, a, b: _extremum(n, a, b, False),
}  # fmt: skip


def common_type(a: str, b: str) -> str:
    """The type two operands of a comparison meet in (language.md section 3)."""
    for wide in ("f64", "f32", "f16"):
        if wide in (a, b):
            return wide
    if "bf16" in (a, b):
        return a if a == b else "f32"
    x, y = ScalarType(a), ScalarType(b)
    if x.is_signed() == y.is_signed():
        return a if x.bits >= y.bits else b
    unsigned, signed = (y, x) if x.is_signed() else (x, y)
    return unsigned.name if unsigned.bits >= signed.bits else signed.name
