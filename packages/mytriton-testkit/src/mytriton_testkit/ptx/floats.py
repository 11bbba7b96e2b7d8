"""Exact floating-point arithmetic on NumPy arrays: fused multiply-add, directed rounding, bf16.

`float32` work is done in `float64` with error-free transformations: a sum is rounded *to odd*
there, after which rounding once more to 24 bits or fewer is exact. The rare `float64` operation
that NumPy has no rounding mode for is done with fractions, lane by lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from .types import Array

FORMATS: dict[str, tuple[int, int, int]] = {
    "f16": (11, -14, 15),
    "bf16": (8, -126, 127),
    "f32": (24, -126, 127),
    "tf32": (11, -126, 127),
}
"""Precision and the exponents of the smallest and largest normal numbers."""

TINY = np.float32(2.0**-126)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and what rounding lost."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def to_odd(total: Array, error: Array) -> Array:
    """`total + error` rounded to odd, where `total` was its rounding to nearest."""
    bits = np.asarray(total).view(np.int64)
    inexact = (error != 0) & ((bits & 1) == 0) & np.isfinite(total) & np.isfinite(error)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.asarray(bits + np.where(inexact, step, 0)).view(np.float64)


def _away(x: Array) -> Array:
    return np.trunc(x + np.copysign(0.5, x))


ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "rn": np.rint,
    "rz": np.trunc,
    "rm": np.floor,
    "rp": np.ceil,
    "rna": _away,
}


def round_format(x: Array, name: str, mode: str) -> Array:
    """Round float64 to a smaller format, subnormals and overflow included; stays float64."""
    precision, lowest, highest = FORMATS[name]
    _, exponent = np.frexp(x)
    quantum = np.maximum(exponent - precision, lowest - precision + 1)
    result = np.ldexp(ROUNDINGS[mode](np.ldexp(x, -quantum)), quantum)
    limit = (2.0 - 2.0 ** (1 - precision)) * 2.0**highest
    over = (np.abs(result) > limit) & np.isfinite(x)
    if over.any():
        up, down = mode in ("rn", "rna", "rp"), mode in ("rn", "rna", "rm")
        highs = np.where(result > 0, np.inf if up else limit, -np.inf if down else -limit)
        result = np.where(over, highs, result)
    return np.where(np.isfinite(x), result, x)


def flush32(x: Array) -> Array:
    """Subnormal float32 become zeros of their sign."""
    small = np.abs(x) < TINY
    return np.where(small, np.copysign(np.float32(0), x), x) if small.any() else x


def saturate(x: Array) -> Array:
    """Clamp to [0, 1]; NaN becomes 0."""
    zero, one = x.dtype.type(0), x.dtype.type(1)
    return np.where(x > zero, np.minimum(x, one), zero)


# ---------------------------------------------------------------------- float32


def fma32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c rounded once to nearest."""
    product = a.astype(np.float64) * b
    total = product + c
    result = total.astype(np.float32)
    # Rounding twice differs only where the first rounding landed on a tie of the second, or where
    # float32 has fewer bits left.
    halfway = (np.asarray(total).view(np.int64) & 0x1FFFFFFF) == 0x10000000
    doubtful = halfway | ((np.abs(total) < 2.0**-126) & (total != 0))
    if doubtful.any():
        total, error = two_sum(product, np.asarray(c, np.float64))
        result = to_odd(total, error).astype(np.float32)
    return result


def fma32_directed(a: Array, b: Array, c: Array, mode: str) -> Array:
    total, error = two_sum(a.astype(np.float64) * b, np.asarray(c, np.float64))
    return round_format(to_odd(total, error), "f32", mode).astype(np.float32)


def add32_directed(a: Array, b: Array, mode: str) -> Array:
    total, error = two_sum(a.astype(np.float64), b.astype(np.float64))
    return round_format(to_odd(total, error), "f32", mode).astype(np.float32)


def mul32_directed(a: Array, b: Array, mode: str) -> Array:
    return round_format(a.astype(np.float64) * b, "f32", mode).astype(np.float32)


def _step(nearest: Array, residual: Array, mode: str) -> Array:
    """Move a result rounded to nearest to the directed one; residual = exact - nearest."""
    down = (residual < 0) & ((mode == "rm") | ((mode == "rz") & (nearest > 0)))
    up = (residual > 0) & ((mode == "rp") | ((mode == "rz") & (nearest < 0)))
    one = nearest.dtype.type
    result = np.where(down, np.nextafter(nearest, one(-np.inf)), nearest)
    return np.where(up, np.nextafter(nearest, one(np.inf)), result)


