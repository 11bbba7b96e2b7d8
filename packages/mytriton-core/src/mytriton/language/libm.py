"""Elementary functions the registry has no operation for, composed of those it has.

They compute in ``f64`` and round once to the type of their argument, so for ``f32`` and narrower
floats a result is the nearest float but for rare near-ties (0.51 units in the last place). What ``f64``
arguments get is said with each function; without a word, a relative error below 1e-14.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..errors import OpRuleError
from ..ir.types import F64, I64, ScalarType, scalar_of
from .casts import bitcast
from .marks import builtin
from .pointwise import (
    abs,
    as_float,
    cos,
    erf,
    exp,
    exp2,
    floor,
    log,
    log2,
    maximum,
    minimum,
    rint,
    sin,
    sqrt,
    trunc,
    where,
)
from .symbolic import as_type, common, tensor

_INF, _NAN = math.inf, math.nan


def floats(name: str, *values: Any) -> tuple[list[Any], ScalarType]:
    """Operands converted to the float type they meet in. Raises ``OpRuleError`` for integers."""
    nodes, element = common(*map(as_float, values))
    if not element.is_floating():
        shown = " and ".join(str(node.type) for node in nodes)
        raise OpRuleError(f"{name} needs floating-point operands, got {shown}; use .to(tl.float32)")
    return [tensor(as_type(tensor(node), element)) for node in nodes], element


def in_double(function: Callable[..., Any]) -> Any:
    """A function of the language from its formula in ``f64``."""
    name = function.__name__

    def wide(*values: Any) -> tensor:
        operands, element = floats(name, *values)
        result = function(*(tensor(as_type(v, F64)) for v in operands))
        return tensor(as_type(result, element))

    arity = function.__code__.co_argcount

    def one(x: Any) -> tensor:
        return wide(x)

    def two(x: Any, y: Any) -> tensor:
        return wide(x, y)

    public: Any = one if arity == 1 else two
    public.__name__ = public.__qualname__ = name
    public.__doc__ = function.__doc__
    public.formula = function
    return builtin(public)


def with_sign(magnitude: Any, sign: Any) -> Any:
    """``magnitude``, negative where the sign bit of ``sign`` (of the same type) is set."""
    element = scalar_of(magnitude.type)
    bits = ScalarType(f"u{element.bits}")
    top = 1 << (element.bits - 1)
    joined = (bitcast(magnitude, bits) & (top - 1)) | (bitcast(sign, bits) & top)
    return bitcast(joined, element)


def negative(x: Any) -> Any:
    """Whether the sign bit of a float is set: true for ``-0.0``."""
    return bitcast(x, ScalarType(f"i{scalar_of(x.type).bits}")) < 0


@in_double
def log1p(x: Any) -> Any:
    """``log(1 + x)``, exact for small ``x``; NaN below -1, ``-inf`` at -1."""
    u = 1.0 + x
    d = u - 1.0
    # What rounding 1 + x lost, its logarithm lost in the same proportion.
    return where(d == 0.0, x, where(u == _INF, u, log(u) * (x / d)))


@in_double
def expm1(x: Any) -> Any:
    """``exp(x) - 1``, exact for small ``x``."""
    u = exp(x)
    d = u - 1.0
    r = d * (x / log(u))
    return where(u == 1.0, x, where((d == -1.0) | (u == _INF), d, r))


@in_double
def log10(x: Any) -> Any:
    """Base-10 logarithm: NaN below zero, ``-inf`` at zero."""
    return log(x) * (1.0 / math.log(10.0))


@in_double
def exp10(x: Any) -> Any:
    """Base-10 exponential. ``f64``: relative error below 1e-13."""
    return exp2(x * math.log2(10.0))


@in_double
def pow(x: Any, y: Any) -> Any:
    """``x`` to the power ``y`` with the special cases of C: ``pow(x, 0)`` and ``pow(1, y)`` are 1, a
    negative base needs a whole exponent or gives NaN. ``f64``: relative error below 2e-13."""
    size = abs(x)
    half = 0.5 * y
    whole = floor(y) == y
    odd = whole & (floor(half) != half)
    r = exp2(y * log2(size))
    r = where((size == 1.0) & (y == y), 1.0, r)  # log2(1) * inf is no number
    r = where((x < 0.0) & ~whole & (size != _INF), _NAN, r)
    r = where(odd & negative(x), -r, r)
    return where((y == 0.0) | (x == 1.0), 1.0, r)


@in_double
def cbrt(x: Any) -> Any:
    """Cube root, of negative numbers too."""
    size = abs(x)
    r = exp2(log2(size) * (1.0 / 3.0))
    r = r - (r * r * r - size) / (3.0 * (r * r))  # one step of Newton's method
    return with_sign(where((size > 0.0) & (size < _INF), r, size), x)


@in_double
def rcbrt(x: Any) -> Any:
    """One over the cube root."""
    return 1.0 / cbrt.formula(x)


@in_double
def hypot(x: Any, y: Any) -> Any:
    """``sqrt(x * x + y * y)`` without overflow on the way; infinite when either operand is."""
    a, b = abs(x), abs(y)
    big, small = maximum(a, b), minimum(a, b)
    ratio = where(big == 0.0, 0.0, small / big)
    r = big * sqrt(1.0 + ratio * ratio)
    return where((a == _INF) | (b == _INF), _INF, r)


@in_double
def tan(x: Any) -> Any:
    """Tangent of an angle in radians."""
    return sin(x) / cos(x)


@in_double
def sinpi(x: Any) -> Any:
    """``sin(pi * x)``, zero at whole numbers."""
    r = x - 2.0 * rint(0.5 * x)
    r = where(abs(r) > 0.5, where(r < 0.0, -1.0 - r, 1.0 - r), r)
    return sin(math.pi * r)


@in_double
def cospi(x: Any) -> Any:
    """``cos(pi * x)``, zero halfway between whole numbers."""
    r = abs(x - 2.0 * rint(0.5 * x))
    return sin(math.pi * (0.5 - r))


@in_double
def atan(x: Any) -> Any:
    """Inverse tangent, from ``-pi/2`` to ``pi/2``."""
    size = abs(x)
    far = size > 1.0
    t = where(far, 1.0 / size, size)
    for _ in range(2):  # half the angle twice: tan(a / 2) = t / (1 + sqrt(1 + t * t))
        t = t / (1.0 + sqrt(1.0 + t * t))
    s = t * t
    series: Any = -1.0 / 23.0
    for k in reversed(range(11)):
        series = (-1.0) ** k / (2 * k + 1) + s * series
    r = 4.0 * t * series
    return with_sign(where(far, math.pi / 2 - r, r), x)


@in_double
def asin(x: Any) -> Any:
    """Inverse sine, from ``-pi/2`` to ``pi/2``; NaN outside of -1 to 1."""
    return atan.formula(x / sqrt((1.0 - x) * (1.0 + x)))


@in_double
def acos(x: Any) -> Any:
    """Inverse cosine, from 0 to ``pi``; NaN outside of -1 to 1."""
    return 2.0 * atan.formula(sqrt((1.0 - x) / (1.0 + x)))


@in_double
def atan2(x: Any, y: Any) -> Any:
    """The angle of the point ``(y, x)``: first operand the ordinate, as in C; from ``-pi`` to
    ``pi``."""
    up, right = abs(x), abs(y)
    big, small = maximum(up, right), minimum(up, right)
    ratio = where(big == 0.0, 0.0, where(small == _INF, 1.0, small / big))
    angle = atan.formula(ratio)
    angle = where(up > right, math.pi / 2 - angle, angle)
    angle = where(negative(y), math.pi - angle, angle)
    return with_sign(angle, x)


@in_double
def sinh(x: Any) -> Any:
    """Hyperbolic sine."""
    size = abs(x)
    u = expm1.formula(size)
    half = exp(0.5 * size)  # its square overflows no sooner than the result
    r = where(size > 20.0, (0.5 * half) * half, 0.5 * (u + u / (u + 1.0)))
    return with_sign(r, x)


@in_double
def cosh(x: Any) -> Any:
    """Hyperbolic cosine."""
    size = abs(x)
    e, half = exp(size), exp(0.5 * size)
    return where(size > 20.0, (0.5 * half) * half, 0.5 * e + 0.5 / e)


@in_double
def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine."""
    size = abs(x)
    s = size * size
    near = log1p.formula(size + s / (1.0 + sqrt(1.0 + s)))
    return with_sign(where(size > 1e8, log(size) + math.log(2.0), near), x)


