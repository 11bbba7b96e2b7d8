"""Pointers that ``tl.where`` chooses: between arrays by a scalar, within one lane by lane."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .axes import shown
from .build import of_edition, small


@triton.jit
def scalar_kernel(x, y, out, c, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.load(tl.where(tl.program_id(0) % 2 == c, x, y) + at))


@triton.jit
def block_kernel(x, y, out, c, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.load(tl.where(c > 0, x + at, y + at)))


@triton.jit
def lanes_kernel(x, out, c, N: tl.constexpr):
    lanes = tl.arange(0, N)
    from_end = x + (N - 1) - lanes
    tl.store(out + lanes, tl.load(tl.where(lanes % 3 == c, from_end, x + lanes)))


@triton.jit
def stored_kernel(x, y, out, c, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(y + lanes, 0)
    tl.store(out + lanes, 0)
    tl.store(tl.where(c > 0, y, out) + lanes, tl.load(x + lanes))


@triton.jit
def loop_kernel(x, y, out, c, N: tl.constexpr):
    lanes = tl.arange(0, N)
    total = tl.load(x + lanes) * 0
    for k in range(c):
        total = total * 2 + tl.load(tl.where(k % 2 == 0, x, y + 0) + lanes)
    tl.store(out + lanes, total)


def _rows(a, c):
    x, y = a["x"].reshape(3, -1), a["y"].reshape(3, -1)
    return {"out": np.concatenate([x[p] if p % 2 == c else y[p] for p in range(3)])}


def _lanes(a, c):
    x, at = a["x"], np.arange(len(a["x"]))
    return {"out": np.where(at % 3 == c, x[::-1], x)}


def _stored(a, c):
    zero = np.zeros_like(a["x"])
    return {"y": a["x"] if c > 0 else zero, "out": zero if c > 0 else a["x"]}


def _loop(a, c):
    total = np.zeros_like(a["x"])
    for k in range(c):
        total = (total * 2 + (a["x"], a["y"])[k % 2]).astype(total.dtype)
    return {"out": total}


def _case(name, kernel, compute, d, c, programs=1, outputs=("out",)) -> Case:
    n = 32
    inputs = [name for name in "xy" if name in kernel.arg_names and name not in outputs]
    size = n * programs
    return shown(
        name, (d, f"c={c}"), kernel, programs,
        lambda rng: {key: small(rng, size, d) for key in inputs}, {"c": c, "N": n},
        dict.fromkeys(outputs, (size, d)), lambda a: compute(a, c),
    )  # fmt: skip


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    for d in ("f32", "i32", "u8"):
        for c in (0, 1):
            yield _case("where.pointer.scalar", scalar_kernel, _rows, d, c, programs=3)
            yield _case("where.pointer.lanes", lanes_kernel, _lanes, d, c)
        yield _case("where.pointer.loop", loop_kernel, _loop, d, 3)
    for c in (0, 1):
        yield _case(
            "where.pointer.block", block_kernel, lambda a, c: {"out": a["x" if c > 0 else "y"]},
            "f32", c, programs=2,
        )  # fmt: skip
        yield _case("where.pointer.stored", stored_kernel, _stored, "f32", c, outputs=("y", "out"))
