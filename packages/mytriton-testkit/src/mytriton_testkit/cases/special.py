"""NaN, infinities, signed zeros and denormals, operation by operation."""

# mypy: ignore-errors
# ruff: noqa: B002, SIM300
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import DIVIDE, EXACT, MATH, Case
from . import elementwise
from .build import case, dtype, pointwise

NAN, INF = float("nan"), float("inf")
#: Each value meets each other one.
VALUES = (0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1.5, -2.5, 1000.0)


def special(name):
    """All pairs of special values, and the smallest denormal and the limits of the type."""
    tiny = {"f16": 2.0**-24, "bf16": 2.0**-133, "f32": 2.0**-149, "f64": 2.0**-1074}[name]
    normal = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}[name]
    values = [*VALUES, tiny, -3 * tiny, normal, normal / 2]
    pairs = np.array([(a, b) for a in values for b in values], np.float64)
    return [np.ascontiguousarray(pairs[:, k]).astype(dtype(name)) for k in (0, 1)]


def pairs_case(path, kernel, compute, name, *, out="", tolerance=EXACT):
    return pointwise(
        path, kernel, compute, ins=(name, name), out=out, inputs=lambda rng: special(name),
        tolerance=tolerance, axes=(name,),
    )  # fmt: skip


def larger(x, y):
    """NaN stays; the right operand wins a tie."""
    return np.where((x > y) | np.isnan(x), x, y)


def smaller(x, y):
    return np.where((x < y) | np.isnan(x), x, y)


@triton.jit
def add_zero_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, a + 0.0, mask=mask)


@triton.jit
def sub_zero_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, a - 0.0, mask=mask)


@triton.jit
def zero_minus_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, 0.0 - a, mask=mask)


@triton.jit
def times_zero_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, a * 0.0, mask=mask)


@triton.jit
def minus_itself_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, a - a, mask=mask)


@triton.jit
def over_itself_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, a / a, mask=mask)


@triton.jit
def less_itself_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, tl.where(a < a, 1, 0) + tl.where(a < a + 1.0, 2, 0), mask=mask)


@triton.jit
def guarded_divide_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    tl.store(out + offs, tl.where(b < 0.0, -1.0, tl.where(0.0 < b, a / b, 0.0)), mask=mask)


@triton.jit
def guarded_exp_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, tl.where(a < 0.0, tl.exp(a) * 0.0 + 1.0, -tl.exp(a) * 0.0), mask=mask)


@triton.jit
def clamp_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, tl.minimum(tl.maximum(a, -2.0), 2.0), mask=mask)


@triton.jit
def scalar_algebra_kernel(out, a):
    tl.store(out + 0, a + 0.0)
    tl.store(out + 1, a - 0.0)
    tl.store(out + 2, 0.0 - a)
    tl.store(out + 3, a * 0.0)
    tl.store(out + 4, 0.0 * a)
    tl.store(out + 5, a * 1.0)
    tl.store(out + 6, a - a)
    tl.store(out + 7, a / a)
    tl.store(out + 8, 0.0 / a)
    tl.store(out + 9, a / 1.0)
    tl.store(out + 10, tl.maximum(a, a))
    tl.store(out + 11, tl.where(a < a, 1.0, 2.0))
    tl.store(out + 12, -(-a))
    tl.store(out + 13, a * -1.0)
    tl.store(out + 14, a + -0.0)
    tl.store(out + 15, tl.maximum(a, 0.0))
    tl.store(out + 16, tl.minimum(0.0, a))


@triton.jit
def integer_algebra_kernel(out, a):
    tl.store(out + 0, a + 0)
    tl.store(out + 1, 0 - a)
    tl.store(out + 2, a * 0)
    tl.store(out + 3, a * 1)
    tl.store(out + 4, a - a)
    tl.store(out + 5, a & 0)
    tl.store(out + 6, a & -1)
    tl.store(out + 7, a & a)
    tl.store(out + 8, -(-a))
    tl.store(out + 9, (a + 1) - 1)
    tl.store(out + 10, tl.maximum(a, 2147483647))
    tl.store(out + 11, tl.where(a < a + 1, 1, 0))
    tl.store(out + 12, a + a)
    tl.store(out + 13, (a < 5) & True)
    tl.store(out + 14, (a < 5) & False)
    tl.store(out + 15, tl.where((a < 5) & (a < 5), a, -a))


