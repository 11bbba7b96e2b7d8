"""Each family of instructions against exact arithmetic: Python integers and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from .one import instruction, rounded

RNG = np.random.default_rng(7)
MODES = ("rn", "rz", "rm", "rp")


def reals(dtype: str, n: int = 400, seed: int = 0) -> np.ndarray:
    """Any finite bit patterns, a third of them of like size so that sums cancel."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    bits = rng.integers(0, 256, n * kind.itemsize, dtype="u1").view(kind).copy()
    bits[~np.isfinite(bits)] = 1
    like = rng.standard_normal(n).astype(kind)
    return np.where(np.arange(n) % 3 == 0, like, bits)


def ints(dtype: str, n: int = 300, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    corners = [info.min, info.max, 0, 1, 2, info.max // 3, info.max // 2]
    values[: n // 2] = rng.choice(np.array(corners, dtype), n // 2)
    return values


def wrap(value: int, bits: int, signed: bool = False) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def same(got: np.ndarray, wanted: list) -> None:
    """Equal as numbers, zeros of the same sign where the reference is sure, NaN like NaN."""
    np.testing.assert_array_equal(got, np.array(wanted).astype(got.dtype))


NAMES = {"f16": "f2", "f32": "f4", "f64": "f8"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma", "div", "sqrt", "rcp"])
def test_roundings(operation: str, name: str, mode: str) -> None:
    count = {"fma": 3, "sqrt": 1, "rcp": 1}.get(operation, 2)
    inputs = [reals(NAMES[name], seed=seed) for seed in range(count)]
    if operation == "fma":
        # Products that nearly cancel, and sums whose rounding is a tie.
        with np.errstate(all="ignore"):
            inputs[2][::2] = -(inputs[0] * inputs[1])[::2]
        inputs[2][~np.isfinite(inputs[2])] = 3
    if operation == "sqrt":
        inputs[0] = np.abs(inputs[0])
    if operation in ("div", "rcp"):
        inputs[-1][inputs[-1] == 0] = 3
    got = instruction(f"{operation}.{mode}.{name} %d, " + _list(count), NAMES[name], *inputs)
    wanted = []
    for values in zip(*(each.tolist() for each in inputs)):
        exact = [Fraction(value) for value in values]
        if operation == "sqrt":
            wanted.append(_root(exact[0], name, mode))
            continue
        result = {
            "add": lambda a, b=0, c=0: a + b,
            "sub": lambda a, b=0, c=0: a - b,
            "mul": lambda a, b=0, c=0: a * b,
            "fma": lambda a, b=0, c=0: a * b + c,
            "div": lambda a, b=1, c=0: a / b,
            "rcp": lambda a, b=0, c=0: 1 / a,
        }[operation](*exact)
        wanted.append(rounded(result, name, mode))
    same(got, wanted)


def _list(count: int) -> str:
    return ", ".join(f"%x{i}" for i in range(count)) + ";"


def _root(exact: Fraction, name: str, mode: str) -> float:
    """The square root by integers, with far more bits than the format has."""
    scaled = exact * 4**1200
    floor = math.isqrt(scaled.numerator // scaled.denominator)
    value = Fraction(floor, 2**1200)
    if value * value != exact:
        value += Fraction(1, 2**1203)
    return rounded(value, name, mode)


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma", "min", "max"])
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_halves(operation: str, name: str) -> None:
    count = 3 if operation == "fma" else 2
    bits = [np.random.default_rng(s).integers(0, 65536, 500).astype("u2") for s in range(count)]
    limit = 0x7C00 if name == "f16" else 0x7F80
    for each in bits:
        each[(each & limit) == limit] = 0x3F80
    values = [value_of(each, name) for each in bits]
    packed = [np.repeat(each.astype("u4"), 1) | (each[::-1].astype("u4") << 16) for each in bits]
    mode = ".rn" if operation in ("fma",) else ""
    got = instruction(f"{operation}{mode}.{name} %d, " + _list(count), "u2", *bits)
    both = instruction(f"{operation}{mode}.{name}x2 %d, " + _list(count), "u4", *packed)
    np.testing.assert_array_equal(both & 0xFFFF, got)
    np.testing.assert_array_equal(both >> 16, got[::-1])
    function = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
        "fma": lambda a, b, c: a * b + c, "min": min, "max": max,
    }[operation]  # fmt: skip
    wanted = [
        rounded(function(*(Fraction(float(value)) for value in row)), name, "rn")
        for row in zip(*values)
    ]
    same(value_of(got, name), wanted)


def value_of(bits: np.ndarray, name: str) -> np.ndarray:
    if name == "f16":
        return bits.view("f2").astype("f8")
    return (bits.astype("u4") << 16).view("f4").astype("f8")


FORMAT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
NARROWING = [
    (source, target)
    for source in ("f64", "f32", "s32", "u32", "s64", "u64")
    for target in FORMAT_BITS
    if source[0] != "f" or FORMAT_BITS[target] < FORMAT_BITS[source]
]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("source", "target"), NARROWING)
def test_conversions_to_floats(source: str, target: str, mode: str) -> None:
    dtype = source.replace("s", "i")[0] + str(int(source[1:]) // 8)
    x = reals(dtype) if source[0] == "f" else ints(dtype)
    if source[0] == "f":
        x[::5] *= 1e-3
        x[1::5] = np.random.default_rng(1).standard_normal(len(x[1::5])) * 1e-5
    result = {"f16": "f2", "f32": "f4", "f64": "f8", "bf16": "u2"}[target]
    got = instruction(f"cvt.{mode}.{target}.{source} %d, %x0;", result, x)
    if target == "bf16":
        got = value_of(got, "bf16")
    same(got, [rounded(Fraction(value), target, mode) for value in x.tolist()])


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@pytest.mark.parametrize("target", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
def test_conversions_to_integers(source: str, target: str, mode: str) -> None:
    kind = NAMES[source]
    x = np.r_[
        np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.0, -0.0, 127.5, 255.5, -128.5]),
        [np.nan, np.inf, -np.inf],
        np.array([2.0**15, 2.0**16, 2.0**31, 2.0**32, 2.0**63, 2.0**64, -(2.0**31)]) if kind != "f2" else [],
        RNG.standard_normal(50) * 100,
    ].astype(kind)  # fmt: skip
    bits, signed = int(target[1:]), target[0] == "s"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    got = instruction(
        f"cvt.{mode}.{target}.{source} %d, %x0;", ("i" if signed else "u") + str(bits // 8), x
    )
    function = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode]
    wanted = []
    for value in x.tolist():
        if math.isnan(value):
            wanted.append(0)
        elif math.isinf(value):
            wanted.append(high if value > 0 else low)
        else:
            wanted.append(min(max(function(value), low), high))
    assert got.tolist() == wanted


@pytest.mark.parametrize("text", ["rna", "rn", "rz"])
def test_tf32(text: str) -> None:
    x = reals("f4")
    got = instruction(f"cvt.{text}.tf32.f32 %d, %x0;", "f4", x)
    same(got, [rounded(Fraction(value), "tf32", text) for value in x.tolist()])


def test_packing_conversions() -> None:
    a, b = reals("f4", seed=1), reals("f4", seed=2)
    for name in ("f16", "bf16"):
        got = instruction(f"cvt.rn.{name}x2.f32 %d, %x0, %x1;", "u4", a, b)
        for half, values in ((got >> 16, a), (got & 0xFFFF, b)):
            wanted = [rounded(Fraction(value), name, "rn") for value in values.tolist()]
            same(value_of(half.astype("u2"), name), wanted)


def test_flush_and_saturation() -> None:
    tiny = np.array([1e-40, -1e-40, 2.0**-126, 1.0, 0.25, -3, 7, np.nan, np.inf], "f4")
    one = np.ones_like(tiny)
    flushed = instruction("mul.ftz.f32 %d, %x0, %x1;", "f4", tiny, one)
    np.testing.assert_array_equal(flushed, np.r_[np.float32(0), np.float32(-0.0), tiny[2:]])
    assert np.signbit(flushed[1])
    kept = instruction("mul.f32 %d, %x0, %x1;", "f4", tiny, one)
    np.testing.assert_array_equal(kept, tiny)
    clamped = instruction("add.sat.f32 %d, %x0, %x1;", "f4", tiny, one * 0)
    np.testing.assert_array_equal(clamped[3:], np.array([1, 0.25, 0, 1, 0, 1], "f4"))
    # A product of two normal numbers that is not.
    small = np.full(9, 2.0**-70, "f4")
    assert not instruction("fma.rn.ftz.f32 %d, %x0, %x0, %x1;", "f4", small, one * 0).any()


def test_minimum_and_maximum() -> None:
    a = np.array([0.0, -0.0, np.nan, 1, np.nan], "f4")
    b = np.array([-0.0, 0.0, 2, np.nan, np.nan], "f4")
    low = instruction("min.f32 %d, %x0, %x1;", "f4", a, b)
    high = instruction("max.f32 %d, %x0, %x1;", "f4", a, b)
    assert np.signbit(low[:2]).all()
    assert not np.signbit(high[:2]).any()
    np.testing.assert_array_equal(low[2:], np.array([2, 1, np.nan], "f4"))
    strict = instruction("max.NaN.f32 %d, %x0, %x1;", "f4", a, b)
    assert np.isnan(strict[2:]).all()


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ex2.approx.f32", np.exp2), ("lg2.approx.f32", np.log2), ("sin.approx.f32", np.sin),
        ("cos.approx.f32", np.cos), ("tanh.approx.f32", np.tanh), ("sqrt.approx.f32", np.sqrt),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x)), ("rcp.approx.f32", lambda x: 1 / x),
    ],
)  # fmt: skip
def test_approximations(name: str, function) -> None:
    x = np.abs(RNG.standard_normal(200)).astype("f4") + np.float32(0.01)
    wanted = function(x.astype("f8"))
    got = instruction(f"{name} %d, %x0;", "f4", x)
    np.testing.assert_allclose(got, wanted, rtol=2e-7)


