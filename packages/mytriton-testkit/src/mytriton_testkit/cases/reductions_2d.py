"""Reductions of tiles along an axis, or over all of them."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, REDUCTION, Case
from .build import case, exact, sentinel, small
from .reductions import total_of


@triton.jit
def tile_kernel(x, rows, cols, total, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    tile = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(rows + r, tl.sum(tile, axis=1))
    tl.store(cols + c, tl.sum(tile, axis=0))
    tl.store(total, tl.sum(tile))


@triton.jit
def tile_extremes_kernel(x, rows, cols, total, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    tile = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(rows + r, tl.max(tile, axis=-1))
    tl.store(cols + c, tl.min(tile, axis=-2))
    tl.store(total + 0, tl.max(tile))
    tl.store(total + 1, tl.min(tile))


@triton.jit
def tile_back_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    tile = tl.load(x + r[:, None] * N + c[None, :])
    centred = tile - tl.max(tile, axis=1)[:, None]
    tl.store(out + r[:, None] * N + c[None, :], centred - tl.min(centred, axis=0)[None, :])


def cases() -> Iterator[Case]:
    for d, m, n in (("f32", 16, 32), ("f32", 1, 64), ("f32", 64, 1), ("i32", 8, 8),
                    ("f16", 8, 16), ("i64", 4, 16)):  # fmt: skip
        axes = (d, f"m={m}", f"n={n}")

        def arguments(rng, d=d, m=m, n=n):
            out = {"rows": sentinel(m, d), "cols": sentinel(n, d), "total": sentinel(2, d)}
            return {"x": small(rng, (m, n), d), **out, "M": m, "N": n}

        def sums(a, d=d):
            total = np.append(total_of(a["x"].reshape(-1), d), a["total"][1:])
            return {"rows": total_of(a["x"], d, 1), "cols": total_of(a["x"], d, 0), "total": total}

        yield case(
            "reduce.axis.sum", axes, tile_kernel, 1, arguments, sums,
            tolerance=REDUCTION if d == "f16" else EXACT, terms=m * n,
            magnitude=lambda a: {
                "rows": np.abs(exact(a["x"])).sum(1), "cols": np.abs(exact(a["x"])).sum(0),
                "total": np.abs(exact(a["x"])).sum(),
            },
        )  # fmt: skip
        yield case(
            "reduce.axis.extremes", axes, tile_extremes_kernel, 1, arguments,
            lambda a: {
                "rows": a["x"].max(axis=1), "cols": a["x"].min(axis=0),
                "total": np.array([a["x"].max(), a["x"].min()]),
            },
        )  # fmt: skip

    def back(a):
        centred = a["x"] - a["x"].max(axis=1, keepdims=True)
        return {"out": centred - centred.min(axis=0, keepdims=True)}

    for m, n in ((8, 16), (1, 32), (32, 1)):
        yield case(
            "reduce.axis.broadcast_back", ("f32", f"m={m}", f"n={n}"), tile_back_kernel, 1,
            lambda rng, m=m, n=n: {
                "x": small(rng, (m, n), "f32"), "out": sentinel((m, n), "f32"), "M": m, "N": n
            },
            back,
        )  # fmt: skip