@triton.jit
def constants_kernel(out):
    tl.store(out + 0, float("nan"))
    tl.store(out + 1, float("inf"))
    tl.store(out + 2, -float("inf"))
    tl.store(out + 3, -0.0)
    tl.store(out + 4, 1e-45)
    tl.store(out + 5, 3.4028234663852886e38)
    tl.store(out + 6, 0.1)
    tl.store(out + 7, 1.1754942106924411e-38)
    tl.store(out + 8, 16777217.0)


def _constants(a):
    a["out"][:] = np.array(
        [NAN, INF, -INF, -0.0, 1e-45, 3.4028234663852886e38, 0.1, 1.1754942106924411e-38,
         16777217.0]
    ).astype(np.float32)  # fmt: skip
    return {"out": a["out"]}


EXP_INPUTS = {
    "limits": [
        0.0,
        -0.0,
        INF,
        -INF,
        NAN,
        1000.0,
        -1000.0,
        88.5,
        -87.0,
        89.0,
        -104.5,
        1e-30,
        -1e-30,
    ],
    "denormal": [-87.5, -88.0, -90.0, -95.25, -100.0, -103.0, -103.9],
    "small": [1e-7, -1e-7, 1e-3, -1e-3, 0.5, -0.5, 0.34657359, -0.34657359, 0.69314718],
}


def cases() -> Iterator[Case]:
    for d in ("f32", "f16", "bf16", "f64"):
        yield pairs_case("special.maximum", elementwise.maximum_kernel, larger, d)
        yield pairs_case("special.minimum", elementwise.minimum_kernel, smaller, d)
        yield pairs_case("special.less", elementwise.less_kernel, np.less, d, out="bool")
        yield pairs_case("special.add", elementwise.add_kernel, np.add, d)
    for d in ("f32", "f64"):
        yield pairs_case("special.sub", elementwise.sub_kernel, np.subtract, d)
        # Products of two denormals round differently where they are flushed: that is the point.
        yield pairs_case("special.mul", elementwise.mul_kernel, np.multiply, d)
        yield pairs_case("special.div", elementwise.div_kernel, np.divide, d, tolerance=DIVIDE)
    for d in ("f32", "f16", "bf16", "f64"):
        for name, kernel, compute in (
            ("copy", elementwise.copy_kernel, lambda x: x),
            ("neg", elementwise.neg_kernel, np.negative),
            ("add_zero", add_zero_kernel, lambda x: x + 0.0),
        ):
            yield unary(f"special.{name}", kernel, compute, d)
    yield from _algebra()
    yield from _scalar_algebra()
    for name, values in EXP_INPUTS.items():
        yield pointwise(
            f"special.exp.{name}", elementwise.exp_kernel, np.exp, axes=("f32",), tolerance=MATH,
            inputs=lambda rng, v=values: [np.array(v, np.float32)],
        )  # fmt: skip
    yield pointwise(
        "special.exp.sweep", elementwise.exp_kernel, np.exp, axes=("f32",), tolerance=MATH,
        block=512, inputs=lambda rng: [np.linspace(-87.0, 88.0, 1000).astype(np.float32)],
    )  # fmt: skip
    yield from _exp_by_dtype()
    yield case(
        "special.constants", ("f32",), constants_kernel, 1,
        lambda rng: {"out": np.zeros(9, np.float32)}, _constants, level="core",
        note="literals keep their bits",
    )  # fmt: skip


def unary(path, kernel, compute, name, *, out="", tolerance=EXACT, level=""):
    return pointwise(
        path, kernel, compute, ins=(name,), out=out, inputs=lambda rng: special(name)[:1],
        tolerance=tolerance, axes=(name,), level=level,
    )  # fmt: skip