COMPARED = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons(name: str) -> None:
    values = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.5]
    a, b = np.repeat(values, 8).astype("f4"), np.tile(values, 8).astype("f4")
    unordered = np.isnan(a) | np.isnan(b)
    compared = COMPARED[name](a, b)
    got = instruction(f"setp.{name}.f32 %q9, %x0, %x1;", bool, a, b)
    np.testing.assert_array_equal(got, compared & ~unordered)
    got = instruction(f"setp.{name}u.f32 %q9, %x0, %x1;", bool, a, b)
    np.testing.assert_array_equal(got, compared | unordered)
    for kind, dtype in (("s32", "i4"), ("u32", "u4"), ("s64", "i8"), ("u16", "u2")):
        x, y = ints(dtype, seed=1), ints(dtype, seed=2)
        y[::3] = x[::3]
        got = instruction(f"setp.{name}.{kind} %q9, %x0, %x1;", bool, x, y)
        np.testing.assert_array_equal(got, COMPARED[name](x, y))
    flag = np.arange(300) % 2 == 0
    got = instruction(f"setp.{name}.and.u16 %q8|%q9, %x0, %x1, %q2;", bool, x, y, flag)
    np.testing.assert_array_equal(got, ~COMPARED[name](x, y) & flag)


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_comparisons_of_both_halves(name: str, kind: str) -> None:
    """The first predicate is that of the lower halves, the second that of the upper ones."""
    one = {"f16": 0x3C00, "bf16": 0x3F80}[kind]
    nan = {"f16": 0x7E00, "bf16": 0x7FC0}[kind]
    values = np.array([0, 0x8000, one, one | 0x8000, one + 1, nan], "u2")
    a, b = np.repeat(values, 6), np.tile(values, 6)
    x, y = (each.astype("u4") | (each[::-1].astype("u4") << 16) for each in (a, b))
    wanted = COMPARED[name](value_of(a, kind), value_of(b, kind))
    wanted &= ~(np.isnan(value_of(a, kind)) | np.isnan(value_of(b, kind)))
    lower = instruction(f"setp.{name}.{kind}x2 %q9|%q8, %x0, %x1;", bool, x, y)
    np.testing.assert_array_equal(lower, wanted)
    upper = instruction(f"setp.{name}.{kind}x2 %q8|%q9, %x0, %x1;", bool, x, y)
    np.testing.assert_array_equal(upper, wanted[::-1])
    flag = np.arange(36) % 2 == 0
    upper = instruction(f"setp.{name}.and.{kind}x2 %q8|%q9, %x0, %x1, %q2;", bool, x, y, flag)
    np.testing.assert_array_equal(upper, wanted[::-1] & flag)


