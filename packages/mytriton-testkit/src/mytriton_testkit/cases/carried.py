"""Loop-carried values: parallel copies, pointers, blocks, and reads before and after the loop."""

# mypy: ignore-errors
# ruff: noqa: B007
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .build import case, sentinel, small


@triton.jit
def swap_kernel(out, n):
    a = 1
    b = 2
    for i in range(n):
        t = a
        a = b
        b = t
    tl.store(out + 0, a)
    tl.store(out + 1, b)


@triton.jit
def swap_blocks_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    b = tl.load(y + offs)
    for i in range(n):
        t = a
        a = b
        b = t
    tl.store(out + offs, a)
    tl.store(out + BLOCK + offs, b)


@triton.jit
def rotate_kernel(out, n):
    a = 1
    b = 20
    c = 300
    for i in range(n):
        t = a
        a = b
        b = c
        c = t
    tl.store(out + 0, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)


@triton.jit
def copied_kernel(out, n):
    a = 1
    before = 0
    for i in range(n):
        before = a
        a = a * 2 + i
    tl.store(out + 0, a)
    tl.store(out + 1, before)


@triton.jit
def fibonacci_kernel(out, n):
    a = 0
    b = 1
    for i in range(n):
        t = a + b
        a = b
        b = t
    tl.store(out + 0, a)
    tl.store(out + 1, b)


@triton.jit
def exchange_with_update_kernel(out, n):
    a = 1
    b = 10
    c = 100
    for i in range(n):
        old = a
        a = b + c
        c = b
        b = old + i
    tl.store(out + 0, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)


@triton.jit
def around_kernel(x, out, n):
    acc = tl.load(x)
    tl.store(out + 0, acc)
    before = acc + 1.0
    for i in range(n):
        acc = acc * 2.0
    tl.store(out + 1, acc)
    tl.store(out + 2, before + acc)


@triton.jit
def pointer_kernel(x, out, n):
    source = x + 0
    total = 0.0
    for i in range(n):
        total += tl.load(source)
        source = source + 3
    tl.store(out + 0, total)
    tl.store(out + 1, tl.load(source))


@triton.jit
def block_pointer_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    source = x + offs
    target = out + offs
    for i in range(n):
        tl.store(target, tl.load(source) + i)
        source = source + BLOCK
        target = target + BLOCK


@triton.jit
def swap_pointers_kernel(x, y, out, n):
    a = x + 0
    b = y + 0
    for i in range(n):
        tl.store(out + i, tl.load(a))
        t = a + 1
        a = b + 1
        b = t


@triton.jit
def untouched_kernel(out, n):
    same = 7
    other = 3
    for i in range(n):
        same = same + 0
        other = other
    tl.store(out + 0, same)
    tl.store(out + 1, other)


@triton.jit
def constant_in_body_kernel(out, n):
    value = 5
    seen = 0
    for i in range(n):
        seen = seen + value
        value = 2
    tl.store(out + 0, value)
    tl.store(out + 1, seen)


@triton.jit
def flag_kernel(x, out, n, limit):
    found = limit < limit
    where = -1
    for i in range(n):
        value = tl.load(x + i)
        hit = value < limit
        where = tl.where(found, where, tl.where(hit, i, where))
        found = tl.where(found, found, hit)
    tl.store(out + 0, where)
    tl.store(out + 1, found)


@triton.jit
def running_extremes_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    low = tl.load(x + offs)
    high = low
    for i in range(1, n):
        row = tl.load(x + i * BLOCK + offs)
        low = tl.minimum(low, row)
        high = tl.maximum(high, row)
    tl.store(out + offs, high - low)


@triton.jit
def nested_carry_kernel(out, n, m):
    a = 1
    b = 2
    for i in range(n):
        for j in range(m):
            t = a
            a = b
            b = t + j
        a = a + b
    tl.store(out + 0, a)
    tl.store(out + 1, b)


@triton.jit
def shadow_kernel(x, out, n):
    i = 40
    for k in range(n):
        value = tl.load(x + k)
        i = i + value
    tl.store(out + 0, i)
    for i in range(n):
        tl.store(out + 1 + i, i)


@triton.jit
def many_kernel(out, n):
    a = 1
    b = 2
    c = 3
    d = 4
    e = 5
    f = 6
    for i in range(n):
        t = a
        a = b
        b = c
        c = d
        d = e
        e = f
        f = t + i
    tl.store(out + 0, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)
    tl.store(out + 3, d)
    tl.store(out + 4, e)
    tl.store(out + 5, f)


def _around(a):
    x, n = np.float64(a["x"][0]), a["n"]
    return {"out": np.array([x, x * 2**n, x + 1 + x * 2**n], np.float32)}


def _exchange(n):
    a, b, c = 1, 10, 100
    for i in range(n):
        a, b, c = b + c, a + i, b
    return a, b, c


def _nested(n, m):
    a, b = 1, 2
    for _ in range(n):
        for j in range(m):
            a, b = b, a + j
        a = a + b
    return a, b


def _copied(n):
    a, before = 1, 0
    for i in range(n):
        before, a = a, 2 * a + i
    return a, before


def _fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a, b


def _many(n):
    found = [1, 2, 3, 4, 5, 6]
    for i in range(n):
        found = [*found[1:], found[0] + i]
    return found


