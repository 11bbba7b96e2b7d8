"""Program order: loads see what was stored before them, and only that."""

# mypy: ignore-errors
# ruff: noqa: B007, SIM300
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, MATH, Case
from .build import case, data, rounded, sentinel, small


@triton.jit
def old_value_kernel(p, q):
    a = tl.load(p)
    tl.store(p, 0.0)
    tl.store(q, a)


@triton.jit
def old_block_kernel(p, q, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(p + offs)
    tl.store(p + offs, 0.0)
    tl.store(q + offs, a)


@triton.jit
def new_value_kernel(p, q):
    tl.store(p, 5.0)
    a = tl.load(p)
    tl.store(p, 6.0)
    b = tl.load(p)
    tl.store(q + 0, a)
    tl.store(q + 1, b)


@triton.jit
def alias_offset_kernel(p, q):
    a = tl.load(p)
    tl.store(p + 0, 9.0)
    b = tl.load(p)
    tl.store(q + 0, a)
    tl.store(q + 1, b)


@triton.jit
def alias_computed_kernel(p, q, zero):
    a = tl.load(p + zero)
    tl.store(p + zero * 3, a + 1.0)
    b = tl.load(p + zero)
    tl.store(q + 0, a)
    tl.store(q + 1, b)


@triton.jit
def same_array_twice_kernel(x, y, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    tl.store(y + offs, a * 2)
    b = tl.load(x + offs)
    tl.store(out + offs, a + b)


@triton.jit
def before_loop_kernel(p, q, n):
    a = tl.load(p)
    for i in range(n):
        tl.store(p, i * 1.0)
    tl.store(q + 0, a)
    tl.store(q + 1, tl.load(p))


@triton.jit
def loaded_for_after_kernel(p, q, n):
    first = tl.load(p)
    second = tl.load(p + 1)
    for i in range(n):
        tl.store(p + 1, tl.load(p + 1) + 1.0)
    tl.store(p, 100.0)
    tl.store(q + 0, first)
    tl.store(q + 1, second)


@triton.jit
def memory_accumulator_kernel(x, p, n):
    for i in range(n):
        tl.store(p, tl.load(p) + tl.load(x + i))


@triton.jit
def prefix_in_place_kernel(x, n):
    for i in range(1, n):
        tl.store(x + i, tl.load(x + i) + tl.load(x + (i - 1)))


@triton.jit
def loop_carried_memory_kernel(p, q, n):
    seen = 0.0
    for i in range(n):
        old = tl.load(p)
        tl.store(p, old * 2.0)
        seen = seen + old
    tl.store(q, seen)


@triton.jit
def last_store_wins_kernel(out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, 1.0)
    tl.store(out + offs, 2.0, mask=offs < 20)
    tl.store(out + offs, 3.0, mask=offs < 5)
    tl.store(out, 4.0)


@triton.jit
def reverse_in_place_kernel(x, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x + ((BLOCK - 1) - offs), tl.load(x + offs))


@triton.jit
def shift_in_place_kernel(x, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(x + offs + 1, tl.load(x + offs, mask=mask), mask=mask)


@triton.jit
def neighbour_after_store_kernel(x, tmp, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(tmp + offs, tl.load(x + offs) * 2)
    tl.store(out + offs, tl.load(tmp + ((BLOCK - 1) - offs)))


@triton.jit
def smoothing_kernel(x, n, steps, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    inside = (0 < offs) & (offs < n - 1)
    for s in range(steps):
        left = tl.load(x + (offs - 1), mask=inside)
        right = tl.load(x + offs + 1, mask=inside)
        tl.store(x + offs, left + right, mask=inside)


@triton.jit
def scalar_then_block_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x + 7, -50.0)
    a = tl.load(x + offs)
    tl.store(x + offs, a + 1)
    tl.store(out, tl.load(x + 7))


@triton.jit
def reduced_then_overwritten_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + offs))
    tl.store(x + offs, total)
    tl.store(out, tl.sum(tl.load(x + offs)))


@triton.jit
def in_place_kernel(x, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(x + offs, tl.maximum(a, 0.0) - tl.exp(-a), mask=mask)


@triton.jit
def update_kernel(x, y, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(x + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)


@triton.jit
def unused_load_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    unused = tl.load(x + offs)
    unused = unused * 2
    tl.store(out + offs, offs)


def _scalars(path, kernel, start, result, extra=None, level="core"):
    """``kernel(p, q)`` over two small arrays."""
    p, q = result
    return case(
        path, [f"{k}={v}" for k, v in (extra or {}).items()], kernel, 1,
        lambda rng: {
            "p": np.array(start, np.float32), "q": sentinel(len(q), "f32"), **(extra or {})
        },
        lambda a: {"p": np.array(p, np.float32), "q": np.array(q, np.float32)}, level=level,
    )  # fmt: skip


def cases() -> Iterator[Case]:
    yield _scalars("order.load_store_store", old_value_kernel, [7], ([0], [7]))
    yield _scalars("order.store_load", new_value_kernel, [7], ([6], [5, 6]))
    yield _scalars("order.alias.offset", alias_offset_kernel, [7], ([9], [7, 9]))
    yield _scalars("order.alias.computed", alias_computed_kernel, [7], ([8], [7, 8]), {"zero": 0})
    for n in (0, 3):
        yield _scalars(
            "order.before_loop", before_loop_kernel, [7],
            ([n - 1 if n else 7], [7, n - 1 if n else 7]), {"n": n},
        )  # fmt: skip
        yield _scalars(
            "order.used_after_loop", loaded_for_after_kernel, [1, 2], ([100, 2 + n], [1, 2]),
            {"n": n},
        )  # fmt: skip
        yield _scalars(
            "order.memory_through_loop", loop_carried_memory_kernel, [3],
            ([3 * 2**n], [3 * (2**n - 1)]), {"n": n},
        )  # fmt: skip
    yield from _blocks()
    yield from _across_lanes()
    yield from _in_place()


def _blocks() -> Iterator[Case]:
    yield case(
        "order.load_store_store.block", (), old_block_kernel, 1,
        lambda rng: {"p": data(rng, 64, "f32"), "q": sentinel(64, "f32"), "BLOCK": 64},
        lambda a: {"p": np.zeros(64, np.float32), "q": a["p"]}, level="core",
    )  # fmt: skip

    def twice(rng):
        x = data(rng, 64, "f32")
        return {"x": x, "y": x, "out": sentinel(64, "f32"), "BLOCK": 64}

    def expected(a):
        x = a["x"].copy()
        return {"x": 2 * x, "y": 2 * x, "out": 3 * x}

    yield case(
        "order.same_array_twice", (), same_array_twice_kernel, 1, twice, expected, level="core",
        note="one array is passed for two parameters", tolerance=EXACT,
    )  # fmt: skip
    yield case(
        "order.memory_accumulator", (), memory_accumulator_kernel, 1,
        lambda rng: {"x": small(rng, 9, "f32"), "p": np.array([2], np.float32), "n": 9},
        lambda a: {"p": a["p"] + a["x"].sum()}, level="core",
    )  # fmt: skip
    yield case(
        "order.prefix_in_place", (), prefix_in_place_kernel, 1,
        lambda rng: {"x": small(rng, 12, "f32"), "n": 12},
        lambda a: {"x": np.cumsum(a["x"])}, level="core",
    )  # fmt: skip
    yield case(
        "order.last_store_wins", (), last_store_wins_kernel, 1,
        lambda rng: {"out": sentinel(64, "f32"), "BLOCK": 64},
        lambda a: {"out": np.repeat([4, 3, 2, 1], [1, 4, 15, 44]).astype(np.float32)},
        level="standard", note="the last store is a scalar that lane 0 has stored to before",
    )  # fmt: skip
    yield case(
        "order.unused_load", (), unused_load_kernel, 1,
        lambda rng: {"x": data(rng, 64, "f32"), "out": sentinel(64, "i32"), "BLOCK": 64},
        lambda a: {"out": np.arange(64, dtype=np.int32)}, level="core",
    )  # fmt: skip


def _across_lanes() -> Iterator[Case]:
    """A block access is complete before the next one that may touch the same bytes."""
    for block in (32, 64, 256, 1024):
        yield case(
            "order.lanes.reverse", (f"block={block}",), reverse_in_place_kernel, 1,
            lambda rng, b=block: {"x": data(rng, b, "f32"), "BLOCK": b},
            lambda a: {"x": a["x"][::-1].copy()},
        )  # fmt: skip
        yield case(
            "order.lanes.store_load", (f"block={block}",), neighbour_after_store_kernel, 1,
            lambda rng, b=block: {
                "x": small(rng, b, "f32"), "tmp": sentinel(b, "f32"), "out": sentinel(b, "f32"),
                "BLOCK": b,
            },
            lambda a: {"tmp": a["x"] * 2, "out": a["x"][::-1] * 2},
        )  # fmt: skip
    yield case(
        "order.lanes.shift", (), shift_in_place_kernel, 1,
        lambda rng: {"x": data(rng, 101, "f32"), "n": 100, "BLOCK": 128},
        lambda a: {"x": np.append(a["x"][:1], a["x"][:100])},
    )  # fmt: skip

    def smooth(a):
        x = a["x"].copy()
        for _ in range(a["steps"]):
            x[1:-1] = x[:-2] + x[2:]
        return {"x": x}

    yield case(
        "order.lanes.stencil", (), smoothing_kernel, 1,
        lambda rng: {"x": small(rng, 100, "i32"), "n": 100, "steps": 6, "BLOCK": 128}, smooth,
    )  # fmt: skip

    def scalar_first(a):
        x = a["x"].copy()
        x[7] = -50
        return {"x": x + 1, "out": np.array([-49], np.float32)}

    yield case(
        "order.lanes.scalar_then_block", (), scalar_then_block_kernel, 1,
        lambda rng: {"x": small(rng, 64, "f32"), "out": sentinel(1, "f32"), "BLOCK": 64},
        scalar_first,
    )  # fmt: skip
    yield case(
        "order.lanes.reduced_then_overwritten", (), reduced_then_overwritten_kernel, 1,
        lambda rng: {"x": small(rng, 64, "f32"), "out": sentinel(1, "f32"), "BLOCK": 64},
        lambda a: {
            "x": np.full(64, a["x"].sum(), np.float32),
            "out": np.array([64 * a["x"].sum()], np.float32),
        },
    )  # fmt: skip


def _in_place() -> Iterator[Case]:
    def relu_like(a):
        x = a["x"].astype(np.float64)
        return {"x": rounded(np.maximum(x, 0) - np.exp(-x), "f32")}

    yield case(
        "order.in_place", (), in_place_kernel, 3,
        lambda rng: {"x": -np.abs(data(rng, 170, "f32")), "n": 170, "BLOCK": 64}, relu_like,
        level="core", tolerance=MATH,
    )  # fmt: skip
    yield case(
        "order.update", (), update_kernel, 3,
        lambda rng: {"x": small(rng, 170, "f32"), "y": small(rng, 170, "f32"), "n": 170, "BLOCK": 64},
        lambda a: {"x": a["x"] + a["y"]}, level="core",
    )  # fmt: skip

    def itself(rng):
        x = small(rng, 170, "f32")
        return {"x": x, "y": x, "n": 170, "BLOCK": 64}

    yield case(
        "order.update.itself", (), update_kernel, 3, itself,
        lambda a: {"x": 2 * a["x"], "y": 2 * a["x"]}, level="core",
    )  # fmt: skip
