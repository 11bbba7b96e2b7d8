"""Blocks of rank 2 and more: subscripts, broadcasting, and ranks that meet."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .build import case, data, sentinel, small


@triton.jit
def copy_tile_kernel(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    mask = (rows < M) & (cols < N)
    offs = rows * N + cols
    tl.store(out + offs, tl.load(x + offs, mask=mask), mask=mask)


@triton.jit
def transpose_kernel(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    mask = (rows < M) & (cols < N)
    tl.store(out + cols * M + rows, tl.load(x + rows * N + cols, mask=mask), mask=mask)


@triton.jit
def outer_kernel(x, y, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    tl.store(out + i[:, None] * N + j[None, :], tl.load(x + i)[:, None] * tl.load(y + j)[None, :])


@triton.jit
def same_range_kernel(x, out, B: tl.constexpr):
    r = tl.arange(0, B)
    row = r[None, :]
    col = r[:, None]
    value = tl.load(x + r)
    below = tl.where(row < col, 1, 0)
    tl.store(out + col * B + row, value[:, None] * 2 + value[None, :] + below)


@triton.jit
def row_and_tile_kernel(x, bias, out, shifted, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    b = tl.load(bias + j)
    tl.store(shifted + j, b + 1)
    tile = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + i[:, None] * N + j[None, :], tile + b[None, :] + i[:, None])


@triton.jit
def implicit_rank_kernel(x, bias, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + i[:, None] * N + j, tile + tl.load(bias + j))


@triton.jit
def row_mask_kernel(x, out, M, N: tl.constexpr, BM: tl.constexpr):
    i = tl.arange(0, BM)[:, None]
    j = tl.arange(0, N)[None, :]
    tile = tl.load(x + i * N + j, mask=i < M, other=-1.0)
    tl.store(out + i * N + j, tile)


@triton.jit
def column_mask_kernel(x, out, N, W: tl.constexpr, BM: tl.constexpr):
    i = tl.arange(0, BM)[:, None]
    j = tl.arange(0, W)[None, :]
    tile = tl.load(x + i * W + j, mask=j < N, other=i * 1.0)
    tl.store(out + i * W + j, tile, mask=j < N + 1)


@triton.jit
def diagonal_kernel(x, out, B: tl.constexpr):
    i = tl.arange(0, B)[:, None]
    j = tl.arange(0, B)[None, :]
    lower = j < i + 1
    tl.store(out + i * B + j, tl.load(x + i * B + j, mask=lower), mask=(i < j + 3) & (j < i + 3))


@triton.jit
def broadcast_store_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    tl.store(out + i * N + j, tl.load(x + i))


@triton.jit
def scalar_tile_kernel(x, out, scale, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    tl.store(out + i * N + j, (tl.load(x) * scale + i) * 2 - j)


@triton.jit
def tile_loop_kernel(x, out, K, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    acc = tl.zeros((M, N), tl.float32)
    other = acc + 1.0
    for k in range(K):
        step = tl.load(x + k * M * N + i * N + j)
        t = acc + step
        acc = other
        other = t
    tl.store(out + i * N + j, acc)
    tl.store(out + M * N + i * N + j, other)


@triton.jit
def cube_kernel(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A)[:, None, None]
    j = tl.arange(0, B)[None, :, None]
    k = tl.arange(0, C)[None, None, :]
    value = tl.load(x + (i * B + j) * C + k)
    tl.store(out + (k * B + j) * A + i, value)


@triton.jit
def two_shapes_kernel(x, out, A: tl.constexpr, B: tl.constexpr):
    a = tl.arange(0, A)
    b = tl.arange(0, B)
    tl.store(out + a, tl.load(x + a) + 1)
    tl.store(out + A + b, tl.load(x + b) * 2)


@triton.jit
def axes_kernel(x, out, B: tl.constexpr):
    r = tl.arange(0, B)
    deep = tl.load(x + r)[:, None][None, :, :]
    tl.store(out + r[None, :, None], deep)


SIZES = ((16, 32, 8, 16), (17, 31, 8, 16), (1, 40, 4, 16), (40, 1, 16, 4), (5, 5, 8, 8), (9, 33, 1, 32),
         (33, 9, 32, 1), (16, 16, 16, 16))  # fmt: skip


def _matrix(path, kernel, m, n, bm, bn, transposed=False):
    shape = (n, m) if transposed else (m, n)
    return case(
        path, (f"m={m}", f"n={n}", f"tile={bm}x{bn}"), kernel, (-(-m // bm), -(-n // bn)),
        lambda rng: {
            "x": data(rng, (m, n), "f32"), "out": sentinel(shape, "f32"), "M": m, "N": n, "BM": bm,
            "BN": bn,
        },
        lambda a: {"out": (a["x"].T if transposed else a["x"]).copy()},
    )  # fmt: skip


def cases() -> Iterator[Case]:
    for size in SIZES:
        yield _matrix("tile.copy", copy_tile_kernel, *size)
        yield _matrix("tile.transpose", transpose_kernel, *size, transposed=True)
    for d, m, n in (("f32", 16, 32), ("f32", 1, 64), ("f32", 64, 1), ("i32", 8, 8), ("f16", 8, 16),
                    ("i64", 4, 8), ("f32", 3, 5)):  # fmt: skip
        yield case(
            "tile.outer", (d, f"m={m}", f"n={n}"), outer_kernel, 1,
            lambda rng, d=d, m=m, n=n: {
                "x": small(rng, m, d) % 8, "y": small(rng, n, d) % 8, "out": sentinel((m, n), d),
                "M": m, "N": n,
            },
            lambda a: {"out": np.outer(a["x"], a["y"])},
        )  # fmt: skip
    for b in (1, 8, 32):
        yield case(
            "tile.same_range", (f"b={b}",), same_range_kernel, 1,
            lambda rng, b=b: {"x": small(rng, b, "i32"), "out": sentinel((b, b), "i32"), "B": b},
            lambda a, b=b: {
                "out": a["x"][:, None] * 2 + a["x"] + np.tri(b, b, -1, dtype=np.int32)
            },
        )  # fmt: skip
    yield from _ranks()
    yield from _masks()
    yield from _loops()


def _ranks() -> Iterator[Case]:
    for m, n in ((8, 16), (1, 32), (16, 1)):
        yield case(
            "tile.row_and_tile", (f"m={m}", f"n={n}"), row_and_tile_kernel, 1,
            lambda rng, m=m, n=n: {
                "x": small(rng, (m, n), "f32"), "bias": small(rng, n, "f32"),
                "out": sentinel((m, n), "f32"), "shifted": sentinel(n, "f32"), "M": m, "N": n,
            },
            lambda a, m=m: {
                "out": a["x"] + a["bias"] + np.arange(m, dtype=np.float32)[:, None],
                "shifted": a["bias"] + 1,
            },
            note="a rank-1 and a rank-2 value in one kernel",
        )  # fmt: skip
    yield case(
        "tile.implicit_rank", (), implicit_rank_kernel, 1,
        lambda rng: {
            "x": small(rng, (4, 16), "f32"), "bias": small(rng, 16, "f32"),
            "out": sentinel((4, 16), "f32"), "M": 4, "N": 16,
        },
        lambda a: {"out": a["x"] + a["bias"]}, level="extended",
        note="a rank-1 block meets a rank-2 block as NumPy has it",
    )  # fmt: skip
    for a, b, c in ((2, 4, 8), (1, 16, 2), (4, 1, 4)):
        yield case(
            "tile.rank3", (f"{a}x{b}x{c}",), cube_kernel, 1,
            lambda rng, a=a, b=b, c=c: {
                "x": data(rng, (a, b, c), "f32"), "out": sentinel((c, b, a), "f32"), "A": a, "B": b,
                "C": c,
            },
            lambda a: {"out": np.ascontiguousarray(a["x"].T)}, level="extended",
        )  # fmt: skip
    yield case(
        "tile.rank3.unit_axes", (), axes_kernel, 1,
        lambda rng: {"x": data(rng, 16, "f32"), "out": sentinel(16, "f32"), "B": 16},
        lambda a: {"out": a["x"]}, level="extended",
    )  # fmt: skip
    yield case(
        "tile.two_shapes", (), two_shapes_kernel, 1,
        lambda rng: {"x": small(rng, 64, "f32"), "out": sentinel(96, "f32"), "A": 32, "B": 64},
        lambda a: {"out": np.append(a["x"][:32] + 1, a["x"] * 2)},
        note="blocks of two widths, neither of which fits the other",
    )  # fmt: skip


def _masks() -> Iterator[Case]:
    for m in (0, 3, 8):
        yield case(
            "tile.mask.row", (f"m={m}",), row_mask_kernel, 1,
            lambda rng, m=m: {
                "x": data(rng, (m, 16), "f32"), "out": sentinel((8, 16), "f32"), "M": m, "N": 16,
                "BM": 8,
            },
            lambda a, m=m: {
                "out": np.concatenate([a["x"], np.full((8 - m, 16), -1, np.float32)])
            },
            note="a mask with one column broadcasts to the tile",
        )  # fmt: skip

    def columns(a):
        out, n = a["out"], a["N"]
        out[:, :n] = a["x"][:, :n]
        out[:, n : n + 1] = np.arange(8)[:, None]
        return {"out": out}

    for n in (0, 5, 16):
        yield case(
            "tile.mask.column", (f"n={n}",), column_mask_kernel, 1,
            lambda rng, n=n: {
                "x": data(rng, (8, 16), "f32"), "out": sentinel((8, 16), "f32"), "N": n, "W": 16,
                "BM": 8,
            },
            columns,
        )  # fmt: skip

    def band(a):
        i, j = np.indices((16, 16))
        return {"out": np.where(abs(i - j) < 3, np.where(j <= i, a["x"], 0), a["out"])}

    yield case(
        "tile.mask.band", (), diagonal_kernel, 1,
        lambda rng: {"x": data(rng, (16, 16), "f32"), "out": sentinel((16, 16), "f32"), "B": 16},
        band,
    )  # fmt: skip


def _loops() -> Iterator[Case]:
    yield case(
        "tile.broadcast_store", (), broadcast_store_kernel, 1,
        lambda rng: {"x": data(rng, 8, "f32"), "out": sentinel((8, 16), "f32"), "M": 8, "N": 16},
        lambda a: {"out": np.repeat(a["x"][:, None], 16, axis=1)},
    )  # fmt: skip
    yield case(
        "tile.scalars", (), scalar_tile_kernel, 1,
        lambda rng: {
            "x": small(rng, 1, "f32"), "out": sentinel((4, 16), "f32"), "scale": 1.5, "M": 4,
            "N": 16,
        },
        lambda a: {
            "out": (a["x"][0] * np.float32(1.5) + np.arange(4, dtype="f4")[:, None]) * 2
            - np.arange(16, dtype="f4")
        },
    )  # fmt: skip

    def exchanged(a):
        acc, other = np.zeros((8, 16), np.float32), np.ones((8, 16), np.float32)
        for step in a["x"][: a["K"]]:
            acc, other = other, acc + step
        return {"out": np.stack([acc, other])}

    for k in (0, 1, 4):
        yield case(
            "tile.exchanged_in_loop", (f"k={k}",), tile_loop_kernel, 1,
            lambda rng, k=k: {
                "x": small(rng, (4, 8, 16), "f32"), "out": sentinel((2, 8, 16), "f32"), "K": k,
                "M": 8, "N": 16,
            },
            exchanged,
        )  # fmt: skip
