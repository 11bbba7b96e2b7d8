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

from ..cases.build import dtype, is_float, rounded

Array = npt.NDArray[Any]

#: Half an ulp of 1, the largest finite value, the smallest denormal.
UNIT = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}
LARGEST = {"f16": 65504.0, "bf16": 3.3895e38, "f32": 3.4028234e38, "f64": 1.797e308}
TINY = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 5e-324}


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


def less(a: Value, b: Value) -> Value:
    slack = a.e + b.e
    close = (slack > 0) & ~(np.abs(a.v.astype(np.float64) - b.v) > slack)
    if not is_float(a.ty):
        close = slack > 0
    return Value("bool", a.v < b.v, np.where(close, np.inf, 0.0))


def _extremum(name: str, a: Value, b: Value, larger: bool) -> Value:
    first = a.v > b.v if larger else a.v < b.v
    v = np.where(first | (a.v != a.v), a.v, b.v)
    if not is_float(name):
        return Value(name, v, _unknown(v.shape, a.e, b.e))
    return Value(name, v, np.maximum(a.e, b.e))


def select(name: str, c: Value, a: Value, b: Value) -> Value:
    return Value(name, np.where(c.v, a.v, b.v), np.where(c.e > 0, np.inf, np.where(c.v, a.e, b.e)))


def exp(name: str, a: Value) -> Value:
    v = np.exp(a.v)
    error = np.where(a.e > 0, np.abs(v) * np.expm1(np.minimum(a.e, 50.0)), 0.0)
    found = _settle(name, v, error, 16 * UNIT[name] * np.abs(v) + TINY[name])
    # Whether a finite argument overflows is a matter of its last bit.
    edge = np.isfinite(a.v) & ~np.isfinite(found.v)
    return Value(name, found.v, np.where(edge, np.inf, found.e))


BINARY: Mapping[str, Callable[[str, Value, Value], Value]] = {
    "add": _add, "sub": lambda n, a, b: _add(n, a, b, -1), "mul": _mul, "div": _div,
    "and": lambda n, a, b: Value(n, a.v & b.v, _unknown(a.v.shape, a.e, b.e)),
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


def reduce_block(op: str, x: Value, axes: tuple[int, ...]) -> Value:
    n = int(np.prod([x.v.shape[k] for k in axes]))
    if not is_float(x.ty):
        if op == "sum":
            v = np.add.reduce(x.v, axis=axes, dtype=x.v.dtype)
        else:
            v = (np.maximum if op == "max" else np.minimum).reduce(x.v, axis=axes)
        return Value(
            x.ty, np.asarray(v), np.asarray(np.where((x.e > 0).any(axis=axes), np.inf, 0.0))
        )
    if op == "sum":
        v = np.asarray(x.v.sum(axis=axes))
        spread = (n - 1) * UNIT[x.ty] * 2 * np.abs(x.v).sum(axis=axes)
        odd = ~np.isfinite(x.v).all(axis=axes)
        found = _settle(x.ty, v, np.asarray(x.e.sum(axis=axes)), spread)
        # Finite terms may overflow on the way, in one order and not in another.
        risky = ~odd & (np.abs(x.v).sum(axis=axes) >= LARGEST[x.ty] / 2)
        return Value(x.ty, found.v, np.asarray(np.where(risky, np.inf, found.e)))
    v = np.asarray((np.fmax if op == "max" else np.fmin).reduce(x.v, axis=axes))
    e = np.asarray(x.e.max(axis=axes))
    # The sign of a zero depends on which of two equal elements is taken.
    return Value(x.ty, v, np.where((v == 0) & (n > 1), np.maximum(e, TINY[x.ty]), e))
