"""Conversion between types: by stores, by promotion, and what arithmetic in each type gives."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import ARITHMETIC, DIVIDE, EXACT, Case
from . import elementwise
from .build import (
    DTYPES,
    FLOATS,
    INTS,
    UINTS,
    case,
    data,
    dtype,
    exact,
    is_float,
    level_of,
    pointwise,
    rounded,
    sentinel,
    small,
)


@triton.jit
def to_ints_kernel(
    x, to_i8, to_i16, to_i32, to_i64, to_u8, to_u16, to_u32, to_u64, n, BLOCK: tl.constexpr
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(to_i8 + offs, a, mask=mask)
    tl.store(to_i16 + offs, a, mask=mask)
    tl.store(to_i32 + offs, a, mask=mask)
    tl.store(to_i64 + offs, a, mask=mask)
    tl.store(to_u8 + offs, a, mask=mask)
    tl.store(to_u16 + offs, a, mask=mask)
    tl.store(to_u32 + offs, a, mask=mask)
    tl.store(to_u64 + offs, a, mask=mask)


@triton.jit
def to_floats_kernel(x, to_f16, to_bf16, to_f32, to_f64, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(to_f16 + offs, a, mask=mask)
    tl.store(to_bf16 + offs, a, mask=mask)
    tl.store(to_f32 + offs, a, mask=mask)
    tl.store(to_f64 + offs, a, mask=mask)


@triton.jit
def promote_kernel(x, y, total, less, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(total + offs, a + b, mask=mask)
    tl.store(less + offs, a < b, mask=mask)


@triton.jit
def weak_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, (a + 100) + 100, mask=mask)


@triton.jit
def weak_float_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, a * 0.5 + 0.25, mask=mask)


@triton.jit
def where_mix_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, tl.where(offs < 30, a, b), mask=mask)


@triton.jit
def index_to_float_kernel(out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, offs * 0.25 - tl.program_id(0))


@triton.jit
def round_trip_kernel(x, half, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(half + offs, a, mask=mask)
    tl.store(out + offs, tl.load(half + offs, mask=mask) + 0.0, mask=mask)


@triton.jit
def count_true_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    low = a < b
    high = b < a
    tl.store(out + offs, (low + 2) * 10 + (low & high) + (low + high), mask=mask)


@triton.jit
def two_roundings_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, (a + b) + 1.0, mask=mask)


def _truncated(rng, n, d):
    """Floats that fit every integer type once truncated, halves and fractions among them."""
    values = rng.uniform(0, 120, n)
    values[:6] = [0.5, 0.999, 1.5, 2.5, 0.0, 119.75]
    return values.astype(dtype(d))


def _ties(rng, n, d):
    """Halfway between two ``f16`` or ``bf16`` values, or one ``f64`` step beside it."""
    base = rng.integers(1 << 10, 1 << 11, n).astype(np.float64)
    step = np.array([0.0, 0.5, 0.25, 0.75, 2.0**-40 + 0.5, 0.5 - 2.0**-40])[np.arange(n) % 6]
    return ((base + step) * np.array([1.0, -1.0])[np.arange(n) // 6 % 2]).astype(dtype(d))


def _convert(source, target, make, path="convert.store", axes=(), **fields):
    return pointwise(
        path, elementwise.copy_kernel, lambda x: x, ins=(source,), out=target, n=100, block=64,
        make=make, axes=(f"{source}_to_{target}", *axes), tolerance=EXACT, **fields,
    )  # fmt: skip


#: One at a time: what every backend must know, and the pairs that round.
PAIRS = (
    ("f32", "i32"), ("i32", "f32"), ("bool", "f32"), ("f32", "bool"), ("i32", "bool"),
    ("bool", "i32"), ("f32", "f16"), ("f16", "f32"), ("f32", "bf16"), ("bf16", "f32"),
    ("f64", "f32"), ("f16", "bf16"), ("bf16", "f16"), ("i64", "bool"), ("f64", "bool"),
)  # fmt: skip


def _source(source, target):
    return _truncated if is_float(source) and target == "i32" else data


def _all_pairs(source, family, kernel, targets):
    make = _truncated if is_float(source) else small
    wide = family == "ints" and not is_float(source) and source != "bool"

    def arguments(rng):
        outs = {f"to_{d}": sentinel(100, d) for d in targets}
        x = (data if wide else make)(rng, 100, source)
        return {"x": x, **outs, "n": 100, "BLOCK": 64}

    return case(
        f"convert.to_{family}", (source,), kernel, 2, arguments,
        lambda a: {f"to_{d}": rounded(exact(a["x"]), d) for d in targets},
        note="integers wrap" if wide else "",
    )  # fmt: skip


#: Operand types and the type they meet in.
PROMOTIONS = (
    ("i8", "i16", "i16"), ("i8", "i32", "i32"), ("i32", "i64", "i64"), ("u8", "i8", "u8"),
    ("u8", "i16", "i16"), ("u16", "i32", "i32"), ("u32", "i32", "u32"), ("u32", "i64", "i64"),
    ("u64", "i64", "u64"), ("u8", "u32", "u32"), ("bool", "i32", "i32"), ("bool", "u8", "u8"),
    ("i32", "f32", "f32"), ("i8", "f32", "f32"), ("i64", "f32", "f32"), ("u32", "f32", "f32"),
    ("bool", "f32", "f32"), ("i32", "f16", "f16"), ("i64", "f64", "f64"), ("i32", "f64", "f64"),
    ("f16", "f32", "f32"), ("bf16", "f32", "f32"), ("f16", "bf16", "f16"), ("f32", "f64", "f64"),
    ("f16", "f64", "f64"), ("i32", "bf16", "f32"), ("bool", "f16", "f16"),
)  # fmt: skip


def _promotion(a, b, d):
    make = small if is_float(d) else data

    def expected(given):
        x, y = (exact(given[k].astype(dtype(d))) for k in "xy")
        return {"total": rounded(x + y, d), "less": x < y}

    return case(
        "promote", (f"{a}_{b}",), promote_kernel, 2,
        lambda rng: {
            "x": make(rng, 90, a), "y": make(rng, 90, b), "total": sentinel(90, d),
            "less": sentinel(90, "bool"), "n": 90, "BLOCK": 64,
        },
        expected, tolerance=ARITHMETIC if is_float(d) else EXACT, level=level_of(a, b),
    )  # fmt: skip


def cases() -> Iterator[Case]:
    for source, target in PAIRS:
        level = "core" if {source, target} <= {"f32", "i32", "bool"} else "standard"
        yield _convert(source, target, _source(source, target), level=level)
    for d in DTYPES:
        yield _all_pairs(d, "ints", to_ints_kernel, (*INTS, *UINTS))
        yield _all_pairs(d, "floats", to_floats_kernel, FLOATS)
    for d in ("i32", "i8"):
        yield _convert(
            "f32", d, lambda rng, n, d: -_truncated(rng, n, d), path="convert.truncate",
            level="core" if d == "i32" else "standard",
            note="float to int truncates toward zero",
        )  # fmt: skip
    for source, target in (("f32", "f16"), ("f32", "bf16"), ("f64", "bf16"), ("f64", "f16"),
                           ("f64", "f32"), ("f16", "bf16")):  # fmt: skip
        yield _convert(source, target, _ties, path="convert.round", note="nearest, ties to even")
    for target, value in (("f16", 70000.0), ("f16", 65519.0), ("f16", 65520.0), ("bf16", 3.39e38),
                          ("bf16", 3.4e38)):  # fmt: skip
        yield _convert(
            "f32", target, lambda rng, n, d, v=value: np.tile([v, -v], 50).astype(dtype(d)),
            path="convert.overflow", axes=(f"x={value:g}".replace("+", ""),),
        )  # fmt: skip
    for a, b, d in PROMOTIONS:
        yield _promotion(a, b, d)
    for a, b, d in (("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("f16", "i32", "f32"),
                    ("i32", "f32", "f32"), ("f64", "f16", "f64")):  # fmt: skip
        yield pointwise(
            "promote.div", elementwise.div_kernel, lambda x, y: x / y, ins=(a, b), out=d, n=90,
            block=64, axes=(f"{a}_{b}",), make=small, tolerance=DIVIDE,
            note="16-bit floats divide in f32",
        )  # fmt: skip
    yield from _weak()
    yield from _others()


def _weak() -> Iterator[Case]:
    for d in (*INTS, *UINTS, "f16", "f32"):
        yield pointwise(
            "promote.weak", weak_kernel, lambda x: (x + x.dtype.type(100)) + x.dtype.type(100),
            ins=(d,), n=90, block=64, make=small, axes=(d,),
            tolerance=ARITHMETIC if is_float(d) else EXACT,
            note="a literal does not widen a block: small integers wrap",
        )  # fmt: skip
    for d, out in (("i32", "f32"), ("u8", "f32"), ("bool", "f32"), ("i64", "f32"), ("f16", "f16"),
                   ("bf16", "bf16"), ("f64", "f64")):  # fmt: skip
        yield pointwise(
            "promote.weak_float", weak_float_kernel, lambda x: x * 0.5 + 0.25, ins=(d,), out=out,
            n=90, block=64, make=lambda rng, n, d: np.abs(small(rng, n, d)), axes=(d,),
            tolerance=DIVIDE,
        )  # fmt: skip


def _others() -> Iterator[Case]:
    for a, b, d in (("i32", "f32", "f32"), ("bool", "i32", "i32"), ("f16", "f32", "f32"),
                    ("i8", "i64", "i64")):  # fmt: skip
        yield pointwise(
            "promote.where", where_mix_kernel, lambda x, y: np.where(np.arange(len(x)) < 30, x, y),
            ins=(a, b), out=d, n=90, block=64, make=small, axes=(f"{a}_{b}",), tolerance=EXACT,
        )  # fmt: skip
    yield case(
        "convert.index", ("f32",), index_to_float_kernel, 1,
        lambda rng: {"out": sentinel(64, "f32"), "BLOCK": 64},
        lambda a: {"out": (np.arange(64) / 4).astype(np.float32)}, level="core",
    )  # fmt: skip
    for d in FLOATS[:2]:

        def expected(a, d=d):
            a["half"][:] = a["x"].astype(dtype(d))
            return {"half": a["half"], "out": a["half"].astype(np.float32)}

        yield case(
            "convert.round_trip", (d,), round_trip_kernel, 2,
            lambda rng, d=d: {
                "x": data(rng, 100, "f32"), "half": sentinel(100, d), "out": sentinel(100, "f32"),
                "n": 100, "BLOCK": 64,
            },
            expected,
        )  # fmt: skip
        yield pointwise(
            "convert.intermediate", two_roundings_kernel,
            lambda x, y, d=d: (x + y).astype(dtype(d)).astype(np.float64) + 1.0, ins=(d, d), n=90,
            block=64, axes=(d,), tolerance=EXACT,
            note="sums of 16-bit floats round to 16 bits each time",
        )  # fmt: skip
    yield pointwise(
        "convert.bool_arithmetic", count_true_kernel,
        lambda x, y: ((x < y) + 2) * 10 + ((x < y) != (x > y)), ins=("i32", "i32"), n=90, block=64,
        make=lambda rng, n, d: rng.integers(0, 3, n).astype(dtype(d)),
    )  # fmt: skip
