"""What a compiler of matrix products likes to keep in place or to skip: blocks stored turned onto the
memory they were loaded from, accumulators changed between products, and factors that are turned."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .axes import shown
from .build import dtype, exact, of_edition, small
from .matrix import few


@triton.jit
def turn_kernel(x, N: tl.constexpr):
    r = tl.arange(0, N)
    p = x + r[:, None] * N + r[None, :]
    tl.store(p, tl.trans(tl.load(p)))


@triton.jit
def turn_masked_kernel(x, rows, N: tl.constexpr):
    r = tl.arange(0, N)
    p = x + r[:, None] * N + r[None, :]
    m = (r[:, None] < rows) & (r[None, :] < rows)
    tl.store(p, tl.trans(tl.load(p, mask=m, other=0)), mask=m)


@triton.jit
def turn_sum_kernel(x, N: tl.constexpr):
    r = tl.arange(0, N)
    p = x + r[:, None] * N + r[None, :]
    a = tl.load(p)
    tl.store(p, (a + tl.trans(a)) * 2 - a)


@triton.jit
def turn_again_kernel(x, trips, N: tl.constexpr):
    r = tl.arange(0, N)
    tile = r[:, None] * N + r[None, :]
    for _ in range(trips):
        a = tl.load(x + tile)
        tl.store(x + tile, tl.trans(a) + 1)


@triton.jit
def turn_across_kernel(x, y, N: tl.constexpr):
    r = tl.arange(0, N)
    tile = r[:, None] * N + r[None, :]
    tl.store(y + tile, tl.trans(tl.load(x + tile)))


@triton.jit
def turn_between_kernel(x, y, N: tl.constexpr):
    r = tl.arange(0, N)
    tile = r[:, None] * N + r[None, :]
    turned = tl.trans(tl.load(x + tile))
    tl.store(y + tile, turned)
    tl.store(x + tile, tl.load(y + tile) * 2 - turned)


@triton.jit
def turn_cube_kernel(x, N: tl.constexpr):
    r = tl.arange(0, N)
    p = x + r[:, None, None] * (N * N) + r[None, :, None] * N + r[None, None, :]
    tl.store(p, tl.permute(tl.load(p), 1, 2, 0))


@triton.jit
def changed_kernel(x, y, z, out, trips, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    a = tl.load(x + tile)
    b = tl.load(y + tile)
    acc = tl.load(z + tile)
    for t in range(trips):
        if HOW == "after":
            acc = tl.dot(a, b, acc)
            acc = acc + 1
        elif HOW == "before":
            acc = acc * 2
            acc = tl.dot(a, b, acc)
        elif HOW == "between":
            acc = tl.dot(a, b, acc)
            acc = acc + t
            acc = tl.dot(b, a, acc)
        elif HOW == "row":
            acc = acc * (i % 2)[:, None].to(acc.dtype)
            acc = tl.dot(a, b, acc)
        elif HOW == "column":
            acc = tl.dot(a, b, acc)
            acc = acc + i[None, :].to(acc.dtype)
        elif HOW == "chosen":
            acc = tl.dot(a, b, acc)
            acc = tl.where(i[:, None] > i[None, :], acc, 0)
        elif HOW == "turned":
            acc = tl.trans(tl.dot(a, b, acc))
        else:
            acc = tl.dot(a, b, acc) - acc
    tl.store(out + tile, acc)


@triton.jit
def seen_kernel(x, y, out, each, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    a = tl.load(x + tile)
    b = tl.load(y + tile)
    acc = tl.zeros((N, N), tl.float32)
    for t in range(trips):
        acc = tl.dot(a, b, acc)
        tl.store(each + t * (N * N) + tile, acc)
        acc = acc * 2.0
    tl.store(out + tile, acc)


@triton.jit
def right_kernel(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + n[:, None] * K + k[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(a, tl.trans(b)))


@triton.jit
def left_kernel(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(x + k[:, None] * M + m[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(tl.trans(a), b))


@triton.jit
def right_loop_kernel(x, y, z, out, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    acc = tl.load(z + tile)
    for t in range(trips):
        a = tl.load(x + t * (N * N) + tile)
        b = tl.load(y + t * (N * N) + tile)
        acc = tl.dot(a, tl.trans(b), acc)
    tl.store(out + tile, acc)


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _in_place()
    yield from _changed()
    yield from _factors()


# ---------------------------------------------------------------------------- onto itself


def _turned(path, d, n, kernel, compute, axes=(), extra=None, rank=2):
    """A case whose one array, ``n`` elements along each axis, is changed where it is."""
    return shown(
        path, (d, *axes, f"n={n}"), kernel, 1,
        lambda rng: {"x": small(rng, (n,) * rank, d) // dtype(d).type(4)},
        {"N": n, **(extra or {})}, {}, lambda a: {"x": compute(a["x"])},
        note="everything is loaded before anything is stored",
    )  # fmt: skip


def _square_upto(rows):
    """Turns the first ``rows`` rows and columns of a square."""

    def compute(x):
        found = x.copy()
        found[:rows, :rows] = x[:rows, :rows].T
        return found

    return compute


def _in_place() -> Iterator[Case]:
    for d, n in (("f32", 2), ("f32", 4), ("f32", 8), ("f32", 16), ("f32", 32), ("f16", 16),
                 ("i8", 16), ("i64", 8)):  # fmt: skip
        yield _turned("trans.in_place", d, n, turn_kernel, lambda x: x.T.copy())
    for d, n in (("f32", 4), ("f32", 16), ("f32", 32), ("i32", 8)):
        yield _turned("trans.in_place.sum", d, n, turn_sum_kernel, lambda x: (x + x.T) * 2 - x)
    for rows in (0, 5, 15):
        yield _turned(
            "trans.in_place.mask", "f32", 16, turn_masked_kernel, _square_upto(rows),
            (f"rows={rows}",), {"rows": rows},
        )  # fmt: skip
    for n, trips in ((16, 1), (16, 2), (16, 3), (4, 3)):

        def repeated(x, trips=trips):
            for _ in range(trips):
                x = x.T + x.dtype.type(1)
            return x.copy()

        yield _turned(
            "trans.in_place.loop", "f32", n, turn_again_kernel, repeated, (f"trips={trips}",),
            {"trips": trips},
        )  # fmt: skip
    for n in (2, 4, 8):
        yield _turned(
            "trans.in_place.cube", "f32", n, turn_cube_kernel,
            lambda x: x.transpose(1, 2, 0).copy(), rank=3,
        )  # fmt: skip
    for n in (4, 16, 32):

        def twice(rng, n=n):
            x = small(rng, (n, n), "f32")
            return {"x": x, "y": x}

        def both(a):
            return {name: a["x"].T.copy() for name in "xy"}

        yield shown(
            "trans.in_place.alias", ("f32", f"n={n}"), turn_across_kernel, 1, twice, {"N": n}, {},
            both, note="one array, given for two parameters",
        )  # fmt: skip
        yield shown(
            "trans.in_place.between", ("f32", f"n={n}"), turn_between_kernel, 1,
            lambda rng, n=n: {"x": small(rng, (n, n), "f32")}, {"N": n}, {"y": ((n, n), "f32")},
            both, note="a store between changes nothing of what was read",
        )  # fmt: skip


# ---------------------------------------------------------------------------- accumulators


def _trip(how, acc, a, b, t):
    """One trip of ``changed_kernel``, in NumPy."""
    i = np.arange(len(a))
    if how == "after":
        return acc + a @ b + 1
    if how == "before":
        return acc * 2 + a @ b
    if how == "between":
        return acc + a @ b + t + b @ a
    if how == "row":
        return acc * (i % 2)[:, None] + a @ b
    if how == "column":
        return acc + a @ b + i[None, :]
    if how == "chosen":
        return np.where(i[:, None] > i[None, :], acc + a @ b, 0)
    return (acc + a @ b).T if how == "turned" else a @ b


def _changed() -> Iterator[Case]:
    hows = ("after", "before", "between", "row", "column", "chosen", "turned", "less")
    for how, d, n, trips in (
        *((how, "f16", 16, 3) for how in hows), *((how, "f32", 16, 3) for how in hows),
        *(("after", "f32", n, trips) for n, trips in ((4, 0), (4, 1), (4, 3), (32, 2))),
        ("after", "i8", 32, 3), ("between", "i8", 16, 2), ("turned", "f32", 4, 2),
    ):  # fmt: skip
        acc = "i32" if d == "i8" else "f32"

        def compute(a, how=how, acc=acc, trips=trips):
            x, y, found = (np.asarray(a[k]).astype(np.float64) for k in "xyz")
            for t in range(trips):
                found = _trip(how, found, x, y, t)
            return {"out": found.astype(dtype(acc))}

        yield shown(
            "dot.changed", (how, d, f"n={n}", f"trips={trips}"), changed_kernel, 1,
            lambda rng, d=d, n=n, acc=acc: {
                "x": few(rng, (n, n), d), "y": few(rng, (n, n), d), "z": small(rng, (n, n), acc),
            },
            {"trips": trips, "HOW": how, "N": n}, {"out": ((n, n), acc)}, compute,
            note="the accumulator is a block like any other between products",
        )  # fmt: skip
    for d, n in (("f16", 16), ("f32", 16), ("f32", 4)):

        def seen(a):
            one = exact(a["x"]) @ exact(a["y"])
            each = np.stack([one, 3 * one, 7 * one])
            return {"each": each.astype(np.float32), "out": (14 * one).astype(np.float32)}

        yield shown(
            "dot.seen", (d, f"n={n}"), seen_kernel, 1,
            lambda rng, d=d, n=n: {"x": few(rng, (n, n), d), "y": few(rng, (n, n), d)},
            {"trips": 3, "N": n}, {"out": ((n, n), "f32"), "each": ((3, n, n), "f32")}, seen,
            note="every trip stores its sum, then doubles it",
        )  # fmt: skip


# ---------------------------------------------------------------------------- turned factors


def _wide(a, turned):
    """The exact product of the arguments of which one comes turned."""
    x, y = (np.asarray(a[k]).astype(np.float64) for k in "xy")
    found = x @ y.T if turned == "right" else x.T @ y
    return {"out": found.astype(a["out"].dtype)}


def _factors() -> Iterator[Case]:
    shapes = ((16, 16, 16), (16, 32, 32), (32, 32, 32), (16, 64, 32), (4, 8, 16))
    types = (("i8", "i32"), ("u8", "i32"), ("f16", "f32"), ("bf16", "f32"), ("f32", "f32"))
    for turned, kernel in (("right", right_kernel), ("left", left_kernel)):
        for (m, n, k), (d, out) in (
            *((shape, types[0]) for shape in shapes), *(((32, 32, 32), pair) for pair in types[1:]),
        ):  # fmt: skip
            first, second = ((m, k), (n, k)) if turned == "right" else ((k, m), (k, n))
            yield shown(
                f"dot.turned.{turned}", (d, f"shape={m}x{n}x{k}"), kernel, 1,
                lambda rng, d=d, s=first, u=second: {"x": few(rng, s, d), "y": few(rng, u, d)},
                {"M": m, "N": n, "K": k}, {"out": ((m, n), out)},
                lambda a, turned=turned: _wide(a, turned), note="sums are exact",
            )  # fmt: skip
    for d, out, n in (("i8", "i32", 32), ("u8", "i32", 16), ("f16", "f32", 16), ("f32", "f32", 16)):

        def carried(a, out=out):
            x, y, found = (np.asarray(a[k]).astype(np.float64) for k in "xyz")
            for t in range(len(x)):
                found = found + x[t] @ y[t].T
            return {"out": found.astype(dtype(out))}

        yield shown(
            "dot.turned.loop", (d, f"n={n}"), right_loop_kernel, 1,
            lambda rng, d=d, n=n, out=out: {
                "x": few(rng, (3, n, n), d), "y": few(rng, (3, n, n), d),
                "z": small(rng, (n, n), out),
            },
            {"trips": 3, "N": n}, {"out": ((n, n), out)}, carried,
        )  # fmt: skip
