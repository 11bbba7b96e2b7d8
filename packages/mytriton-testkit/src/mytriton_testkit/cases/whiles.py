"""``while`` loops, and ``for`` over ranges whose step is negative or known only at run time."""

# mypy: ignore-errors
# ruff: noqa: B007
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import MATH, Case
from .branches import one
from .build import case, dtype, of_edition, sentinel, small


@triton.jit
def collatz_kernel(x, out):
    pid = tl.program_id(0)
    value = tl.load(x + pid)
    steps = 0
    while value > 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = value * 3 + 1
        steps += 1
    tl.store(out + pid, steps)


@triton.jit
def gcd_kernel(x, y, out):
    pid = tl.program_id(0)
    a = tl.load(x + pid)
    b = tl.load(y + pid)
    while b != 0:
        a, b = b, a % b
    tl.store(out + pid, a)


@triton.jit
def fibonacci_kernel(out, n):
    a = 0
    b = 1
    trips = 0
    while trips < n:
        following = a + b
        a = b
        b = following
        trips += 1
    tl.store(out + 0, a)
    tl.store(out + 1, b)
    tl.store(out + 2, trips)


@triton.jit
def newton_kernel(x, out):
    pid = tl.program_id(0)
    value = tl.load(x + pid)
    guess = value
    change = value
    while change > guess * 1e-4:
        better = 0.5 * (guess + value / guess)
        change = tl.abs(better - guess)
        guess = better
    tl.store(out + pid, guess)


