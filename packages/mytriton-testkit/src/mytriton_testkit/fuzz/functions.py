"""What functions of floats, reductions and products mean, with error bounds (see ``meanings``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from .meanings import LARGEST, TINY, UNIT, Array, Value, _settle, is_float

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _near_zero(x: Array, e: Array) -> Array:
    """How close to zero the true value may come."""
    return np.abs(x) - e


def _inverse(power: float) -> Callable[[Array, Array], Array]:
    """The slope of a function that is steep at zero: ``power`` of the distance to it."""

    def slope(x: Array, e: Array) -> Array:
        away = _near_zero(x, e)
        return np.where(away > 0, np.abs(away) ** power, np.inf)

    return slope


#: Function, bound of its slope near ``x``, own error in units.
_SMOOTH: Mapping[str, tuple[Callable[[Array], Array], Callable[[Array, Array], Array], float]] = {
    "exp": (np.exp, lambda x, e: np.exp(np.minimum(x + e, 700.0)), 16),
    "exp2": (np.exp2, lambda x, e: np.exp2(np.minimum(x + e, 1000.0)), 16),
    "log": (np.log, _inverse(-1.0), 16), "log2": (np.log2, lambda x, e: 1.5 * _inverse(-1.0)(x, e), 16),
    "sqrt": (np.sqrt, _inverse(-0.5), 4),
    "rsqrt": (lambda x: 1 / np.sqrt(x), _inverse(-1.5), 8),
    "sin": (np.sin, lambda x, e: np.ones_like(x), 16),
    "cos": (np.cos, lambda x, e: np.ones_like(x), 16),
    "tanh": (np.tanh, lambda x, e: np.ones_like(x), 16),
    "erf": (_erf, lambda x, e: np.full_like(x, 1.2), 16),
}  # fmt: skip
_STEPS: Mapping[str, Callable[[Array], Array]] = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
}  # fmt: skip
FUNCTIONS = (*_SMOOTH, *_STEPS)


def function(opcode: str, name: str, a: Value) -> Value:
    """A function of one float."""
    if opcode in _STEPS:
        step = _STEPS[opcode]
        jumps = (a.e > 0) & (step(a.v - a.e) != step(a.v + a.e))
        return Value(name, step(a.v), np.where(jumps, np.inf, np.where(a.e > 0, TINY[name], 0.0)))
    compute, slope, own = _SMOOTH[opcode]
    v = compute(a.v)
    error = np.where(a.e > 0, a.e * slope(a.v, a.e), 0.0)
    if opcode in ("log", "log2", "sqrt", "rsqrt"):
        # Where an argument may be negative or not, so may the result be a number or not.
        error = np.where((a.e > 0) & (np.abs(a.v) <= a.e), np.inf, error)
    found = _settle(name, v, error, own * UNIT[name] * np.abs(v) + TINY[name])
    # Whether a finite argument overflows is a matter of its last bit.
    edge = np.isfinite(a.v) & ~np.isfinite(found.v) & ~np.isnan(found.v) & (a.v != 0)
    return Value(name, found.v, np.where(edge, np.inf, found.e))


def magnitude(name: str, a: Value) -> Value:
    return Value(name, np.abs(a.v), a.e)


def fma(name: str, a: Value, b: Value, c: Value) -> Value:
    """``a * b + c``, rounded once or twice."""
    product = a.v * b.v
    carried = np.where(a.e + b.e > 0, np.abs(a.v) * b.e + np.abs(b.v) * a.e + a.e * b.e, 0.0)
    spread = 2 * UNIT[name] * (np.abs(product) + np.abs(c.v)) + TINY[name]
    found = _settle(name, product + c.v, carried + c.e, spread)
    risky = np.isfinite(a.v) & np.isfinite(b.v) & (np.abs(product) >= LARGEST[name] / 2)
    return Value(name, found.v, np.where(risky, np.inf, found.e))


# ---------------------------------------------------------------------------- blocks


def _positions(op: str, x: Value, axes: tuple[int, ...]) -> Value:
    """The first position of the largest or smallest number; 0 when there is none."""
    shape = x.v.shape
    rest = [k for k in range(len(shape)) if k not in axes]
    order = np.transpose(x.v, (*rest, *axes)).reshape(*(shape[k] for k in rest), -1)
    if is_float(x.ty):
        best = (np.fmax if op == "argmax" else np.fmin).reduce(order, axis=-1, keepdims=True)
    else:
        best = (np.max if op == "argmax" else np.min)(order, axis=-1, keepdims=True)
    hit = order == best
    unsure = (x.e > 0).any(axis=axes)
    return Value(
        "i32", np.asarray(hit.argmax(axis=-1), np.int32), np.asarray(np.where(unsure, np.inf, 0.0))
    )


def reduce_block(op: str, x: Value, axes: tuple[int, ...]) -> Value:
    """A reduction along some axes."""
    if op in ("argmax", "argmin"):
        return _positions(op, x, axes)
    n = int(np.prod([x.v.shape[k] for k in axes]))
    if not is_float(x.ty):
        if op == "sum":
            v = np.add.reduce(x.v, axis=axes, dtype=x.v.dtype)
        elif op == "xor_sum":
            v = np.bitwise_xor.reduce(x.v, axis=axes)
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
        # Whether a sum begins with a zero of its own shows where all terms are -0.0.
        e = np.where(found.v == 0, np.maximum(found.e, TINY[x.ty]), found.e)
        return Value(x.ty, found.v, np.asarray(np.where(risky, np.inf, e)))
    v = np.asarray((np.fmax if op == "max" else np.fmin).reduce(x.v, axis=axes))
    e = np.asarray(x.e.max(axis=axes))
    # The sign of a zero depends on which of two equal elements is taken.
    return Value(x.ty, v, np.where((v == 0) & (n > 1), np.maximum(e, TINY[x.ty]), e))


def dot(name: str, a: Value, b: Value, acc: Value | None) -> Value:
    """A matrix product, with an accumulator."""
    if not is_float(name):
        left, right = (x.v.astype(np.int64) for x in (a, b))
        v = left @ right + (0 if acc is None else acc.v.astype(np.int64))
        unsure = np.any(a.e > 0, axis=1, keepdims=True) | np.any(b.e > 0, axis=0, keepdims=True)
        if acc is not None:
            unsure = unsure | (acc.e > 0)
        return Value(name, v.astype(np.int32), np.where(unsure, np.inf, 0.0))
    terms = a.v[:, :, None] * b.v[None, :, :]
    v = terms.sum(axis=1)
    size = np.abs(terms).sum(axis=1)
    carried = np.abs(a.v) @ b.e + a.e @ np.abs(b.v) + a.e @ b.e
    if acc is not None:
        v, size, carried = v + acc.v, size + np.abs(acc.v), carried + acc.e
    carried = np.where(np.isnan(carried), np.inf, carried)
    exact = (a.e.max() == 0) & (b.e.max() == 0) & (acc is None or acc.e.max() == 0)
    carried = np.zeros_like(v) if exact else carried
    k = a.v.shape[1] + 1
    found = _settle(name, v, carried, 2 * k * UNIT[name] * size + TINY[name])
    most = np.where(np.isfinite(terms), np.abs(terms), 0.0).sum(axis=1)
    most = most + (0 if acc is None else np.where(np.isfinite(acc.v), np.abs(acc.v), 0.0))
    risky = most >= LARGEST[name] / 2
    return Value(name, found.v, np.where(risky, np.inf, found.e))