@pytest.mark.parametrize("kind", ["s16x2", "u16x2"])
@pytest.mark.parametrize("operation", ["add", "min", "max"])
def test_both_halves_of_integers(operation: str, kind: str) -> None:
    half = "i2" if kind == "s16x2" else "u2"
    a, b = (ints("u4", seed=seed) for seed in (1, 2))
    got = instruction(f"{operation}.{kind} %d, %x0, %x1;", "u4", a, b)
    function = {"add": np.add, "min": np.minimum, "max": np.maximum}[operation]
    np.testing.assert_array_equal(got.view(half), function(a.view(half), b.view(half)))


@pytest.mark.parametrize("operation", ["min", "max"])
def test_relu_of_integers(operation: str) -> None:
    a, b = (ints("i4", seed=seed) for seed in (1, 2))
    function = {"min": np.minimum, "max": np.maximum}[operation]
    got = instruction(f"{operation}.relu.s32 %d, %x0, %x1;", "i4", a, b)
    np.testing.assert_array_equal(got, np.maximum(function(a, b), 0))
    pairs = [each.view("i2") for each in (a, b)]
    got = instruction(f"{operation}.relu.s16x2 %d, %x0, %x1;", "u4", a.view("u4"), b.view("u4"))
    np.testing.assert_array_equal(got.view("i2"), np.maximum(function(*pairs), 0))


BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul.lo": lambda a, b: a * b,
    "min": min, "max": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}  # fmt: skip


@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_integers(bits: int, signed: bool) -> None:
    dtype = ("i" if signed else "u") + str(bits // 8)
    kind = ("s" if signed else "u") + str(bits)
    a, b, c = (ints(dtype, seed=seed) for seed in range(3))
    rows = list(zip(a.tolist(), b.tolist(), c.tolist()))
    for name, function in BINARY.items():
        suffix = f"b{bits}" if name in ("and", "or", "xor") else kind
        got = instruction(f"{name}.{suffix} %d, %x0, %x1;", dtype, a, b)
        assert got.tolist() == [wrap(function(x, y), bits, signed) for x, y, _ in rows], name
    got = instruction(f"mul.hi.{kind} %d, %x0, %x1;", dtype, a, b)
    assert got.tolist() == [wrap(x * y >> bits, bits, signed) for x, y, _ in rows]
    got = instruction(f"mad.lo.{kind} %d, %x0, %x1, %x2;", dtype, a, b, c)
    assert got.tolist() == [wrap(x * y + z, bits, signed) for x, y, z in rows]
    divisor = np.where(b == 0, 3, b).astype(dtype)
    pairs = list(zip(a.tolist(), divisor.tolist()))
    quotients = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    got = instruction(f"div.{kind} %d, %x0, %x1;", dtype, a, divisor)
    assert got.tolist() == [wrap(q, bits, signed) for q in quotients]
    got = instruction(f"rem.{kind} %d, %x0, %x1;", dtype, a, divisor)
    assert got.tolist() == [wrap(x - q * y, bits, signed) for (x, y), q in zip(pairs, quotients)]
    by = RNG.integers(0, bits + 8, 300).astype("u4")
    got = instruction(f"shl.b{bits} %d, %x0, %x1;", dtype, a, by)
    assert got.tolist() == [wrap(x << y, bits, signed) for x, y in zip(a.tolist(), by.tolist())]
    got = instruction(f"shr.{kind} %d, %x0, %x1;", dtype, a, by)
    assert got.tolist() == [x >> y for x, y in zip(a.tolist(), by.tolist())]
    if bits < 64:
        wide = ("i" if signed else "u") + str(bits // 4)
        got = instruction(f"mul.wide.{kind} %d, %x0, %x1;", wide, a, b)
        assert got.tolist() == [x * y for x, y, _ in rows]
    if signed:
        got = instruction(f"abs.{kind} %d, %x0;", dtype, a)
        assert got.tolist() == [wrap(abs(x), bits, True) for x in a.tolist()]


@pytest.mark.parametrize("bits", [32, 64])
def test_bits(bits: int) -> None:
    dtype, full = f"u{bits // 8}", (1 << bits) - 1
    a, b = ints(dtype, seed=1), ints(dtype, seed=2)
    got = instruction(f"popc.b{bits} %d, %x0;", "u4", a)
    assert got.tolist() == [bin(x).count("1") for x in a.tolist()]
    got = instruction(f"clz.b{bits} %d, %x0;", "u4", a)
    assert got.tolist() == [bits - x.bit_length() for x in a.tolist()]
    got = instruction(f"brev.b{bits} %d, %x0;", dtype, a)
    assert got.tolist() == [int(f"{x:0{bits}b}"[::-1], 2) for x in a.tolist()]
    got = instruction(f"bfind.u{bits} %d, %x0;", "i4", a)
    assert got.tolist() == [x.bit_length() - 1 for x in a.tolist()]
    got = instruction(f"bfind.shiftamt.s{bits} %d, %x0;", "i4", a)
    tops = [(~x & full if x >> (bits - 1) else x).bit_length() - 1 for x in a.tolist()]
    assert got.tolist() == [bits - 1 - top if top >= 0 else -1 for top in tops]
    start, length = (RNG.integers(0, 80, 300).astype("u4") for _ in "ab")
    rows = list(zip(a.tolist(), b.tolist(), start.tolist(), length.tolist()))
    got = instruction(f"bfe.u{bits} %d, %x0, %x1, %x2;", dtype, a, start, length)
    assert got.tolist() == [(x >> s) & ((1 << n) - 1) for x, _, s, n in rows]
    got = instruction(f"bfe.s{bits} %d, %x0, %x1, %x2;", dtype, a, start, length)
    wanted = []
    for x, _, s, n in rows:
        # As the PTX manual writes it.
        sign = 0 if n == 0 else x >> min(s + n - 1, bits - 1) & 1
        octets = [x >> (i + s) & 1 if i < n and i + s < bits else sign for i in range(bits)]
        wanted.append(sum(bit << i for i, bit in enumerate(octets)))
    assert got.tolist() == wanted
    got = instruction(f"bfi.b{bits} %d, %x0, %x1, %x2, %x3;", dtype, a, b, start, length)
    wanted = []
    for x, y, s, n in rows:
        for i in range(n):
            if i + s < bits:
                y = y & ~(1 << (i + s)) | (x >> i & 1 if i < bits else 0) << (i + s)
        wanted.append(y)
    assert got.tolist() == wanted


def test_permute_and_shift() -> None:
    a, b, s = (ints("u4", seed=seed) for seed in range(3))
    rows = list(zip(a.tolist(), b.tolist(), s.tolist()))
    got = instruction("prmt.b32 %d, %x0, %x1, %x2;", "u4", a, b, s)
    wanted = []
    for x, y, code in rows:
        octets = list(x.to_bytes(4, "little") + y.to_bytes(4, "little"))
        picked = [octets[code >> 4 * i & 7] for i in range(4)]
        picked = [(255 if p & 128 else 0) if code >> 4 * i & 8 else p for i, p in enumerate(picked)]
        wanted.append(int.from_bytes(bytes(picked), "little"))
    assert got.tolist() == wanted
    both = [(y << 32 | x, n) for x, y, n in rows]
    for name, function in {
        "shf.l.wrap": lambda v, n: (v << (n & 31)) >> 32 & 0xFFFFFFFF,
        "shf.l.clamp": lambda v, n: (v << min(n, 32)) >> 32 & 0xFFFFFFFF,
        "shf.r.wrap": lambda v, n: v >> (n & 31) & 0xFFFFFFFF,
        "shf.r.clamp": lambda v, n: v >> min(n, 32) & 0xFFFFFFFF,
    }.items():
        got = instruction(f"{name}.b32 %d, %x0, %x1, %x2;", "u4", a, b, s)
        assert got.tolist() == [function(v, n) for v, n in both], name
    for code in (0x96, 0xE8, 0x1B):
        got = instruction(f"lop3.b32 %d, %x0, %x1, %x2, {code};", "u4", a, b, s)
        assert got.tolist() == [
            sum(
                (code >> ((x >> i & 1) << 2 | (y >> i & 1) << 1 | (z >> i & 1)) & 1) << i
                for i in range(32)
            )
            for x, y, z in rows
        ]


def test_carry_chains() -> None:
    a, b, c, d = (ints("u4", seed=seed) for seed in range(4))
    low = "add.cc.u32 %r1, %x0, %x1; addc.u32 %r2, %x2, %x3; mov.b64 %d, {%r1, %r2};"
    got = instruction(low, "u8", a, b, c, d)
    rows = [tuple(map(int, row)) for row in zip(a, b, c, d)]
    assert got.tolist() == [((p | r << 32) + (q | s << 32)) % 2**64 for p, q, r, s in rows]
    low = "sub.cc.u32 %r1, %x0, %x1; subc.u32 %r2, %x2, %x3; mov.b64 %d, {%r1, %r2};"
    got = instruction(low, "u8", a, b, c, d)
    assert got.tolist() == [((p | r << 32) - (q | s << 32)) % 2**64 for p, q, r, s in rows]
    low = "mad.lo.cc.u32 %r1, %x0, %x1, %x2; madc.hi.u32 %r2, %x0, %x1, %x3;mov.b64 %d, {%r1, %r2};"
    got = instruction(low, "u8", a, b, c, d)
    assert got.tolist() == [(p * q + (r | s << 32)) % 2**64 for p, q, r, s in rows]


def test_integer_conversions() -> None:
    x = ints("i8")
    got = instruction("cvt.s32.s64 %d, %x0;", "i4", x)
    assert got.tolist() == [wrap(v, 32, True) for v in x.tolist()]
    got = instruction("cvt.sat.u8.s64 %d, %x0;", "u1", x)
    assert got.tolist() == [min(max(v, 0), 255) for v in x.tolist()]
    y = ints("i4")
    got = instruction("cvt.s64.s8 %d, %x0;", "i8", y)
    assert got.tolist() == [wrap(v, 8, True) for v in y.tolist()]
    got = instruction("cvt.u64.u16 %d, %x0;", "u8", y)
    assert got.tolist() == [wrap(v, 16) for v in y.tolist()]
    got = instruction("add.sat.s32 %d, %x0, %x0;", "i4", y)
    assert got.tolist() == [min(max(2 * v, -(2**31)), 2**31 - 1) for v in y.tolist()]


def test_odds_and_ends() -> None:
    a, b, c = (ints("i4", seed=seed) for seed in range(3))
    rows = [tuple(map(int, row)) for row in zip(a, b, c)]
    got = instruction("mul24.lo.s32 %d, %x0, %x1;", "i4", a, b)
    low = [(wrap(x, 24, True), wrap(y, 24, True)) for x, y, _ in rows]
    assert got.tolist() == [wrap(x * y, 32, True) for x, y in low]
    got = instruction("sad.s32 %d, %x0, %x1, %x2;", "i4", a, b, c)
    assert got.tolist() == [wrap(abs(x - y) + z, 32, True) for x, y, z in rows]
    got = instruction("slct.s32.s32 %d, %x0, %x1, %x2;", "i4", a, b, c)
    assert got.tolist() == [x if z >= 0 else y for x, y, z in rows]
    got = instruction("dp4a.s32.s32 %d, %x0, %x1, %x2;", "i4", a, b, c)
    octets = [[wrap(v >> 8 * i, 8, True) for i in range(4)] for v in a.tolist()]
    others = [[wrap(v >> 8 * i, 8, True) for i in range(4)] for v in b.tolist()]
    assert got.tolist() == [
        wrap(sum(p * q for p, q in zip(x, y)) + z, 32, True)
        for x, y, z in zip(octets, others, c.tolist())
    ]
    got = instruction("set.lt.u32.s32 %d, %x0, %x1;", "u4", a, b)
    assert got.tolist() == [0xFFFFFFFF if x < y else 0 for x, y, _ in rows]
    x = np.array([1.5, -2.5, np.nan, np.inf, -0.0], "f4")
    got = instruction("copysign.f32 %d, %x0, %x1;", "f4", x, np.full(5, 3, "f4"))
    np.testing.assert_array_equal(got, np.array([3, -3, 3, 3, -3], "f4"))
    got = instruction("testp.finite.f32 %q9, %x0;", bool, x)
    assert got.tolist() == [True, True, False, False, True]
