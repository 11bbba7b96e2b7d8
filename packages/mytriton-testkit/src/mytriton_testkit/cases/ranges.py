"""Loops over ranges whose step is negative or known only at run time, with hints, and over tuples."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .branches import one
from .build import of_edition, sentinel, small


@triton.jit
def steps_kernel(out, start, stop, step, room):
    trips = 0
    last = -99
    for i in range(start, stop, step):
        tl.store(out + 2 + trips, i, mask=trips < room)
        trips += 1
        last = i
    tl.store(out + 0, trips)
    tl.store(out + 1, last)


@triton.jit
def fixed_steps_kernel(out, start, stop, room, STEP: tl.constexpr):
    trips = 0
    for i in range(start, stop, STEP):
        tl.store(out + 1 + trips, i, mask=trips < room)
        trips += 1
    tl.store(out + 0, trips)


@triton.jit
def backwards_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(n - 1, -1, -1):
        acc = acc * 0.5 + tl.load(x + i * BLOCK + offs)
    tl.store(out + offs, acc)


@triton.jit
def options_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(0, n, num_stages=3):
        acc += tl.load(x + i * BLOCK + offs)
    for i in tl.range(n, loop_unroll_factor=2):
        acc += i
    for i in tl.range(0, n, 2, num_stages=2, flatten=True, disallow_acc_multi_buffer=True):
        acc += i * 100
    tl.store(out + offs, acc)


@triton.jit
def wide_kernel(out, n):
    start = n * 3000000000
    trips = 0
    total = start * 0
    for i in range(start, start + 3):
        total += i
        trips += 1
    tl.store(out + 0, total)
    tl.store(out + 1, trips)


@triton.jit
def tuples_kernel(x, out):
    place = 0
    for scale in (1, 2.5, -3):
        tl.store(out + place, tl.load(x) * scale)
        place += 1
    for a, b in ((1, 2), (3, 4)):
        tl.store(out + place, a * 10 + b)
        place += 1
    for name in ["one", "two"]:
        tl.store(out + place, 5 if name == "two" else 6)
        place += 1


@triton.jit
def grid_stride_kernel(x, out, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        tl.store(out + offs, tl.load(x + offs, mask=mask) + 1.0, mask=mask)


#: Start, stop, step.
RANGES = (
    (0, 5, 1), (0, 5, 2), (5, 0, -1), (10, -1, -3), (0, 5, -1), (5, 0, 1), (3, 3, 1), (3, 3, -2),
    (-4, 4, 3), (7, 8, 100), (8, 7, -100), (2, 9, 7),
)  # fmt: skip


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _ranges()


def _ranges() -> Iterator[Case]:
    for start, stop, step in RANGES:
        trips = list(range(start, stop, step))

        def walked(a, t=trips):
            a["out"][: 2 + len(t)] = [len(t), t[-1] if t else -99, *t]
            return {"out": a["out"]}

        yield one(
            "range.step", (f"range={start}.{stop}.{step}",), steps_kernel, 1,
            lambda rng, s=start, t=stop, k=step: {
                "out": sentinel(12, "i32"), "start": s, "stop": t, "step": k, "room": 8
            },
            walked, note="a step known only at run time",
        )  # fmt: skip
        if step < 0 or step == 7:

            def fixed(a, t=trips):
                a["out"][: 1 + len(t)] = [len(t), *t]
                return {"out": a["out"]}

            yield one(
                "range.fixed_step", (f"range={start}.{stop}.{step}",), fixed_steps_kernel, 1,
                lambda rng, s=start, t=stop, k=step: {
                    "out": sentinel(12, "i32"), "start": s, "stop": t, "room": 8, "STEP": k
                },
                fixed,
            )  # fmt: skip
    for n in (0, 1, 4):

        def backwards(a, n=n):
            acc = np.zeros(16)
            for i in reversed(range(n)):
                acc = acc * 0.5 + a["x"][i]
            return {"out": acc.astype(np.float32)}

        yield one(
            "range.backwards", (f"n={n}",), backwards_kernel, 1,
            lambda rng, n=n: {
                "x": small(rng, (4, 16), "f32"), "out": sentinel(16, "f32"), "n": n, "BLOCK": 16
            },
            backwards,
        )  # fmt: skip
        yield one(
            "range.options", (f"n={n}",), options_kernel, 1,
            lambda rng, n=n: {
                "x": small(rng, (4, 16), "f32"), "out": sentinel(16, "f32"), "n": n, "BLOCK": 16
            },
            lambda a, n=n: {
                "out": a["x"][:n].sum(axis=0) + sum(range(n)) + 100 * sum(range(0, n, 2))
            },
            note="hints change nothing",
        )  # fmt: skip
    yield one(
        "range.wide", ("i64",), wide_kernel, 1,
        lambda rng: {"out": sentinel(2, "i64"), "n": 2**33},
        lambda a: {"out": np.array([_wrap64(3 * a["n"] * 3000000000 + 3), 3], np.int64)},
    )  # fmt: skip
    yield one(
        "range.tuples", ("f32",), tuples_kernel, 1,
        lambda rng: {"x": small(rng, 1, "f32"), "out": sentinel(7, "f32")},
        lambda a: {
            "out": np.array([*(a["x"][0] * k for k in (1, 2.5, -3)), 12, 34, 6, 5], np.float32)
        },
    )  # fmt: skip
    for programs in (1, 3):
        yield one(
            "range.grid_stride", (f"programs={programs}",), grid_stride_kernel, programs,
            lambda rng: {
                "x": small(rng, 150, "f32"), "out": sentinel(150, "f32"), "n": 150, "BLOCK": 32
            },
            lambda a: {"out": a["x"] + np.float32(1)},
        )  # fmt: skip


def _wrap64(value):
    return (value + 2**63) % 2**64 - 2**63
