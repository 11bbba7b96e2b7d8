"""Elementwise operations on every type, and the shapes at which blocks and arrays do not line up."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import ARITHMETIC, DIVIDE, EXACT, MATH, Case
from .build import (
    DTYPES,
    FLOATS,
    INTS,
    UINTS,
    case,
    data,
    exact,
    pointwise,
    positive,
    rounded,
    sentinel,
    small,
)


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask), mask=mask)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, a + b, mask=mask)


@triton.jit
def sub_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, a - b, mask=mask)


@triton.jit
def mul_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, a * b, mask=mask)


@triton.jit
def div_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, a / b, mask=mask)


@triton.jit
def maximum_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, tl.maximum(a, b), mask=mask)


@triton.jit
def minimum_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, tl.minimum(a, b), mask=mask)


@triton.jit
def less_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, a < b, mask=mask)


@triton.jit
def and_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, a & b, mask=mask)


@triton.jit
def neg_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, -tl.load(x + offs, mask=mask), mask=mask)


@triton.jit
def exp_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.exp(tl.load(x + offs, mask=mask)), mask=mask)


@triton.jit
def where_kernel(x, y, z, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    c = tl.load(x + offs, mask=mask)
    a = tl.load(y + offs, mask=mask)
    b = tl.load(z + offs, mask=mask)
    tl.store(out + offs, tl.where(c, a, b), mask=mask)


@triton.jit
def compare_chain_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    less = tl.where(a < b, 1, 0)
    equal = tl.where((a < b) & (b < a), 4, 0)
    close = tl.where((a < b + 2) & (b < a + 2), 2, 0)
    tl.store(out + offs, less + equal + close, mask=mask)


@triton.jit
def polynomial_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, (a * b + a) * (b + 2) + a, mask=mask)


@triton.jit
def literals_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    left = 3 - a
    tl.store(out + offs, left * 5 + (7 + a) - 2, mask=mask)


@triton.jit
def arithmetic_kernel(
    x, y, add, sub, mul, high, low, negated, less, picked, n, BLOCK: tl.constexpr
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(add + offs, a + b, mask=mask)
    tl.store(sub + offs, a - b, mask=mask)
    tl.store(mul + offs, a * b, mask=mask)
    tl.store(high + offs, tl.maximum(a, b), mask=mask)
    tl.store(low + offs, tl.minimum(a, b), mask=mask)
    tl.store(negated + offs, -a, mask=mask)
    tl.store(less + offs, a < b, mask=mask)
    tl.store(picked + offs, tl.where(b < a, a, -b), mask=mask)


@triton.jit
def bitwise_kernel(x, y, both, quotient, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(both + offs, a & b, mask=mask)
    tl.store(quotient + offs, a / b, mask=mask)


#: One, a power of two, one less, one more, several programs, exactly several programs.
EDGES = ((1, 128), (128, 128), (127, 128), (129, 128), (300, 128), (512, 128), (5, 8), (9, 1))
#: Of the types every backend must know, each operation on its own.
CORE_KERNELS = {
    "sub": (sub_kernel, np.subtract), "mul": (mul_kernel, np.multiply),
    "maximum": (maximum_kernel, np.maximum), "minimum": (minimum_kernel, np.minimum),
}  # fmt: skip


def quotient(x, y):
    """True division: integers meet in ``float32`` first."""
    if x.dtype.kind in "biu":
        x, y = (v.astype(np.float32).astype(np.float64) for v in (x, y))
    return x / y


def cases() -> Iterator[Case]:
    for n, block in EDGES:
        yield pointwise("copy", copy_kernel, lambda x: x, n=n, block=block, tolerance=EXACT)
        yield pointwise("binary.add", add_kernel, np.add, ins=("f32", "f32"), n=n, block=block)
        yield pointwise("binary.add", add_kernel, np.add, ins=("i32", "i32"), n=n, block=block)
    yield from _large_blocks()
    yield from _by_dtype()
    yield from _mixed()


def _large_blocks() -> Iterator[Case]:
    for block in (32, 256, 512, 1024):
        yield pointwise(
            "binary.mul", mul_kernel, np.multiply, ins=("f32", "f32"), n=block + 1, block=block
        )
    for block, n in ((48, 100), (100, 99), (2048, 2047), (4096, 5000)):
        yield pointwise(
            "binary.add.width", add_kernel, np.add, ins=("f32", "f32"), n=n, block=block,
            level="standard" if block < 2000 else "extended",
            note="block widths that are no power of two, or beyond 1024",
        )  # fmt: skip


def _by_dtype() -> Iterator[Case]:
    for d in ("f32", "i32"):
        for name, (kernel, compute) in CORE_KERNELS.items():
            tolerance = EXACT if name in ("maximum", "minimum") else None
            yield pointwise(f"binary.{name}", kernel, compute, ins=(d, d), tolerance=tolerance)
        yield pointwise("unary.neg", neg_kernel, np.negative, ins=(d,), tolerance=EXACT)
        yield pointwise("compare.less", less_kernel, np.less, ins=(d, d), out="bool", make=small)
    for d in DTYPES:
        if d != "f32":
            yield pointwise("copy", copy_kernel, lambda x: x, ins=(d,), tolerance=EXACT)
        if d not in ("f32", "i32", "bool"):
            yield _arithmetic(d)
        if d in ("bool", "i32", "f32", "f16", "i64", "u8"):
            yield pointwise(
                "select.where", where_kernel, np.where, ins=("bool", d, d), out=d,
                tolerance=EXACT, axes=(d, "block=128", "n=300"),
            )  # fmt: skip
    yield pointwise("bitwise.and", and_kernel, np.bitwise_and, ins=("i32", "i32"))
    yield pointwise("bitwise.and", and_kernel, np.bitwise_and, ins=("bool", "bool"))
    for name, kernel in (("add", add_kernel), ("sub", sub_kernel)):
        yield pointwise(f"binary.{name}", kernel, np.bitwise_xor, ins=("bool", "bool"))
    yield pointwise("compare.less", less_kernel, np.less, ins=("bool", "bool"))
    yield pointwise(
        "binary.div", div_kernel, quotient, ins=("i32", "i32"), out="f32", tolerance=DIVIDE,
        note="true division: integers meet in f32",
    )  # fmt: skip
    for d in (*INTS, *UINTS, "bool"):
        if d != "i32":
            yield _bitwise(d)
    for d in FLOATS:
        yield pointwise("binary.div", div_kernel, quotient, ins=(d, d), tolerance=DIVIDE)
        yield pointwise("math.exp", exp_kernel, np.exp, ins=(d,), tolerance=MATH)
    for n in (1, 129):
        yield pointwise("math.exp", exp_kernel, np.exp, n=n, tolerance=MATH)


def _many(path, kernel, d, outs, compute, tolerance, note=""):
    """``kernel(x, y, out1, out2, ..., n, BLOCK)``: several operations of one type in one kernel."""

    def arguments(rng):
        arrays = {name: sentinel(300, t) for name, t in outs.items()}
        return {"x": data(rng, 300, d), "y": data(rng, 300, d), **arrays, "n": 300, "BLOCK": 128}

    def expected(a):
        found = compute(exact(a["x"]), exact(a["y"]))
        return {
            name: rounded(value, t) for (name, t), value in zip(outs.items(), found, strict=True)
        }

    return case(path, (d,), kernel, 3, arguments, expected, tolerance=tolerance, note=note)


def _arithmetic(d):
    names = ("add", "sub", "mul", "high", "low", "negated")
    outs = {**dict.fromkeys(names, d), "less": "bool", "picked": d}
    return _many(
        "arithmetic", arithmetic_kernel, d, outs,
        lambda x, y: (
            x + y, x - y, x * y, np.maximum(x, y), np.minimum(x, y), np.negative(x), x < y,
            np.where(y < x, x, np.negative(y)),
        ),
        ARITHMETIC if d in FLOATS else EXACT,
    )  # fmt: skip


def _bitwise(d):
    return _many(
        "bitwise.and_div", bitwise_kernel, d, {"both": d, "quotient": "f32"},
        lambda x, y: (x & y, quotient(x, y)), DIVIDE, "true division: integers meet in f32",
    )  # fmt: skip


def _polynomial(x, y):
    return (x * y + x) * (y + 2) + x


def _mixed() -> Iterator[Case]:
    yield pointwise(
        "compare.signs", compare_chain_kernel,
        lambda a, b: np.where(a < b, 1, 0) + np.where((a < b + 2) & (b < a + 2), 2, 0),
        ins=("f32", "f32"), out="i32", make=small, tolerance=EXACT,
    )  # fmt: skip
    for d in ("i32", "u32", "i8", "u64"):
        yield pointwise(
            "chain.polynomial", polynomial_kernel, _polynomial, ins=(d, d), tolerance=EXACT,
            note="integer intermediates wrap",
        )  # fmt: skip
    for d in ("f32", "f64"):
        yield pointwise(
            "chain.polynomial", polynomial_kernel, _polynomial, ins=(d, d), make=positive,
            tolerance=DIVIDE, note="several roundings, all terms positive",
        )  # fmt: skip
    for d in ("i32", "i16", "f32", "f16"):
        yield pointwise(
            "chain.literals", literals_kernel,
            lambda x: (3 - x) * 5 + (7 + x) - 2,
            ins=(d,), make=small, tolerance=EXACT if d in ("i32", "i16") else ARITHMETIC,
            note="literals are weak: they take the type of the other operand",
        )  # fmt: skip