#: Kernel, trip counts, result.
SCALAR = {
    "swap": (swap_kernel, (0, 1, 2, 7), lambda n: (1, 2) if n % 2 == 0 else (2, 1)),
    "rotate": (rotate_kernel, (0, 1, 2, 4), lambda n: np.roll([1, 20, 300], -n)),
    "copied": (copied_kernel, (0, 1, 5), _copied),
    "fibonacci": (fibonacci_kernel, (0, 1, 20), _fibonacci),
    "exchange_with_update": (exchange_with_update_kernel, (0, 1, 6), _exchange),
    "untouched": (untouched_kernel, (0, 3), lambda n: (7, 3)),
    "constant_in_body": (
        constant_in_body_kernel, (0, 1, 4),
        lambda n: (5, 0) if n == 0 else (2, 5 + 2 * (n - 1)),
    ),
    "many": (many_kernel, (0, 4, 8), _many),
}  # fmt: skip


def cases() -> Iterator[Case]:
    for name, (kernel, counts, result) in SCALAR.items():
        for n in counts:
            yield case(
                f"carried.{name}", (f"n={n}",), kernel, 1,
                lambda rng, n=n, r=result: {"out": sentinel(len(r(n)), "i32"), "n": n},
                lambda a, n=n, r=result: {"out": np.array(r(n), np.int32)}, level="core",
            )  # fmt: skip
    for n in (0, 1, 4):
        yield case(
            "carried.around", (f"n={n}",), around_kernel, 1,
            lambda rng, n=n: {"x": np.array([1.5], "f4"), "out": sentinel(3, "f32"), "n": n},
            _around, level="core",
        )  # fmt: skip
    for n, m in ((0, 3), (3, 0), (3, 3)):
        yield case(
            "carried.nested", (f"n={n}", f"m={m}"), nested_carry_kernel, 1,
            lambda rng, n=n, m=m: {"out": sentinel(2, "i32"), "n": n, "m": m},
            lambda a, n=n, m=m: {"out": np.array(_nested(n, m), np.int32)}, level="core",
        )  # fmt: skip
    yield from _blocks()
    yield from _pointers()
    yield from _flags()


def _blocks() -> Iterator[Case]:
    for d, n in (("f32", 0), ("f32", 1), ("f32", 4), ("i32", 3), ("f16", 3), ("i64", 3)):
        yield case(
            "carried.swap_blocks", (d, f"n={n}"), swap_blocks_kernel, 1,
            lambda rng, n=n, d=d: {
                "x": small(rng, 64, d), "y": small(rng, 64, d), "out": sentinel(128, d), "n": n,
                "BLOCK": 64,
            },
            lambda a, n=n: {"out": np.concatenate([a["x"], a["y"]][:: -1 if n % 2 else 1])},
            level="core" if d in ("f32", "i32") else "standard",
        )  # fmt: skip
    yield case(
        "carried.extremes", (), running_extremes_kernel, 1,
        lambda rng: {"x": small(rng, 5 * 64, "f32"), "out": sentinel(64, "f32"), "n": 5, "BLOCK": 64},
        lambda a: {"out": np.ptp(a["x"].reshape(5, 64), axis=0)}, level="core",
    )  # fmt: skip


def _pointers() -> Iterator[Case]:
    for n in (0, 5):
        yield case(
            "carried.pointer", (f"n={n}",), pointer_kernel, 1,
            lambda rng, n=n: {"x": small(rng, 20, "f32"), "out": sentinel(2, "f32"), "n": n},
            lambda a, n=n: {"out": np.array([a["x"][: 3 * n : 3].sum(), a["x"][3 * n]], "f4")},
            level="standard",
        )  # fmt: skip
    yield case(
        "carried.block_pointer", (), block_pointer_kernel, 1,
        lambda rng: {
            "x": small(rng, 4 * 32, "f32"), "out": sentinel(4 * 32, "f32"), "n": 4, "BLOCK": 32
        },
        lambda a: {"out": a["x"] + np.repeat(np.arange(4), 32).astype(np.float32)},
        level="standard",
    )  # fmt: skip
    yield case(
        "carried.swap_pointers", (), swap_pointers_kernel, 1,
        lambda rng: {
            "x": small(rng, 7, "f32"), "y": small(rng, 7, "f32"), "out": sentinel(7, "f32"), "n": 7
        },
        lambda a: {"out": np.where(np.arange(7) % 2 == 0, a["x"], a["y"])}, level="extended",
        note="pointers into different arguments change places",
    )  # fmt: skip


def _flags() -> Iterator[Case]:
    for limit in (-100, 0, 100):

        def expected(a, limit=limit):
            hits = np.flatnonzero(a["x"] < limit)
            return {"out": np.array([hits[0] if len(hits) else -1, bool(len(hits))], np.int32)}

        yield case(
            "carried.flag", (f"limit={limit}",), flag_kernel, 1,
            lambda rng, limit=limit: {
                "x": np.abs(small(rng, 9, "i32")) * np.array([1] * 5 + [-1] * 4, np.int32) + 1,
                "out": sentinel(2, "i32"), "n": 9, "limit": limit,
            },
            expected, level="standard",
        )  # fmt: skip
    yield case(
        "carried.names_reused", (), shadow_kernel, 1,
        lambda rng: {"x": small(rng, 4, "i32"), "out": sentinel(5, "i32"), "n": 4},
        lambda a: {"out": np.append(40 + a["x"].sum(), np.arange(4)).astype(np.int32)},
        level="core",
    )  # fmt: skip