@triton.jit
def halving_kernel(x, out, limit, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    rounds = 0
    while tl.max(row, axis=0) > limit:
        row = tl.where(row > limit, row * 0.5, row)
        rounds += 1
    tl.store(out + offs, row + rounds)


@triton.jit
def walk_kernel(x, out, n):
    p = x
    i = 0
    total = 0
    while i < n and tl.load(p) >= 0:
        total += tl.load(p)
        p += 2
        i += 1
    tl.store(out + 0, total)
    tl.store(out + 1, i)


@triton.jit
def search_kernel(x, keys, out, n):
    pid = tl.program_id(0)
    key = tl.load(keys + pid)
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if tl.load(x + middle) < key:
            low = middle + 1
        else:
            high = middle
    tl.store(out + pid, low)


@triton.jit
def nested_kernel(out, n):
    pid = tl.program_id(0)
    i = 0
    total = 0
    while i < n:
        j = i
        while j > pid:
            total += j
            j -= 1
        for k in range(pid):
            total += 100
        i += 1
    tl.store(out + pid, total)


@triton.jit
def flag_kernel(x, out, n):
    searching = True
    i = 0
    while searching:
        if tl.load(x + i) == 7:
            searching = False
        else:
            i += 1
            if i >= n:
                searching = False
    tl.store(out, i)


@triton.jit
def for_around_kernel(x, out, n):
    for i in range(n):
        value = tl.load(x + i)
        bits = 0
        while value != 0:
            bits += value & 1
            value = value >> 1
        tl.store(out + i, bits)


@triton.jit
def carried_types_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.load(x + offs)
    first = tl.load(x)
    i = 0
    while i < n:
        acc = tl.where(offs < i, acc, first)
        first = tl.load(x + i)
        i += 1
    tl.store(out + offs, acc)
    tl.store(out + BLOCK, first)


@triton.jit
def literal_kernel(x, out, n):
    total = 0
    scale = 1.0
    i = 0
    while i < n:
        total += tl.load(x + i)
        scale *= 0.5
        i += 1
    tl.store(out + 0, total)
    tl.store(out + 1, tl.cast(scale * 1024.0, tl.int64))


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _numbers()
    yield from _carried()


def _steps(n):
    count = 0
    while n > 1:
        n, count = (n // 2 if n % 2 == 0 else n * 3 + 1), count + 1
    return count


def _numbers() -> Iterator[Case]:
    for d in ("i32", "i64"):
        yield one(
            "while.collatz", (d,), collatz_kernel, 7,
            lambda rng, d=d: {
                "x": np.array([1, 2, 3, 7, 27, 0, 97], dtype(d)), "out": sentinel(7, "i32")
            },
            lambda a: {"out": np.array([_steps(int(n)) for n in a["x"]], np.int32)},
            note="every program takes a number of trips of its own",
        )  # fmt: skip
    for d in ("i32", "i64", "u32", "u8"):
        yield one(
            "while.gcd", (d,), gcd_kernel, 5,
            lambda rng, d=d: {
                "x": np.array([12, 18, 0, 35, 200], dtype(d)),
                "y": np.array([18, 12, 5, 0, 144], dtype(d)), "out": sentinel(5, d),
            },
            lambda a: {"out": np.gcd(a["x"], a["y"])}, note="carried values are exchanged at once",
        )  # fmt: skip
    for n in (0, 1, 10, 46):

        def fibonacci(_, n=n):
            a, b = 0, 1
            for _ in range(n):
                a, b = b, a + b
            return {"out": np.array([a, (b + 2**31) % 2**32 - 2**31, n]).astype(np.int32)}

        yield one(
            "while.fibonacci", (f"n={n}",), fibonacci_kernel, 1,
            lambda rng, n=n: {"out": sentinel(3, "i32"), "n": n}, fibonacci,
        )  # fmt: skip
    yield case(
        "while.newton", ("f32",), newton_kernel, 4,
        lambda rng: {"x": np.array([2, 9, 0.25, 1e6], np.float32), "out": sentinel(4, "f32")},
        lambda a: {"out": np.sqrt(a["x"].astype(np.float64)).astype(np.float32)}, tolerance=MATH,
        level="extended",
    )  # fmt: skip
    yield one(
        "while.search", (), search_kernel, 6,
        lambda rng: {
            "x": np.sort(small(rng, 20, "i32")),
            "keys": np.array([-100, -5, 0, 7, 59, 100], np.int32), "out": sentinel(6, "i32"),
            "n": 20,
        },
        lambda a: {"out": np.searchsorted(a["x"], a["keys"]).astype(np.int32)},
    )  # fmt: skip


def _carried() -> Iterator[Case]:
    for limit in (1e9, 10.0, 0.5):

        def halving(a, limit=limit):
            rows = []
            for row in a["x"].reshape(2, -1).astype(np.float64):
                rounds = 0
                while row.max() > limit:
                    row, rounds = np.where(row > limit, row / 2, row), rounds + 1
                rows.append(row + rounds)
            return {"out": np.concatenate(rows).astype(np.float32)}

        yield one(
            "while.block", (f"limit={limit:g}".replace("+", ""),), halving_kernel, 2,
            lambda rng, limit=limit: {
                "x": np.abs(small(rng, 64, "f32")), "out": sentinel(64, "f32"), "limit": limit,
                "BLOCK": 32,
            },
            halving,
        )  # fmt: skip
    for row in ([1, 0, 2, 0, 3, 0, -1, 0, 9, 0], [-4, 0] * 5, [2, 0] * 5):

        def walk(a):
            found = []
            for value in a["x"][:10:2]:
                if value < 0:
                    break
                found.append(value)
            return {"out": np.array([sum(found), len(found)], np.int32)}

        yield one(
            "while.pointer", (f"first={row[0]}", f"last={row[-2]}"), walk_kernel, 1,
            # Both sides of `and` are computed: the pointer may be looked through once more.
            lambda rng, row=row: {
                "x": np.array([*row, 1], np.int32), "out": sentinel(2, "i32"), "n": 5
            },
            walk,
        )  # fmt: skip

    def nested(a, n=4):
        found = []
        for pid in range(3):
            total = sum(sum(range(pid + 1, i + 1)) + 100 * pid for i in range(n))
            found.append(total)
        return {"out": np.array(found, np.int32)}

    yield one(
        "while.nested", (), nested_kernel, 3, lambda rng: {"out": sentinel(3, "i32"), "n": 4}, nested
    )  # fmt: skip
    for label, row in (("found", [1, 2, 7, 7]), ("first", [7, 0, 0, 0]), ("none", [1, 2, 3, 4])):
        yield one(
            "while.flag", (label,), flag_kernel, 1,
            lambda rng, row=row: {"x": np.array(row, np.int32), "out": sentinel(1, "i32"), "n": 4},
            lambda a: {"out": np.array([[*a["x"], 7].index(7)], np.int32)},
        )  # fmt: skip
    yield one(
        "while.in_for", (), for_around_kernel, 1,
        lambda rng: {
            "x": np.array([0, 1, 255, 2**31 - 1, 4096], np.int32), "out": sentinel(5, "i32"), "n": 5
        },
        lambda a: {"out": np.array([int(v).bit_count() for v in a["x"]], np.int32)},
    )  # fmt: skip
    for d in ("f16", "bool", "i8", "u64", "bf16", "f64"):

        def types(a, n=3):
            acc, first = a["x"], a["x"][0]
            for i in range(n):
                acc, first = np.where(np.arange(16) < i, acc, first), a["x"][i]
            return {"out": np.append(acc, first).astype(a["x"].dtype)}

        yield one(
            "while.types", (d,), carried_types_kernel, 1,
            lambda rng, d=d: {
                "x": small(rng, 16, d), "out": sentinel(17, d), "n": 3, "BLOCK": 16
            },
            types,
        )  # fmt: skip
    for d in ("i64", "i32"):
        yield one(
            "while.literal", (d,), literal_kernel, 1,
            lambda rng, d=d: {
                "x": (small(rng, 4, "i32").astype(np.int64) * (2**33 if d == "i64" else 1)).astype(dtype(d)),
                "out": sentinel(2, "i64"), "n": 4,
            },
            lambda a: {"out": np.array([a["x"].astype(object).sum(), 64], np.int64)},
            note="a number enters the loop in the type the body gives it",
        )  # fmt: skip
