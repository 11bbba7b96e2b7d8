"""Runtime loops: trip counts, bounds, nesting, and compile-time loops that become structured."""

# mypy: ignore-errors
# ruff: noqa: B007
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, REDUCTION, Case
from .build import case, data, sentinel, small


@triton.jit
def count_kernel(out, start, stop, STEP: tl.constexpr):
    trips = 0
    last = -1
    for i in range(start, stop, STEP):
        trips += 1
        last = i
    tl.store(out + 0, trips)
    tl.store(out + 1, last)


@triton.jit
def triangle_kernel(out, n):
    cells = 0
    weighted = 0
    for i in range(n):
        for j in range(i):
            cells += 1
            weighted = weighted + i * 10 + j
    tl.store(out + 0, cells)
    tl.store(out + 1, weighted)


@triton.jit
def triple_kernel(out, n, m):
    total = 0
    for i in range(n):
        row = 0
        for j in range(i, m):
            cell = 1
            for k in range(j):
                cell = cell + k * i
            row = row + cell
        total = total * 3 + row
    tl.store(out, total)


@triton.jit
def bound_reassigned_kernel(out, n):
    trips = 0
    for i in range(n):
        n = n + 1
        trips += 1
    tl.store(out + 0, trips)
    tl.store(out + 1, n)


@triton.jit
def twice_kernel(x, out, n):
    acc = 0.0
    for i in range(n):
        acc += tl.load(x + i)
    first = acc
    for i in range(n):
        acc = acc + tl.load(x + i) * 2
    tl.store(out + 0, first)
    tl.store(out + 1, acc)


