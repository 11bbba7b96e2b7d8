"""Functions of several operands, of integers, and what is made of simpler ones."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import COMPOSITE, DIVIDE, EXACT, MATH, Case
from .build import (
    FLOATS,
    INTS,
    case,
    data,
    dtype,
    of_edition,
    pointwise,
    positive,
    rounded,
    sentinel,
    several,
    small,
)
from .maths import between, erf, function_kernel
from .operators import whole, wrapped
from .special import larger, smaller, special


@triton.jit
def abs_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.abs(tl.load(x + offs, mask=mask)), mask=mask)


@triton.jit
def libdevice_kernel(x, y, tan, grow, near, power, length, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask, other=1.0)
    b = tl.load(y + offs, mask=mask, other=1.0)
    tl.store(tan + offs, tl.extra.libdevice.tanh(a), mask=mask)
    tl.store(grow + offs, tl.extra.libdevice.exp(a), mask=mask)
    tl.store(near + offs, tl.extra.libdevice.log1p(a), mask=mask)
    tl.store(power + offs, tl.extra.libdevice.pow(a, b), mask=mask)
    tl.store(length + offs, tl.extra.libdevice.rsqrt(a), mask=mask)


@triton.jit
def three_kernel(x, y, z, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask)
    c = tl.load(z + offs, mask=mask)
    if OP == "fma":
        result = tl.fma(a, b, c)
    elif OP == "math.fma":
        result = tl.math.fma(a, b, c)
    else:
        result = tl.clamp(a, b, c)
    tl.store(out + offs, result, mask=mask)


@triton.jit
def two_kernel(x, y, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask, other=1)
    if OP == "div_rn":
        result = tl.div_rn(a, b)
    elif OP == "fdiv":
        result = tl.fdiv(a, b)
    elif OP == "umulhi":
        result = tl.umulhi(a, b)
    elif OP == "cdiv":
        result = tl.cdiv(a, b)
    elif OP == "number_max":
        result = tl.maximum(a, b, propagate_nan=tl.PropagateNan.NONE)
    elif OP == "number_min":
        result = tl.minimum(a, b, propagate_nan=tl.PropagateNan.NONE)
    elif OP == "builtin_max":
        result = max(a, b)
    else:
        result = min(a, b)
    tl.store(out + offs, result, mask=mask)


@triton.jit
def clamp_nan_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    kept = tl.clamp(a, -2.0, 2.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + offs, kept, mask=mask)


@triton.jit
def softmax_kernel(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, N)
    tl.store(out + row * N + offs, tl.softmax(tl.load(x + row * N + offs)))


@triton.jit
def gelu_kernel(x, erf, approximate, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask).to(tl.float32)
    tl.store(erf + offs, 0.5 * a * (1.0 + tl.erf(a * 0.7071067811865476)), mask=mask)
    inner = 0.7978845608028654 * (a + 0.044715 * a * a * a)
    tanh = 2.0 * tl.sigmoid(2.0 * inner) - 1.0
    tl.store(approximate + offs, 0.5 * a * (1.0 + tanh), mask=mask)


@triton.jit
def scalars_kernel(out, a, b):
    tl.store(out + 0, tl.exp2(a))
    tl.store(out + 1, tl.sqrt(a))
    tl.store(out + 2, tl.floor(b))
    tl.store(out + 3, tl.ceil(b))
    tl.store(out + 4, abs(b))
    tl.store(out + 5, max(a, b))
    tl.store(out + 6, min(a, b))
    tl.store(out + 7, tl.fma(a, b, 1.0))
    tl.store(out + 8, tl.log2(a))
    tl.store(out + 9, tl.clamp(b, 0.0, 1.0))


@triton.jit
def square(a):
    return a * a


@triton.jit
def chosen_kernel(x, out, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, FUNCTION(tl.load(x + offs, mask=mask, other=1.0)), mask=mask)


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _integers()
    yield from _several_operands()
    yield from _others()


def _integers() -> Iterator[Case]:
    for d in INTS:
        yield pointwise(
            "function.abs", abs_kernel, lambda x, d=d: wrapped(abs(whole(x)), d), ins=(d,), n=90,
            block=64, axes=(d,), tolerance=EXACT, level="standard", note="the smallest one stays",
        )  # fmt: skip
    for d in ("i32", "u32", "i64", "u64"):

        def upper(x, y, OP, d=d):
            bits = dtype(d).itemsize * 8
            high = [
                (int(a) % 2**bits) * (int(b) % 2**bits) >> bits for a, b in zip(x, y, strict=True)
            ]
            return wrapped(high, d)

        yield pointwise(
            "function.umulhi", two_kernel, upper, ins=(d, d), n=90, block=64, axes=(d,),
            tolerance=EXACT, extra={"OP": "umulhi"}, level="standard",
            note="operands are taken as unsigned",
        )  # fmt: skip
    for d in ("i32", "u8", "i64"):
        yield pointwise(
            "function.cdiv", two_kernel, lambda x, y, OP: -(-x.astype(np.int64) // y),
            ins=(d, d), out=d, n=90, block=64, axes=(d,), tolerance=EXACT, extra={"OP": "cdiv"},
            level="standard", make=lambda rng, n, d: rng.integers(1, 100, n).astype(dtype(d)),
        )  # fmt: skip
    for op, f in (("builtin_max", np.maximum), ("builtin_min", np.minimum)):
        for d in ("i32", "u8", "f16"):
            yield pointwise(
                f"function.{op}", two_kernel, lambda x, y, OP, f=f: f(x, y), ins=(d, d), n=90,
                block=64, axes=(d,), tolerance=EXACT, extra={"OP": op}, level="standard",
            )  # fmt: skip


def _several_operands() -> Iterator[Case]:
    for d in FLOATS:
        yield pointwise(
            "function.fma", three_kernel, lambda x, y, z, OP: x * y + z, ins=(d, d, d), n=90,
            block=64, axes=(d,), make=positive, tolerance=DIVIDE, extra={"OP": "fma"},
            level="standard",
        )  # fmt: skip
        yield pointwise(
            "function.div_rn", two_kernel, lambda x, y, OP: x / y, ins=(d, d), n=90, block=64,
            out={"f16": "f32", "bf16": "f32"}.get(d, d), axes=(d,), tolerance=EXACT, make=positive,
            extra={"OP": "div_rn"}, level="standard", note="rounded to nearest",
        )  # fmt: skip
    yield pointwise(
        "function.fma", three_kernel, lambda x, y, z, OP: x * y + z, ins=("f16", "f32", "f32"),
        n=90, block=64, axes=("f16_f32",), out="f32", make=positive, tolerance=DIVIDE,
        extra={"OP": "math.fma"}, level="standard",
    )  # fmt: skip
    yield pointwise(
        "function.div_rn.special", two_kernel, lambda x, y, OP: x / y, ins=("f32", "f32"),
        axes=("f32",), inputs=lambda rng: special("f32"), tolerance=EXACT, extra={"OP": "div_rn"},
        level="standard",
    )  # fmt: skip
    yield pointwise(
        "function.fdiv", two_kernel, lambda x, y, OP: x / y, ins=("f32", "f32"), n=90, block=64,
        axes=("f32",), tolerance=DIVIDE, extra={"OP": "fdiv"}, level="standard",
    )  # fmt: skip
    for op, f in (("number_max", np.fmax), ("number_min", np.fmin)):
        for d in ("f32", "f16"):
            yield pointwise(
                f"function.{op}", two_kernel, lambda x, y, OP, f=f: f(x, y), ins=(d, d), out=d,
                axes=(d,), inputs=lambda rng, d=d: _no_signed_zeros(d), tolerance=EXACT,
                extra={"OP": op}, level="standard", note="a NaN loses against a number",
            )  # fmt: skip
    for d in ("f32", "f16", "i32", "i64"):

        def bounds(rng, d=d):
            low = small(rng, 90, d)
            return [data(rng, 90, d), low, (low + dtype(d).type(20)).astype(dtype(d))]

        yield pointwise(
            "function.clamp", three_kernel,
            lambda x, y, z, OP: np.minimum(np.maximum(x, y), z), ins=(d, d, d), block=64,
            axes=(d,), inputs=bounds, tolerance=EXACT, extra={"OP": "clamp"}, level="standard",
        )  # fmt: skip
    yield pointwise(
        "function.clamp.special", clamp_nan_kernel, lambda x: smaller(larger(x, -2.0), 2.0),
        axes=("f32",), inputs=lambda rng: special("f32")[:1], tolerance=EXACT, level="standard",
    )  # fmt: skip


def _no_signed_zeros(d):
    x, y = special(d)
    keep = ~((x == 0) & (y == 0))
    return [x[keep], y[keep]]


def _others() -> Iterator[Case]:
    for d in ("f32", "f16"):

        def softmax(a, d=d):
            x = a["x"].astype(np.float64)
            e = np.exp(x - x.max(axis=-1, keepdims=True))
            return {"out": rounded(e / e.sum(axis=-1, keepdims=True), d)}

        yield case(
            "function.softmax", (d,), softmax_kernel, 3,
            lambda rng, d=d: {
                "x": data(rng, (3, 64), d), "out": sentinel((3, 64), d), "N": 64
            },
            softmax, tolerance=COMPOSITE, level="standard",
        )  # fmt: skip

    def gelu(x):
        inner = 0.7978845608028654 * (x + 0.044715 * x**3)
        return [0.5 * x * (1 + erf(x * 0.7071067811865476)), 0.5 * x * (1 + np.tanh(inner))]

    yield several(
        "function.gelu", gelu_kernel, gelu, ins=("f32",), outs={"erf": "f32", "approximate": "f32"},
        make=between(0.1, 4), tolerance=COMPOSITE, level="extended",
    )  # fmt: skip
    yield several(
        "function.libdevice", libdevice_kernel,
        lambda x, y: [np.tanh(x), np.exp(x), np.log1p(x), x**y, 1 / np.sqrt(x)],
        ins=("f32", "f32"), outs=dict.fromkeys(("tan", "grow", "near", "power", "length"), "f32"),
        make=between(0.25, 3), tolerance=COMPOSITE, level="extended",
        note="names people import from elsewhere",
    )  # fmt: skip
    for a, b in ((4.0, 2.5), (0.25, -3.5)):

        def scalars(_, a=a, b=b):
            found = [
                2.0**a, math.sqrt(a), math.floor(b), math.ceil(b), abs(b), max(a, b), min(a, b),
                a * b + 1, math.log2(a), min(max(b, 0), 1),
            ]  # fmt: skip
            return {"out": np.array(found, np.float32)}

        yield case(
            "function.scalar", (f"a={a}", f"b={b}"), scalars_kernel, 1,
            lambda rng, a=a, b=b: {"out": sentinel(10, "f32"), "a": a, "b": b}, scalars,
            tolerance=MATH, level="standard",
        )  # fmt: skip
    for label, function, compute in (("exp", tl.exp, np.exp), ("square", square, np.square)):
        yield pointwise(
            "function.as_argument", chosen_kernel, lambda x, FUNCTION, f=compute: f(x),
            axes=(label,), n=90, block=64, make=positive, tolerance=MATH, level="standard",
            extra={"FUNCTION": function}, note="functions are compile-time arguments",
        )  # fmt: skip
    yield pointwise(
        "function.sin.large", function_kernel, lambda x, OP: np.sin(x), axes=("f32",),
        inputs=lambda rng: [(10.0 ** rng.uniform(2, 6, 40)).astype(np.float32)], block=64,
        tolerance=MATH, extra={"OP": "sin"}, level="extended",
        note="angles are reduced with all the bits of pi they need",
    )  # fmt: skip
