"""Decisions made while a kernel is compiled: branches, strings, ``None``, types, tuples."""

# mypy: ignore-errors
# ruff: noqa: SIM300
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .branches import one
from .build import data, dtype, of_edition, sentinel, small
from .casts import TYPES

WIDTH = tl.constexpr(16)
FACTOR = 3
TABLE = (2, 4.5, "three", None)
LOG2E: tl.constexpr = 1.5


@triton.jit
def mode_kernel(x, out, MODE: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    if MODE == "double":
        row = row * 2
    elif MODE in ("half", "quarter"):
        row = row * (0.5 if MODE == "half" else 0.25)
    elif MODE is None or MODE == "":
        row = -row
    elif not isinstance(MODE, str) and 0 < MODE <= 3:
        row = row + MODE
    else:
        row = row.this_branch_is_never_looked_at()
    tl.store(out + offs, row)


@triton.jit
def optional_kernel(x, bias, scale, out, HAS_SCALE: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    if bias is not None:
        row = row + tl.load(bias + offs)
    if HAS_SCALE:
        factor = tl.load(scale)
    if HAS_SCALE and bias is None:
        row = row * factor
    elif HAS_SCALE:
        row = row * factor + 1
    tl.store(out + offs, row)


@triton.jit
def logic_kernel(out, A: tl.constexpr, B: tl.constexpr):
    tl.store(out + 0, 1 if A and B else 0)
    tl.store(out + 1, 1 if A or B else 0)
    tl.store(out + 2, 1 if not A else 0)
    tl.store(out + 3, 1 if A is None else 0)
    tl.store(out + 4, 1 if B != A else 0)
    tl.store(out + 5, 5 if A in (1, 2, "x") and A not in [1] else 6)
    tl.store(out + 6, (A or 7) if not isinstance(A, str) else 8)
    tl.store(out + 7, 1 if 0 < (B or 0) < 3 else 0)


@triton.jit
def globals_kernel(out):
    offs = tl.arange(0, WIDTH)
    number: tl.constexpr = WIDTH * 2 + FACTOR
    tl.store(out + offs, offs * TABLE[0] + TABLE[1] * 2 + number + LOG2E)
    if TABLE[2] == "three" and TABLE[3] is None:
        tl.store(out + WIDTH, len(TABLE) + number % 4)


@triton.jit
def builtins_kernel(out, N: tl.constexpr, F: tl.constexpr):
    tl.store(out + 0, min(N, 5))
    tl.store(out + 1, max(N, 5, 9))
    tl.store(out + 2, abs(-N))
    tl.store(out + 3, int(F))
    tl.store(out + 4, len((N, N, N)))
    tl.store(out + 5, tl.cdiv(N, 4))
    tl.store(out + 6, triton.next_power_of_2(N))
    tl.store(out + 7, triton.cdiv(N, 3))
    tl.store(out + 8, float(N) / 2)
    tl.store(out + 9, sum([i for i in range(N) if i % 2 == 0]))
    tl.store(out + 10, N // 2 if isinstance(N, int) else -1)
    tl.store(out + 11, float("inf"))
    tl.store(out + 12, -float("inf"))
    tl.store(out + 13, round(F))
    tl.store(out + 14, bool(N))


@triton.jit
def types_kernel(x, out, T: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    if T == tl.float32:
        row = row.to(T) * 0.5
    elif T.is_int():
        row = row.to(T) + 1
    else:
        row = row.to(tl.float32).to(T)
    acc = tl.zeros([BLOCK], dtype=ACC)
    acc += row.to(ACC)
    if row.dtype.primitive_bitwidth < 32:
        acc += 100
    tl.store(out + offs, acc)


@triton.jit
def unrolled_kernel(x, out, N: tl.constexpr, SCALES: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(N):
        if i % 2 == 0:
            acc += tl.load(x + i * BLOCK + offs) * SCALES[i]
        else:
            later = acc
    for i in tl.static_range(3, 0, -1):
        acc = acc * 2 + i
    if N > 1:
        acc += later
    tl.store(out + offs, acc)


@triton.jit
def asserts_kernel(x, out, N: tl.constexpr, NAME: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(N > 0, f"N is {N}")
    tl.static_assert(BLOCK % N == 0)
    assert NAME == "fine", f"the name is {NAME!r}"
    if N > 1000:
        raise ValueError("never reached")
    label: tl.constexpr = f"{NAME}-{N:03d}"
    tl.static_assert(label == "fine-004")
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs) + len(label))


@triton.jit
def rebound_kernel(x, out, N: tl.constexpr, BLOCK: tl.constexpr):
    N = N + 1
    HALF: tl.constexpr = BLOCK // 2
    SHAPE = (HALF, 2)
    N *= 2
    r = tl.arange(0, SHAPE[0])
    c = tl.arange(0, SHAPE[1])
    tile = tl.load(x + r[:, None] * 2 + c[None, :])
    total = tl.zeros(SHAPE, dtype=tl.float32)
    for _ in range(N):
        total += tile
    tl.store(out + r[:, None] * 2 + c[None, :], total)


@triton.jit
def tuples_kernel(x, out, PAIRS: tl.constexpr):
    first, *rest = (tl.load(x), tl.load(x + 1), tl.load(x + 2))
    (a, b), c = (first, rest[0]), rest[1]
    a, b, c = c, a, b
    tl.store(out + 0, a)
    tl.store(out + 1, b)
    tl.store(out + 2, c)
    low = high = c + 1
    low += 1
    tl.store(out + 3, low * 10 + high)
    place = 4
    for key, value in PAIRS:
        tl.store(out + place, a * key + value)
        place += 1
    names = ["x", "y"]
    tl.store(out + place, len(names) + len(PAIRS))


@triton.jit
def large_literals_kernel(x, out):
    big = 1 << 40
    tl.store(out + 0, big + 1)
    tl.store(out + 1, tl.load(x) * 0x7FFFFFFFFFFFFFFF)
    tl.store(out + 2, (tl.load(x + 1) ^ 0x5555555555555555) & 0xFFFFFFFFFF)
    tl.store(out + 3, tl.load(x) - 9223372036854775807)


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    for mode, f in (
        ("double", lambda x: x * 2), ("half", lambda x: x / 2), ("quarter", lambda x: x / 4),
        (None, np.negative), ("", np.negative), (2, lambda x: x + 2), (3.0, lambda x: x + 3),
    ):  # fmt: skip
        yield one(
            "static.mode", (str(mode) or "empty",), mode_kernel, 1,
            lambda rng, m=mode: {
                "x": small(rng, 16, "f32"), "out": sentinel(16, "f32"), "MODE": m, "BLOCK": 16
            },
            lambda a, f=f: {"out": f(a["x"])},
        )  # fmt: skip
    yield from _optional()
    yield from _values()
    yield from _types()
    yield from _others()


def _optional() -> Iterator[Case]:
    for biased in (False, True):
        for scaled in (False, True):

            def optional(a, biased=biased, scaled=scaled):
                row = a["x"] + (a["bias"] if biased else 0)
                row = row * a["scale"][0] + biased if scaled else row
                return {"out": row.astype(np.float32)}

            yield one(
                "static.optional", (f"bias={biased}", f"scale={scaled}"), optional_kernel, 1,
                lambda rng, b=biased, s=scaled: {
                    "x": small(rng, 16, "f32"), "bias": small(rng, 16, "f32") if b else None,
                    "scale": small(rng, 1, "f32") if s else None, "out": sentinel(16, "f32"),
                    "HAS_SCALE": s, "BLOCK": 16,
                },
                optional, note="an argument may be None",
            )  # fmt: skip


def _values() -> Iterator[Case]:
    for a, b in ((0, 2), (1, 1), (2, None), (None, 3), (True, False)):
        inside = a in (1, 2, "x") and a not in [1]
        found = [
            bool(a and b), bool(a or b), not a, a is None, b != a, 5 if inside else 6, a or 7,
            0 < (b or 0) < 3,
        ]  # fmt: skip
        yield one(
            "static.logic", (f"a={a}", f"b={b}"), logic_kernel, 1,
            lambda rng, a=a, b=b: {"out": sentinel(8, "i32"), "A": a, "B": b},
            lambda _, f=found: {"out": np.array(f, np.int32)},
        )  # fmt: skip

    def constants(a):
        a["out"][:16] = np.arange(16) * 2 + 9 + 35 + 1.5
        a["out"][16] = 4 + 35 % 4
        return {"out": a["out"]}

    yield one(
        "static.globals", (), globals_kernel, 1, lambda rng: {"out": sentinel(17, "f32")}, constants
    )  # fmt: skip
    for n, f in ((7, 2.75), (16, -3.5)):
        power = 1 << (n - 1).bit_length()
        found = [
            min(n, 5), max(n, 9), n, int(f), 3, -(-n // 4), power, -(-n // 3), n / 2,
            sum(range(0, n, 2)), n // 2, np.inf, -np.inf, round(f), 1,
        ]  # fmt: skip
        yield one(
            "static.builtins", (f"n={n}",), builtins_kernel, 1,
            lambda rng, n=n, f=f: {"out": sentinel(15, "f32"), "N": n, "F": f},
            lambda _, v=found: {"out": np.array(v, np.float32)},
        )  # fmt: skip


def _types() -> Iterator[Case]:
    for t, acc in (("f32", "f32"), ("f16", "f32"), ("i32", "i64"), ("i8", "i32"), ("bf16", "f64")):

        def typed(a, t=t, acc=acc):
            x = a["x"].astype(np.float64)
            row = x / 2 if t == "f32" else np.trunc(x) + 1 if t[0] == "i" else x
            return {"out": (row + 100 * (t in ("f16", "bf16", "i8"))).astype(dtype(acc))}

        yield one(
            "static.types", (t, acc), types_kernel, 1,
            lambda rng, t=t, acc=acc: {
                "x": small(rng, 16, "f32"), "out": sentinel(16, acc), "T": TYPES[t],
                "ACC": TYPES[acc], "BLOCK": 16,
            },
            typed,
        )  # fmt: skip


def _others() -> Iterator[Case]:
    for n in (1, 2, 5):
        scales = tuple(0.5 * k - 1 for k in range(n))

        def unrolled(a, n=n, scales=scales):
            acc, later = np.zeros(8), np.zeros(8)
            for i in range(n):
                if i % 2 == 0:
                    acc = acc + a["x"][i] * scales[i]
                else:
                    later = acc
            for i in (3, 2, 1):
                acc = acc * 2 + i
            return {"out": (acc + later).astype(np.float32)}

        yield one(
            "static.unrolled", (f"n={n}",), unrolled_kernel, 1,
            lambda rng, n=n, s=scales: {
                "x": small(rng, (5, 8), "f32"), "out": sentinel(8, "f32"), "N": n, "SCALES": s,
                "BLOCK": 8,
            },
            unrolled,
        )  # fmt: skip
    yield one(
        "static.asserts", (), asserts_kernel, 1,
        lambda rng: {
            "x": small(rng, 16, "f32"), "out": sentinel(16, "f32"), "N": 4, "NAME": "fine",
            "BLOCK": 16,
        },
        lambda a: {"out": a["x"] + np.float32(8)},
    )  # fmt: skip
    for n in (0, 2):
        yield one(
            "static.rebound", (f"n={n}",), rebound_kernel, 1,
            lambda rng, n=n: {
                "x": small(rng, 16, "f32"), "out": sentinel(16, "f32"), "N": n, "BLOCK": 16
            },
            lambda a, n=n: {"out": a["x"] * np.float32((n + 1) * 2)},
        )  # fmt: skip
    for pairs in ((), ((1, 2), (3, -4.0))):

        def tuples(a, pairs=pairs):
            x, y, z = a["x"]
            a["out"][:4] = [z, x, y, (y + 2) * 10 + y + 1]
            a["out"][4 : 5 + len(pairs)] = [*(z * k + v for k, v in pairs), 2 + len(pairs)]
            return {"out": a["out"]}

        yield one(
            "static.tuples", (f"pairs={len(pairs)}",), tuples_kernel, 1,
            lambda rng, p=pairs: {
                "x": small(rng, 3, "f32"), "out": sentinel(8, "f32"), "PAIRS": p
            },
            tuples,
        )  # fmt: skip

    def literals(a):
        x, y = (int(v) for v in a["x"])
        found = [2**40 + 1, x * (2**63 - 1), (y ^ 0x5555555555555555) & 0xFFFFFFFFFF, x - 2**63 + 1]
        return {"out": np.array([(v + 2**63) % 2**64 - 2**63 for v in found], np.int64)}

    yield one(
        "static.large_literals", ("i64",), large_literals_kernel, 1,
        lambda rng: {"x": data(rng, 5, "i64")[3:], "out": sentinel(4, "i64")}, literals,
    )  # fmt: skip
