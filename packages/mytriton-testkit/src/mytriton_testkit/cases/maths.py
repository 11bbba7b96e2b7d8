"""Mathematical functions: every one on every float, at ordinary and at special values."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import ARITHMETIC, COMPOSITE, DIVIDE, EXACT, MATH, Case
from .build import (
    FLOATS,
    dtype,
    of_edition,
    pointwise,
    several,
)
from .special import special


@triton.jit
def function_kernel(x, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask, other=1.0)
    if OP == "exp2":
        result = tl.exp2(a)
    elif OP == "log":
        result = tl.log(a)
    elif OP == "log2":
        result = tl.log2(a)
    elif OP == "sqrt":
        result = tl.sqrt(a)
    elif OP == "sqrt_rn":
        result = tl.sqrt_rn(a)
    elif OP == "rsqrt":
        result = tl.rsqrt(a)
    elif OP == "sin":
        result = tl.sin(a)
    elif OP == "cos":
        result = tl.cos(a)
    elif OP == "tanh":
        result = tl.extra.libdevice.tanh(a)
    elif OP == "erf":
        result = tl.erf(a)
    elif OP == "floor":
        result = tl.floor(a)
    elif OP == "ceil":
        result = tl.ceil(a)
    elif OP == "trunc":
        result = tl.extra.libdevice.trunc(a)
    elif OP == "rint":
        result = tl.extra.libdevice.rint(a)
    elif OP == "abs":
        result = tl.abs(a)
    elif OP == "sigmoid":
        result = tl.sigmoid(a)
    else:
        result = None
    tl.store(out + offs, result, mask=mask)


@triton.jit
def exponentials_kernel(x, power, natural, binary, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask, other=1.0)
    tl.store(power + offs, tl.exp2(a), mask=mask)
    tl.store(natural + offs, tl.log(a), mask=mask)
    tl.store(binary + offs, tl.log2(a), mask=mask)


@triton.jit
def roots_kernel(x, root, inverse, exact, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask, other=1.0)
    tl.store(root + offs, tl.sqrt(a), mask=mask)
    tl.store(inverse + offs, tl.rsqrt(a), mask=mask)
    tl.store(exact + offs, tl.math.sqrt_rn(a), mask=mask)


@triton.jit
def waves_kernel(x, sine, cosine, bell, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(sine + offs, tl.math.sin(a), mask=mask)
    tl.store(cosine + offs, tl.math.cos(a), mask=mask)
    tl.store(bell + offs, tl.math.erf(a), mask=mask)


@triton.jit
def rounding_kernel(x, down, up, size, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(down + offs, tl.floor(a), mask=mask)
    tl.store(up + offs, tl.math.ceil(a), mask=mask)
    tl.store(size + offs, tl.abs(a), mask=mask)


erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


#: Function, range of ordinary arguments, tolerance.
FUNCTIONS = {
    "exp2": (np.exp2, (-20, 20), MATH), "log": (np.log, (0.001, 50), MATH),
    "log2": (np.log2, (0.001, 50), MATH), "sqrt": (np.sqrt, (0, 100), ARITHMETIC),
    "sqrt_rn": (np.sqrt, (0, 100), EXACT), "rsqrt": (lambda x: 1 / np.sqrt(x), (0.01, 100), DIVIDE),
    "sin": (np.sin, (-30, 30), MATH), "cos": (np.cos, (-30, 30), MATH),
    "tanh": (np.tanh, (-6, 6), MATH), "erf": (erf, (-4, 4), MATH), "floor": (np.floor, (-9, 9), EXACT),
    "ceil": (np.ceil, (-9, 9), EXACT), "trunc": (np.trunc, (-9, 9), EXACT),
    "rint": (np.rint, (-9, 9), EXACT), "abs": (np.abs, (-9, 9), EXACT),
    "sigmoid": (sigmoid, (-12, 12), COMPOSITE),
}  # fmt: skip
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5, 1000.0)
#: Arguments that are easily got wrong.
HARD = {
    "exp2": [-126.5, -130.0, -140.25, -148.9, -150.0, 127.5, 128.0, 1e-8, -1e-8, 3.0, -3.0],
    "log": [1.0000001, 0.9999999, 1.01, 0.99, 1e-40, 3e-45, 3e38, 2.0, 0.70710677, 1.4142135],
    "log2": [1.0000001, 0.9999999, 1.01, 0.99, 1e-40, 3e-45, 3e38, 8.0, 0.125, 1.4142135],
    "sqrt": [1e-40, 3e-45, 3e38, 2.0, 16777215.0], "sqrt_rn": [1e-40, 3e-45, 3e38, 2.0, 0.1],
    "rsqrt": [1e-40, 3e-45, 3e38, 4.0, 0.1],
    "sin": [3.1415927, 6.2831855, 1e-5, -1e-20, 1e-40, 710.0, 1.5707964, 355.0],
    "cos": [3.1415927, 6.2831855, 1e-5, -1e-20, 1e-40, 710.0, 1.5707964, 355.0],
    "tanh": [1e-5, -1e-20, 1e-40, 0.01, 9.0, -20.0, 88.0, -1e4, 0.3],
    "erf": [1e-5, -1e-20, 1e-40, 0.01, 3.9, -5.0, 88.0, -1e4, 0.8],
    "floor": [8388607.5, -8388607.5, 1e30, -0.25, 0.99999994, -1e-40],
    "ceil": [8388607.5, -8388607.5, 1e30, -0.25, 0.99999994, 1e-40],
    "trunc": [8388607.5, -8388607.5, 1e30, -0.25, 0.99999994, -1e-40],
    "rint": [8388607.5, -8388606.5, 1e30, -0.25, 0.49999997, 3.5, 4.5],
    "abs": [1e-45, -1e-45, -3e38], "sigmoid": [100.0, -87.0, 1e-10],
}  # fmt: skip


def between(low, high):
    """Test data: floats evenly spread."""
    return lambda rng, n, d: rng.uniform(low, high, n).astype(dtype(d))


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    for op, (compute, (low, high), tolerance) in FUNCTIONS.items():
        yield pointwise(
            f"function.{op}", function_kernel, lambda x, OP, f=compute: f(x), n=130, axes=("f32",),
            make=between(low, high), tolerance=tolerance, extra={"OP": op}, level="standard",
        )  # fmt: skip
        yield pointwise(
            f"function.{op}.special", function_kernel, lambda x, OP, f=compute: f(x), axes=("f32",),
            inputs=lambda rng, op=op: [np.array([*SPECIAL, *HARD[op]], np.float32)], block=32,
            tolerance=tolerance, extra={"OP": op}, level="standard",
        )  # fmt: skip
    for d in FLOATS:
        if d != "f32":
            yield from _groups(d)


def _groups(d):
    wide = d == "f64"
    for label, kernel, compute, names, span, tolerance in (
        ("exponentials", exponentials_kernel, lambda x: [np.exp2(x), np.log(x), np.log2(x)],
         ("power", "natural", "binary"), (0.01, 12), MATH),
        ("roots", roots_kernel, lambda x: [np.sqrt(x), 1 / np.sqrt(x), np.sqrt(x)],
         ("root", "inverse", "exact"), (0.01, 90), DIVIDE),
        ("waves", waves_kernel, lambda x: [np.sin(x), np.cos(x), erf(x)],
         ("sine", "cosine", "bell"), (-5, 5), MATH),
        ("rounding", rounding_kernel, lambda x: [np.floor(x), np.ceil(x), np.abs(x)],
         ("down", "up", "size"), (-50, 50), EXACT),
    ):  # fmt: skip
        yield several(
            f"function.{label}", kernel, compute, ins=(d,), outs=dict.fromkeys(names, d),
            make=between(*span), tolerance=tolerance,
            note="" if wide else "16-bit floats compute in f32 and round back",
        )  # fmt: skip
        yield several(
            f"function.{label}.special", kernel, compute, ins=(d,), outs=dict.fromkeys(names, d),
            block=32, tolerance=tolerance,
            inputs=lambda rng, d=d: [np.array([*SPECIAL, *special(d)[0][::14][-4:]], dtype(d))],
        )  # fmt: skip
