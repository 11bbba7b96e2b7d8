"""Logarithms, trigonometric and hyperbolic functions, and the error function, as MLIR text.

Single precision is written out: argument reduction, then a minimax polynomial (coefficients fitted
for the interval each is used on). Double precision calls the C library once a lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .builder import Builder, Level, Val
from .mathlib import clamp, exp, polynomial, scale_by_power

_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
#: Half of pi in three parts: multiples of the first by whole numbers below 2**22 are exact.
_HALF_PI = (1.5707963705062866, -4.371139000186241e-08, -1.7151245100058819e-15)
#: Beyond, angles go to the C library.
_LARGEST_ANGLE = 1.0e6

_SIN = (2.7175644845556235e-06, -0.00019839256128761917, 0.008333329111337662, -0.1666666716337204)
_COS = (2.4431203200947493e-05, -0.0013887305976822972, 0.04166664555668831)
_LOG = (
    0.06906130164861679, -0.11796532571315765, 0.11880209296941757, -0.1238371878862381,
    0.1421767920255661, -0.1666925549507141, 0.20002271234989166, -0.24999986588954926,
    0.3333331048488617,
)  # fmt: skip
_LOG2 = (
    0.09961193054914474, -0.17017586529254913, 0.17139996588230133, -0.17866219580173492,
    0.2051173895597458, -0.240486279129982, 0.2885717749595642, -0.36067357659339905,
    0.48089802265167236, -0.7213475108146667,
)  # fmt: skip
_EXP2 = (
    1.5314928532461636e-05, 0.00015467092453036457, 0.0013333430979400873, 0.00961803738027811,
    0.05550410971045494, 0.24022650718688965, 0.6931471824645996,
)  # fmt: skip
_TANH = (
    -0.00560390530154109, 0.020551711320877075, -0.05371410399675369, 0.13331152498722076,
    -0.33333271741867065,
)  # fmt: skip
_ERF = (
    8.280384645331651e-05, -0.0008121882565319538, 0.0051992470398545265, -0.026858706027269363,
    0.11283683776855469, -0.37612631916999817, 0.128379225730896,
)  # fmt: skip
_LOG_ERFC = (
    -7.374565029749647e-07, -1.1311347407172434e-05, 0.00037884965422563255, -0.003994101192802191,
    0.02477451227605343, -0.10785821080207825, -0.6336632966995239, -1.129381775856018,
    0.00015061369049362838,
)  # fmt: skip


def library(b: Builder, name: str, *operands: Val) -> Val:
    """A function of the C library, called once a lane."""
    b.externals.add((name, operands[0].kind, len(operands)))
    width = max(v.width for v in operands)
    operands = tuple(b.spread(v, width) for v in operands)
    kind = operands[0].kind
    signature = f"({', '.join([kind] * len(operands))}) -> {kind}"
    if not width:
        names = ", ".join(v.name for v in operands)
        return b.emit(f"llvm.call @{name}({names}) : {signature}", kind, 0, operands)
    outer = b.deepest(operands)
    level = Level(outer.depth + 1)
    lane, total, found = b.name("k"), b.name("a"), b.name("r")
    ends = [b.constant(n, "i64").name for n in (0, width, 1)]
    ty = operands[0].type
    scalars = []
    for v in operands:
        scalars.append(b.name())
        b.line(level, f"{scalars[-1]} = llvm.extractelement {v.name}[{lane} : i64] : {ty}")
    one, next_ = b.name(), b.name()
    b.line(level, f"{one} = llvm.call @{name}({', '.join(scalars)}) : {signature}")
    b.line(level, f"{next_} = llvm.insertelement {one}, {total}[{lane} : i64] : {ty}")
    b.line(level, f"scf.yield {next_} : {ty}")
    b.line(
        outer,
        f"{found} = scf.for {lane} = {ends[0]} to {ends[1]} step {ends[2]} "
        f"iter_args({total} = {operands[0].name}) -> ({ty}) : i64 {{",
    )
    outer.lines.extend(level.lines)
    b.line(outer, "}")
    return Val(found, kind, width, outer)


def _number(b: Builder, like: Val, value: float) -> Val:
    return b.constant(value, like.kind, like.width)


def _bits(b: Builder, x: Val) -> Val:
    return b.cast("arith.bitcast", x, "i32")


def _with_sign_of(b: Builder, x: Val, sign: Val) -> Val:
    """``x`` (not negative) with the sign of ``sign``."""
    w = x.width
    mask = b.binary("arith.andi", _bits(b, sign), b.constant(-(1 << 31), "i32", w))
    return b.cast("arith.bitcast", b.binary("arith.ori", _bits(b, x), mask), "f32")


def _split(b: Builder, x: Val) -> tuple[Val, Val]:
    """``(e, f)`` with ``x = 2**e * (1 + f)`` and ``1 + f`` between the square roots of 1/2 and 2,
    for a positive number."""
    w = x.width
    tiny = b.compare("arith.cmpf", "olt", x, _number(b, x, 1.1754943508222875e-38))
    x = b.select(tiny, b.binary("arith.mulf", x, _number(b, x, 8388608.0)), x)
    # Counted from the square root of 1/2, the exponent is the one wanted.
    moved = b.binary("arith.subi", _bits(b, x), b.constant(0x3F3504F3, "i32", w))
    e = b.binary("arith.shrsi", moved, b.constant(23, "i32", w))
    fraction = b.binary("arith.andi", moved, b.constant(0x7FFFFF, "i32", w))
    fraction = b.binary("arith.addi", fraction, b.constant(0x3F3504F3, "i32", w))
    one = _number(b, x, 1.0)
    f = b.binary("arith.subf", b.cast("arith.bitcast", fraction, "f32"), one)
    k = b.cast("arith.sitofp", e, "f32")
    return b.select(tiny, b.binary("arith.subf", k, _number(b, x, 23.0)), k), f


def _log_limits(b: Builder, x: Val, found: Val) -> Val:
    """What a logarithm is where there is none: zero, infinity, negative numbers, NaN."""
    infinity = _number(b, x, math.inf)
    ordinary = b.compare("arith.cmpf", "olt", x, infinity)
    # Infinity and NaN are themselves (a signalling NaN is quiet from here on).
    found = b.select(ordinary, found, b.binary("arith.addf", x, x))
    zero = b.compare("arith.cmpf", "oeq", x, _number(b, x, 0.0))
    found = b.select(zero, _number(b, x, -math.inf), found)
    negative = b.compare("arith.cmpf", "olt", x, _number(b, x, 0.0))
    return b.select(negative, _number(b, x, math.nan), found)


def _log32(b: Builder, x: Val) -> Val:
    e, f = _split(b, x)
    square = b.binary("arith.mulf", f, f)
    tail = b.binary("arith.mulf", b.binary("arith.mulf", square, f), polynomial(b, f, _LOG))
    tail = b.fma(e, _number(b, x, _LN2_LOW), tail)
    tail = b.fma(square, _number(b, x, -0.5), tail)
    found = b.fma(e, _number(b, x, _LN2_HIGH), b.binary("arith.addf", f, tail))
    return _log_limits(b, x, found)


def _log2_32(b: Builder, x: Val) -> Val:
    e, f = _split(b, x)
    # log2(1 + f) = f + f * (log2(e) - 1 + f * Q(f)): the first term is exact.
    rest = b.fma(f, polynomial(b, f, _LOG2), _number(b, x, 0.4426950408889634))
    found = b.fma(f, rest, f)
    return _log_limits(b, x, b.binary("arith.addf", e, found))


def _exp2_32(b: Builder, x: Val) -> Val:
    x = clamp(b, x, -151.0, 129.0)
    k = b.unary("math.roundeven", x)
    r = b.binary("arith.subf", x, k)
    found = b.fma(polynomial(b, r, _EXP2), r, _number(b, x, 1.0))
    return scale_by_power(b, found, k)


def _reduced_angle(b: Builder, x: Val) -> tuple[Val, Val]:
    """What is left of an angle after a multiple of a right angle, and (as ``i32``) which."""
    turns = b.binary("arith.mulf", x, _number(b, x, 2 / math.pi))
    k = b.unary("math.roundeven", turns)
    r = x
    for part in _HALF_PI:
        r = b.fma(k, _number(b, x, -part), r)
    return r, b.cast("arith.fptosi", k, "i32")


def _trigonometric(name: str, quarter: int) -> Callable[[Builder, Val], Val]:
    def ordinary(b: Builder, x: Val) -> Val:
        w = x.width
        r, k = _reduced_angle(b, x)
        square = b.binary("arith.mulf", r, r)
        cube = b.binary("arith.mulf", square, r)
        sine = b.fma(cube, polynomial(b, square, _SIN), r)
        tail = b.binary("arith.mulf", square, polynomial(b, square, _COS))
        tail = b.binary("arith.addf", tail, _number(b, x, -0.5))
        cosine = b.fma(square, tail, _number(b, x, 1.0))
        k = b.binary("arith.addi", k, b.constant(quarter, "i32", w)) if quarter else k
        odd = b.binary("arith.andi", k, b.constant(1, "i32", w))
        swapped = b.compare("arith.cmpi", "ne", odd, b.constant(0, "i32", w))
        found = b.select(swapped, cosine, sine)
        half = b.binary("arith.andi", k, b.constant(2, "i32", w))
        sign = b.binary("arith.shli", half, b.constant(30, "i32", w))
        return b.cast("arith.bitcast", b.binary("arith.xori", _bits(b, found), sign), "f32")

    def rare(b: Builder, x: Val) -> Val:
        return library(b, f"{name}f", x)

    def function(b: Builder, x: Val) -> Val:
        # Infinity and NaN are large, too.
        size = b.unary("math.absf", x)
        large = b.compare("arith.cmpf", "uge", size, _number(b, x, _LARGEST_ANGLE))
        if quarter:
            return b.rarely(large, x, ordinary, rare)
        # The sine of -0.0 is -0.0, which the reduction loses.
        zero = b.compare("arith.cmpf", "oeq", x, _number(b, x, 0.0))
        return b.select(zero, x, b.rarely(large, x, ordinary, rare))

    return function


def _tanh32(b: Builder, x: Val) -> Val:
    square = b.binary("arith.mulf", x, x)
    cube = b.binary("arith.mulf", square, x)
    small = b.fma(cube, polynomial(b, square, _TANH), x)
    size = b.unary("math.absf", x)
    twice = clamp(b, b.binary("arith.addf", size, size), 0.0, 20.0)
    one, two = _number(b, x, 1.0), _number(b, x, 2.0)
    below = b.binary("arith.addf", exp(b, twice), one)
    large = b.binary("arith.subf", one, b.binary("arith.divf", two, below))
    near = b.compare("arith.cmpf", "olt", size, _number(b, x, 0.625))
    return _with_sign_of(b, b.select(near, b.unary("math.absf", small), large), x)


def _erf32(b: Builder, x: Val) -> Val:
    # The polynomial is of erf(x) / x - 1: most of the result is exact.
    small = b.fma(x, polynomial(b, b.binary("arith.mulf", x, x), _ERF), x)
    size = b.unary("math.absf", x)
    bounded = clamp(b, size, 0.0, 3.95)
    rest = exp(b, polynomial(b, bounded, _LOG_ERFC))
    large = b.binary("arith.subf", _number(b, x, 1.0), rest)
    near = b.compare("arith.cmpf", "olt", size, _number(b, x, 0.93))
    return b.select(near, small, _with_sign_of(b, large, x))


def _rsqrt(b: Builder, x: Val) -> Val:
    return b.binary("arith.divf", _number(b, x, 1.0), b.unary("math.sqrt", x))


def _by_width(single: Callable[[Builder, Val], Val], name: str) -> Callable[[Builder, Val], Val]:
    def function(b: Builder, x: Val) -> Val:
        return single(b, x) if x.kind == "f32" else library(b, name, x)

    return function


def _plain(op: str) -> Callable[[Builder, Val], Val]:
    return lambda b, x: b.unary(op, x)


#: By name of the operation.
FUNCTIONS: dict[str, Callable[[Builder, Val], Val]] = {
    "exp": exp,
    "exp2": _by_width(_exp2_32, "exp2"),
    "log": _by_width(_log32, "log"),
    "log2": _by_width(_log2_32, "log2"),
    "sin": _by_width(_trigonometric("sin", 0), "sin"),
    "cos": _by_width(_trigonometric("cos", 1), "cos"),
    "tanh": _by_width(_tanh32, "tanh"),
    "erf": _by_width(_erf32, "erf"),
    "sqrt": _plain("math.sqrt"),
    "rsqrt": _rsqrt,
    "floor": _plain("math.floor"),
    "ceil": _plain("math.ceil"),
    "trunc": _plain("math.trunc"),
    "rint": _plain("math.roundeven"),
}
