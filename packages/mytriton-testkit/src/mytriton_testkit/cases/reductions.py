"""Reductions on their own: softmax would hide a wrong maximum, so nothing here divides by a sum."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import COMPOSITE, EXACT, REDUCTION, Case
from .build import DTYPES, case, data, dtype, exact, is_float, rounded, sentinel, small


@triton.jit
def sum_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * n + offs, mask=offs < n, other=0)))


@triton.jit
def max_kernel(x, out, n, fill, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    tl.store(out + row, tl.max(tl.load(x + row * n + offs, mask=offs < n, other=fill)))


@triton.jit
def min_kernel(x, out, n, fill, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    tl.store(out + row, tl.min(tl.load(x + row * n + offs, mask=offs < n, other=fill)))


@triton.jit
def sum_all_kernel(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def max_all_kernel(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.max(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def min_all_kernel(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.min(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def extremes_kernel(x, high, low, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(high + row, tl.max(values))
    tl.store(low + row, tl.min(values))


@triton.jit
def in_loop_kernel(x, out, rows, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = 0.0
    top = -1000.0
    for r in range(rows):
        row = tl.load(x + r * BLOCK + offs)
        total += tl.sum(row)
        top = tl.maximum(top, tl.max(row) - tl.min(row))
    tl.store(out + 0, total)
    tl.store(out + 1, top)


@triton.jit
def store_per_trip_kernel(x, out, rows, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    for r in range(rows):
        tl.store(out + r, tl.max(tl.load(x + r * BLOCK + offs)))


@triton.jit
def two_kernel(x, y, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    b = tl.load(y + offs)
    tl.store(out + 0, tl.sum(a))
    tl.store(out + 1, tl.sum(b))
    tl.store(out + 2, tl.max(a))
    tl.store(out + 3, tl.min(b))
    tl.store(out + 4, tl.sum(a) - tl.sum(b))


@triton.jit
def chained_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    top = tl.max(a)
    below = tl.where(a < top, a, -1000.0)
    second = tl.max(below)
    tl.store(out + 0, top)
    tl.store(out + 1, second)
    tl.store(out + 2, tl.sum(tl.where(a < second, 1, 0)))


@triton.jit
def broadcast_back_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + row * n + offs, mask=mask, other=-100.0)
    tl.store(out + row * n + offs, a - tl.max(a), mask=mask)


@triton.jit
def of_expression_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs, mask=offs < n)
    tl.store(out + 0, tl.sum(a * a))
    tl.store(out + 1, tl.max(tl.where(offs < n, -a, -1000.0)))
    tl.store(out + 2, tl.sum(tl.where((offs < n) & (a < 0.0), 1, 0)))


@triton.jit
def of_constants_kernel(out, BLOCK: tl.constexpr):
    tl.store(out + 0, tl.sum(tl.full((BLOCK,), 3, tl.int32)))
    tl.store(out + 1, tl.sum(tl.zeros((BLOCK,), tl.int32)))
    tl.store(out + 2, tl.max(tl.arange(0, BLOCK)))
    tl.store(out + 3, tl.min(tl.arange(5, 5 + BLOCK)))
    tl.store(out + 4, tl.sum(tl.arange(0, BLOCK) * tl.program_id(0) + 1))


@triton.jit
def under_condition_kernel(x, out, keep, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs, mask=pid < keep, other=1.0)
    tl.store(out + pid, tl.sum(a), mask=pid < keep + 1)


EXTREMES = {
    "max": (max_kernel, max_all_kernel, np.fmax),
    "min": (min_kernel, min_all_kernel, np.fmin),
}
#: What sum and extremes of a type come in.
SUM_TYPE = {"bool": "u32", "i8": "i32", "i16": "i32", "u8": "u32", "u16": "u32"}
EXTREME_TYPE = {"bool": "i32", "i8": "i32", "i16": "i32", "u8": "i32", "u16": "i32", "f16": "f32",
                "bf16": "f32"}  # fmt: skip


def total_of(x, d, axis=-1):
    """The exact sum: rounded for floats, wrapped for integers."""
    if is_float(d):
        return rounded(exact(x).sum(axis=axis), d)
    return x.astype(dtype(d)).sum(axis=axis, dtype=dtype(d))


def _row_sum(path, make, *, d="f32", n=100, block=128, rows=3, axes=None):
    out = SUM_TYPE.get(d, d)
    return case(
        path, axes or (d, f"block={block}", f"n={n}"), sum_kernel, rows,
        lambda rng: {
            "x": make(rng, (rows, n), d), "out": sentinel(rows, out), "n": n, "BLOCK": block
        },
        lambda a: {"out": total_of(a["x"], out)},
        tolerance=REDUCTION if is_float(d) else EXACT, terms=n,
        magnitude=lambda a: {"out": np.abs(exact(a["x"])).sum(axis=-1)},
    )  # fmt: skip


def _row_extreme(name, *, d="f32", n=100, block=128, rows=3, make=data, axes=None, path=""):
    kernel, _, reduce = EXTREMES[name]
    out = EXTREME_TYPE.get(d, d)
    fill = {"bool": name == "min"}.get(d)
    if fill is None:
        limits = None if is_float(d) else np.iinfo(dtype(d))
        low, high = (-np.inf, np.inf) if limits is None else (limits.min, limits.max)
        fill = low if name == "max" else high
        # The largest u64 is no argument: a scalar has at most 63 bits.
        fill = float(fill) if is_float(d) else min(int(fill), 2**63 - 1)
    return case(
        path or f"reduce.{name}.rows", axes or (d, f"block={block}", f"n={n}"), kernel, rows,
        lambda rng: {
            "x": make(rng, (rows, n), d), "out": sentinel(rows, out), "n": n, "fill": fill,
            "BLOCK": block,
        },
        lambda a: {"out": reduce.reduce(exact(a["x"]), axis=-1).astype(dtype(out))},
    )  # fmt: skip


def _large(rng, shape, d):
    return (rng.standard_normal(shape) * 1e30).astype(dtype(d))


def _cancelling(rng, shape, d):
    """Pairs that cancel exactly, and a small rest that must survive."""
    x = rng.standard_normal(shape) * 1e6
    x[..., 1::2] = -x[..., 0::2][..., : x[..., 1::2].shape[-1]]
    x[..., -1] = 0.125
    return x.astype(dtype(d))


def _far_apart(rng, shape, d):
    return (np.ldexp(rng.standard_normal(shape), rng.integers(-20, 20, shape))).astype(dtype(d))


def _extremes(d):
    """Both extremes of full rows."""
    out = EXTREME_TYPE.get(d, d)
    return case(
        "reduce.extremes", (d,), extremes_kernel, 3,
        lambda rng: {
            "x": data(rng, (3, 64), d), "high": sentinel(3, out), "low": sentinel(3, out),
            "BLOCK": 64,
        },
        lambda a: {
            "high": a["x"].max(axis=1).astype(dtype(out)),
            "low": a["x"].min(axis=1).astype(dtype(out)),
        },
    )  # fmt: skip


def cases() -> Iterator[Case]:
    for n, block in ((1, 1), (1, 32), (31, 32), (32, 32), (33, 64), (129, 256), (1000, 1024),
                     (1024, 1024)):  # fmt: skip
        tail = "tail" if n != block else "full"
        yield _row_sum(f"reduce.sum.{tail}", data, n=n, block=block)
        for name in EXTREMES:
            if n in (1, 31, 33, 1000):
                yield _row_extreme(name, n=n, block=block)
    for d in DTYPES:
        if d != "f32":
            yield _row_sum("reduce.sum.tail", data, d=d)
            yield _extremes(d)
    for d in ("i32", "u8", "f16"):
        for name in EXTREMES:
            yield _row_extreme(name, d=d)
    for name, make in (("large", _large), ("cancelling", _cancelling), ("far_apart", _far_apart)):
        for n, block in ((128, 128), (999, 1024)):
            yield _row_sum(
                f"reduce.sum.{name}", make, n=n, block=block, axes=("f32", f"block={block}")
            )
    yield _row_sum("reduce.sum.cancelling", _cancelling, d="f64", axes=("f64", "block=128"))
    for name in EXTREMES:
        yield _row_extreme(
            name, make=lambda rng, shape, d: -np.abs(_large(rng, shape, d)) - np.float32(1),
            path=f"reduce.{name}.negative", axes=("f32",),
        )  # fmt: skip
        yield _row_extreme(
            name, make=lambda rng, shape, d: np.abs(_large(rng, shape, d)) + np.float32(1),
            path=f"reduce.{name}.positive", axes=("f32",),
        )  # fmt: skip
    for block in (2048, 4096):
        yield _row_sum("reduce.sum.wide", data, n=block - 5, block=block, rows=2)
    yield from _special()
    yield from _structure()


NAN, INF = np.nan, np.inf
ROWS = {
    "one_nan": [1.0, NAN, 3.0, -2.0], "first_nan": [NAN, 1.0, -5.0, 2.0], "all_nan": [NAN] * 4,
    "nan_and_inf": [NAN, -INF, NAN, -INF], "infinities": [INF, 1.0, -INF, 2.0],
    "denormal": [1e-45, 3e-45, 1e-39, 2e-45], "last_nan": [0.5, 2.5, -0.5, NAN],
}  # fmt: skip


def _special() -> Iterator[Case]:
    for label, row in ROWS.items():
        for name, (_, kernel, reduce) in EXTREMES.items():
            for d in ("f32", "f64") if label == "one_nan" else ("f32",):
                yield case(
                    f"reduce.{name}.{label}", (d,), kernel, 1,
                    lambda rng, row=row, d=d: {
                        "x": np.tile(row, 8).astype(dtype(d)), "out": sentinel(1, d), "BLOCK": 32
                    },
                    lambda a, reduce=reduce: {"out": reduce.reduce(a["x"], keepdims=True)},
                    note="NaN is ignored unless every element is NaN",
                )  # fmt: skip
    for label in ("one_nan", "infinities", "denormal"):
        yield case(
            f"reduce.sum.{label}", ("f32",), sum_all_kernel, 1,
            lambda rng, row=ROWS[label]: {
                "x": np.array(row, np.float32), "out": sentinel(1, "f32"), "BLOCK": 4
            },
            lambda a: {"out": rounded(exact(a["x"]).sum(keepdims=True), "f32")},
        )  # fmt: skip


def _structure() -> Iterator[Case]:
    def loop(a, f=lambda x: x):
        x = exact(a["x"]).reshape(-1, 128)[: a["rows"]]
        top = max([-1000.0, *(row.max() - row.min() for row in x)])
        return {"out": np.array([f(x).sum(), top], np.float32)}

    for rows in (0, 1, 6):
        yield case(
            "reduce.in_loop", (f"rows={rows}",), in_loop_kernel, 1,
            lambda rng, rows=rows: {
                "x": small(rng, 6 * 128, "f32"), "out": sentinel(2, "f32"), "rows": rows,
                "BLOCK": 128,
            },
            loop, tolerance=REDUCTION, terms=800, magnitude=lambda a: loop(a, np.abs),
        )  # fmt: skip
    yield case(
        "reduce.store_per_trip", (), store_per_trip_kernel, 1,
        lambda rng: {
            "x": data(rng, 9 * 64, "f32"), "out": sentinel(9, "f32"), "rows": 9, "BLOCK": 64
        },
        lambda a: {"out": a["x"].reshape(9, 64).max(axis=1)},
        note="scratch memory is reused from trip to trip",
    )  # fmt: skip

    def two(a):
        x, y = exact(a["x"]), exact(a["y"])
        return {"out": np.array([x.sum(), y.sum(), x.max(), y.min(), x.sum() - y.sum()], "f4")}

    for block in (32, 128, 1024):
        yield case(
            "reduce.two", (f"block={block}",), two_kernel, 1,
            lambda rng, b=block: {
                "x": small(rng, b, "f32"), "y": small(rng, b, "f32"), "out": sentinel(5, "f32"),
                "BLOCK": b,
            },
            two, note="whole numbers: every order of summation is exact",
        )  # fmt: skip

    def chained(a):
        ordered = np.unique(a["x"])
        below = np.count_nonzero(a["x"] < ordered[-2])
        return {"out": np.array([ordered[-1], ordered[-2], below], np.float32)}

    yield case(
        "reduce.chained", (), chained_kernel, 1,
        lambda rng: {"x": small(rng, 128, "f32"), "out": sentinel(3, "f32"), "BLOCK": 128},
        chained,
    )  # fmt: skip
    for n, block in ((100, 128), (64, 64)):
        yield case(
            "reduce.broadcast_back", (f"block={block}", f"n={n}"), broadcast_back_kernel, 3,
            lambda rng, n=n, b=block: {
                "x": small(rng, (3, n), "f32"), "out": sentinel((3, n), "f32"), "n": n, "BLOCK": b
            },
            lambda a: {"out": a["x"] - a["x"].max(axis=1, keepdims=True)},
        )  # fmt: skip

    def expression(a):
        x = exact(a["x"])
        return {"out": np.array([(x * x).sum(), (-x).max(), (x < 0).sum()], np.float32)}

    yield case(
        "reduce.of_expression", (), of_expression_kernel, 1,
        lambda rng: {"x": data(rng, 100, "f32"), "out": sentinel(3, "f32"), "n": 100, "BLOCK": 128},
        expression, tolerance=COMPOSITE,
    )  # fmt: skip
    yield case(
        "reduce.of_constants", (), of_constants_kernel, 1,
        lambda rng: {"out": sentinel(5, "i32"), "BLOCK": 64},
        lambda a: {"out": np.array([192, 0, 63, 5, 64], np.int32)},
        note="every program stores the same",
    )  # fmt: skip
    yield case(
        "reduce.masked_whole", (), under_condition_kernel, 4,
        lambda rng: {"x": small(rng, 64, "f32"), "out": sentinel(4, "f32"), "keep": 2, "BLOCK": 64},
        lambda a: {"out": np.array([a["x"].sum(), a["x"].sum(), 64, a["out"][3]], np.float32)},
    )  # fmt: skip