def div32_directed(a: Array, b: Array, mode: str) -> Array:
    nearest = a / b
    residual = (a - nearest.astype(np.float64) * b) * np.sign(b)
    return _step(nearest, residual, mode)


def sqrt32_directed(a: Array, mode: str) -> Array:
    nearest = np.sqrt(a)
    return _step(nearest, a - nearest.astype(np.float64) ** 2, mode)


# ---------------------------------------------------------------------- float64


def _split(a: Array) -> tuple[Array, Array]:
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def fma64(a: Array, b: Array, c: Array) -> Array:
    """a * b + c rounded once to nearest (Boldo and Melquiond, by rounding to odd)."""
    a, b, c = np.broadcast_arrays(a, b, c)
    high, low = two_product(a, b)
    carried, lost = two_sum(c, low)
    total, rest = two_sum(high, carried)
    result = np.asarray(total + to_odd(*two_sum(lost, rest)))
    plain = np.asarray(a * b + c)
    sizes = [np.abs(value) for value in (a, b, high)]
    safe = (np.abs(c) < 1e290) & ((c == 0) | (np.abs(c) > 1e-250))
    for size in sizes:
        safe &= (size < 1e290) & (size > 1e-250)
    trivial = ~np.isfinite(plain) & ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
    trivial |= (a == 0) | (b == 0)
    result = np.where(trivial, plain, result)
    return _exactly(~(safe | trivial), result, "rn", lambda x, y, z: x * y + z, a, b, c)


def float_of(exact: Fraction, mode: str) -> float:
    """A fraction rounded to float64."""
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = math.inf if exact > 0 else -math.inf
    if mode == "rn":
        return nearest
    toward = {"rm": -math.inf, "rp": math.inf, "rz": 0.0}[mode]
    if math.isinf(nearest):
        wrong = (nearest > 0) != (toward > 0) or mode == "rz"
        return math.nextafter(nearest, 0.0) if wrong else nearest
    difference = exact - Fraction(nearest)
    if mode == "rz":
        wrong = (difference < 0) == (nearest > 0) and difference != 0
        return math.nextafter(nearest, 0.0) if wrong and nearest else nearest
    wrong = difference < 0 if mode == "rm" else difference > 0
    return math.nextafter(nearest, toward) if wrong else nearest


def _exactly(
    where: Array,
    result: Array,
    mode: str,
    function: Callable[..., Fraction],
    *arguments: Array,
) -> Array:
    """Replace the doubtful lanes of a result by the exact one."""
    if not where.any():
        return result
    result = np.array(result)
    flat, sources = result.reshape(-1), [np.ravel(each) for each in arguments]
    for lane in np.flatnonzero(where):
        exact = function(*(Fraction(float(source[lane])) for source in sources))
        if exact:
            flat[lane] = float_of(exact, mode)
    return result


def directed64(function: Callable[..., Array], mode: str, *arguments: Array) -> Array:
    """A rational float64 operation with a directed rounding."""
    arguments = tuple(np.broadcast_arrays(*arguments))
    nearest = np.asarray(function(*arguments))
    finite = np.all([np.isfinite(each) for each in arguments], axis=0)
    if function is np.divide:
        finite &= arguments[-1] != 0

    def exact(*values: Fraction) -> Fraction:
        return Fraction(function(*values))

    return _exactly(finite, nearest, mode, exact, *arguments)


def sqrt64_directed(a: Array, mode: str) -> Array:
    nearest = np.sqrt(a)
    residual = np.zeros(nearest.shape)
    for lane in np.flatnonzero(np.isfinite(nearest) & (a > 0)):
        exact = Fraction(float(a[lane])) - Fraction(float(nearest[lane])) ** 2
        residual[lane] = (exact > 0) - (exact < 0)
    return _step(nearest, residual, mode)


# ---------------------------------------------------------------------- bf16 and packed halves


def bf16_to_f32(bits: Array) -> Array:
    return np.asarray(bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def bf16_bits(x: Array, mode: str = "rn") -> Array:
    """Bits of the bf16 nearest to float64 or float32 values."""
    if x.dtype == np.float32 and mode == "rn":
        bits = np.asarray(x).view(np.uint32)
        odd = (bits >> np.uint32(16)) & np.uint32(1)
        rounded = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    else:
        exact = round_format(x.astype(np.float64), "bf16", mode).astype(np.float32)
        rounded = np.asarray(exact).view(np.uint32) >> np.uint32(16)
    return np.where(np.isnan(x), np.uint32(0x7FFF), rounded).astype(np.uint16)


def fma_small(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of values with at most 11 bits, rounded to odd in float64."""
    product = a.astype(np.float64) * b.astype(np.float64)
    return to_odd(*two_sum(product, c.astype(np.float64)))
