"""Compile-time loops: unrolled, or structured when they are long."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .build import case, sentinel, small


@triton.jit
def unroll_limit_kernel(x, out, N: tl.constexpr):
    acc = 0.0
    for i in range(N):
        acc += tl.load(x + i)
    tl.store(out, acc)


@triton.jit
def unrolled_block_kernel(x, out, N: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.load(x + offs)
    for i in tl.static_range(1, N):
        acc = acc + tl.load(x + i * BLOCK + offs)
    tl.store(out + offs, acc)


@triton.jit
def countdown_kernel(x, out, N: tl.constexpr):
    acc = 0
    for i in range(N - 1, -1, -1):
        acc = acc * 3 + tl.load(x + i)
    tl.store(out, acc)


@triton.jit
def static_in_runtime_kernel(x, out, n, W: tl.constexpr):
    acc = 0
    for i in range(n):
        for j in tl.static_range(W):
            acc = acc * 2 + tl.load(x + i * W + j)
    tl.store(out, acc)


@triton.jit
def runtime_in_static_kernel(x, out, n):
    for j in tl.static_range(3):
        acc = j
        for i in range(n):
            acc = acc * 2 + tl.load(x + i)
        tl.store(out + j, acc)


def _wrap(value):
    return (value + 2**31) % 2**32 - 2**31


def cases() -> Iterator[Case]:
    for n in (0, 1, 64, 65, 100):
        yield case(
            "loop.compile_time", (f"n={n}",), unroll_limit_kernel, 1,
            lambda rng, n=n: {"x": small(rng, 100, "f32"), "out": sentinel(1, "f32"), "N": n},
            lambda a, n=n: {"out": a["x"][:n].sum(keepdims=True)}, level="core",
            note="up to 64 trips are unrolled, more become a structured loop",
        )  # fmt: skip
    yield case(
        "loop.static_range", (), unrolled_block_kernel, 1,
        lambda rng: {
            "x": small(rng, 6 * 64, "f32"), "out": sentinel(64, "f32"), "N": 6, "BLOCK": 64
        },
        lambda a: {"out": a["x"].reshape(6, 64).sum(axis=0)}, level="core",
    )  # fmt: skip

    def horner(values, base, start=0):
        for value in values:
            start = start * base + int(value)
        return _wrap(start)

    yield case(
        "loop.countdown", (), countdown_kernel, 1,
        lambda rng: {"x": small(rng, 70, "i32"), "out": sentinel(1, "i32"), "N": 70},
        lambda a: {"out": np.array([horner(a["x"][::-1], 3)], np.int32)}, level="core",
    )  # fmt: skip
    yield case(
        "loop.static_in_runtime", (), static_in_runtime_kernel, 1,
        lambda rng: {"x": small(rng, 12, "i32"), "out": sentinel(1, "i32"), "n": 4, "W": 3},
        lambda a: {"out": np.array([horner(a["x"], 2)], np.int32)}, level="core",
    )  # fmt: skip
    yield case(
        "loop.runtime_in_static", (), runtime_in_static_kernel, 1,
        lambda rng: {"x": small(rng, 5, "i32"), "out": sentinel(3, "i32"), "n": 5},
        lambda a: {"out": np.array([horner(a["x"], 2, j) for j in range(3)], np.int32)},
        level="core",
    )  # fmt: skip
