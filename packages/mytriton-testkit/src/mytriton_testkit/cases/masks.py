"""Masks: which lanes touch memory, and what the others see."""

# mypy: ignore-errors
# ruff: noqa: SIM300
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, Case
from .build import case, data, level_of, sentinel


@triton.jit
def other_zero_kernel(x, m, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < n
    keep = tl.load(m + offs, mask=live)
    tl.store(out + offs, tl.load(x + offs, mask=keep & live), mask=live)


@triton.jit
def other_literal_kernel(x, m, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < n
    keep = tl.load(m + offs, mask=live)
    tl.store(out + offs, tl.load(x + offs, mask=keep & live, other=7), mask=live)


@triton.jit
def other_block_kernel(x, m, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < n
    keep = tl.load(m + offs, mask=live)
    tl.store(out + offs, tl.load(x + offs, mask=keep & live, other=offs * 2), mask=live)


@triton.jit
def other_scalar_kernel(x, m, out, n, fill, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < n
    keep = tl.load(m + offs, mask=live)
    tl.store(out + offs, tl.load(x + offs, mask=keep & live, other=fill), mask=live)


@triton.jit
def store_kernel(x, m, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < n
    keep = tl.load(m + offs, mask=live)
    tl.store(out + offs, tl.load(x + offs, mask=live), mask=keep & live)


@triton.jit
def unmasked_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs))


@triton.jit
def constant_mask_kernel(x, out, BLOCK: tl.constexpr, KEEP: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + offs, mask=KEEP, other=-3.0)
    tl.store(out + offs, a)
    tl.store(out + 256 + offs, a, mask=KEEP)


@triton.jit
def scalar_mask_kernel(x, out, keep, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + offs, mask=keep, other=5.0)
    tl.store(out + offs, a, mask=pid < 2)


@triton.jit
def block_and_scalar_kernel(x, out, n, last, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = (offs < n) & (pid < last)
    tl.store(out + offs, tl.load(x + offs, mask=mask), mask=mask)


@triton.jit
def wild_load_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    near = offs < n
    far = offs * 20000000
    a = tl.load(x + tl.where(near, offs, far), mask=near, other=-1.0)
    b = tl.load(x + tl.where(near, offs, -1 - far), mask=near, other=-2.0)
    tl.store(out + offs, a + b)


@triton.jit
def wild_store_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    near = offs < n
    a = tl.load(x + offs)
    tl.store(out + tl.where(near, offs, offs * 20000000), a, mask=near)
    tl.store(out + tl.where(near, offs + n, -1 - offs * 20000000), a, mask=near)


@triton.jit
def wild_scalar_kernel(x, out, n):
    pid = tl.program_id(0)
    here = pid < n
    a = tl.load(x + pid * 100000000, mask=here, other=4.0)
    tl.store(out + pid, a)
    tl.store(out + 100000000 * pid, a + 1.0, mask=here)


@triton.jit
def window_kernel(x, out, low, high, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (low - 1 < offs) & (offs < high)
    tl.store(out + offs, tl.load(x + offs, mask=mask, other=0.5) * 2, mask=mask)


@triton.jit
def compute_under_mask_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = offs < n
    a = tl.load(x + offs, mask=live)
    b = tl.load(y + offs, mask=live)
    positive = (0.0 < a) & live
    tl.store(out + offs, b, mask=positive)
    tl.store(out + offs, -b, mask=(a < 0.0) & live)


def _select(kind, n):
    lane = np.arange(n)
    return {
        "all": lane >= 0,
        "none": lane < 0,
        "tail": lane < n - 5,
        "head": lane < 3,
        "even": lane % 2 == 0,
        "one": lane == 77,
        "groups": lane // 4 % 3 == 1,
        "scattered": np.random.default_rng(5).random(n) < 0.4,
    }[kind]


KINDS = ("all", "none", "tail", "head", "even", "one", "groups", "scattered")


def _masked(path, kernel, kind, other, *, d="f32", store=False, extra=None, n=300):
    def arguments(rng):
        given = {"x": data(rng, n, d), "m": _select(kind, n), "out": sentinel(n + 9, d), "n": n}
        return {**given, **(extra or {}), "BLOCK": 128}

    def expected(a):
        rest = a["out"][:n] if store else np.asarray(other(n)).astype(a["x"].dtype)
        a["out"][:n] = np.where(a["m"], a["x"], rest)
        return {"out": a["out"]}

    return case(path, (d, kind), kernel, 3, arguments, expected, level=level_of(d), tolerance=EXACT)


def cases() -> Iterator[Case]:
    for kind in KINDS:
        yield _masked("mask.load.zero", other_zero_kernel, kind, lambda n: 0)
        yield _masked("mask.store", store_kernel, kind, None, store=True)
    for d in ("i32", "f16", "i8", "i64", "u8", "bool", "f64", "bf16"):
        yield _masked("mask.load.zero", other_zero_kernel, "scattered", lambda n: 0, d=d)
        yield _masked("mask.store", store_kernel, "scattered", None, d=d, store=True)
    for d in ("f32", "i32", "f16", "u16"):
        yield _masked("mask.load.literal", other_literal_kernel, "groups", lambda n: 7, d=d)
    for d in ("f32", "i32", "i64"):
        yield _masked(
            "mask.load.block", other_block_kernel, "even", lambda n: np.arange(n) * 2, d=d
        )
    yield _masked(
        "mask.load.scalar", other_scalar_kernel, "scattered", lambda n: 2.5, extra={"fill": 2.5}
    )
    yield _masked(
        "mask.load.scalar", other_scalar_kernel, "scattered", lambda n: -9, d="i32",
        extra={"fill": -9},
    )  # fmt: skip
    yield from _scalar_masks()
    yield from _wild()


def _simple(path, kernel, grid, arguments, expected, **fields):
    fields.setdefault("level", "core")
    return case(path, ("f32",), kernel, grid, arguments, expected, **fields)


def _scalar_masks() -> Iterator[Case]:
    yield _simple(
        "mask.absent", unmasked_kernel, 4,
        lambda rng: {"x": data(rng, 256, "f32"), "out": sentinel(256, "f32"), "BLOCK": 64},
        lambda a: {"out": a["x"]},
    )  # fmt: skip
    for keep in (True, False):
        yield case(
            "mask.constant", (f"keep={keep}",), constant_mask_kernel, 2,
            lambda rng, keep=keep: {
                "x": data(rng, 256, "f32"), "out": sentinel(512, "f32"), "BLOCK": 128, "KEEP": keep
            },
            lambda a, keep=keep: {
                "out": np.concatenate([a["x"], a["x"]]) if keep else
                np.concatenate([np.full(256, -3, np.float32), a["out"][256:]])
            },
            level="core",
        )  # fmt: skip
        yield case(
            "mask.scalar", (f"keep={keep}",), scalar_mask_kernel, 4,
            lambda rng, keep=keep: {
                "x": data(rng, 256, "f32"), "out": sentinel(256, "f32"), "keep": keep, "BLOCK": 64
            },
            lambda a, keep=keep: {
                "out": np.where(
                    np.arange(256) < 128, a["x"] if keep else np.float32(5), a["out"]
                )
            },
            level="core",
        )  # fmt: skip
    for last in (0, 1, 2, 9):
        yield case(
            "mask.block_and_scalar", (f"last={last}",), block_and_scalar_kernel, 3,
            lambda rng, last=last: {
                "x": data(rng, 170, "f32"), "out": sentinel(192, "f32"), "n": 170, "last": last,
                "BLOCK": 64,
            },
            lambda a, last=last: {
                "out": np.where(
                    np.arange(192) < min(170, 64 * last), np.append(a["x"], np.zeros(22, "f4")),
                    a["out"],
                )
            },
            level="core",
        )  # fmt: skip
    for low, high in ((0, 200), (3, 5), (64, 128), (100, 100), (150, 40)):
        yield case(
            "mask.window", (f"low={low}", f"high={high}"), window_kernel, 4,
            lambda rng, low=low, high=high: {
                "x": data(rng, 256, "f32"), "out": sentinel(256, "f32"), "low": low, "high": high,
                "BLOCK": 64,
            },
            lambda a, low=low, high=high: {
                "out": np.where(
                    (np.arange(256) >= low) & (np.arange(256) < high), a["x"] * 2, a["out"]
                )
            },
            level="core",
        )  # fmt: skip


def _wild() -> Iterator[Case]:
    """Masked-off lanes at addresses far from any array touch nothing."""
    yield _simple(
        "mask.wild.load", wild_load_kernel, 1,
        lambda rng: {"x": data(rng, 20, "f32"), "out": sentinel(64, "f32"), "n": 20, "BLOCK": 64},
        lambda a: {"out": np.append(2 * a["x"], np.full(44, -3, np.float32))},
    )  # fmt: skip
    yield _simple(
        "mask.wild.store", wild_store_kernel, 1,
        lambda rng: {"x": data(rng, 64, "f32"), "out": sentinel(48, "f32"), "n": 20, "BLOCK": 64},
        lambda a: {"out": np.concatenate([a["x"][:20], a["x"][:20], a["out"][40:]])},
    )  # fmt: skip
    yield _simple(
        "mask.wild.scalar", wild_scalar_kernel, 3,
        lambda rng: {"x": np.array([1.5], np.float32), "out": sentinel(3, "f32"), "n": 1},
        lambda a: {"out": np.array([2.5, 4, 4], np.float32)},
    )  # fmt: skip

    def expected(a):
        a["out"][:200] = np.where(a["x"] > 0, a["y"], np.where(a["x"] < 0, -a["y"], a["out"][:200]))
        return {"out": a["out"]}

    def arguments(rng):
        x, y = data(rng, 200, "f32"), data(rng, 200, "f32")
        x[::7] = 0
        return {"x": x, "y": y, "out": sentinel(256, "f32"), "n": 200, "BLOCK": 128}

    yield _simple("mask.computed", compute_under_mask_kernel, 2, arguments, expected)
