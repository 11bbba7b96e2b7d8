"""Reductions of blocks of rank 1 to 3 along each axis, with positions, kept axes and ties."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, REDUCTION, Case
from .build import (
    DTYPES,
    INTS,
    UINTS,
    case,
    data,
    dtype,
    exact,
    is_float,
    of_edition,
    rounded,
    sentinel,
    small,
)
from .reductions import EXTREME_TYPE, SUM_TYPE


@triton.jit
def axes_kernel(
    x, total, high, low, first, last, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr
):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    tile = tl.load(x + r[:, None] * N + c[None, :])
    offs = r if AXIS == 1 or AXIS == -1 else c
    tl.store(total + offs, tl.sum(tile, axis=AXIS))
    tl.store(high + offs, tl.max(tile, axis=AXIS))
    tl.store(low + offs, tl.min(tile, axis=AXIS))
    tl.store(first + offs, tl.argmax(tile, axis=AXIS))
    tl.store(last + offs, tl.argmin(tile, axis=AXIS))


@triton.jit
def cube_kernel(
    x, total, high, where, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr
):
    i = tl.arange(0, A)
    j = tl.arange(0, B)
    k = tl.arange(0, C)
    cube = tl.load(x + i[:, None, None] * (B * C) + j[None, :, None] * C + k[None, None, :])
    if AXIS == 0:
        offs = j[:, None] * C + k[None, :]
    elif AXIS == 1:
        offs = i[:, None] * C + k[None, :]
    else:
        offs = i[:, None] * B + j[None, :]
    tl.store(total + offs, tl.sum(cube, axis=AXIS))
    tl.store(high + offs, tl.max(cube, axis=AXIS))
    tl.store(where + offs, tl.argmax(cube, axis=AXIS))


@triton.jit
def cube_twice_kernel(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A)
    j = tl.arange(0, B)
    k = tl.arange(0, C)
    cube = tl.load(x + i[:, None, None] * (B * C) + j[None, :, None] * C + k[None, None, :])
    tl.store(out + 0, tl.sum(cube))
    tl.store(out + 1, tl.max(tl.sum(tl.sum(cube, axis=2), axis=0), axis=0))
    tl.store(out + 2, tl.min(tl.max(tl.sum(cube, 1), 1)))
    tl.store(out + 3, tl.max(cube, axis=None))


@triton.jit
def keep_kernel(x, centred, shares, M: tl.constexpr, N: tl.constexpr):
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tl.load(x + offs)
    tl.store(centred + offs, tile - tl.max(tile, axis=1, keep_dims=True))
    tl.store(
        shares + offs, tile + tl.sum(tile, axis=0, keep_dims=True) - tl.sum(tile, keep_dims=True)
    )


@triton.jit
def keep_shapes_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    top = tl.max(row, axis=0, keep_dims=True)
    tl.static_assert(len(top.shape) == 1 and top.shape[0] == 1)
    tile = row[:, None] + row[None, :]
    tl.static_assert(tl.sum(tile, axis=-1, keep_dims=True).shape[0] == BLOCK)
    tl.static_assert(tl.sum(tile, axis=0, keep_dims=True).shape[0] == 1)
    tl.static_assert(tl.argmin(tile, axis=1, keep_dims=True).dtype == tl.int32)
    tl.store(out + offs, row - top)


@triton.jit
def indices_kernel(x, value, place, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    tile = tl.load(x + r[:, None] * N + tl.arange(0, N)[None, :])
    high, at = tl.max(tile, axis=1, return_indices=True)
    tl.store(value + r, high)
    tl.store(place + r, at)
    low, under = tl.min(tile, axis=1, return_indices=True)
    tl.store(value + M + r, low)
    tl.store(place + M + r, under)


@triton.jit
def positions_kernel(x, out, BLOCK: tl.constexpr):
    row = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(out + tl.program_id(0) * 2, tl.argmax(row, axis=0))
    tl.store(out + tl.program_id(0) * 2 + 1, tl.argmin(row, axis=0))


@triton.jit
def flat_positions_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    tile = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + 0, tl.argmax(tile, axis=None))
    tl.store(out + 1, tl.argmin(tile, axis=None))


@triton.jit
def xor_kernel(x, rows, columns, everything, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    tile = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(rows + r, tl.xor_sum(tile, axis=1))
    tl.store(columns + c, tl.xor_sum(tile, axis=0))
    tl.store(everything, tl.xor_sum(tl.xor_sum(tile, axis=1), axis=0))


@triton.jit
def running_kernel(x, high, total, steps, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    offs = r[:, None] * N + tl.arange(0, N)[None, :]
    best = tl.full((M,), float("-inf"), tl.float32)
    acc = tl.zeros((M,), dtype=tl.float32)
    for k in range(steps):
        tile = tl.load(x + k * (M * N) + offs)
        best = tl.maximum(best, tl.max(tile, axis=1))
        acc += tl.sum(tile, axis=1)
    tl.store(high + r, best)
    tl.store(total + r, acc)


@triton.jit
def masked_rows_kernel(x, out, rows, columns, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    c = tl.arange(0, N)
    mask = (r[:, None] < rows) & (c[None, :] < columns)
    tile = tl.load(x + r[:, None] * columns + c[None, :], mask=mask, other=float("-inf"))
    tl.store(out + r, tl.max(tile, axis=1), mask=r < rows)


@triton.jit
def wide_sum_kernel(x, out, T: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out, tl.sum(row, axis=0, dtype=T))


@triton.jit
def methods_kernel(x, out, BLOCK: tl.constexpr):
    row = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out + 0, row.sum(axis=0))
    tl.store(out + 1, row.max(axis=0))
    tl.store(out + 2, row.min(axis=0))
    tl.store(out + 3, row.argmax(axis=0))


def shown(path, axes, kernel, grid, inputs, constants, outs, compute, **fields):
    """A case whose outputs are ``outs`` (name -> shape and type)."""
    return case(
        path, axes, kernel, grid,
        lambda rng: {
            **inputs(rng), **{k: sentinel(shape, d) for k, (shape, d) in outs.items()}, **constants
        },
        compute, level="extended", **fields,
    )  # fmt: skip


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    for d in DTYPES:
        for axis in (0, 1):
            yield _axes(d, 8, 16, axis)
    for m, n in ((16, 1), (1, 16), (1, 1), (64, 4)):
        for axis in (0, 1, -1, -2):
            yield _axes("f32", m, n, axis)
    yield _axes("i32", 16, 1, 0)
    yield from _cubes()
    yield from _kept()
    yield from _positions()
    yield from _others()


def _axes(d, m, n, axis):
    total, extreme = SUM_TYPE.get(d, d), EXTREME_TYPE.get(d, d)
    shape = (m if axis in (1, -1) else n,)

    def compute(a):
        x = a["x"].reshape(m, n)
        if is_float(d):
            s = rounded(exact(x).sum(axis=axis), total)
        else:
            s = x.astype(dtype(total)).sum(axis=axis, dtype=dtype(total))
        return {
            "total": s, "high": x.max(axis=axis).astype(dtype(extreme)),
            "low": x.min(axis=axis).astype(dtype(extreme)),
            "first": exact(x).argmax(axis=axis).astype(np.int32),
            "last": exact(x).argmin(axis=axis).astype(np.int32),
        }  # fmt: skip

    return shown(
        "axis.reduce", (d, f"axis={axis}", f"shape={m}x{n}"), axes_kernel, 1,
        lambda rng: {"x": (small if is_float(d) else data)(rng, m * n, d)},
        {"AXIS": axis, "M": m, "N": n},
        {"total": (shape, total), "high": (shape, extreme), "low": (shape, extreme),
         "first": (shape, "i32"), "last": (shape, "i32")},
        compute, note="whole numbers: sums are exact; the first of equals is found",
    )  # fmt: skip


def _cubes() -> Iterator[Case]:
    for d, shape in (("f32", (4, 8, 2)), ("i32", (2, 4, 8)), ("f16", (2, 4, 4)),
                     ("f32", (1, 4, 2)), ("f32", (4, 1, 2)), ("f32", (2, 4, 1))):  # fmt: skip
        for axis in range(3):
            rest = tuple(n for k, n in enumerate(shape) if k != axis)
            high = EXTREME_TYPE.get(d, d)

            def compute(a, d=d, axis=axis, high=high, shape=shape):
                x = exact(a["x"]).reshape(shape)
                return {
                    "total": rounded(x.sum(axis=axis), d), "high": rounded(x.max(axis=axis), high),
                    "where": x.argmax(axis=axis).astype(np.int32),
                }  # fmt: skip

            yield shown(
                "axis.cube", (d, f"axis={axis}", "shape=" + "x".join(map(str, shape))), cube_kernel,
                1, lambda rng, d=d, s=shape: {"x": small(rng, s, d)},
                {"AXIS": axis, **dict(zip("ABC", shape, strict=True))},
                {"total": (rest, d), "high": (rest, high), "where": (rest, "i32")}, compute,
            )  # fmt: skip
    for shape in ((4, 8, 2), (2, 2, 16)):

        def several(a, shape=shape):
            x = exact(a["x"]).reshape(shape)
            found = [x.sum(), x.sum(axis=(0, 2)).max(), x.sum(axis=1).max(axis=1).min(), x.max()]
            return {"out": np.array(found, np.float32)}

        yield shown(
            "axis.cube.several", ("shape=" + "x".join(map(str, shape)),), cube_twice_kernel, 1,
            lambda rng, s=shape: {"x": small(rng, s, "f32")},
            dict(zip("ABC", shape, strict=True)), {"out": (4, "f32")}, several,
        )  # fmt: skip


def _kept() -> Iterator[Case]:
    for d in ("f32", "i32", "f64"):
        for m, n in ((8, 16), (16, 1), (1, 8)):

            def kept(a):
                x = a["x"]
                column = x.sum(axis=0, keepdims=True, dtype=x.dtype)
                return {
                    "centred": x - x.max(axis=1, keepdims=True),
                    "shares": x + column - x.sum(dtype=x.dtype),
                }  # fmt: skip

            yield shown(
                "axis.keep", (d, f"shape={m}x{n}"), keep_kernel, 1,
                lambda rng, s=(m, n), d=d: {"x": small(rng, s, d)}, {"M": m, "N": n},
                {"centred": ((m, n), d), "shares": ((m, n), d)}, kept,
            )  # fmt: skip
    yield shown(
        "axis.keep.shapes", ("f32",), keep_shapes_kernel, 1,
        lambda rng: {"x": small(rng, 16, "f32")}, {"BLOCK": 16}, {"out": (16, "f32")},
        lambda a: {"out": a["x"] - a["x"].max()},
    )  # fmt: skip


#: Rows with equal elements, NaN, infinities; their first largest and first smallest position.
NAN, INF = np.nan, np.inf
ROWS = {
    "ties": ([1.0, 3.0, 3.0, 0.0, 0.0, 3.0, 2.0, 0.0], 1, 3),
    "equal": ([5.0] * 8, 0, 0), "last": ([0.0] * 7 + [1.0], 7, 0),
    "nan": ([NAN, 1.0, NAN, 7.0, -2.0, 7.0, NAN, -2.0], 3, 4), "all_nan": ([NAN] * 8, 0, 0),
    "infinite": ([-INF, 0.0, INF, 1.0, INF, -INF, 2.0, 3.0], 2, 0),
    "nan_and_inf": ([NAN, -INF, -INF, NAN, NAN, -INF, NAN, NAN], 1, 1),
    "first_nan": ([NAN, -1.0, -2.0, -3.0, -1.0, -3.0, -2.0, -9.0], 1, 7),
}  # fmt: skip


def _positions() -> Iterator[Case]:
    for label, (row, high, low) in ROWS.items():
        for d in ("f32", "f16") if label in ("ties", "nan") else ("f32",):
            yield shown(
                "axis.positions", (d, label), positions_kernel, 1,
                lambda rng, row=row, d=d: {"x": np.array(row).astype(dtype(d))}, {"BLOCK": 8},
                {"out": (2, "i32")},
                lambda _, f=(high, low): {"out": np.array(f, np.int32)},
                note="the first of equals; NaN is ignored unless all are NaN",
            )  # fmt: skip
    for d, n in (("i32", 256), ("u8", 64), ("bool", 32), ("i64", 128), ("bf16", 128), ("f64", 2),
                 ("f32", 1)):  # fmt: skip

        def found(a):
            x = exact(a["x"])
            pairs = np.stack([x.argmax(axis=1), x.argmin(axis=1)], axis=1)
            return {"out": pairs.reshape(-1).astype(np.int32)}

        yield shown(
            "axis.positions.ties", (d, f"n={n}"), positions_kernel, 3,
            lambda rng, d=d, n=n: {
                "x": rng.integers(0, 2 if d == "bool" else 5, (3, n)).astype(dtype(d))
            },
            {"BLOCK": n}, {"out": (6, "i32")}, found,
        )  # fmt: skip
    for d in ("f32", "i32", "i8"):

        def flat(a):
            return {"out": np.array([a["x"].argmax(), a["x"].argmin()], np.int32)}

        yield shown(
            "axis.positions.flat", (d,), flat_positions_kernel, 1,
            lambda rng, d=d: {"x": rng.integers(0, 9, (8, 8)).astype(dtype(d))}, {"M": 8, "N": 8},
            {"out": (2, "i32")}, flat, note="row by row",
        )  # fmt: skip
    for d in ("f32", "i32", "f16", "bf16", "i64", "u8"):
        value = EXTREME_TYPE.get(d, d)

        def indices(a, value=value):
            x = exact(a["x"])
            ends = np.concatenate([x.max(axis=1), x.min(axis=1)])
            at = np.concatenate([x.argmax(axis=1), x.argmin(axis=1)])
            return {"value": rounded(ends, value), "place": at.astype(np.int32)}

        yield shown(
            "axis.return_indices", (d,), indices_kernel, 1,
            lambda rng, d=d: {"x": rng.integers(0, 9, (4, 16)).astype(dtype(d))},
            {"M": 4, "N": 16}, {"value": (8, value), "place": (8, "i32")}, indices,
        )  # fmt: skip


def _others() -> Iterator[Case]:
    for d in (*INTS, *UINTS, "bool"):
        if d in ("i16", "u16", "u32"):
            continue

        def xor(a):
            x = a["x"]
            row, column = (np.bitwise_xor.reduce(x, axis=k) for k in (1, 0))
            return {"rows": row, "columns": column, "everything": np.bitwise_xor.reduce(row)[None]}

        yield shown(
            "axis.xor_sum", (d,), xor_kernel, 1, lambda rng, d=d: {"x": data(rng, (8, 4), d)},
            {"M": 8, "N": 4}, {"rows": (8, d), "columns": (4, d), "everything": (1, d)}, xor,
        )  # fmt: skip
    for steps in (0, 1, 4):

        def running(a, steps=steps):
            x = exact(a["x"])[:steps]
            high = x.max(axis=(0, 2), initial=-np.inf)
            return {"high": high.astype("f4"), "total": x.sum(axis=(0, 2)).astype("f4")}

        yield shown(
            "axis.in_loop", (f"steps={steps}",), running_kernel, 1,
            lambda rng: {"x": small(rng, (4, 8, 16), "f32")}, {"steps": steps, "M": 8, "N": 16},
            {"high": (8, "f32"), "total": (8, "f32")}, running,
        )  # fmt: skip
    for rows, columns in ((8, 16), (5, 11), (1, 1)):
        yield shown(
            "axis.masked", (f"shape={rows}x{columns}",), masked_rows_kernel, 1,
            lambda rng, s=(rows, columns): {"x": data(rng, s, "f32")},
            {"rows": rows, "columns": columns, "M": 8, "N": 16}, {"out": (rows, "f32")},
            lambda a: {"out": a["x"].max(axis=1)},
        )  # fmt: skip
    for d, wide in (("i8", "i64"), ("i32", "i64"), ("f16", "f32"), ("f32", "f64")):
        yield shown(
            "axis.sum.dtype", (f"{d}_{wide}",), wide_sum_kernel, 1,
            lambda rng, d=d: {"x": data(rng, 64, d)},
            {"T": {"i64": tl.int64, "f32": tl.float32, "f64": tl.float64}[wide], "BLOCK": 64},
            {"out": (1, wide)},
            lambda a, w=wide: {
                "out": rounded(exact(a["x"].astype(dtype(w))).sum(keepdims=True), w)
            },
            tolerance=REDUCTION if is_float(d) else EXACT, terms=64,
            magnitude=lambda a: {"out": np.abs(exact(a["x"])).sum()},
        )  # fmt: skip
    yield shown(
        "axis.methods", ("f32",), methods_kernel, 1, lambda rng: {"x": small(rng, 32, "f32")},
        {"BLOCK": 32}, {"out": (4, "f32")},
        lambda a: {
            "out": np.array([a["x"].sum(), a["x"].max(), a["x"].min(), a["x"].argmax()], "f4")
        },
    )  # fmt: skip