@in_double
def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine; NaN below 1."""
    t = x - 1.0
    near = log1p.formula(t + sqrt(t * (t + 2.0)))
    return where(x < 1.0, _NAN, where(x > 1e8, log(x) + math.log(2.0), near))


@in_double
def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; NaN outside of -1 to 1, infinite at either end."""
    size = abs(x)
    return with_sign(0.5 * log1p.formula(2.0 * size / (1.0 - size)), x)


@in_double
def erfc(x: Any) -> Any:
    """``1 - erf(x)``, exact where that would cancel. ``f64``: relative error below 1e-11."""
    far = maximum(x, 2.0)
    t = far
    for k in range(40, 0, -1):  # the continued fraction of Laplace
        t = far + (0.5 * k) / t
    return where(x < 2.0, 1.0 - erf(x), exp(-(far * far)) / (math.sqrt(math.pi) * t))


@in_double
def erfinv(x: Any) -> Any:
    """The inverse of ``erf``: infinite at -1 and 1, NaN outside. ``f64``: relative error below 1e-10
    up to ``1 - 1e-7``."""
    size = abs(x)
    rest = 1.0 - size
    # Winitzki's approximation, then two steps of Halley's method.
    w = log(rest * (1.0 + size))
    t = 2.0 / (math.pi * 0.147) + 0.5 * w
    y = sqrt(sqrt(t * t - w * (1.0 / 0.147)) - t)
    for _ in range(2):
        off = where(size > 0.5, rest - erfc.formula(y), erf(y) - size)
        step = off / ((2.0 / math.sqrt(math.pi)) * exp(-(y * y)))
        y = y - step / (1.0 + y * step)
    y = where(size == 1.0, _INF, where(size == 0.0, 0.0, y))
    return with_sign(where(size > 1.0, _NAN, y), x)


