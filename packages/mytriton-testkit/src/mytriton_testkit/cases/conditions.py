"""What a branch may depend on, and what happens only in one."""

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
def stores_kernel(x, out, log):
    pid = tl.program_id(0)
    value = tl.load(x + pid)
    if value < 0:
        tl.store(log + pid * 2, pid)
        tl.store(out + pid, -value)
    else:
        tl.store(out + pid, value)
        if value > 100:
            tl.store(log + pid * 2 + 1, value)


@triton.jit
def guarded_kernel(x, out, n):
    pid = tl.program_id(0)
    result = -1
    if pid < n:
        result = tl.load(x + pid)
        if result != 0:
            result = 1000 // result
    tl.store(out + pid, result)


@triton.jit
def logic_kernel(out, a, b, c):
    if a > 0 and b > 0:
        tl.store(out + 0, 1)
    if a > 0 or b > 0:
        tl.store(out + 1, 1)
    if not (a > 0):
        tl.store(out + 2, 1)
    if a > 0 and not b > 0 and c:
        tl.store(out + 3, 1)
    if 0 < a < b:
        tl.store(out + 4, 1)
    if a < b <= 5 or c:
        tl.store(out + 5, 1)
    if a:
        tl.store(out + 6, 1)
    if c == (a > b):
        tl.store(out + 7, 1)


@triton.jit
def expressions_kernel(x, out, a, b, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    tl.store(out + offs, row if a > b else -row)
    tl.store(out + BLOCK, a if a > b else b)
    tl.store(out + BLOCK + 1, 7 if a > 0 else (8 if b > 0 else 9))
    shift = tl.program_id(0) + (b if a < 0 else 0)
    tl.store(out + BLOCK + 2, shift)


@triton.jit
def order_kernel(x, out, c):
    before = tl.load(x)
    if c > 0:
        tl.store(x, 5)
        inside = tl.load(x)
    else:
        inside = before + 100
    after = tl.load(x)
    tl.store(out + 0, before)
    tl.store(out + 1, inside)
    tl.store(out + 2, after)


@triton.jit
def lanes_kernel(x, out, c, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    if c > 0:
        mask = row > 0
    else:
        mask = row < 0
    if tl.sum(tl.where(mask, 1, 0), axis=0) > 1:
        tl.store(out + offs, row, mask=mask)


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _conditions()
    yield from _effects()


def _conditions() -> Iterator[Case]:
    for a in (-1, 0, 2, 5):
        for b in (0, 4):
            for c in (False, True) if b else (True,):
                tests = [
                    a > 0 and b > 0, a > 0 or b > 0, not a > 0, a > 0 and not b > 0 and c,
                    0 < a < b, a < b <= 5 or c, bool(a), c == (a > b),
                ]  # fmt: skip
                yield one(
                    "branch.logic", (f"a={a}", f"b={b}", f"c={c}"), logic_kernel, 1,
                    lambda rng, a=a, b=b, c=c: {
                        "out": np.zeros(8, np.int32), "a": a, "b": b, "c": c
                    },
                    lambda _, t=tests: {"out": np.array(t, np.int32)},
                )  # fmt: skip
    for a, b in ((2, 1), (-2, 1), (-2, -1)):

        def chosen(given, a=a, b=b):
            row = given["x"] if a > b else -given["x"]
            rest = [max(a, b), 7 if a > 0 else 8 if b > 0 else 9, b if a < 0 else 0]
            return {"out": np.append(row, rest).astype(np.float32)}

        yield one(
            "branch.expression", (f"a={a}", f"b={b}"), expressions_kernel, 1,
            lambda rng, a=a, b=b: {
                "x": small(rng, 16, "f32") + np.float32(1), "out": sentinel(19, "f32"), "a": a,
                "b": b, "BLOCK": 16,
            },
            lambda given, f=chosen: f(given),
        )  # fmt: skip


def _effects() -> Iterator[Case]:
    def stores(a):
        x = a["x"]
        log = a["log"].reshape(-1, 2)
        log[:, 0] = np.where(x < 0, np.arange(len(x)), log[:, 0])
        log[:, 1] = np.where(x > 100, x, log[:, 1])
        return {"out": np.abs(x), "log": log.reshape(-1)}

    yield one(
        "branch.stores", (), stores_kernel, 6,
        lambda rng: {
            "x": np.array([5, -5, 0, 101, -101, 300], np.int32), "out": sentinel(6, "i32"),
            "log": sentinel(12, "i32"),
        },
        stores,
    )  # fmt: skip
    yield one(
        "branch.guarded", (), guarded_kernel, 6,
        lambda rng: {"x": np.array([7, 0, -3], np.int32), "out": sentinel(6, "i32"), "n": 3},
        lambda a: {"out": np.array([142, 0, -333, -1, -1, -1], np.int32)},
        note="neither a load nor a division may leave its branch",
    )  # fmt: skip
    for c in (0, 1):

        def order(a, c=c):
            first = int(a["x"][0])
            found = [first, 5, 5] if c else [first, first + 100, first]
            return {
                "x": np.array([found[2], a["x"][1]], np.int32),
                "out": np.array(found, np.int32),
            }

        yield one(
            "branch.order", (f"c={c}",), order_kernel, 1,
            lambda rng, c=c: {"x": small(rng, 2, "i32"), "out": sentinel(3, "i32"), "c": c}, order,
            note="no load moves across the stores of a branch",
        )  # fmt: skip

        def lanes(a, c=c):
            x = a["x"].reshape(3, 16)
            mask = x > 0 if c else x < 0
            mask &= (mask.sum(axis=1) > 1)[:, None]
            return {"out": np.where(mask, x, a["out"].reshape(3, 16)).reshape(-1)}

        yield one(
            "branch.lanes", (f"c={c}",), lanes_kernel, 3,
            lambda rng, c=c: {
                "x": np.append(small(rng, 32, "f32"), np.eye(16, dtype="f4")[3]),
                "out": sentinel(48, "f32"), "c": c, "BLOCK": 16,
            },
            lanes,
        )  # fmt: skip
