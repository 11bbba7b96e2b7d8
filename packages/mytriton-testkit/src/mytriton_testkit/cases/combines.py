"""Reductions with a function of the user's."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import COMPOSITE, Case
from .axes import shown
from .build import data, dtype, exact, is_float, of_edition, rounded, small
from .operators import wrapped


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def largest(a, b):
    return tl.maximum(a, b)


@triton.jit
def larger_size(a, b):
    if tl.abs(b) > tl.abs(a):
        result = b
    else:
        result = a
    return result


@triton.jit
def first_best(value_a, index_a, value_b, index_b):
    take = (value_b > value_a) | ((value_b == value_a) & (index_b < index_a))
    return tl.where(take, value_b, value_a), tl.where(take, index_b, index_a)


@triton.jit
def compose(scale_a, shift_a, scale_b, shift_b):
    return scale_a * scale_b, shift_a * scale_b + shift_b


@triton.jit
def welford(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    share = count_b / count
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def log_sum(top_a, sum_a, top_b, sum_b):
    top = tl.maximum(top_a, top_b)
    return top, sum_a * tl.exp(top_a - top) + sum_b * tl.exp(top_b - top)


@triton.jit
def one_kernel(x, out, COMBINE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(out + row, tl.reduce(values, 0, COMBINE))


@triton.jit
def tile_kernel(
    x, rows, columns, everything, COMBINE: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    tile = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(rows + r, tl.reduce(tile, 1, COMBINE))
    tl.store(columns + c, tl.reduce(tile, axis=0, combine_fn=COMBINE))
    tl.store(everything, tl.reduce(tile, None, COMBINE))


@triton.jit
def keep_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tl.load(x + offs)
    tl.store(out + offs, tile - tl.reduce(tile, 1, largest, keep_dims=True))


@triton.jit
def cube_kernel(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A)
    j = tl.arange(0, B)
    k = tl.arange(0, C)
    cube = tl.load(x + i[:, None, None] * (B * C) + j[None, :, None] * C + k[None, None, :])
    tl.store(out + i[:, None] * C + k[None, :], tl.reduce(cube, 1, multiply))


@triton.jit
def best_kernel(x, value, place, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    tile = tl.load(x + r[:, None] * N + c[None, :])
    index = tl.broadcast_to(c[None, :], (M, N))
    best, at = tl.reduce((tile, index), 1, first_best)
    tl.store(value + r, best)
    tl.store(place + r, at)


@triton.jit
def compose_kernel(x, y, scale, shift, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.program_id(0) * BLOCK
    found = tl.reduce((tl.load(x + row + offs), tl.load(y + row + offs)), 0, compose)
    tl.store(scale + tl.program_id(0), found[0])
    tl.store(shift + tl.program_id(0), found[1])


@triton.jit
def welford_kernel(x, mean, variance, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    tile = tl.load(x + r[:, None] * N + tl.arange(0, N)[None, :])
    state = (tile, tl.zeros_like(tile), tl.full((M, N), 1.0, tl.float32))
    average, m2, count = tl.reduce(state, 1, welford)
    tl.store(mean + r, average)
    tl.store(variance + r, m2 / count)


@triton.jit
def log_sum_kernel(x, out, rows, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    for k in range(rows):
        row = tl.load(x + k * BLOCK + offs)
        top, total = tl.reduce((row, tl.full((BLOCK,), 1.0, tl.float32)), 0, log_sum)
        tl.store(out + k, top + tl.log(total))


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _single()
    yield from _several()


def _single() -> Iterator[Case]:
    for d, n in (("f32", 64), ("i32", 128), ("f16", 32), ("i64", 16), ("f64", 8), ("f32", 1),
                 ("f32", 2)):  # fmt: skip
        yield shown(
            "combine.add", (d, f"n={n}"), one_kernel, 2,
            lambda rng, n=n, d=d: {"x": small(rng, (2, n), d)}, {"COMBINE": add, "BLOCK": n},
            {"out": (2, d)}, lambda a, d=d: {"out": rounded(exact(a["x"]).sum(axis=1), d)},
        )  # fmt: skip
    for d in ("i32", "u8", "i64", "f32"):

        def product(a, d=d):
            x = a["x"]
            if is_float(d):
                return {"out": np.prod(exact(x), axis=1).astype(dtype(d))}
            return {"out": np.stack([wrapped(np.prod(row.astype(object)), d) for row in x])}

        yield shown(
            "combine.multiply", (d,), one_kernel, 2,
            lambda rng, d=d: {
                "x": rng.choice([0.5, 2.0, -1.0, 4.0], (2, 32)).astype(dtype(d))
                if is_float(d)
                else data(rng, (2, 32), d) | dtype(d).type(1)
            },
            {"COMBINE": multiply, "BLOCK": 32}, {"out": (2, d)}, product, note="integers wrap",
        )  # fmt: skip
    for d, f, label, g in (
        ("i32", either, "either", lambda x, k: np.bitwise_or.reduce(x, axis=k)),
        ("bool", either, "either", lambda x, k: np.bitwise_or.reduce(x, axis=k)),
        ("f32", largest, "largest", lambda x, k: x.max(axis=k)),
        ("i8", largest, "largest", lambda x, k: x.max(axis=k)),
        ("f32", larger_size, "branch", _size),
    ):  # fmt: skip

        def tile(a, g=g):
            x = a["x"]
            whole = np.asarray(g(x.reshape(-1), 0))
            return {"rows": g(x, 1), "columns": g(x, 0), "everything": whole.reshape(1)}

        yield shown(
            f"combine.{label}", (d,), tile_kernel, 1,
            lambda rng, d=d: {"x": _distinct(rng, d)}, {"COMBINE": f, "M": 8, "N": 4},
            {"rows": (8, d), "columns": (4, d), "everything": (1, d)}, tile,
        )  # fmt: skip
    yield shown(
        "combine.keep", ("f32",), keep_kernel, 1, lambda rng: {"x": small(rng, (4, 16), "f32")},
        {"M": 4, "N": 16}, {"out": ((4, 16), "f32")},
        lambda a: {"out": a["x"] - a["x"].max(axis=1, keepdims=True)},
    )  # fmt: skip
    yield shown(
        "combine.cube", ("i32",), cube_kernel, 1,
        lambda rng: {"x": rng.integers(-3, 4, (2, 8, 4)).astype(np.int32)},
        {"A": 2, "B": 8, "C": 4}, {"out": ((2, 4), "i32")},
        lambda a: {"out": a["x"].prod(axis=1, dtype=np.int32)},
    )  # fmt: skip


def _distinct(rng, d):
    if d == "bool":
        return rng.random((8, 4)) < 0.3
    size = rng.permutation(32).reshape(8, 4) - 7.5
    return size.astype(dtype(d))


def _size(x, axis):
    at = np.expand_dims(np.abs(x).argmax(axis=axis), axis)
    return np.take_along_axis(x, at, axis).squeeze(axis)


def _several() -> Iterator[Case]:
    for d in ("f32", "i32", "f16"):
        yield shown(
            "combine.best", (d,), best_kernel, 1,
            lambda rng, d=d: {"x": rng.integers(0, 9, (4, 16)).astype(dtype(d))},
            {"M": 4, "N": 16}, {"value": (4, d), "place": (4, "i32")},
            lambda a: {
                "value": a["x"].max(axis=1), "place": a["x"].argmax(axis=1).astype(np.int32)
            },
        )  # fmt: skip
    for n in (2, 16, 128):

        def composed(a):
            scale, shift = np.ones(2, object), np.zeros(2, object)
            for k in range(a["x"].shape[1]):
                p, q = a["x"][:, k].astype(object), a["y"][:, k].astype(object)
                scale, shift = scale * p, shift * p + q
            return {"scale": wrapped(scale, "i32"), "shift": wrapped(shift, "i32")}

        yield shown(
            "combine.compose", ("i32", f"n={n}"), compose_kernel, 2,
            lambda rng, n=n: {
                "x": rng.integers(-9, 10, (2, n)).astype(np.int32),
                "y": rng.integers(-9, 10, (2, n)).astype(np.int32),
            },
            {"BLOCK": n}, {"scale": (2, "i32"), "shift": (2, "i32")}, composed,
            note="associative and not commutative: neighbours are combined in order",
        )  # fmt: skip
    yield shown(
        "combine.welford", ("f32",), welford_kernel, 1,
        lambda rng: {"x": (rng.standard_normal((4, 32)) + 5).astype(np.float32)},
        {"M": 4, "N": 32}, {"mean": (4, "f32"), "variance": (4, "f32")},
        lambda a: {
            "mean": exact(a["x"]).mean(axis=1).astype("f4"),
            "variance": exact(a["x"]).var(axis=1).astype("f4"),
        },
        tolerance=COMPOSITE,
    )  # fmt: skip
    yield shown(
        "combine.log_sum", ("f32",), log_sum_kernel, 1,
        lambda rng: {"x": (rng.standard_normal((3, 64)) * 3 + 4).astype(np.float32)},
        {"rows": 3, "BLOCK": 64}, {"out": (3, "f32")},
        lambda a: {"out": np.log(np.exp(exact(a["x"])).sum(axis=1)).astype("f4")},
        tolerance=COMPOSITE, note="in a loop",
    )  # fmt: skip
