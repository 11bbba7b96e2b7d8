"""Conversion between types: by stores, by promotion, and what arithmetic in each type gives."""

# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Iterator

import mytriton as triton
import mytriton.language as tl
import numpy as np

from ..case import ARITHMETIC, DIVIDE, EXACT, Case
from . import elementwise
from .build import DTYPES, FLOATS, INTS, UINTS, case, data, dtype, is_float, pointwise, sentinel, small


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


#: Every type to and from ``f32`` and ``i32``, and the pairs that are special.
PAIRS = (
    *(("f32", d) for d in DTYPES if d != "f32"), *((d, "f32") for d in DTYPES if d != "f32"),
    *(("i32", d) for d in DTYPES if d not in ("f32", "i32")),
    *((d, "i32") for d in DTYPES if d not in ("f32", "i32")),
    ("f64", "f16"), ("f64", "bf16"), ("f16", "bf16"), ("bf16", "f16"), ("f16", "f64"),
    ("f64", "i64"), ("i64", "f64"), ("u64", "f64"), ("i64", "i8"), ("u8", "i64"), ("i8", "u64"),
    ("bool", "u8"), ("u16", "bool"), ("f16", "i8"), ("u32", "u64"), ("i64", "bool"),
)  # fmt: skip


def _source(source, target):
    if is_float(source) and not is_float(target):
        return _truncated if target != "bool" else small
    if not is_float(source) and target in ("f16", "bf16"):
        return small
    return data


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


def _promoted(operation, d):
    def compute(x, y):
        wanted = dtype(d)
        x, y = (v.astype(wanted) for v in (x, y))
        if is_float(d):
            x, y = x.astype(np.float64), y.astype(np.float64)
        return operation(x, y)

    return compute


def cases() -> Iterator[Case]:
    for source, target in PAIRS:
        level = "core" if {source, target} <= {"f32", "i32", "bool"} else "standard"
        yield _convert(source, target, _source(source, target), level=level)
    for d in INTS:
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
        for name, kernel, operation in (
            ("add", elementwise.add_kernel, np.add), ("less", elementwise.less_kernel, np.less)
        ):  # fmt: skip
            yield pointwise(
                f"promote.{name}", kernel, _promoted(operation, d), ins=(a, b),
                out=d if name == "add" else "bool", axes=(f"{a}_{b}",), n=90, block=64,
                make=small if is_float(d) else data,
                tolerance=ARITHMETIC if is_float(d) and name == "add" else EXACT,
            )  # fmt: skip
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
