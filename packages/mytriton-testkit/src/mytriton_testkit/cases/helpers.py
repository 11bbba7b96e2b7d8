"""Calls of other ``@triton.jit`` functions, of plain Python functions and of compile-time functions."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import ARITHMETIC, COMPOSITE, EXACT, Case
from .branches import one
from .build import case, data, dtype, of_edition, sentinel, small


@triton.jit
def double(a):
    return a * 2


@triton.jit
def affine(a, scale=2, shift: tl.constexpr = 1):
    return a * scale + shift


@triton.jit
def load_row(base, row, WIDTH: tl.constexpr):
    base += row * WIDTH
    return tl.load(base + tl.arange(0, WIDTH))


@triton.jit
def minmax(a, axis: tl.constexpr = 0):
    return tl.min(a, axis=axis), tl.max(a, axis=axis)


@triton.jit
def clipped(a, low, high):
    if a < low:
        return low
    elif a > high:
        return high
    return a


@triton.jit
def magnitude(a):
    if a < 0:
        return -a
    else:
        return a


@triton.jit
def store_twice(base, a, mask):
    tl.store(base, a, mask=mask)
    tl.store(base + 64, -a, mask=mask)


@triton.jit
def sum_of(a, b, c):
    a = a + b
    b = a * c
    return a + b


@triton.jit
def swap(pair):
    first, second = pair
    return second, first


@triton.jit
def apply(function: tl.constexpr, a):
    return function(a)


@triton.jit
def activate(a, KIND: tl.constexpr):
    if KIND == "relu":
        return tl.maximum(a, 0.0)
    elif KIND == "double":
        return double(a)
    else:
        tl.static_assert(KIND is None)
        return a


@triton.jit
def power(a, N: tl.constexpr):
    result = a
    for _ in tl.static_range(N - 1):
        result *= a
    return result


@triton.jit
def until(a, limit):
    steps = 0
    while a < limit:
        a = a * 2 + 1
        steps += 1
    return steps, a


@triton.constexpr_function
def half_of(n):
    return n // 2


@triton.jit
def calls_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    tl.store(out + offs, affine(double(row)))
    tl.store(out + BLOCK + offs, affine(row, shift=5))
    tl.store(out + 2 * BLOCK + offs, affine(row, 3) + affine(scale=row, a=2))
    tl.store(out + 3 * BLOCK + offs, apply(double, row) + half_of(BLOCK))


@triton.jit
def shapes_kernel(x, out, SMALL: tl.constexpr, LARGE: tl.constexpr):
    few = load_row(x, 1, SMALL)
    many = load_row(x, 1, LARGE)
    low, high = minmax(few)
    tile = few[:, None] + many[None, :]
    rows_low, rows_high = minmax(tile, axis=1)
    tl.store(out + tl.arange(0, SMALL), rows_low + high)
    tl.store(out + SMALL + tl.arange(0, SMALL), rows_high - low)
    tl.store(out + 2 * SMALL + tl.arange(0, LARGE), double(many))


@triton.jit
def branches_kernel(x, out, low, high):
    pid = tl.program_id(0)
    value = tl.load(x + pid)
    tl.store(out + pid * 2, clipped(value, low, high))
    tl.store(out + pid * 2 + 1, magnitude(value) + magnitude(low))


@triton.jit
def storing_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    row = tl.load(x + offs, mask=mask)
    store_twice(out + offs, row, mask)
    store_twice(out + 128 + offs, row + 1, offs < 5)


@triton.jit
def rebinding_kernel(x, out):
    a = tl.load(x)
    b = tl.load(x + 1)
    c = sum_of(a, b, 3)
    d = sum_of(a, b, c)
    tl.store(out + 0, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)
    tl.store(out + 3, d)
    a, b = swap((a, b))
    tl.store(out + 4, a * 10 + b)


@triton.jit
def kinds_kernel(x, out, KIND: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    tl.store(out + offs, power(activate(row, KIND), N))


@triton.jit
def in_loops_kernel(x, out, n):
    total = 0
    for i in range(n):
        steps, last = until(tl.load(x + i), 100)
        if steps > 2:
            total += clipped(last, 0, 150) + steps
        else:
            total = magnitude(total - last)
    tl.store(out, total)


def _three(a):
    """A plain Python function: run while the kernel is compiled."""
    return a + a + a


@triton.jit
def macro_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, _three(tl.load(x + offs)))


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _functions()
    yield from _more_functions()


def _functions() -> Iterator[Case]:
    for d in ("f32", "i32", "i64"):

        def calls(a):
            x = a["x"].astype(np.float64)
            rows = [x * 4 + 1, x * 2 + 5, x * 3 + 1 + 2 * x + 1, x * 2 + 16]
            return {"out": np.concatenate(rows).astype(a["x"].dtype)}

        yield one(
            "helper.calls", (d,), calls_kernel, 1,
            lambda rng, d=d: {"x": small(rng, 32, d), "out": sentinel(128, d), "BLOCK": 32}, calls,
        )  # fmt: skip

    def shapes(a):
        few, many = a["x"][8:16], a["x"][32:64]
        tile = few[:, None] + many[None, :]
        rows = [tile.min(axis=1) + few.max(), tile.max(axis=1) - few.min(), many * 2]
        return {"out": np.concatenate(rows)}

    yield one(
        "helper.shapes", (), shapes_kernel, 1,
        lambda rng: {
            "x": small(rng, 64, "f32"), "out": sentinel(48, "f32"), "SMALL": 8, "LARGE": 32
        },
        shapes, note="one function, called with blocks of different shapes",
    )  # fmt: skip
    for d in ("i32", "f32"):

        def branches(a):
            x = a["x"]
            return {"out": np.stack([np.clip(x, -5, 9), np.abs(x) + 5], axis=1)}

        yield one(
            "helper.branches", (d,), branches_kernel, 6,
            lambda rng, d=d: {
                "x": np.array([0, -5, -6, 9, 10, 100]).astype(dtype(d)),
                "out": sentinel((6, 2), d), "low": dtype(d).type(-5).item(),
                "high": dtype(d).type(9).item(),
            },
            branches, note="a function that returns from several branches",
        )  # fmt: skip

    def storing(a):
        out, x = a["out"], a["x"]
        out[:40], out[64:104] = x, -x
        out[128:133], out[192:197] = x[:5] + 1, -(x[:5] + 1)
        return {"out": out}

    yield one(
        "helper.stores", (), storing_kernel, 1,
        lambda rng: {
            "x": small(rng, 40, "f32"), "out": sentinel(256, "f32"), "n": 40, "BLOCK": 64
        },
        storing,
    )  # fmt: skip

    def rebinding(a):
        x, y = (int(v) for v in a["x"])

        def f(p, q, r):
            return p + q + (p + q) * r

        c = f(x, y, 3)
        return {"out": np.array([x, y, c, f(x, y, c), y * 10 + x], np.int32)}

    yield one(
        "helper.rebinds", (), rebinding_kernel, 1,
        lambda rng: {"x": np.array([3, -5], np.int32), "out": sentinel(5, "i32")}, rebinding,
        note="the names of a function are its own",
    )  # fmt: skip


def _more_functions() -> Iterator[Case]:
    for kind, n in (("relu", 1), ("relu", 3), ("double", 2), (None, 2)):

        def kinds(a, kind=kind, n=n):
            x = a["x"].astype(np.float64)
            x = np.maximum(x, 0) if kind == "relu" else x * 2 if kind == "double" else x
            return {"out": (x**n).astype(np.float32)}

        yield case(
            "helper.kinds", (str(kind), f"n={n}"), kinds_kernel, 1,
            lambda rng, k=kind, n=n: {
                "x": data(rng, 32, "f32"), "out": sentinel(32, "f32"), "KIND": k, "N": n,
                "BLOCK": 32,
            },
            kinds, tolerance=ARITHMETIC if n < 3 else COMPOSITE, level="extended",
        )  # fmt: skip

    def loops(a):
        total = 0
        for value in a["x"]:
            value, steps = int(value), 0
            while value < 100:
                value, steps = value * 2 + 1, steps + 1
            if steps > 2:
                total += min(max(value, 0), 150) + steps
            else:
                total = abs(total - value)
        return {"out": np.array([total], np.int32)}

    yield one(
        "helper.in_loops", (), in_loops_kernel, 1,
        lambda rng: {
            "x": np.array([1, 99, 500, 3, 40, 120, 7], np.int32), "out": sentinel(1, "i32"), "n": 7
        },
        loops,
    )  # fmt: skip
    yield case(
        "helper.macro", ("f32",), macro_kernel, 1,
        lambda rng: {"x": small(rng, 16, "f32"), "out": sentinel(16, "f32"), "BLOCK": 16},
        lambda a: {"out": a["x"] * np.float32(3)}, tolerance=EXACT, level="extended",
        note="a plain Python function",
    )  # fmt: skip