def _algebra() -> Iterator[Case]:
    """What an optimiser must not do: x - x is not 0, x / x is not 1, x * 0 is not 0, ..."""
    for name, kernel, compute in (
        ("sub_zero", sub_zero_kernel, lambda x: x - 0.0),
        ("zero_minus", zero_minus_kernel, lambda x: 0.0 - x),
        ("times_zero", times_zero_kernel, lambda x: x * 0.0),
        ("minus_itself", minus_itself_kernel, lambda x: x - x),
        ("over_itself", over_itself_kernel, lambda x: x / x),
        ("clamp", clamp_kernel, lambda x: smaller(larger(x, -2.0), 2.0)),
    ):
        yield unary(f"special.algebra.{name}", kernel, compute, "f32")
    yield unary(
        "special.algebra.less_itself", less_itself_kernel,
        lambda x: np.where(x < x + 1.0, 2, 0), "f32", out="i32",
    )  # fmt: skip
    yield pairs_case(
        "special.where.divide", guarded_divide_kernel,
        lambda x, y: np.where(y < 0, -1.0, np.where(y > 0, x / y, 0.0)), "f32", tolerance=DIVIDE,
    )  # fmt: skip
    yield pointwise(
        "special.where.exp", guarded_exp_kernel,
        lambda x: np.where(x < 0, 1.0, np.where(x > 88, NAN, -0.0)), axes=("f32",),
        inputs=lambda rng: [np.array([-1e4, -1.0, 2.0, 1e3, INF], np.float32)], tolerance=EXACT,
        note="the branch that is not taken may hold a NaN",
    )  # fmt: skip


def _scalar_algebra() -> Iterator[Case]:
    """The same for scalars, which an optimiser folds first."""

    def floats(given):
        a, zero = np.float64(given["a"]), np.float64(0.0)
        found = [
            a + 0.0, a - 0.0, 0.0 - a, a * 0.0, 0.0 * a, a, a - a, a / a, zero / a, a, a, 2.0, a, -a, a,
            larger(a, zero), smaller(zero, a),
        ]  # fmt: skip
        return {"out": np.array(found, np.float32)}

    def integers(given):
        a = given["a"]
        up = (a + 1 + 2**31) % 2**32 - 2**31
        found = [
            a, -a, 0, a, 0, 0, a, a, a, a, 2**31 - 1, int(a < up), 2 * a, a < 5, 0, a if a < 5 else -a
        ]  # fmt: skip
        return {"out": np.array([(int(v) + 2**31) % 2**32 - 2**31 for v in found], np.int32)}

    for label, value in (
        ("minus_zero", -0.0), ("zero", 0.0), ("nan", NAN), ("inf", INF), ("minus_inf", -INF),
        ("plain", -1.5),
    ):  # fmt: skip
        yield case(
            "special.scalar", ("f32", label), scalar_algebra_kernel, 1,
            lambda rng, v=value: {"out": np.zeros(17, np.float32), "a": v}, floats, level="core",
        )  # fmt: skip
    for value in (0, 7, -(2**31), 2**31 - 1):
        yield case(
            "special.scalar", ("i32", f"a={value}"), integer_algebra_kernel, 1,
            lambda rng, v=value: {"out": np.zeros(16, np.int32), "a": v}, integers, level="core",
        )  # fmt: skip


def _exp_by_dtype() -> Iterator[Case]:
    limits = {"f16": (-16.5, 11.0), "bf16": (-80.0, 80.0), "f64": (-700.0, 700.0)}
    for d, (low, high) in limits.items():
        yield pointwise(
            "special.exp.sweep", elementwise.exp_kernel, np.exp, ins=(d,), axes=(d,),
            tolerance=MATH,
            inputs=lambda rng, d=d, low=low, high=high: [
                np.concatenate([np.linspace(low, high, 95), [NAN, INF, -INF, 0.0, -0.0]]).astype(
                    dtype(d)
                )
            ],
        )  # fmt: skip
    yield pointwise(
        "special.add.denormal", elementwise.add_kernel, np.add, ins=("f32", "f32"), axes=("f32",),
        tolerance=EXACT, note="denormals are not flushed",
        inputs=lambda rng: [
            (rng.integers(-(2**23), 2**23, 200) * 2.0**-149).astype(np.float32) for _ in range(2)
        ],
    )  # fmt: skip
