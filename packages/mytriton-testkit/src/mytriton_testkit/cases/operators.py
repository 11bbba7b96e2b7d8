"""The operators beside ``+ - * / < &``: comparisons, integer division, bits, shifts."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, Case
from .build import (
    DTYPES,
    FLOATS,
    INTS,
    UINTS,
    case,
    data,
    dtype,
    is_float,
    of_edition,
    pointwise,
    rounded,
    sentinel,
    several,
    small,
)
from .special import special


@triton.jit
def operator_kernel(x, y, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask, other=1)
    if OP == "le":
        result = a <= b
    elif OP == "gt":
        result = a > b
    elif OP == "ge":
        result = a >= b
    elif OP == "eq":
        result = a == b
    elif OP == "ne":
        result = a != b
    elif OP == "floordiv":
        result = a // b
    elif OP == "mod":
        result = a % b
    elif OP == "or":
        result = a | b
    elif OP == "xor":
        result = a ^ b
    elif OP == "shl":
        result = a << b
    else:
        tl.static_assert(OP == "shr")
        result = a >> b
    tl.store(out + offs, result, mask=mask)


@triton.jit
def comparisons_kernel(x, y, lt, le, gt, ge, eq, ne, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(lt + offs, a < b, mask=mask)
    tl.store(le + offs, a <= b, mask=mask)
    tl.store(gt + offs, a > b, mask=mask)
    tl.store(ge + offs, a >= b, mask=mask)
    tl.store(eq + offs, a == b, mask=mask)
    tl.store(ne + offs, a != b, mask=mask)


@triton.jit
def division_kernel(x, y, quotient, rest, back, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask, other=1)
    tl.store(quotient + offs, a // b, mask=mask)
    tl.store(rest + offs, a % b, mask=mask)
    tl.store(back + offs, (a // b) * b + a % b, mask=mask)


@triton.jit
def bits_kernel(x, y, either, one, inverse, both, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(either + offs, a | b, mask=mask)
    tl.store(one + offs, a ^ b, mask=mask)
    tl.store(inverse + offs, ~a, mask=mask)
    tl.store(both + offs, ~(~a | ~b), mask=mask)


@triton.jit
def shifts_kernel(x, y, left, right, fixed, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(left + offs, a << b, mask=mask)
    tl.store(right + offs, a >> b, mask=mask)
    tl.store(fixed + offs, ((a >> 3) << 2) ^ (a >> 7), mask=mask)


@triton.jit
def by_constants_kernel(x, seven, minus, eight, rest, odd, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(seven + offs, a // 7, mask=mask)
    tl.store(minus + offs, a // -3, mask=mask)
    tl.store(eight + offs, a // 8, mask=mask)
    tl.store(rest + offs, a % 8, mask=mask)
    tl.store(odd + offs, (a % 2 == 1) | (a % 2 == -1), mask=mask)


@triton.jit
def by_zero_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    quotient = tl.where(b == 0, -1, a // b)
    rest = tl.where(b == 0, -2, a % b)
    tl.store(out + offs, tl.where(b == -1, 5, quotient * 10 + rest), mask=mask)


@triton.jit
def scalar_integers_kernel(out, a, b):
    tl.store(out + 0, a // b)
    tl.store(out + 1, a % b)
    tl.store(out + 2, a | b)
    tl.store(out + 3, a ^ b)
    tl.store(out + 4, ~a)
    tl.store(out + 5, (a == b) | (a > b))
    tl.store(out + 6, a != b)
    tl.store(out + 7, (a <= b) ^ (a >= b))
    tl.store(out + 8, a << 3)
    tl.store(out + 9, a >> 3)
    tl.store(out + 10, 100 // b)
    tl.store(out + 11, a % -7)
    tl.store(out + 12, 1 << (b & 15))
    tl.store(out + 13, a | 0)
    tl.store(out + 14, a ^ a)
    tl.store(out + 15, a | -1)


@triton.jit
def static_arithmetic_kernel(out, A: tl.constexpr, B: tl.constexpr):
    tl.store(out + 0, A // B)
    tl.store(out + 1, A % B)
    tl.store(out + 2, A**2)
    tl.store(out + 3, (A | 5) ^ B)
    tl.store(out + 4, A << 2)
    tl.store(out + 5, A >> 1)
    tl.store(out + 6, ~A)
    tl.store(out + 7, -A // 2)


COMPARE = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}  # fmt: skip


def whole(x):
    """As Python integers, which never wrap."""
    return np.asarray(x).astype(object)


def c_quotient(x, y):
    """Division that truncates toward zero, on Python integers."""
    size = abs(whole(x)) // abs(whole(y))
    return np.where((np.asarray(x) < 0) != (np.asarray(y) < 0), -size, size)


def c_rest(x, y):
    """What is left: it has the sign of ``x``."""
    return whole(x) - c_quotient(x, y) * whole(y)


def wrapped(x, name):
    """Python integers as a fixed width holds them."""
    bits = dtype(name).itemsize * 8
    low = [int(v) % 2**bits for v in np.asarray(x, object).reshape(-1)]
    return np.array(low, np.uint64).astype(dtype(name)).reshape(np.shape(x))


def divisors(rng, n, d):
    """Two arrays without what C leaves undefined: zeros, and the smallest number over -1."""
    x, y = data(rng, n, d), data(rng, n, d)
    near = rng.integers(1, 20, n).astype(dtype(d))
    y = np.where(rng.random(n) < 0.7, near, y)
    if d in INTS:
        y = np.where(rng.random(n) < 0.4, -y, y)
        x[:6] = [7, -7, 7, -7, np.iinfo(dtype(d)).min, np.iinfo(dtype(d)).max]
        y[:6] = [2, 2, -2, -2, 3, -1]
        y[(y == -1) & (x == np.iinfo(dtype(d)).min)] = 5
    y[y == 0] = 3
    return [x, y]


def amounts(rng, n, d):
    """Numbers and shifts within the width."""
    bits = dtype(d).itemsize * 8
    y = rng.integers(0, bits, n).astype(dtype(d))
    y[:2] = [0, bits - 1]
    return [data(rng, n, d), y]


def few(rng, n, d):
    """Values of which many are equal."""
    if is_float(d):
        return rng.choice([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan], n).astype(dtype(d))
    if d == "bool":
        return rng.integers(0, 2, n).astype(bool)
    info = np.iinfo(dtype(d))
    return rng.choice(np.array([info.min, info.max, 0, 1, 2, info.max - 1], dtype(d)), n)


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    for op in ("le", "gt", "ge", "eq", "ne"):
        for d in ("f32", "i32"):
            yield _one(op, d, lambda x, y, f=COMPARE[op]: f(x, y), out="bool", make=few)
    for d in DTYPES:
        yield several(
            "operator.compare", comparisons_kernel,
            lambda x, y: [f(x, y) for f in COMPARE.values()], ins=(d, d), make=few,
            outs=dict.fromkeys(COMPARE, "bool"),
        )  # fmt: skip
    for d in FLOATS:
        yield several(
            "operator.compare.special", comparisons_kernel,
            lambda x, y: [f(x, y) for f in COMPARE.values()], ins=(d, d), block=128,
            outs=dict.fromkeys(COMPARE, "bool"), inputs=lambda rng, d=d: special(d),
            note="every comparison with NaN is false, but != is true; zeros are equal",
        )  # fmt: skip
    yield from _mixed_comparisons()
    yield from _division()
    yield from _bits()
    yield from _scalars()


def _one(op, d, compute, *, out="", make=data, inputs=None, note="", tolerance=EXACT):
    return pointwise(
        f"operator.{op}", operator_kernel, lambda x, y, OP: compute(x, y), ins=(d, d), out=out or d,
        n=90, block=64, make=make, axes=(d,), extra={"OP": op}, inputs=inputs, note=note,
        tolerance=tolerance, level="standard",
    )  # fmt: skip


#: Operand types and the type they are compared in.
MIXED = (
    ("i32", "i64", "i64"), ("u8", "i8", "u8"), ("u32", "i32", "u32"), ("i32", "f32", "f32"),
    ("bool", "i32", "i32"), ("f16", "f32", "f32"), ("f16", "i32", "f16"), ("i64", "f32", "f32"),
    ("u16", "i32", "i32"), ("u64", "i64", "u64"), ("bf16", "f16", "f16"), ("f32", "f64", "f64"),
)  # fmt: skip


def _mixed_comparisons() -> Iterator[Case]:
    for a, b, d in MIXED:

        def compute(x, y, d=d):
            one, two = (rounded(v, d) for v in (x, y))
            return [f(one, two) for f in COMPARE.values()]

        yield several(
            "operator.compare.mixed", comparisons_kernel, compute, ins=(a, b), axes=(f"{a}_{b}",),
            outs=dict.fromkeys(COMPARE, "bool"), make=small if is_float(d) else few,
            note="operands meet in their common type first",
        )  # fmt: skip


def _division() -> Iterator[Case]:
    for d in (*INTS, *UINTS):

        def divide(x, y, d=d):
            q, r = c_quotient(x, y), c_rest(x, y)
            return [wrapped(v, d) for v in (q, r, whole(x))]

        yield several(
            "operator.division", division_kernel, divide, ins=(d, d),
            outs=dict.fromkeys(("quotient", "rest", "back"), d),
            inputs=lambda rng, d=d: divisors(rng, 100, d), note="as in C: toward zero",
        )  # fmt: skip
        if d in INTS:

            def constants(x, d=d):
                found = [c_quotient(x, k) for k in (7, -3, 8)]
                return [*(wrapped(v, d) for v in found), wrapped(c_rest(x, 8), d), x % 2 == 1]

            yield several(
                "operator.division.constants", by_constants_kernel, constants, ins=(d,),
                outs={"seven": d, "minus": d, "eight": d, "rest": d, "odd": "bool"},
                note="a division by a power of two is no shift: it truncates",
            )  # fmt: skip
    for op, f in (("floordiv", c_quotient), ("mod", c_rest)):
        yield _one(op, "i32", lambda x, y, f=f: wrapped(f(x, y), "i32"),
                   inputs=lambda rng: divisors(rng, 90, "i32"))  # fmt: skip

    def by_zero(x, y):
        safe = np.where((y == 0) | (y == -1), 1, y)
        found = np.where(y == 0, -12, c_quotient(x, safe) * 10 + c_rest(x, safe))
        return wrapped(np.where(y == -1, 5, found), "i32")

    def zeros(rng):
        x = rng.integers(-1000, 1000, 90).astype(np.int32)
        x[::9] = -(2**31)
        return [x, rng.choice(np.array([0, -1, 3, -4, 100], np.int32), 90)]

    yield pointwise(
        "operator.division.by_zero", by_zero_kernel, by_zero, ins=("i32", "i32"), block=64,
        axes=("i32",), level="standard", inputs=zeros,
        note="a division by zero, and the smallest number over -1, never trap; unused here",
    )  # fmt: skip
    for d in FLOATS:
        yield _one(
            "mod", d, np.fmod, out="f32" if d in ("f16", "bf16") else d,
            inputs=lambda rng, d=d: [
                (rng.integers(-60, 60, 90) / 4).astype(dtype(d)),
                rng.choice([0.5, 1.5, -2.0, 3.0, -0.25], 90).astype(dtype(d)),
            ],
            note="the sign is that of the left operand; 16-bit floats compute in f32",
        )  # fmt: skip


def _bits() -> Iterator[Case]:
    for op, f in (("or", np.bitwise_or), ("xor", np.bitwise_xor)):
        yield _one(op, "i32", f)
        yield _one(op, "bool", f)
    yield _one("shl", "i32", np.left_shift, inputs=lambda rng: amounts(rng, 90, "i32"))
    yield _one("shr", "i32", np.right_shift, inputs=lambda rng: amounts(rng, 90, "i32"))
    for d in (*INTS, *UINTS, "bool"):
        yield several(
            "operator.bits", bits_kernel,
            lambda x, y: [x | y, x ^ y, np.invert(x), x & y], ins=(d, d),
            outs=dict.fromkeys(("either", "one", "inverse", "both"), d),
        )  # fmt: skip
        if d != "bool":

            def shift(x, y):
                t = x.dtype.type
                return [x << y, x >> y, ((x >> t(3)) << t(2)) ^ (x >> t(7))]

            yield several(
                "operator.shifts", shifts_kernel, shift, ins=(d, d),
                outs=dict.fromkeys(("left", "right", "fixed"), d),
                inputs=lambda rng, d=d: amounts(rng, 100, d),
                note="right shifts copy the sign of signed numbers",
            )  # fmt: skip
    for a, b, d in (("i8", "i32", "i32"), ("u8", "i8", "u8"), ("bool", "i32", "i32")):
        yield several(
            "operator.bits.mixed", bits_kernel,
            lambda x, y, a=a, d=d: [
                x.astype(dtype(d)) | y.astype(dtype(d)), x.astype(dtype(d)) ^ y.astype(dtype(d)),
                np.invert(x),
                np.invert(np.invert(x).astype(dtype(d)) | np.invert(y).astype(dtype(d))),
            ],
            ins=(a, b), axes=(f"{a}_{b}",), outs={"either": d, "one": d, "inverse": a, "both": d},
        )  # fmt: skip


def _scalars() -> Iterator[Case]:
    for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2), (2**31 - 1, 3), (-(2**31), 16), (0, 5)):

        def expected(given, a=a, b=b):
            found = [
                c_quotient(a, b), c_rest(a, b), a | b, a ^ b, ~a, a >= b, a != b, a != b, a << 3,
                a >> 3, c_quotient(100, b), c_rest(a, -7), 1 << (b & 15), a, 0, -1,
            ]  # fmt: skip
            return {"out": wrapped([int(v) for v in found], "i32")}

        yield case(
            "operator.scalar", (f"a={a}", f"b={b}"), scalar_integers_kernel, 1,
            lambda rng, a=a, b=b: {"out": sentinel(16, "i32"), "a": a, "b": b}, expected,
            level="standard",
        )  # fmt: skip
        if abs(a) < 100:
            python = [a // b, a % b, a**2, (a | 5) ^ b, a << 2, a >> 1, ~a, -a // 2]
            yield case(
                "operator.static", (f"a={a}", f"b={b}"), static_arithmetic_kernel, 1,
                lambda rng, a=a, b=b: {"out": sentinel(8, "i32"), "A": a, "B": b},
                lambda _, p=python: {"out": np.array(p, np.int32)}, level="standard",
                note="what is known at compile time divides as Python does",
            )  # fmt: skip
