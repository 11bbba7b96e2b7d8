"""Scalar arguments and compile-time values of every kind."""

# mypy: ignore-errors
# ruff: noqa: PIE790
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import ARITHMETIC, EXACT, Case
from .build import case, data, dtype, sentinel, small


@triton.jit
def store_scalar_kernel(out, value):
    tl.store(out, value)


@triton.jit
def scale_kernel(x, out, n, scale, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask) * scale + shift, mask=mask)


@triton.jit
def mix_kernel(out, a, b, c):
    tl.store(out + 0, a + b)
    tl.store(out + 1, a - b * 2)
    tl.store(out + 2, tl.where(c, a, b))
    tl.store(out + 3, tl.where(a < b, 1, 0) + c)
    tl.store(out + 4, tl.maximum(a, b) - tl.minimum(a, b))
    tl.store(out + 5, -a)


@triton.jit
def divide_kernel(out, a, b):
    tl.store(out + 0, a / b)
    tl.store(out + 1, 1 / a + b / 2)


@triton.jit
def exp_scalar_kernel(out, a):
    tl.store(out, tl.exp(a))


@triton.jit
def bool_kernel(out, a, b):
    tl.store(out + 0, a & b)
    tl.store(out + 1, a + 1)
    tl.store(out + 2, a + b)
    tl.store(out + 3, tl.where(a, 5, 6))
    tl.store(out + 4, (a & True) + 3)
    tl.store(out + 5, tl.where(a < b, 1, 0))
    tl.store(out + 6, a * 2.5)


