"""Mathematical functions as MLIR text: one function of ``(builder, x)`` for each, on ``f32`` and
``f64``, scalars and vectors alike.

They are written out in place: LLVM would call the C library once a lane, and inlined they fuse
with what surrounds them. Each is within 2 ulp over its full range, right on NaN, infinities and
denormals. ``elementary.py`` has the other functions and the table that the lowerings read.
"""

from __future__ import annotations

from collections.abc import Sequence

from .builder import Builder, Val


def polynomial(b: Builder, x: Val, coefficients: Sequence[float]) -> Val:
    """Horner's rule, highest power first."""
    total = b.constant(coefficients[0], x.kind, x.width)
    for c in coefficients[1:]:
        total = b.fma(total, x, b.constant(c, x.kind, x.width))
    return total


def clamp(b: Builder, x: Val, low: float, high: float) -> Val:
    """``x`` between bounds; NaN stays NaN."""
    lo, hi = b.constant(low, x.kind, x.width), b.constant(high, x.kind, x.width)
    x = b.select(b.compare("arith.cmpf", "olt", x, lo), lo, x)
    return b.select(b.compare("arith.cmpf", "ogt", x, hi), hi, x)


def scale_by_power(b: Builder, x: Val, k: Val) -> Val:
    """``x * 2**k`` for a whole ``k`` held as a float, in two steps: 2**k may be no number although
    the product is one (denormal results)."""
    kind, bias, mantissa = ("i64", 1023, 52) if x.kind == "f64" else ("i32", 127, 23)
    w = x.width
    whole = b.cast("arith.fptosi", k, kind)
    half = b.binary("arith.shrsi", whole, b.constant(1, kind, w))
    for part in (half, b.binary("arith.subi", whole, half)):
        biased = b.binary("arith.addi", part, b.constant(bias, kind, w))
        power = b.binary("arith.shli", biased, b.constant(mantissa, kind, w))
        x = b.binary("arith.mulf", x, b.cast("arith.bitcast", power, x.kind))
    return x


def exp(b: Builder, x: Val) -> Val:
    """Natural exponential: ``2**k * exp(r)`` with ``|r| <= ln(2) / 2``."""
    return _exp64(b, x) if x.kind == "f64" else _exp32(b, x)


#: ``(exp(r) - 1 - r) / r**2``: off by 3.1e-9 of ``exp(r)`` at most (a twentieth of an ulp).
_EXP32_TAIL = (
    1.3814433477818966e-3, 8.368796668946743e-3, 4.1668396443128586e-2, 1.666651964187622e-1,
    4.999999403953552e-1,
)  # fmt: skip


def _exp32(b: Builder, x: Val) -> Val:
    if x.width and b.expect_ordinary:
        # Nearly all arguments give ordinary numbers: their power of two is an addition to the
        # exponent. One strange lane (NaN counts) sends the vector the long way.
        size = b.unary("math.absf", x)
        strange = b.compare("arith.cmpf", "uge", size, b.constant(87.0, "f32", x.width))
        return b.rarely(strange, x, _exp32_ordinary, _exp32_any)
    return _exp32_any(b, x)


def _exp32_reduced(b: Builder, x: Val) -> tuple[Val, Val, Val]:
    """``exp`` of what is left of ``x`` after a multiple ``k`` of ln(2); ``k``, and ``k`` shifted into
    the mantissa of a large number."""
    w = x.width
    # Adding 1.5 * 2**23 rounds to the nearest whole number.
    magic = b.constant(12582912.0, "f32", w)
    shifted = b.fma(x, b.constant(1.44269504088896341, "f32", w), magic)
    k = b.binary("arith.subf", shifted, magic)
    r = b.fma(k, b.constant(-0.693359375, "f32", w), x)
    r = b.fma(k, b.constant(2.12194440e-4, "f32", w), r)
    tail = polynomial(b, r, _EXP32_TAIL)
    e = b.fma(tail, b.binary("arith.mulf", r, r), r)
    return b.binary("arith.addf", e, b.constant(1.0, "f32", w)), k, shifted


def _exp32_ordinary(b: Builder, x: Val) -> Val:
    e, _, shifted = _exp32_reduced(b, x)
    bits = b.cast("arith.bitcast", shifted, "i32")
    power = b.binary("arith.shli", bits, b.constant(23, "i32", x.width))
    found = b.binary("arith.addi", b.cast("arith.bitcast", e, "i32"), power)
    return b.cast("arith.bitcast", found, "f32")


def _exp32_any(b: Builder, x: Val) -> Val:
    e, k, _ = _exp32_reduced(b, clamp(b, x, -104.0, 88.8))
    return scale_by_power(b, e, k)


def _exp64(b: Builder, x: Val) -> Val:
    w = x.width
    x = clamp(b, x, -746.0, 710.0)
    magic = b.constant(6755399441055744.0, "f64", w)
    k = b.binary("arith.subf", b.fma(x, b.constant(1.4426950408889634, "f64", w), magic), magic)
    r = b.fma(k, b.constant(-6.93147180369123816490e-01, "f64", w), x)
    r = b.fma(k, b.constant(-1.90821492927058770002e-10, "f64", w), r)
    # exp(r) = 1 + r + r*r * t(r): Taylor to r**13, whose tail is below 2**-58 for |r| <= 0.347.
    factorial, coefficients = 1.0, []
    for n in range(2, 14):
        factorial *= n
        coefficients.append(1.0 / factorial)
    tail = polynomial(b, r, coefficients[::-1])
    e = b.fma(tail, b.binary("arith.mulf", r, r), r)
    e = b.binary("arith.addf", e, b.constant(1.0, "f64", w))
    return scale_by_power(b, e, k)