@in_double
def normcdf(x: Any) -> Any:
    """The normal distribution function, ``erfc(-x / sqrt(2)) / 2``."""
    return 0.5 * erfc.formula(x * -math.sqrt(0.5))


@builtin
def copysign(x: Any, y: Any) -> tensor:
    """The magnitude of ``x`` with the sign of ``y`` (floats; the sign of ``-0.0`` and NaN counts)."""
    (a, b), _ = floats("copysign", x, y)
    return with_sign(a, b)  # type: ignore[no-any-return]


@builtin
def signbit(x: Any) -> tensor:
    """Whether the sign bit of a float is set (``bool``): true for ``-0.0``."""
    return negative(floats("signbit", x)[0][0])  # type: ignore[no-any-return]


@builtin
def isnan(x: Any) -> tensor:
    """Whether a float is NaN (``bool``)."""
    (value,), _ = floats("isnan", x)
    return value != value  # type: ignore[no-any-return]


@builtin
def isinf(x: Any) -> tensor:
    """Whether a float is an infinity (``bool``)."""
    (value,), _ = floats("isinf", x)
    return abs(value) == _INF


@builtin
def finitef(x: Any) -> tensor:
    """Whether a float is neither NaN nor an infinity (``bool``)."""
    (value,), _ = floats("finitef", x)
    return abs(value) < _INF


@builtin
def round(x: Any) -> tensor:
    """Nearest whole number, halves away from zero; the type is that of ``x``."""
    (value,), _ = floats("round", x)
    whole = trunc(value)
    away = where(negative(value), whole - 1.0, whole + 1.0)
    return where(abs(value - whole) >= 0.5, away, whole)


@builtin
def fmod(x: Any, y: Any) -> tensor:
    """Remainder of ``x / y`` with the sign of ``x`` (floats)."""
    (a, b), element = floats("fmod", x, y)
    return tensor(as_type(a % b, element))


@builtin
def fdim(x: Any, y: Any) -> tensor:
    """``x - y``, or zero where ``x`` is not larger (floats)."""
    (a, b), _ = floats("fdim", x, y)
    return where(a <= b, 0.0, a - b)


@builtin
def ldexp(x: Any, y: Any) -> tensor:
    """``x * 2**y`` for a float and a whole ``y``."""
    (value,), element = floats("ldexp", x)
    power = maximum(minimum(tensor(as_type(y, I64)), 2040), -2040)
    low = power >> 1
    r: Any = tensor(as_type(value, F64))
    for part in (low, power - low):
        r = r * bitcast((part + 1023) << 52, F64)
    return tensor(as_type(r, element))