@triton.jit
def row_walk_kernel(x, out, rows, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    acc = tl.load(x + offs, mask=mask) * 0
    for r in range(rows):
        acc = acc + tl.load(x + r * n + offs, mask=mask)
    tl.store(out + offs, acc, mask=mask)


@triton.jit
def grid_stride_kernel(x, out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    for start in range(first, n, 96):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        tl.store(out + offs, tl.load(x + offs, mask=mask) + 1.0, mask=mask)


@triton.jit
def per_program_trips_kernel(x, out):
    pid = tl.program_id(0)
    acc = 0.0
    for i in range(pid):
        acc = acc + tl.load(x + i)
    tl.store(out + pid, acc)


@triton.jit
def loaded_bounds_kernel(x, bounds, out):
    pid = tl.program_id(0)
    acc = 0
    for i in range(tl.load(bounds + pid), tl.load(bounds + pid + 1)):
        acc = acc + tl.load(x + i)
    tl.store(out + pid, acc)


@triton.jit
def index_as_value_kernel(out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = offs * 0.0
    for i in range(2, n, 3):
        acc = acc + offs * i * 0.5
    tl.store(out + offs, acc)


@triton.jit
def store_in_loop_kernel(x, out, n, m):
    for i in range(n):
        for j in range(m):
            tl.store(out + i * m + j, tl.load(x + j * n + i))


@triton.jit
def invariant_kernel(x, out, n, scale, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = offs * 0.0
    for i in range(n):
        weight = scale * 2.0 + 1.0
        acc = acc + tl.load(x + offs) * weight
    tl.store(out + offs, acc)


@triton.jit
def division_in_loop_kernel(out, n, a, b):
    acc = 0.0
    for i in range(n):
        acc = acc + a / b
    tl.store(out, acc)


@triton.jit
def wide_bounds_kernel(out, start, stop, STEP: tl.constexpr):
    trips = 0
    last = start * 0
    for i in range(start, stop, STEP):
        trips += 1
        last = i
    tl.store(out + 0, trips)
    tl.store(out + 1, last)


@triton.jit
def masked_loop_kernel(x, out, n, rows, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    best = offs * 0 - 1000
    for r in range(rows):
        value = tl.load(x + r * BLOCK + offs, mask=offs < n - r, other=-1000)
        best = tl.maximum(best, value)
    tl.store(out + offs, best)


BIG = 2**31 - 1
#: start, stop, step
RANGES = (
    (0, 0, 1), (0, 1, 1), (0, 7, 1), (5, 5, 1), (5, 2, 1), (-3, 4, 1), (0, 10, 3), (0, 9, 3),
    (1, 2, 100), (-10, -20, 2), (BIG - 5, BIG, 1), (BIG - 10, BIG, 3), (BIG - 3, BIG, 2**30),
    (-BIG - 1, -BIG + 2, 1), (-BIG - 1, BIG, 2**31 - 1),
)  # fmt: skip
WIDE = (
    (2**40, 2**40 + 10, 3),
    (-(2**33), -(2**33) + 4, 1),
    (2**63 - 5, 2**63 - 1, 2),
    (2**33, 5, 1),
)


def _count(start, stop, step, d="i32"):
    trips = range(start, stop, step)
    last = trips[-1] if trips else (0 if d == "i64" else -1)
    return np.array([len(trips), last], "i4" if d == "i32" else "i8")


def _ints(path, kernel, numbers, result, axes=None, level="core"):
    """A kernel that stores a few integers computed from scalars."""
    result = np.asarray(result, np.int32).reshape(-1)
    return case(
        path, [f"{k}={v}" for k, v in numbers.items()] if axes is None else axes, kernel, 1,
        lambda rng: {"out": sentinel(len(result) + 1, "i32"), **numbers},
        lambda a: {"out": np.append(result, a["out"][-1:])},
        level=level,
    )  # fmt: skip


def _wrap(value):
    return (value + 2**31) % 2**32 - 2**31


def _triangle(n):
    pairs = [(i, j) for i in range(n) for j in range(i)]
    return [len(pairs), sum(10 * i + j for i, j in pairs)]


def _triple(n, m):
    total = 0
    for i in range(n):
        row = sum(1 + sum(k * i for k in range(j)) for j in range(i, m))
        total = total * 3 + row
    return _wrap(total)


def cases() -> Iterator[Case]:
    for start, stop, step in RANGES:
        yield case(
            "loop.range", (f"start={start}", f"stop={stop}", f"step={step}"), count_kernel, 1,
            lambda rng, s=start, t=stop, k=step: {
                "out": sentinel(2, "i32"), "start": s, "stop": t, "STEP": k
            },
            lambda a, s=start, t=stop, k=step: {"out": _count(s, t, k)}, level="core",
        )  # fmt: skip
    for start, stop, step in WIDE:
        yield case(
            "loop.range64", (f"start={start}", f"stop={stop}", f"step={step}"), wide_bounds_kernel,
            1,
            lambda rng, s=start, t=stop, k=step: {
                "out": sentinel(2, "i64"), "start": s, "stop": t, "STEP": k
            },
            lambda a, s=start, t=stop, k=step: {"out": _count(s, t, k, "i64")}, level="standard",
        )  # fmt: skip
    for n in (0, 1, 5):
        yield _ints("loop.nested.triangle", triangle_kernel, {"n": n}, _triangle(n))
        yield _ints("loop.bound_reassigned", bound_reassigned_kernel, {"n": n}, [n, 2 * n])
    for n, m in ((3, 4), (5, 2), (0, 3)):
        yield _ints("loop.nested.triple", triple_kernel, {"n": n, "m": m}, _triple(n, m))
    yield from _sums()
    yield from _blocks()


def _sum_case(path, kernel, axes, grid, arguments, expected, terms, magnitude, level="core"):
    return case(
        path, axes, kernel, grid, arguments, expected, level=level, tolerance=REDUCTION,
        terms=terms, magnitude=magnitude,
    )  # fmt: skip


def _sums() -> Iterator[Case]:
    def twice(a, f=lambda x: x):
        total = f(a["x"].astype(np.float64))[: a["n"]].sum()
        return {"out": np.array([total, 3 * total], np.float32)}

    for n in (0, 1, 33):
        yield _sum_case(
            "loop.two_of_one_name", twice_kernel, (f"n={n}",), 1,
            lambda rng, n=n: {"x": data(rng, 40, "f32"), "out": sentinel(2, "f32"), "n": n},
            twice, 2 * max(n, 1), lambda a: twice(a, np.abs),
        )  # fmt: skip

    def triangle(a, f=lambda x: x):
        total = np.cumsum(np.append(0, f(a["x"].astype(np.float64))))
        return {"out": total[: len(a["out"])].astype(np.float32)}

    yield _sum_case(
        "loop.trips_by_program", per_program_trips_kernel, (), 6,
        lambda rng: {"x": data(rng, 6, "f32"), "out": sentinel(6, "f32")},
        triangle, 6, lambda a: triangle(a, np.abs),
    )  # fmt: skip
    bounds = np.array([0, 3, 3, 10, 8, 12, 1], np.int32)

    def segments(a):
        b = a["bounds"]
        return {"out": np.array([a["x"][s:t].sum() for s, t in pairwise(b)], "i4")}

    yield case(
        "loop.bounds_from_memory", (), loaded_bounds_kernel, 6,
        lambda rng: {"x": small(rng, 12, "i32"), "bounds": bounds.copy(), "out": sentinel(6, "i32")},
        segments, level="standard",
    )  # fmt: skip
    for n, divisor in ((0, 0.0), (0, 2.0), (3, 2.0), (2, 0.0)):
        yield case(
            "loop.invariant.division", (f"n={n}", f"b={divisor}"), division_in_loop_kernel, 1,
            lambda rng, n=n, b=divisor: {"out": sentinel(1, "f32"), "n": n, "a": 3.0, "b": b},
            lambda a, n=n, b=divisor: {
                "out": np.array([0.0 if n == 0 else np.inf if b == 0 else n * 3 / b], "f4")
            },
            level="core", tolerance=EXACT,
        )  # fmt: skip


def _blocks() -> Iterator[Case]:
    def walk(a, f=lambda x: x):
        rows = f(a["x"].astype(np.float64)).reshape(-1, a["n"])[: a["rows"]]
        return {"out": rows.sum(axis=0).astype(a["out"].dtype)}

    for rows in (0, 1, 9):
        for d in ("f32", "i32") if rows == 9 else ("f32",):
            yield _sum_case(
                "loop.rows", row_walk_kernel, (d, f"rows={rows}"), 3,
                lambda rng, rows=rows, d=d: {
                    "x": small(rng, (9, 70), d), "out": sentinel(70, d), "rows": rows, "n": 70,
                    "BLOCK": 32,
                },
                walk, 10, lambda a: walk(a, np.abs),
            )  # fmt: skip
    yield case(
        "loop.grid_stride", (), grid_stride_kernel, 3,
        lambda rng: {
            "x": small(rng, 500, "f32"), "out": sentinel(500, "f32"), "n": 500, "PROGRAMS": 3,
            "BLOCK": 32,
        },
        lambda a: {"out": a["x"] + 1}, level="core",
    )  # fmt: skip
    for n in (0, 12):
        yield case(
            "loop.index_as_value", (f"n={n}",), index_as_value_kernel, 1,
            lambda rng, n=n: {"out": sentinel(64, "f32"), "n": n, "BLOCK": 64},
            lambda a, n=n: {"out": (np.arange(64) * sum(range(2, n, 3)) / 2).astype(np.float32)},
            level="core",
        )  # fmt: skip
    for n, m in ((3, 5), (4, 0), (0, 3)):
        yield case(
            "loop.store_inside", (f"n={n}", f"m={m}"), store_in_loop_kernel, 1,
            lambda rng, n=n, m=m: {
                "x": small(rng, 16, "f32"), "out": sentinel(16, "f32"), "n": n, "m": m
            },
            lambda a, n=n, m=m: {
                "out": np.append(a["x"][: n * m].reshape(m, n).T.reshape(-1), a["out"][n * m :])
            },
            level="core",
        )  # fmt: skip
    yield case(
        "loop.invariant.values", (), invariant_kernel, 1,
        lambda rng: {
            "x": small(rng, 64, "f32"), "out": sentinel(64, "f32"), "n": 4, "scale": 1.5,
            "BLOCK": 64,
        },
        lambda a: {"out": a["x"] * 16}, level="core",
    )  # fmt: skip

    def best(a):
        rows = a["x"].reshape(-1, 32).copy()
        for r, row in enumerate(rows):
            row[max(0, a["n"] - r) :] = -1000
        return {"out": np.maximum(-1000, rows.max(axis=0))}

    yield case(
        "loop.mask_by_trip", (), masked_loop_kernel, 1,
        lambda rng: {
            "x": small(rng, 5 * 32, "i32"), "out": sentinel(32, "i32"), "n": 30, "rows": 5,
            "BLOCK": 32,
        },
        best, level="core",
    )  # fmt: skip
