"""The grid as programs see it, and what is said to the compiler and changes no result."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, Case
from .branches import one
from .build import of_edition, pointwise, sentinel, small


@triton.jit
def grid_kernel(out, GRID: tl.constexpr):
    x = tl.program_id(0)
    y = tl.program_id(axis=1)
    z = tl.program_id(2)
    place = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out + place, tl.num_programs(0) * 100 + tl.num_programs(1) * 10 + tl.num_programs(2))


@triton.jit
def swizzle_kernel(out, m, n, group):
    pid = tl.program_id(0)
    i, j = tl.swizzle2d(pid // n, pid % n, m, n, group)
    tl.store(out + i * n + j, pid)


@triton.jit
def grouped_kernel(out, m, n, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    per_group = GROUP * n
    first = pid // per_group * GROUP
    size = min(m - first, GROUP)
    i = first + (pid % per_group) % size
    j = (pid % per_group) // size
    tl.store(out + i * n + j, pid)


@triton.jit
def promises_kernel(x, out, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    n = tl.multiple_of(n, 4)
    offs = tl.program_id(0) * BLOCK + tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
    offs = tl.max_contiguous(tl.multiple_of(offs, BLOCK), BLOCK)
    mask = tl.max_constancy(offs < n, 4)
    tl.debug_barrier()
    tl.store(out + offs, tl.load(x + offs, mask=mask), mask=mask)
    tl.debug_barrier()


@triton.jit
def caches_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask, other=0, eviction_policy="evict_last")
    b = tl.load(x + offs, mask, 0, cache_modifier=".cg", volatile=True)
    c = tl.load(x + offs, mask=mask, cache_modifier=".ca", eviction_policy="evict_first")
    tl.store(out + offs, a + b - c, mask=mask, cache_modifier=".wb", eviction_policy="evict_first")


@triton.jit
def dependent_kernel(x, out, n, BLOCK: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask) + 1, mask=mask)
    tl.extra.cuda.gdc_launch_dependents()


@triton.jit(debug=True)
def checks_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = tl.load(x + offs, mask=mask)
    tl.device_assert(row > -1000, "too small")
    tl.device_assert(offs < n, mask=mask)
    assert n > 0, "nothing to do"
    tl.store(out + offs, row, mask=mask)


@triton.jit
def unchecked_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = tl.load(x + offs, mask=mask)
    tl.device_assert(row > 1000, "never checked")
    assert n < 0, "nor is this"
    tl.store(out + offs, row, mask=mask)


@triton.jit
def prints_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = tl.load(x + offs, mask=mask)
    if n > 1000000:
        tl.device_print("large n", n)
        tl.device_print("row", row, offs, hex=True)
    tl.store(out + offs, row, mask=mask)


@triton.jit(noinline=True, repr=lambda spec: "renamed", debug=False)
def options_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    total = tl.sum(tl.load(x + offs, mask=mask, other=0.0), axis=0)
    tl.store(out + offs, tl.load(x + offs, mask=mask) + total, mask=mask)


@triton.jit
def method_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    row = tl.load(x + offs, mask=mask)
    tl.store(out + offs, row.cast(tl.int32).to(tl.float32) + row.abs().sqrt().floor(), mask=mask)


GRIDS = ((1,), (5,), (3, 2), (2, 3, 4), (1, 1, 7), (4, 1, 2))


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    for grid in GRIDS:
        x, y, z = (*grid, 1, 1)[:3]
        yield one(
            "grid.num_programs", ("x".join(map(str, grid)),), grid_kernel, grid,
            lambda rng, g=grid: {"out": sentinel(int(np.prod(g)), "i32"), "GRID": g},
            lambda a, v=x * 100 + y * 10 + z: {"out": np.full_like(a["out"], v)},
        )  # fmt: skip
    for m, n, group in ((4, 4, 2), (5, 3, 2), (3, 7, 8), (1, 1, 1)):
        axes = (f"shape={m}x{n}", f"group={group}")
        yield one(
            "grid.swizzle2d", axes, swizzle_kernel, m * n,
            lambda rng, m=m, n=n, g=group: {"out": sentinel(m * n, "i32"), "m": m, "n": n, "group": g},
            lambda a, m=m, n=n, g=group: {"out": _grouped(m, n, g)},
            note="programs walk the tiles in groups of rows",
        )  # fmt: skip
        yield one(
            "grid.grouped", axes, grouped_kernel, m * n,
            lambda rng, m=m, n=n, g=group: {"out": sentinel(m * n, "i32"), "m": m, "n": n, "GROUP": g},
            lambda a, m=m, n=n, g=group: {"out": _grouped(m, n, g)},
        )  # fmt: skip
    yield from _no_effect()


def _grouped(m, n, group):
    """The program that gets each tile: columns of up to ``group`` rows, group after group."""
    order = [
        (i, j)
        for first in range(0, m, group)
        for j in range(n)
        for i in range(first, min(first + group, m))
    ]
    found = np.zeros((m, n), np.int32)
    for pid, tile in enumerate(order):
        found[tile] = pid
    return found.reshape(-1)


def _no_effect() -> Iterator[Case]:
    for d in ("f32", "i8"):
        for label, kernel in (("promises", promises_kernel), ("caches", caches_kernel)):
            yield _copy(f"hint.{label}", kernel, d, 100)
    yield _copy("hint.dependent_launch", dependent_kernel, "i32", 90, lambda x: x + 1)
    for d in ("f32", "i32"):
        yield _copy("hint.checks", checks_kernel, d, 90)
        yield _copy("hint.prints", prints_kernel, d, 90)
    yield _copy("hint.unchecked", unchecked_kernel, "f32", 90)
    yield _copy(
        "hint.methods", method_kernel, "f32", 90,
        lambda x: np.trunc(x) + np.floor(np.sqrt(np.abs(x))),
    )  # fmt: skip
    for options in (
        {"num_warps": 1}, {"num_warps": 8, "num_stages": 4}, {"num_ctas": 1, "maxnreg": 128},
        {"num_warps": 2, "num_stages": 1},
    ):  # fmt: skip
        axes = ".".join(f"{k}={v}" for k, v in options.items())
        yield replace(
            _copy("hint.options", options_kernel, "f32", 60, lambda x: x + x.sum(), axes, 64),
            options=options,
        )


def _copy(path, kernel, d, n, compute=lambda x: x, axes="", block=32):
    return pointwise(
        path, kernel, compute, ins=(d,), n=n, block=block, axes=(axes or d,), make=small,
        tolerance=EXACT, level="extended",
    )  # fmt: skip
