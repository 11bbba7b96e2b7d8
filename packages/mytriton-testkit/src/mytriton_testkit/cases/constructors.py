"""``zeros``, ``full`` and ``empty`` of every type and rank."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .build import DTYPES, case, data, dtype, sentinel

TYPES = {
    "bool": tl.int1, "i8": tl.int8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64,
    "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32, "u64": tl.uint64, "f16": tl.float16,
    "bf16": tl.bfloat16, "f32": tl.float32, "f64": tl.float64,
}  # fmt: skip


@triton.jit
def constant_kernel(out, BLOCK: tl.constexpr, D: tl.constexpr, VALUE: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.zeros((BLOCK,), dtype=D))
    tl.store(out + BLOCK + offs, tl.full((BLOCK,), VALUE, dtype=D))


@triton.jit
def full_scalar_kernel(out, value, BLOCK: tl.constexpr, D: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.full((BLOCK,), value, D))


@triton.jit
def full_program_kernel(x, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    tl.store(out + pid * BLOCK + offs, tl.full([BLOCK], tl.load(x + pid) + pid, tl.float32))


@triton.jit
def tile_kernel(out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)[None, :]
    block = tl.zeros((M, N), tl.float32) + tl.full((M, 1), 2.0, tl.float32)
    tl.store(out + i * N + j, block + tl.full((1, N), 0.5, tl.float32) + i * j)


@triton.jit
def accumulate_kernel(x, out, n, BLOCK: tl.constexpr, D: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), D)
    for k in range(n):
        acc += tl.load(x + k * BLOCK + offs)
    tl.store(out + offs, acc)


@triton.jit
def empty_masked_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    junk = tl.empty((BLOCK,), tl.float32)
    tl.store(out + offs, junk, mask=offs < offs)
    keep = offs < BLOCK
    tl.store(out + offs, tl.where(keep, tl.load(x + offs), junk))


@triton.jit
def empty_replaced_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    value = tl.empty((BLOCK,), tl.float32)
    for k in range(n):
        value = tl.load(x + k * BLOCK + offs)
    tl.store(out + offs, value)


@triton.jit
def scalar_shape_kernel(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.zeros(BLOCK, tl.float32) - 1.0)


def cases() -> Iterator[Case]:
    for d in DTYPES:
        value = {"bool": True, "u8": 200, "i8": -100}.get(d, 77)
        value = value + 0.5 if d in ("f16", "bf16", "f32", "f64") else value
        yield case(
            "construct.constant", (d,), constant_kernel, 1,
            lambda rng, d=d, v=value: {
                "out": sentinel(128, d), "BLOCK": 64, "D": TYPES[d], "VALUE": v
            },
            lambda a, v=value: {"out": np.repeat(np.array([0, v]), 64).astype(a["out"].dtype)},
        )  # fmt: skip
    for d, value in (("f32", 2.5), ("f32", 7), ("i32", -9), ("i64", 2**40), ("f16", 0.1),
                     ("i32", 3.99), ("i8", 300), ("bool", 2), ("f32", True)):  # fmt: skip
        yield case(
            "construct.full.scalar", (d, f"value={value}"), full_scalar_kernel, 1,
            lambda rng, d=d, v=value: {"out": sentinel(64, d), "value": v, "BLOCK": 64, "D": TYPES[d]},
            lambda a, v=value, d=d: {
                "out": np.full(64, np.array(v, np.float32 if isinstance(v, float) else None).astype(dtype(d)))
            },
            note="the value converts as in a cast",
        )  # fmt: skip
    yield case(
        "construct.full.program", (), full_program_kernel, 3,
        lambda rng: {"x": data(rng, 3, "f32"), "out": sentinel(96, "f32"), "BLOCK": 32},
        lambda a: {"out": np.repeat(a["x"] + np.arange(3, dtype=np.float32), 32)},
    )  # fmt: skip
    for m, n in ((4, 16), (1, 8), (8, 1)):
        yield case(
            "construct.tile", (f"m={m}", f"n={n}"), tile_kernel, 1,
            lambda rng, m=m, n=n: {"out": sentinel((m, n), "f32"), "M": m, "N": n},
            lambda a, m=m, n=n: {
                "out": (2.5 + np.outer(np.arange(m), np.arange(n))).astype(np.float32)
            },
        )  # fmt: skip
    for d in ("f32", "i32", "f64", "i64"):
        yield case(
            "construct.accumulator", (d,), accumulate_kernel, 1,
            lambda rng, d=d: {
                "x": rng.integers(-9, 9, (5, 32)).astype(dtype(d)), "out": sentinel(32, d), "n": 5,
                "BLOCK": 32, "D": TYPES[d],
            },
            lambda a: {"out": a["x"].sum(axis=0)},
        )  # fmt: skip
    yield case(
        "construct.empty.masked", (), empty_masked_kernel, 1,
        lambda rng: {"x": data(rng, 64, "f32"), "out": sentinel(64, "f32"), "n": 0, "BLOCK": 64},
        lambda a: {"out": a["x"]}, note="undefined contents that nothing reads",
    )  # fmt: skip
    yield case(
        "construct.empty.replaced", (), empty_replaced_kernel, 1,
        lambda rng: {"x": data(rng, 192, "f32"), "out": sentinel(64, "f32"), "n": 3, "BLOCK": 64},
        lambda a: {"out": a["x"][128:]},
    )  # fmt: skip
    yield case(
        "construct.shape_as_int", (), scalar_shape_kernel, 1,
        lambda rng: {"out": sentinel(32, "f32"), "BLOCK": 32},
        lambda a: {"out": np.full(32, -1, np.float32)},
    )  # fmt: skip
