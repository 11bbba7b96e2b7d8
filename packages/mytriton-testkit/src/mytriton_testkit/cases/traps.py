"""Programs that compilers of this language have got wrong."""

# mypy: ignore-errors
# ruff: noqa: B007, SIM201
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .branches import one
from .build import data, dtype, of_edition, sentinel, small


@triton.jit
def rebound_kernel(out, a, b, n):
    for i in range(n):
        a, b = b, a + b
    tl.store(out + 0, a)
    tl.store(out + 1, b)


@triton.jit
def rebound_pointer_kernel(x, y, out, n, step):
    source = x
    for i in range(n):
        tl.store(out + i, tl.load(source + i))
        x = x + step
        source = y if i % 2 == 0 else x
    step = step * 3
    tl.store(out + n, step)


@triton.jit
def bool_kernel(x, y, out, bytes, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    seen = tl.load(x + offs, mask=mask)
    tl.static_assert(seen.dtype == tl.int1)
    for i in range(3):
        seen = seen | tl.load(y + i * n + offs, mask=mask)
    chosen = tl.where(seen, tl.load(x + offs, mask=mask), ~seen)
    tl.static_assert(chosen.dtype == tl.int1)
    tl.store(out + offs, chosen, mask=mask)
    tl.store(out + n + offs, seen & (offs > 3), mask=mask)
    tl.store(out + 2 * n + offs, offs & 6, mask=mask)


@triton.jit
def neighbours_kernel(x, out, n, keep, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(x + offs, mask=offs < n)
    tl.store(out + offs, row, mask=(offs < n) & (offs % 4 == keep))


@triton.jit
def some_lanes_kernel(x, picks, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    pick = tl.load(picks + offs)
    row = tl.load(x + offs, mask=pick, other=-1)
    tl.store(out + offs, row * 2, mask=pick)


@triton.jit
def halving_kernel(out, n, BLOCK: tl.constexpr):
    w = BLOCK + 1
    rounds = 0
    while w > n:
        w = (w + 1) // 2
        rounds += 1
    tl.store(out + 0, w)
    tl.store(out + 1, rounds)


@triton.jit
def optional_mask_kernel(x, weight, out, n, limit, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    row = tl.load(x + offs, mask=mask, other=0.0)
    use = mask and weight is not None
    if weight is not None:
        row = row * tl.load(weight + offs, mask=use, other=1.0)
    else:
        row = tl.where(use or offs == 0, 100.0, row)
    row = tl.where(not mask, -1.0, row)
    inside = 0 < row < limit
    tl.store(out + offs, tl.where(inside and not (row == 3), row, row + 1000))


@triton.jit
def column_kernel(x, out, N: tl.constexpr):
    r = tl.arange(0, N)
    column = tl.load(x + r[:, None] + tl.arange(0, 1)[None, :])
    tl.store(out + tl.arange(0, 1), tl.max(column, axis=0))
    tl.store(out + 1 + r, tl.max(column, axis=1))
    tl.store(out + 1 + N, tl.max(column, axis=None))
    tl.store(out + 2 + N + r, tl.sum(column, axis=-1))
    row = tl.load(x + tl.arange(0, 1)[:, None] + r[None, :])
    tl.store(out + 2 + 2 * N + r, tl.max(row, axis=-2))


@triton.jit
def moved_pointer_kernel(x, out, stride, ROW: tl.constexpr):
    pid = tl.program_id(0)
    x += pid * stride
    out += pid * ROW
    total = 0.0
    for i in range(ROW):
        total += tl.load(x)
        tl.store(out, total)
        x += 1
        out += 1


@triton.jit
def blocks_of_pointers_kernel(x, out, rows, stride, BLOCK: tl.constexpr):
    p = x + tl.arange(0, BLOCK)
    q = out + tl.arange(0, BLOCK)
    for i in range(rows):
        tl.store(q, tl.load(p) + i)
        p += stride
        q = q + BLOCK


@triton.jit
def offsets_kernel(x, out, a, b, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    row = pid // a
    column = pid % a
    lanes = row * (a * BLOCK) + column * BLOCK + offs
    tl.store(out + lanes, tl.load(x + lanes) * b)


@triton.jit
def invariants_kernel(x, out, n, a, b):
    total = 0
    for i in range(n):
        if b != 0:
            total += a // b + i
        else:
            total += a % (b + 3)
    tl.store(out, total)


@triton.jit
def condition_kernel(x, out, n):
    i = 0
    while tl.load(x + i) > 0:
        tl.store(x + i + 1, tl.load(x + i) - 1)
        i += 1
    tl.store(out, i)


@triton.jit
def shadow_kernel(x, out, n):
    acc = tl.load(x)
    for i in range(n):
        inner = acc
        for j in range(2):
            acc = acc + inner
            inner = inner * 2
    if n > 2:
        acc, n = acc + n, 5
    tl.store(out + 0, acc)
    tl.store(out + 1, n)


@triton.jit
def int_as_float_kernel(x, out, scale, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    tl.store(out + offs, row * scale)
    tl.store(out + BLOCK + offs, row / 4)
    tl.store(out + 2 * BLOCK + offs, (row + 0.5).to(tl.int32))


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _rebound()
    yield from _bools_and_masks()
    yield from _pointers()
    yield from _control()


def _rebound() -> Iterator[Case]:
    for a, b in ((1, 1), (1, 0), (16, 1), (7, 32)):
        for n in (0, 3):

            def rebound(_, a=a, b=b, n=n):
                for _ in range(n):
                    a, b = b, a + b
                return {"out": np.array([a, b], np.int32)}

            yield one(
                "trap.rebound", (f"a={a}", f"b={b}", f"n={n}"), rebound_kernel, 1,
                lambda rng, a=a, b=b, n=n: {"out": sentinel(2, "i32"), "a": a, "b": b, "n": n},
                rebound, note="an argument that is 1 or a multiple of 16 may still be rebound",
            )  # fmt: skip
    for step in (0, 1):

        def pointers(a, step=step):
            x, y, found, source, shift = a["x"], a["y"], [], a["x"], 0
            for i in range(4):
                found.append(source[i])
                shift += step
                source = y if i % 2 == 0 else x[shift:]
            return {"out": np.array([*found, step * 3], np.float32)}

        yield one(
            "trap.rebound_pointer", (f"step={step}",), rebound_pointer_kernel, 1,
            lambda rng, s=step: {
                "x": small(rng, 12, "f32"), "y": small(rng, 12, "f32"), "out": sentinel(5, "f32"),
                "n": 4, "step": s,
            },
            pointers,
        )  # fmt: skip


def _bools_and_masks() -> Iterator[Case]:
    def bools(a, n=20):
        x, y = a["x"], a["y"].reshape(3, n)
        seen = x | y.any(axis=0)
        chosen = np.where(seen, x, ~seen)
        places = np.arange(n)
        out = np.concatenate([chosen, seen & (places > 3), (places & 6) != 0])
        return {"out": out, "bytes": out.view(np.uint8)}

    def arguments(rng):
        out = np.zeros(60, np.bool_)
        return {
            "x": rng.random(20) < 0.2, "y": rng.random(60) < 0.2, "out": out,
            "bytes": out.view(np.uint8), "n": 20, "BLOCK": 32,
        }  # fmt: skip

    yield one(
        "trap.bool", (), bool_kernel, 1, arguments, bools, note="bools are one byte, 0 or 1"
    )  # fmt: skip
    for d in ("f32", "i8", "f16", "f64"):
        for keep in (0, 3):

            def neighbours(a, keep=keep):
                lanes = np.arange(75)
                a["out"][:75] = np.where(lanes % 4 == keep, a["x"], a["out"][:75])
                return {"out": a["out"]}

            yield one(
                "trap.neighbours", (d, f"keep={keep}"), neighbours_kernel, 3,
                lambda rng, d=d, k=keep: {
                    "x": data(rng, 75, d), "out": sentinel(96, d), "n": 75, "keep": k, "BLOCK": 32
                },
                neighbours, note="one lane of a vector is stored: the others keep their values",
            )  # fmt: skip
    for d in ("f32", "i16"):

        def lanes(a):
            return {"out": np.where(a["picks"], a["x"] * 2, a["out"]).astype(a["x"].dtype)}

        yield one(
            "trap.some_lanes", (d,), some_lanes_kernel, 1,
            lambda rng, d=d: {
                "x": small(rng, 64, d), "picks": rng.random(64) < 0.4, "out": sentinel(64, d),
                "BLOCK": 64,
            },
            lanes,
        )  # fmt: skip
    for weighted in (False, True):

        def optional(a, weighted=weighted):
            mask = np.arange(32) < 20
            row = np.where(mask, np.append(a["x"], np.zeros(12)), 0)
            if weighted:
                row = row * np.where(mask, np.append(a["weight"], np.ones(12)), 1)
            else:
                row[0] = 100
            row = np.where(mask, row, -1)
            inside = (row > 0) & (row < 50) & (row != 3)
            return {"out": np.where(inside, row, row + 1000).astype(np.float32)}

        yield one(
            "trap.optional_mask", (f"weight={weighted}",), optional_mask_kernel, 1,
            lambda rng, w=weighted: {
                "x": np.append(small(rng, 18, "f32"), np.float32([3, 1])),
                "weight": np.append(small(rng, 18, "f32") / 32, [1, 2]).astype("f4") if w else None,
                "out": sentinel(32, "f32"), "n": 20, "limit": 50.0, "BLOCK": 32,
            },
            optional, note="and, or, not on blocks beside what is known at compile time",
        )  # fmt: skip


def _pointers() -> Iterator[Case]:
    for n in (1, 16):

        def column(a):
            x = a["x"]
            return {"out": np.concatenate([[x.max()], x, [x.max()], x, x])}

        yield one(
            "trap.column", (f"n={n}",), column_kernel, 1,
            lambda rng, n=n: {
                "x": small(rng, n, "f32"), "out": sentinel(2 + 3 * n, "f32"), "N": n
            },
            column, note="an axis of extent 1 is reduced",
        )  # fmt: skip
    yield one(
        "trap.moved_pointer", (), moved_pointer_kernel, 3,
        lambda rng: {
            "x": small(rng, 24, "f32"), "out": sentinel(15, "f32"), "stride": 8, "ROW": 5
        },
        lambda a: {"out": a["x"].reshape(3, 8)[:, :5].cumsum(axis=1).reshape(-1)},
    )  # fmt: skip
    for stride in (1, 16, 20):

        def moved(a, s=stride):
            rows = [a["x"][i * s : i * s + 16] + np.float32(i) for i in range(3)]
            return {"out": np.concatenate(rows)}

        yield one(
            "trap.blocks_of_pointers", (f"stride={stride}",), blocks_of_pointers_kernel, 1,
            lambda rng, s=stride: {
                "x": small(rng, 60, "f32"), "out": sentinel(48, "f32"), "rows": 3, "stride": s,
                "BLOCK": 16,
            },
            moved,
        )  # fmt: skip
    for a, b in ((1, 1), (3, 2)):
        yield one(
            "trap.offsets", (f"a={a}",), offsets_kernel, 6,
            lambda rng, a=a, b=b: {
                "x": small(rng, 96, "f32"), "out": sentinel(96, "f32"), "a": a, "b": b, "BLOCK": 16
            },
            lambda given, b=b: {"out": given["x"] * np.float32(b)},
        )  # fmt: skip


def _control() -> Iterator[Case]:
    for n in (1, 5, 64, 65, 1000):

        def halving(_, n=n):
            w, rounds = 65, 0
            while w > n:
                if w == 1:
                    break
                w, rounds = (w + 1) // 2, rounds + 1
            return {"out": np.array([w, rounds], np.int32)}

        yield one(
            "trap.halving", (f"n={n}",), halving_kernel, 1,
            lambda rng, n=n: {"out": sentinel(2, "i32"), "n": n, "BLOCK": 64}, halving,
            note="a compile-time value becomes a carried one",
        )  # fmt: skip
    for a, b in ((7, 2), (-7, 0), (7, -3)):

        def invariants(_, a=a, b=b):
            c = int(a / b) if b else a % 3 - 3 * (a < 0 and a % 3 != 0)
            return {"out": np.array([4 * c + (6 if b else 0)], np.int32)}

        yield one(
            "trap.guarded_division", (f"a={a}", f"b={b}"), invariants_kernel, 1,
            lambda rng, a=a, b=b: {
                "x": small(rng, 1, "i32"), "out": sentinel(1, "i32"), "n": 4, "a": a, "b": b
            },
            invariants, note="a division does not leave the branch that guards it",
        )  # fmt: skip
    yield one(
        "trap.condition_loads", (), condition_kernel, 1,
        lambda rng: {"x": np.array([4, 9, 9, 9, 9, 9], np.int32), "out": sentinel(1, "i32"), "n": 0},
        lambda a: {
            "x": np.array([4, 3, 2, 1, 0, 9], np.int32), "out": np.array([4], np.int32)
        },
        note="the condition reads what the body stores",
    )  # fmt: skip
    for n in (0, 2, 3):

        def shadow(a, n=n):
            acc = int(a["x"][0])
            for _ in range(n):
                acc = acc * 2 + acc * 2
            return {"out": np.array([acc + n if n > 2 else acc, 5 if n > 2 else n], np.int32)}

        yield one(
            "trap.shadow", (f"n={n}",), shadow_kernel, 1,
            lambda rng, n=n: {"x": np.array([3], np.int32), "out": sentinel(2, "i32"), "n": n},
            shadow,
        )  # fmt: skip
    for d in ("i32", "i8", "f16"):

        def mixed(a):
            x = a["x"].astype(np.float64)
            rows = [x * 2.5, x / 4, np.trunc(x + 0.5) + 0.0]
            return {"out": np.concatenate(rows).astype(np.float32)}

        yield one(
            "trap.int_as_float", (d,), int_as_float_kernel, 1,
            lambda rng, d=d: {
                "x": (small(rng, 16, d) // dtype(d).type(2)).astype(dtype(d)),
                "out": sentinel(48, "f32"), "scale": 2.5, "BLOCK": 16,
            },
            mixed,
        )  # fmt: skip
