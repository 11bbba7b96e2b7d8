"""Early ``return`` from kernels, and calls of other ``@triton.jit`` functions."""

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
def guard_kernel(x, out, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out + pid, tl.load(x + pid) + 1)


@triton.jit
def between_kernel(x, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offs)
    tl.store(out + offs, value)
    if pid % 2 == 1:
        return
    tl.store(out + offs, value * 10)
    if pid == 2:
        tl.store(out + offs, value * 20)
        return
    tl.store(out + offs, value * 30)


@triton.jit
def in_loop_kernel(x, out, n):
    pid = tl.program_id(0)
    total = 0
    for i in range(n):
        value = tl.load(x + pid * n + i)
        if value < 0:
            tl.store(out + pid * 2, -i)
            return
        total += value
        tl.store(out + pid * 2 + 1, total)
    tl.store(out + pid * 2, total)


@triton.jit
def in_while_kernel(x, out, n):
    pid = tl.program_id(0)
    i = 0
    while i < n:
        if tl.load(x + i) == pid:
            tl.store(out + pid, i)
            return
        i += 1
    tl.store(out + pid, -1)


@triton.jit
def before_loop_kernel(x, out, n):
    pid = tl.program_id(0)
    limit = tl.load(x + pid)
    if limit == 0:
        tl.store(out + pid, 100)
        return
    total = 0
    for i in range(n):
        if i < limit:
            total += i
    tl.store(out + pid, total)


@triton.jit
def chain_kernel(x, out):
    pid = tl.program_id(0)
    value = tl.load(x + pid)
    if value == 1:
        tl.store(out + pid, 10)
        return
    elif value == 2:
        tl.store(out + pid, 20)
    elif value == 3:
        if pid > 2:
            return
        tl.store(out + pid, 30)
    else:
        tl.store(out + pid, 40)
        return
    value = value + 1
    tl.store(out + pid + 6, value)


@triton.jit
def static_kernel(x, out, MODE: tl.constexpr):
    tl.store(out, tl.load(x))
    if MODE == "short":
        return
    tl.store(out + 1, tl.load(x + 1))
    if MODE is None:
        return
    tl.store(out + 2, tl.load(x + 2))


@triton.jit
def twice_nested_kernel(x, out, n, m):
    pid = tl.program_id(0)
    for i in range(n):
        for j in range(m):
            if tl.load(x + i * m + j) == pid:
                tl.store(out + pid * 2, i)
                tl.store(out + pid * 2 + 1, j)
                return
        tl.store(out + pid * 2, -1)
    tl.store(out + pid * 2 + 1, -1)


# ---------------------------------------------------------------------------- functions


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _kernels()
    yield from _loops()


def _kernels() -> Iterator[Case]:
    for n in (0, 3, 5):

        def guard(a, n=n):
            a["out"][:n] = a["x"] + 1
            return {"out": a["out"]}

        yield one(
            "return.guard", (f"n={n}",), guard_kernel, 5,
            lambda rng, n=n: {"x": small(rng, n, "i32"), "out": sentinel(5, "i32"), "n": n}, guard,
        )  # fmt: skip

    def between(a):
        scale = np.array([30, 1, 20, 1, 30])[:, None]
        return {"out": (a["x"].reshape(5, 8) * scale).reshape(-1).astype(np.float32)}

    yield one(
        "return.between_stores", (), between_kernel, 5,
        lambda rng: {"x": small(rng, 40, "f32"), "out": sentinel(40, "f32"), "BLOCK": 8}, between,
        note="stores before it happen, stores after it do not",
    )  # fmt: skip

    def chain(a):
        out = a["out"].copy()
        for pid, value in enumerate(a["x"]):
            if value == 1:
                out[pid] = 10
                continue
            if value == 2:
                out[pid] = 20
            elif value == 3:
                if pid > 2:
                    continue
                out[pid] = 30
            else:
                out[pid] = 40
                continue
            out[pid + 6] = value + 1
        return {"out": out}

    yield one(
        "return.chain", (), chain_kernel, 6,
        lambda rng: {"x": np.array([1, 2, 3, 3, 4, 2], np.int32), "out": sentinel(12, "i32")}, chain,
    )  # fmt: skip
    for label, mode, count in (("short", "short", 1), ("none", None, 2), ("full", "full", 3)):

        def static(a, k=count):
            a["out"][:k] = a["x"][:k]
            return {"out": a["out"]}

        yield one(
            "return.static", (label,), static_kernel, 1,
            lambda rng, m=mode: {"x": small(rng, 3, "f32"), "out": sentinel(3, "f32"), "MODE": m},
            static,
        )  # fmt: skip


def _loops() -> Iterator[Case]:
    def loop(a, n=4):
        out = a["out"].reshape(-1, 2)
        for pid, row in enumerate(a["x"].reshape(-1, n)):
            total = 0
            for i, value in enumerate(row):
                if value < 0:
                    total = -i
                    break
                total += value
                out[pid, 1] = total
            out[pid, 0] = total
        return {"out": out.reshape(-1)}

    rows = [[1, 2, 3, 4], [-1, 2, 3, 4], [1, 2, -3, 4], [0, 0, 0, -9], [5, 5, 5, 5]]
    yield one(
        "return.in_loop", (), in_loop_kernel, 5,
        lambda rng: {
            "x": np.array(rows, np.int32), "out": sentinel(10, "i32"), "n": 4,
        },
        loop,
    )  # fmt: skip
    yield one(
        "return.in_while", (), in_while_kernel, 5,
        lambda rng: {"x": np.array([3, 0, 4], np.int32), "out": sentinel(5, "i32"), "n": 3},
        lambda a: {"out": np.array([1, -1, -1, 0, 2], np.int32)},
    )  # fmt: skip
    yield one(
        "return.before_loop", (), before_loop_kernel, 4,
        lambda rng: {"x": np.array([0, 3, 0, 10], np.int32), "out": sentinel(4, "i32"), "n": 6},
        lambda a: {"out": np.array([100, 3, 100, 15], np.int32)},
    )  # fmt: skip
    yield one(
        "return.nested_loops", (), twice_nested_kernel, 5,
        lambda rng: {
            "x": np.array([[7, 1, 9], [0, 4, 3]], np.int32), "out": sentinel((5, 2), "i32"), "n": 2,
            "m": 3,
        },
        lambda a: {"out": np.array([[1, 0], [0, 1], [-1, -1], [1, 2], [1, 1]], np.int32)},
    )  # fmt: skip
