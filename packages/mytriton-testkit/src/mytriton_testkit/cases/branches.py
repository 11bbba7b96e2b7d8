"""``if`` on values known only when the kernel runs, and what both sides leave behind."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, Case
from .build import case, data, dtype, of_edition, sentinel, small


@triton.jit
def sign_kernel(x, out):
    pid = tl.program_id(0)
    value = tl.load(x + pid)
    if value > 0:
        result = 1
    elif value < 0:
        result = -1
    else:
        result = 0
    tl.store(out + pid, result)


@triton.jit
def skip_kernel(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    if pid < n:
        tl.store(out + offs, tl.load(x + offs) * 2)


@triton.jit
def scalars_kernel(out, c, a, b):
    low = a
    high = b
    flag = False
    if c > 0:
        low = b
        high = a + b
        flag = a < b
    else:
        high = high * 2
    tl.store(out + 0, low)
    tl.store(out + 1, high)
    tl.store(out + 2, flag)


@triton.jit
def typed_kernel(x, y, out, c, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    block = tl.load(x + offs)
    scalar = tl.load(y)
    if c > 1:
        block = tl.load(y + offs)
        scalar = tl.load(x)
    elif c > 0:
        block = tl.where(offs < 4, block, scalar)
    tl.store(out + offs, block)
    tl.store(out + BLOCK, scalar)


@triton.jit
def pointers_kernel(x, y, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    if pid % 2 == 0:
        base = x + pid * BLOCK
    else:
        base = y + (pid - 1) * BLOCK
    lanes = base + offs
    if pid >= n:
        lanes = lanes + BLOCK // 2
    tl.store(out + pid * BLOCK + offs, tl.load(lanes))


@triton.jit
def tile_kernel(x, out, c, M: tl.constexpr, N: tl.constexpr):
    offs = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tl.load(x + offs)
    if c > 0:
        tile = tile - tl.max(tile, axis=1)[:, None]
    else:
        tile = tile + tl.sum(tile, axis=0)[None, :]
    tl.store(out + offs, tile)


@triton.jit
def nested_kernel(x, out):
    pid = tl.program_id(0)
    a = tl.load(x + pid * 2)
    b = tl.load(x + pid * 2 + 1)
    path = 0
    if a > 0:
        if b > 0:
            path = 1
            a = a + b
        else:
            path = 2
            if b < -10:
                path = 3
                b = b + 10
    elif b > 0:
        path = 4
        a, b = b, a
    tl.store(out + pid * 3 + 0, path)
    tl.store(out + pid * 3 + 1, a)
    tl.store(out + pid * 3 + 2, b)


@triton.jit
def in_loop_kernel(x, out, n):
    even = 0
    odd = 0
    largest = -1000
    for i in range(n):
        value = tl.load(x + i)
        if value % 2 == 0:
            even += value
            if value > largest:
                largest = value
        else:
            odd += 1
    tl.store(out + 0, even)
    tl.store(out + 1, odd)
    tl.store(out + 2, largest)


@triton.jit
def blocks_in_loop_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    scale = 1.0
    for i in range(n):
        row = tl.load(x + i * BLOCK + offs)
        if tl.sum(row, axis=0) > 0:
            acc = acc + row * scale
            scale = scale * 2
        else:
            acc = acc - row
    tl.store(out + offs, acc)
    tl.store(out + BLOCK, scale)


@triton.jit
def loop_inside_kernel(x, out, n):
    pid = tl.program_id(0)
    total = 0
    if pid % 2 == 1:
        for i in range(n):
            total += tl.load(x + i) * pid
    else:
        for i in range(pid):
            for j in range(i):
                total += j
    tl.store(out + pid, total)


@triton.jit
def tuple_kernel(x, out, c):
    pair = (tl.load(x), tl.load(x + 1))
    if c > 0:
        pair = (pair[1], pair[0] * 3)
    first, second = pair
    tl.store(out + 0, first)
    tl.store(out + 1, second)


@triton.jit
def same_kernel(x, out, c, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    if c > 0:
        result = row + 1
        extra = row
    else:
        result = row + 1
        extra = row
    if c > 5:
        result = result
    tl.store(out + offs, result * extra)


def one(path, axes, kernel, grid, arguments, expected, **fields):
    return case(
        path, axes, kernel, grid, arguments, expected, level="extended", tolerance=EXACT, **fields
    )  # fmt: skip


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _simple()
    yield from _merged()
    yield from _loops()


def _simple() -> Iterator[Case]:
    for d in ("i32", "f32", "i64", "f16", "i8"):
        yield one(
            "branch.sign", (d,), sign_kernel, 5,
            lambda rng, d=d: {
                "x": np.array([3, -3, 0, -1, 100]).astype(dtype(d)), "out": sentinel(5, "i32")
            },
            lambda a: {"out": np.sign(a["x"]).astype(np.int32)},
        )  # fmt: skip
    yield one(
        "branch.sign", ("f32", "special"), sign_kernel, 4,
        lambda rng: {
            "x": np.array([np.nan, -0.0, np.inf, -np.inf], np.float32), "out": sentinel(4, "i32")
        },
        lambda a: {"out": np.array([0, 0, 1, -1], np.int32)},
    )  # fmt: skip
    for n in (0, 2, 4):

        def skip(a, n=n):
            a["out"][: n * 32] = a["x"][: n * 32] * 2
            return {"out": a["out"]}

        yield one(
            "branch.skip", (f"n={n}",), skip_kernel, 4,
            lambda rng, n=n: {
                "x": small(rng, n * 32, "f32"), "out": sentinel(128, "f32"), "n": n, "BLOCK": 32
            },
            skip, note="what is skipped may lie outside of the arrays",
        )  # fmt: skip
    for c in (0, 1):
        for a, b in ((3, 4), (4, 3)):
            found = [b, a + b, a < b] if c else [a, b * 2, False]
            yield one(
                "branch.scalars", (f"c={c}", f"a={a}"), scalars_kernel, 1,
                lambda rng, c=c, a=a, b=b: {"out": sentinel(3, "i32"), "c": c, "a": a, "b": b},
                lambda _, f=found: {"out": np.array(f, np.int32)},
            )  # fmt: skip


def _merged() -> Iterator[Case]:
    for d in ("f32", "i32", "bool", "i8", "u16", "i64", "u64", "f16", "bf16", "f64"):
        for c in (0, 1, 2) if d in ("f32", "i8") else (1, 2):

            def typed(a, c=c):
                block, scalar = a["x"], a["y"][0]
                if c == 2:
                    block, scalar = a["y"], a["x"][0]
                elif c == 1:
                    block = np.where(np.arange(16) < 4, block, scalar)
                return {"out": np.append(block, scalar).astype(a["x"].dtype)}

            yield one(
                "branch.typed", (d, f"c={c}"), typed_kernel, 1,
                lambda rng, d=d, c=c: {
                    "x": data(rng, 16, d), "y": data(rng, 16, d), "out": sentinel(17, d), "c": c,
                    "BLOCK": 16,
                },
                typed,
            )  # fmt: skip
    for d in ("f32", "i16"):

        def pointers(a):
            rows = []
            for pid in range(4):
                base = a["x"][pid * 16 :] if pid % 2 == 0 else a["y"][(pid - 1) * 16 :]
                rows.append(base[8 if pid >= 2 else 0 :][:16])
            return {"out": np.concatenate(rows)}

        yield one(
            "branch.pointers", (d,), pointers_kernel, 4,
            lambda rng, d=d: {
                "x": data(rng, 72, d), "y": data(rng, 72, d), "out": sentinel(64, d), "n": 2,
                "BLOCK": 16,
            },
            pointers,
        )  # fmt: skip
    for c in (0, 1):
        for d in ("f32", "i32"):

            def tile(a, c=c):
                x = a["x"]
                if c:
                    return {"out": x - x.max(axis=1, keepdims=True)}
                return {"out": x + x.sum(axis=0, keepdims=True, dtype=x.dtype)}

            yield one(
                "branch.tile", (d, f"c={c}"), tile_kernel, 1,
                lambda rng, c=c, d=d: {
                    "x": small(rng, (8, 16), d), "out": sentinel((8, 16), d), "c": c, "M": 8,
                    "N": 16,
                },
                tile, note="reductions inside of a branch",
            )  # fmt: skip
    for c in (0, 1):
        yield one(
            "branch.tuple", (f"c={c}",), tuple_kernel, 1,
            lambda rng, c=c: {"x": small(rng, 2, "f32"), "out": sentinel(2, "f32"), "c": c},
            lambda a, c=c: {
                "out": np.array([a["x"][1], a["x"][0] * 3] if c else a["x"], np.float32)
            },
        )  # fmt: skip
        yield one(
            "branch.same", (f"c={c}",), same_kernel, 1,
            lambda rng, c=c: {
                "x": small(rng, 32, "f32"), "out": sentinel(32, "f32"), "c": c, "BLOCK": 32
            },
            lambda a: {"out": (a["x"] + 1) * a["x"]},
        )  # fmt: skip


def _loops() -> Iterator[Case]:
    def nested(a):
        rows = []
        for p, q in a["x"].reshape(-1, 2):
            path = 0
            if p > 0:
                if q > 0:
                    path, p = 1, p + q
                else:
                    path = 2
                    if q < -10:
                        path, q = 3, q + 10
            elif q > 0:
                path, p, q = 4, q, p
            rows.append([path, p, q])
        return {"out": np.array(rows, np.int32)}

    pairs = [1, 2, 3, -4, 5, -60, -1, 7, -2, -9, 0, 0]
    yield one(
        "branch.nested", (), nested_kernel, 6,
        lambda rng: {"x": np.array(pairs, np.int32), "out": sentinel((6, 3), "i32")}, nested,
    )  # fmt: skip
    for n in (0, 1, 9):

        def loop(a, n=n):
            x = a["x"][:n]
            even = x[x % 2 == 0]
            found = [even.sum(), (x % 2 != 0).sum(), max([-1000, *even])]
            return {"out": np.array(found, np.int32)}

        yield one(
            "branch.in_loop", (f"n={n}",), in_loop_kernel, 1,
            lambda rng, n=n: {"x": small(rng, 9, "i32"), "out": sentinel(3, "i32"), "n": n}, loop,
        )  # fmt: skip

    def blocks(a):
        acc, scale = np.zeros(32), 1.0
        for row in a["x"].astype(np.float64):
            if row.sum() > 0:
                acc, scale = acc + row * scale, scale * 2
            else:
                acc = acc - row
        return {"out": np.append(acc, scale).astype(np.float32)}

    yield one(
        "branch.blocks_in_loop", (), blocks_in_loop_kernel, 1,
        lambda rng: {
            "x": small(rng, (5, 32), "f32"), "out": sentinel(33, "f32"), "n": 5, "BLOCK": 32
        },
        blocks,
    )  # fmt: skip

    def inside(a):
        total = a["x"].sum()
        found = [total * p if p % 2 else sum(sum(range(i)) for i in range(p)) for p in range(5)]
        return {"out": np.array(found, np.int32)}

    yield one(
        "branch.loop_inside", (), loop_inside_kernel, 5,
        lambda rng: {"x": small(rng, 6, "i32"), "out": sentinel(5, "i32"), "n": 6}, inside,
    )  # fmt: skip
