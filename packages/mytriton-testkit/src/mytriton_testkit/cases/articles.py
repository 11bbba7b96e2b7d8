"""The kernels of the articles, as people first write them."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import COMPOSITE, EXACT, MATH, REDUCTION, Case
from . import elementwise
from .build import case, data, exact, pointwise, positive, rounded, sentinel


@triton.jit
def matrix_add_2d_kernel(x, y, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BM + tl.arange(0, BM)[:, None]
    offs_n = pid_n * BN + tl.arange(0, BN)[None, :]
    offsets = offs_m * N + offs_n
    mask = (offs_m < M) & (offs_n < N)
    lhs = tl.load(x + offsets, mask=mask, other=0.0)
    rhs = tl.load(y + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, lhs + rhs, mask=mask)


@triton.jit
def relu_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.maximum(tl.load(x + offs, mask=mask, other=0.0), 0.0), mask=mask)


@triton.jit
def leaky_relu_kernel(x, out, n, slope, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    value = tl.load(x + offs, mask=mask, other=0.0)
    tl.store(out + offs, tl.where(value < 0.0, value * slope, value), mask=mask)


@triton.jit
def sigmoid_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    value = tl.load(x + offs, mask=mask, other=0.0)
    tl.store(out + offs, 1.0 / (1.0 + tl.exp(-value)), mask=mask)


@triton.jit
def silu_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    value = tl.load(x + offs, mask=mask, other=0.0)
    tl.store(out + offs, value / (1.0 + tl.exp(-value)), mask=mask)


@triton.jit
def softmax_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    values = tl.load(x + row * n + offs, mask=mask, other=-float("inf"))
    numerator = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + offs, numerator / tl.sum(numerator, axis=0), mask=mask)


@triton.jit
def row_statistics_kernel(x, total, high, low, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    source = x + row * n + offs
    tl.store(total + row, tl.sum(tl.load(source, mask=mask, other=0.0)))
    tl.store(high + row, tl.max(tl.load(source, mask=mask, other=-float("inf"))))
    tl.store(low + row, tl.min(tl.load(source, mask=mask, other=float("inf"))))


@triton.jit
def long_row_sum_kernel(x, out, n, CHUNKS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for chunk in tl.static_range(0, CHUNKS):
        place = chunk * BLOCK + offs
        acc = acc + tl.load(x + row * n + place, mask=place < n, other=0.0)
    tl.store(out + row, tl.sum(acc))


@triton.jit
def runtime_row_sum_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    total = 0.0
    for start in range(0, n, BLOCK):
        total += tl.sum(tl.load(x + row * n + start + offs, mask=offs < n - start, other=0.0))
    tl.store(out + row, total)


@triton.jit
def runtime_sum_kernel(x, out, K):
    accumulator = 0.0
    for k in range(K):
        accumulator += tl.load(x + k)
    tl.store(out, accumulator)


@triton.jit
def matmul_naive_kernel(a, b, c, M, N, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < N
    acc = cols * 0.0
    for k in tl.static_range(0, K):
        acc = acc + tl.load(a + row * K + k) * tl.load(b + k * N + cols, mask=mask, other=0.0)
    tl.store(c + row * N + cols, acc, mask=mask)


@triton.jit
def matmul_2d_kernel(a, b, c, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BM + tl.arange(0, BM)[:, None]
    offs_n = pid_n * BN + tl.arange(0, BN)[None, :]
    c_offsets = offs_m * N + offs_n
    c_mask = (offs_m < M) & (offs_n < N)
    acc = c_offsets * 0.0
    for k in tl.static_range(0, K):
        a_values = tl.load(a + offs_m * K + k, mask=offs_m < M, other=0.0)
        b_values = tl.load(b + k * N + offs_n, mask=offs_n < N, other=0.0)
        acc = acc + a_values * b_values
    tl.store(c + c_offsets, acc, mask=c_mask)


@triton.jit
def matmul_runtime_k_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BM + tl.arange(0, BM)[:, None]
    offs_n = pid_n * BN + tl.arange(0, BN)[None, :]
    c_offsets = offs_m * N + offs_n
    c_mask = (offs_m < M) & (offs_n < N)
    acc = c_offsets * 0.0
    for k in range(K):
        a_offsets = offs_m * K + k
        b_offsets = k * N + offs_n
        a_values = tl.load(a + a_offsets, mask=offs_m < M, other=0.0)
        b_values = tl.load(b + b_offsets, mask=offs_n < N, other=0.0)
        acc = acc + a_values * b_values
    tl.store(c + c_offsets, acc, mask=c_mask)


def _softmax(a):
    x = exact(a["x"])
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": rounded(shifted / shifted.sum(axis=1, keepdims=True), "f32")}


def _statistics(a, f=lambda x: x):
    x = exact(a["x"])
    extremes = {"high": x.max(axis=1).astype("f4"), "low": x.min(axis=1).astype("f4")}
    return {"total": rounded(f(x).sum(axis=1), "f32"), **extremes}


def _rows(path, kernel, n, block, rows=3, **extra):
    def total(a, f=lambda x: x):
        return {"out": rounded(f(exact(a["x"])).sum(axis=1), "f32")}

    return case(
        path, (f"n={n}", f"block={block}"), kernel, rows,
        lambda rng: {
            "x": data(rng, (rows, n), "f32"), "out": sentinel(rows, "f32"), "n": n, **extra,
            "BLOCK": block,
        },
        total, tolerance=REDUCTION, terms=max(n, 1), magnitude=lambda a: total(a, np.abs),
    )  # fmt: skip


def _matmul(path, kernel, m, n, k, grid, axes, d="f32", **tile):
    def product(a, f=lambda x: x):
        # Products are rounded to the type of the operands, sums are f32.
        products = rounded(f(exact(a["a"]))[:, :, None] * f(exact(a["b"])), d)
        return {"c": rounded(exact(products).sum(axis=1), "f32")}

    return case(
        path, (f"m={m}", f"n={n}", f"k={k}", *axes), kernel, grid,
        lambda rng: {
            "a": data(rng, (m, k), d), "b": data(rng, (k, n), d), "c": sentinel((m, n), "f32"),
            "M": m, "N": n, "K": k, **tile,
        },
        product, tolerance=REDUCTION, terms=k + 1, magnitude=lambda a: product(a, np.abs),
    )  # fmt: skip


def cases() -> Iterator[Case]:
    for n in (1000, 1024, 77):
        yield pointwise(
            "article.add", elementwise.add_kernel, np.add, ins=("f32", "f32"), n=n, block=256
        )
        yield pointwise(
            "article.relu", relu_kernel, lambda x: np.maximum(x, 0.0), n=n, block=256,
            tolerance=EXACT,
        )  # fmt: skip
    yield pointwise(
        "article.copy", elementwise.copy_kernel, lambda x: x, n=1000, block=256, tolerance=EXACT
    )
    yield pointwise(
        "article.leaky_relu", leaky_relu_kernel,
        lambda x, slope: np.where(x < 0, x * np.float64(np.float32(slope)), x), block=256,
        extra={"slope": 0.01}, n=1000,
    )  # fmt: skip
    for n in (1000, 5):
        yield pointwise(
            "article.sigmoid", sigmoid_kernel, lambda x: 1 / (1 + np.exp(-x)), n=n, block=256,
            tolerance=MATH,
        )  # fmt: skip
        yield pointwise(
            "article.silu", silu_kernel, lambda x: x / (1 + np.exp(-x)), n=n, block=256,
            tolerance=COMPOSITE,
        )  # fmt: skip
    for m, n, bm, bn in ((20, 50, 16, 32), (16, 32, 16, 32), (1, 33, 16, 32), (40, 7, 8, 8)):
        yield case(
            "article.matrix_add", (f"m={m}", f"n={n}", f"tile={bm}x{bn}"), matrix_add_2d_kernel,
            (-(-m // bm), -(-n // bn)),
            lambda rng, m=m, n=n, bm=bm, bn=bn: {
                "x": data(rng, (m, n), "f32"), "y": data(rng, (m, n), "f32"),
                "out": sentinel((m, n), "f32"), "M": m, "N": n, "BM": bm, "BN": bn,
            },
            lambda a: {"out": a["x"] + a["y"]},
        )  # fmt: skip
    yield from _reductions()
    yield from _matmuls()


def _reductions() -> Iterator[Case]:
    for n, block in ((100, 128), (128, 128), (1, 1), (1000, 1024), (33, 64)):
        yield case(
            "article.softmax", (f"n={n}", f"block={block}"), softmax_kernel, 4,
            lambda rng, n=n, b=block: {
                "x": data(rng, (4, n), "f32"), "out": sentinel((4, n), "f32"), "n": n, "BLOCK": b
            },
            _softmax, tolerance=COMPOSITE,
        )  # fmt: skip
    yield case(
        "article.softmax.shifted", ("f32",), softmax_kernel, 4,
        lambda rng: {
            "x": positive(rng, (4, 50), "f32") + np.array([[0], [500], [-500], [1e4]], "f4"),
            "out": sentinel((4, 50), "f32"), "n": 50, "BLOCK": 64,
        },
        _softmax, tolerance=COMPOSITE, note="overflows unless the maximum is taken off",
    )  # fmt: skip
    for n, block in ((100, 128), (256, 256)):
        yield case(
            "article.row_statistics", (f"n={n}", f"block={block}"), row_statistics_kernel, 3,
            lambda rng, n=n, b=block: {
                "x": data(rng, (3, n), "f32"), "total": sentinel(3, "f32"),
                "high": sentinel(3, "f32"), "low": sentinel(3, "f32"), "n": n, "BLOCK": b,
            },
            _statistics, tolerance=REDUCTION, terms=n,
            magnitude=lambda a: {"total": _statistics(a, np.abs)["total"], "high": 0, "low": 0},
        )  # fmt: skip
    for n in (512, 385):
        yield _rows("article.long_row_sum", long_row_sum_kernel, n, 128, CHUNKS=4)
        yield _rows("article.runtime_row_sum", runtime_row_sum_kernel, n, 128)
    for n in (0, 1, 200):

        def total(a, f=lambda x: x, n=n):
            return {"out": rounded(f(exact(a["x"][:n])).sum(keepdims=True), "f32")}

        yield case(
            "article.runtime_sum", (f"n={n}",), runtime_sum_kernel, 1,
            lambda rng, n=n: {"x": data(rng, 200, "f32"), "out": sentinel(1, "f32"), "K": n},
            total, level="core", tolerance=REDUCTION, terms=max(n, 1),
            magnitude=lambda a, total=total: total(a, np.abs),
        )  # fmt: skip


def _matmuls() -> Iterator[Case]:
    for m, n, k in ((3, 40, 8), (1, 32, 1)):
        yield _matmul(
            "article.matmul.naive", matmul_naive_kernel, m, n, k, (m, -(-n // 32)), (), BLOCK=32
        )
    for m, n, k in ((16, 32, 8), (17, 33, 5), (1, 1, 1)):
        grid = (-(-m // 4), -(-n // 8))
        yield _matmul("article.matmul.static_k", matmul_2d_kernel, m, n, k, grid, (), BM=4, BN=8)
        yield _matmul(
            "article.matmul.runtime_k", matmul_runtime_k_kernel, m, n, k, grid, (), BM=4, BN=8
        )
    yield _matmul(
        "article.matmul.runtime_k", matmul_runtime_k_kernel, 20, 40, 0, (2, 2), (), BM=16, BN=32
    )
    yield _matmul(
        "article.matmul.runtime_k", matmul_runtime_k_kernel, 20, 40, 33, (2, 2), ("f16",), "f16",
        BM=16, BN=32,
    )  # fmt: skip