@triton.jit
def wide_kernel(x, out, n, big, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    value = tl.load(x + offs, mask=mask)
    tl.store(out + offs, value * 3 + big, mask=mask)
    tl.store(out + BLOCK + offs, tl.where(value < big, value, big), mask=mask)


@triton.jit
def literal_kernel(out):
    tl.store(out + 0, 3000000000)
    tl.store(out + 1, -9223372036854775807)
    tl.store(out + 2, -2147483648)
    tl.store(out + 3, 4611686018427387904)


@triton.jit
def constexpr_kernel(
    out, A: tl.constexpr, B: tl.constexpr, F: tl.constexpr, FLAG: tl.constexpr, NAME: tl.constexpr,
    NONE: tl.constexpr, D: tl.constexpr, SHAPE: tl.constexpr,
):  # fmt: skip
    offs = tl.arange(0, SHAPE[0])
    value = tl.full((SHAPE[0],), A, D) * B
    value = value + (F if FLAG else -F)
    value = value + (10 if NAME == "ten" else 20)
    value = value + (100 if NONE is None else 200)
    tl.store(out + offs, value + (A // B) * 1000 + (A % B) * 10000)


OFFSET = 7
FACTOR = tl.constexpr(3)


def _macro(value, extra=2):
    return value * 3 + extra


def _make(step):
    @triton.jit
    def closure_kernel(x, out, n, BLOCK: tl.constexpr = 64):
        """Reads a global, a closure, a default, and calls a plain function."""
        offs: tl.int32 = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        value = tl.load(x + offs, mask=mask)
        pass
        tl.store(out + offs, _macro(value) + OFFSET * FACTOR + step + min(BLOCK, 5), mask=mask)

    return closure_kernel


closure_kernel = _make(11)

INTEGERS = (0, 1, -1, 2**31 - 1, -(2**31), 123456789)
WIDE = (2**31, -(2**31) - 1, 2**40 + 1, 2**63 - 1, -(2**63))
FLOATS = {
    "zero": 0.0, "minus_zero": -0.0, "tenth": 0.1, "third": 1 / 3, "large": 3.0e38, "tiny": 1e-45,
    "inf": float("inf"), "nan": float("nan"), "beyond": 1e300, "minus_inf": -float("inf"),
    "integer": 16777217.0,
}  # fmt: skip


def _store(d, value, label, level="standard"):
    return case(
        "scalar.store", (d, label), store_scalar_kernel, 1,
        lambda rng: {"out": sentinel(2, d), "value": value},
        lambda a: {"out": np.append(np.array([value]).astype(dtype(d)), a["out"][1:])},
        level=level,
    )  # fmt: skip


def cases() -> Iterator[Case]:
    for value in INTEGERS:
        yield _store("i32", value, str(value), "core")
    for value in (*WIDE, 5):
        yield _store("i64", value, str(value))
    for label, value in FLOATS.items():
        yield _store("f32", value, label, "core")
    for value in (True, False):
        yield _store("bool", value, str(value), "core")
    yield _store("f32", np.float64(0.1), "numpy_f64", "core")
    yield _store("i32", np.int16(-5), "numpy_i16", "core")
    yield _store("bool", np.bool_(True), "numpy_bool", "core")
    for label, scale, shift in (("float", 2.5, -1.25), ("int", 3, 2), ("mixed", 3, 0.5)):
        yield case(
            "scalar.scale", ("f32", label), scale_kernel, 3,
            lambda rng, s=scale, t=shift: {
                "x": small(rng, 150, "f32"), "out": sentinel(150, "f32"), "n": 150, "scale": s,
                "shift": t, "BLOCK": 64,
            },
            lambda a: {"out": a["x"] * np.float32(a["scale"]) + np.float32(a["shift"])},
            level="core", tolerance=ARITHMETIC,
        )  # fmt: skip
    yield case(
        "scalar.scale", ("i32", "int"), scale_kernel, 3,
        lambda rng: {
            "x": data(rng, 150, "i32"), "out": sentinel(150, "i32"), "n": 150, "scale": -7,
            "shift": 99, "BLOCK": 64,
        },
        lambda a: {"out": a["x"] * np.int32(-7) + np.int32(99)}, level="core",
    )  # fmt: skip
    yield from _mixes()
    yield from _bools()
    yield from _wide()
    yield from _compile_time()


def _mixes() -> Iterator[Case]:
    for label, a, b, d, level in (
        ("i32_i32", 7, -9, "i32", "core"), ("f32_f32", 1.5, -2.25, "f32", "core"),
        ("i32_f32", 3, 0.5, "f32", "core"), ("i64_i32", 2**40, 5, "i64", "standard"),
        ("i64_f32", 2**33, 0.5, "f32", "standard"), ("i32_i64", -4, 2**35, "i64", "standard"),
    ):  # fmt: skip
        for c in (a < b,):
            t = dtype(d).type
            result = [
                t(a) + t(b), t(a) - t(b) * t(2), t(a) if c else t(b), t((a < b) + c),
                t(max(a, b)) - t(min(a, b)), -t(a),
            ]  # fmt: skip
            yield case(
                "scalar.mix", (label, f"c={c}"), mix_kernel, 1,
                lambda rng, a=a, b=b, c=c, d=d: {"out": sentinel(6, d), "a": a, "b": b, "c": c},
                lambda _, r=result, d=d: {"out": np.array(r, dtype(d))}, level=level,
                tolerance=EXACT,
            )  # fmt: skip
    for label, a, b in (("ints", 7, -2), ("floats", 1.5, 0.25), ("mixed", 8, 0.5)):
        yield case(
            "scalar.divide", (label,), divide_kernel, 1,
            lambda rng, a=a, b=b: {"out": sentinel(2, "f32"), "a": a, "b": b},
            lambda _, a=a, b=b: {"out": np.array([a / b, 1 / a + b / 2], np.float32)},
            level="core", tolerance=ARITHMETIC,
        )  # fmt: skip
    for value in (0.0, 1.0, -2.5):
        yield case(
            "scalar.exp", (f"a={value}",), exp_scalar_kernel, 1,
            lambda rng, v=value: {"out": sentinel(1, "f32"), "a": v},
            lambda _, v=value: {"out": np.array([np.exp(v)], np.float32)}, level="core",
            tolerance=ARITHMETIC,
        )  # fmt: skip


def _bools() -> Iterator[Case]:
    for a in (True, False):
        for b in (True, False):
            result = [a & b, a + 1, a ^ b, 5 if a else 6, a + 3, int(a < b), a * 2.5]
            yield case(
                "scalar.bool", (f"a={a}", f"b={b}"), bool_kernel, 1,
                lambda rng, a=a, b=b: {"out": sentinel(7, "f32"), "a": a, "b": b},
                lambda _, r=result: {"out": np.array(r, np.float32)}, level="core",
                note="bool + bool stays bool, bool + 1 is an integer",
            )  # fmt: skip


def _wide() -> Iterator[Case]:
    for big in (2**33 + 1, -(2**50), 2**63 - 1):

        def expected(a, big=big):
            x = a["x"].astype(np.int64)
            product = (a["x"] * a["x"].dtype.type(3)).astype(np.int64)
            a["out"][:50] = product + np.int64(big)
            a["out"][64:114] = np.minimum(x, big)
            return {"out": a["out"]}

        for d in ("i32", "i64"):
            yield case(
                "scalar.i64_with_block", (d, f"big={big}"), wide_kernel, 1,
                lambda rng, d=d, big=big: {
                    "x": data(rng, 50, d), "out": sentinel(128, "i64"), "n": 50, "big": big,
                    "BLOCK": 64,
                },
                expected, note="an i64 argument widens an i32 block; a literal does not",
            )  # fmt: skip
    yield case(
        "scalar.large_literals", ("i64",), literal_kernel, 1,
        lambda rng: {"out": sentinel(4, "i64")},
        lambda a: {"out": np.array([3000000000, -(2**63) + 1, -(2**31), 2**62], np.int64)},
        level="standard",
    )  # fmt: skip


def _compile_time() -> Iterator[Case]:
    for d in ("i32", "f32"):
        values = {"A": 7, "B": 2, "F": 3, "FLAG": True, "NAME": "ten", "NONE": None}
        for label, change, total in (
            ("base", {}, 14 + 3 + 10 + 100 + 3000 + 10000),
            ("other", {"FLAG": False, "NAME": "x", "NONE": (1,)}, 14 - 3 + 20 + 200 + 3000 + 10000),
            ("negative", {"A": -7}, -14 + 3 + 10 + 100 - 4000 + 10000),
        ):
            given = {
                **values,
                **change,
                "D": {"i32": tl.int32, "f32": tl.float32, "i64": tl.int64}[d],
            }
            yield case(
                "scalar.constexpr", (d, label), constexpr_kernel, 1,
                lambda rng, d=d, g=given: {"out": sentinel(32, d), **g, "SHAPE": (32, 1)},
                lambda a, t=total: {"out": np.full_like(a["out"], t)}, level="standard",
            )  # fmt: skip
    yield case(
        "scalar.closure", ("i32",), closure_kernel, 2,
        lambda rng: {"x": small(rng, 100, "i32"), "out": sentinel(100, "i32"), "n": 100},
        lambda a: {"out": a["x"] * 3 + 2 + 7 * 3 + 11 + 5}, level="core",
    )  # fmt: skip
