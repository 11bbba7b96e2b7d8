"""Explicit conversion: ``.to`` between all types, bit casts, 8-bit floats, what types know of
themselves."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, Case
from .build import (
    DTYPES,
    FLOATS,
    STORED,
    case,
    data,
    dtype,
    is_float,
    of_edition,
    pointwise,
    rounded,
    sentinel,
    several,
    small,
)
from .conversions import _ties, _truncated
from .special import special

TYPES = {
    "bool": tl.int1, "i8": tl.int8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64,
    "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32, "u64": tl.uint64, "f16": tl.float16,
    "bf16": tl.bfloat16, "f32": tl.float32, "f64": tl.float64, "f8e4nv": tl.float8e4nv,
    "f8e5": tl.float8e5,
}  # fmt: skip


@triton.jit
def to_kernel(x, out, n, T: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask).to(T), mask=mask)


@triton.jit
def cast_kernel(x, out, n, T: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.cast(tl.load(x + offs, mask=mask), T), mask=mask)


@triton.jit
def all_kernel(
    x, to_bool, to_i8, to_i16, to_i32, to_i64, to_u8, to_u16, to_u32, to_u64, to_f16, to_bf16,
    to_f32, to_f64, n, BLOCK: tl.constexpr,
):  # fmt: skip
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(to_bool + offs, a.to(tl.int1), mask=mask)
    tl.store(to_i8 + offs, a.to(tl.int8), mask=mask)
    tl.store(to_i16 + offs, a.to(tl.int16), mask=mask)
    tl.store(to_i32 + offs, a.to(tl.int32), mask=mask)
    tl.store(to_i64 + offs, a.to(tl.int64), mask=mask)
    tl.store(to_u8 + offs, a.to(tl.uint8), mask=mask)
    tl.store(to_u16 + offs, a.to(tl.uint16), mask=mask)
    tl.store(to_u32 + offs, a.to(tl.uint32), mask=mask)
    tl.store(to_u64 + offs, a.to(tl.uint64), mask=mask)
    tl.store(to_f16 + offs, a.to(tl.float16), mask=mask)
    tl.store(to_bf16 + offs, a.to(tl.bfloat16), mask=mask)
    tl.store(to_f32 + offs, a.to(tl.float32), mask=mask)
    tl.store(to_f64 + offs, a.to(tl.float64), mask=mask)


@triton.jit
def bits_kernel(x, out, back, n, T: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    bits = a.to(T, bitcast=True)
    tl.store(out + offs, bits, mask=mask)
    tl.store(back + offs, bits.to(a.dtype, bitcast=True), mask=mask)


@triton.jit
def magnitude_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    bits = tl.load(x + offs, mask=mask).to(tl.uint32, bitcast=True)
    cleared = tl.cast(bits & 0x7FFFFFFF, tl.float32, bitcast=True)
    tl.store(out + offs, cleared, mask=mask)


@triton.jit
def twice_kernel(x, out, n, VIA: tl.constexpr, T: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask).to(VIA).to(T), mask=mask)


@triton.jit
def chop_kernel(x, out, n, T: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    tl.store(out + offs, a.to(T, fp_downcast_rounding="rtz"), mask=mask)


@triton.jit
def pointee_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask).to(y.dtype.element_ty)
    b = tl.load(y + offs, mask=mask).to(a.dtype)
    tl.store(out + offs, (a + b).to(out.type.element_ty), mask=mask)


@triton.jit
def queries_kernel(x, out, BLOCK: tl.constexpr):
    a = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out + 0, a.dtype.is_floating())
    tl.store(out + 1, a.dtype.is_int())
    tl.store(out + 2, a.dtype.is_int_signed())
    tl.store(out + 3, a.dtype.primitive_bitwidth)
    tl.store(out + 4, a.shape[0])
    tl.store(out + 5, a.numel)
    tl.store(out + 6, a.dtype == tl.float32)
    tl.store(out + 7, x.dtype.element_ty == a.dtype)
    tl.store(out + 8, a[:, None].shape[1])
    tl.store(out + 9, len(a.shape))


@triton.jit
def scalar_kernel(out, i, f, b):
    tl.store(out + 0, f.to(tl.int32))
    tl.store(out + 1, i.to(tl.float32) / 2)
    tl.store(out + 2, i.to(tl.int8))
    tl.store(out + 3, b.to(tl.int32) + 1)
    tl.store(out + 4, tl.cast(f, tl.float16))
    tl.store(out + 5, i.to(tl.int64) * i)
    tl.store(out + 6, f.to(tl.int32, bitcast=True) == 0x40900000)
    tl.store(out + 7, tl.program_id(0).to(tl.float32))


@triton.jit
def other_kernel(x, out, n, other, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n, other=other))


@triton.jit
def other_block_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n, other=tl.load(y + offs)))


@triton.jit
def like_kernel(x, zero, five, typed, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    tl.store(zero + offs, tl.zeros_like(a))
    tl.store(five + offs, tl.full_like(a, 5))
    tl.store(typed + offs, tl.full(a.shape, 7, a.dtype) + tl.full((), 1, a.dtype))


@triton.jit
def half_kernel(x, y, chosen, scaled, ratio, power, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.load(y + offs, mask=mask, other=1)
    tl.static_assert(tl.where(mask, a, 0).dtype == a.dtype)
    tl.static_assert((a * 2.0).dtype == a.dtype)
    tl.static_assert((a / b).dtype == tl.float32)
    tl.static_assert(tl.exp(a).dtype == a.dtype)
    tl.store(chosen + offs, tl.where(offs < 40, a, 0), mask=mask)
    tl.store(scaled + offs, a * 2.0 + 0.5, mask=mask)
    tl.store(ratio + offs, a / b, mask=mask)
    tl.store(power + offs, (a - b) * (a + b), mask=mask)


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    for d in DTYPES:
        yield _to_all(d)
    for source, target in (("f32", "i32"), ("i32", "f32"), ("f32", "f16"), ("f16", "f32"),
                           ("f32", "bool"), ("bool", "f32"), ("f32", "bf16"), ("i64", "i32"),
                           ("f64", "f32"), ("u8", "i32"), ("i32", "i8")):  # fmt: skip
        yield _to(source, target)
    for source, target in (("f32", "bf16"), ("f64", "f16"), ("f32", "f16")):
        yield _to(source, target, make=_ties, path="cast.round")
    yield from _bitcasts()
    yield from _eight_bits()
    yield from _types()
    yield from _implicit()


def _to(source, target, *, make=None, path="cast.to", kernel=to_kernel, note=""):
    if make is None:
        make = _truncated if is_float(source) and not is_float(target) else data
    return pointwise(
        path, kernel, lambda x, T: x, ins=(source,), out=target, n=90, block=64, make=make,
        axes=(f"{source}_{target}",), tolerance=EXACT, extra={"T": TYPES[target]},
        level="standard", note=note,
    )  # fmt: skip


def _to_all(d):
    """Integers wrap, floats truncate or round, anything but zero is true."""
    wide = not is_float(d) and d != "bool"

    def compute(x):
        found = []
        for target in DTYPES:
            if target == "bf16" and wide:
                found.append(rounded(x.astype(np.float32).astype(np.float64), target))
            else:
                found.append(rounded(x, target))
        return found

    return several(
        "cast.to_all", all_kernel, compute, ins=(d,), outs={f"to_{t}": t for t in DTYPES}, n=70,
        make=_truncated if is_float(d) else data,
    )  # fmt: skip


#: Types of one width.
BITS = (
    ("f32", "i32"), ("f32", "u32"), ("i32", "f32"), ("f16", "i16"), ("f16", "bf16"),
    ("bf16", "u16"), ("f64", "i64"), ("u64", "f64"), ("i8", "u8"), ("u32", "i32"), ("f8e5", "u8"),
    ("i8", "f8e4nv"),
)  # fmt: skip


def _bitcasts() -> Iterator[Case]:
    for a, b in BITS:

        def arguments(rng, a=a, b=b):
            unsigned = f"u{dtype(a).itemsize * 8}"
            raw = data(rng, 90, unsigned)
            return {
                "x": _numbers(raw, a, b), "out": sentinel(92, b), "back": sentinel(92, a), "n": 90,
                "T": TYPES[b], "BLOCK": 64,
            }  # fmt: skip

        def expected(given, a=a, b=b):
            given["out"][:90] = given["x"].view(dtype(b))
            given["back"][:90] = given["x"]
            return {"out": given["out"], "back": given["back"]}

        yield case(
            "cast.bits", (f"{a}_{b}",), bits_kernel, 2, arguments, expected, level="standard",
            note="the same bits",
        )  # fmt: skip
    yield pointwise(
        "cast.bits.magnitude", magnitude_kernel, np.abs, axes=("f32",), tolerance=EXACT,
        inputs=lambda rng: special("f32")[:1], level="standard",
    )  # fmt: skip


def _numbers(raw, a, b):
    """Bit patterns that are no NaN in either type: a NaN need not keep its payload."""
    x = raw.view(dtype(a))
    for name in (a, b):
        if is_float(name) or name in STORED:
            with np.errstate(all="ignore"):
                odd = ~np.isfinite(raw.view(dtype(name)).astype(np.float64))
            x = np.where(odd, np.array(0, raw.dtype).view(dtype(a)), x)
    return np.ascontiguousarray(x)


def _every(name):
    """All numbers of an 8-bit float, and infinities."""
    found = np.arange(256, dtype=np.uint8).view(dtype(name))
    return found[~np.isnan(found.astype(np.float32))]


def _near(name):
    """Numbers of f32 between those of an 8-bit float, halfway among them."""
    whole = np.unique(_every(name).astype(np.float32))
    whole = whole[np.isfinite(whole)].astype(np.float64)
    between = [whole[:-1] + (whole[1:] - whole[:-1]) * k for k in (0.5, 0.25, 0.75)]
    return np.concatenate([whole, *between]).astype(np.float32)


def _eight_bits() -> Iterator[Case]:
    for d in STORED:
        for target in ("f32", "f16", "bf16"):
            yield pointwise(
                "cast.float8.load", to_kernel, lambda x, T: x.astype(np.float64), ins=(d,),
                out=target, axes=(f"{d}_{target}",), inputs=lambda rng, d=d: [_every(d)],
                tolerance=EXACT, extra={"T": TYPES[target]}, level="extended",
            )  # fmt: skip
        yield pointwise(
            "cast.float8.store", to_kernel, lambda x, T, d=d: x.astype(dtype(d)), ins=("f32",),
            out=d, axes=(d,), inputs=lambda rng, d=d: [_near(d)], tolerance=EXACT,
            extra={"T": TYPES[d]}, level="extended", note="nearest, ties to even",
        )  # fmt: skip
        yield pointwise(
            "cast.float8.copy", cast_kernel, lambda x, T: x, ins=(d,), out=d, axes=(d,),
            inputs=lambda rng, d=d: [_every(d)], tolerance=EXACT, extra={"T": TYPES[d]},
            level="extended",
        )  # fmt: skip
        yield pointwise(
            "cast.float8.half", to_kernel, lambda x, T, d=d: x.astype(dtype(d)), ins=("f16",),
            out=d, axes=(d,),
            inputs=lambda rng, d=d: [_near(d).astype(np.float16)[:300]], tolerance=EXACT,
            extra={"T": TYPES[d]}, level="extended",
        )  # fmt: skip


def _types() -> Iterator[Case]:
    for source, via, target in (("f32", "i32", "f32"), ("f32", "f16", "f32"), ("i32", "i8", "i32"),
                                ("i32", "u8", "i32"), ("f32", "bf16", "f32"), ("i32", "bool", "f32"),
                                ("f64", "f32", "f64"), ("i64", "f32", "i64")):  # fmt: skip
        make = _truncated if is_float(source) and via[0] in "iub" and via != "bf16" else data
        if via == "f32" and target == "i64":
            make = small

        def compute(x, VIA, T, via=via, target=target):
            return rounded(rounded(x, via), target)

        yield pointwise(
            "cast.twice", twice_kernel, compute, ins=(source,), out=target, n=90, block=64,
            make=make, axes=(source, via, target), tolerance=EXACT, level="standard",
            extra={"VIA": TYPES[via], "T": TYPES[target]}, note="what is lost stays lost",
        )  # fmt: skip
    for source, target in (("f32", "f16"), ("f32", "bf16"), ("f64", "f32")):
        yield pointwise(
            "cast.toward_zero", chop_kernel, lambda x, T, t=target: _chopped(x, t), ins=(source,),
            out=target, n=90, block=64, make=_ties, axes=(f"{source}_{target}",), tolerance=EXACT,
            extra={"T": TYPES[target]}, level="extended",
        )  # fmt: skip
    for a, b, c in (("f32", "f16", "f32"), ("i32", "f32", "f16"), ("i8", "i64", "i16")):
        yield pointwise(
            "cast.pointee", pointee_kernel,
            lambda x, y, b=b: rounded(rounded(x, b) + rounded(y, b), b), ins=(a, b), out=c, n=90,
            block=64, make=small, axes=(f"{a}_{b}_{c}",), tolerance=EXACT, level="standard",
        )  # fmt: skip
    for d in ("f32", "f16", "bf16", "i32", "u8", "i64", "bool", "f64"):
        bits = 1 if d == "bool" else dtype(d).itemsize * 8
        signed = d in ("i32", "i64")
        found = [is_float(d), not is_float(d), signed, bits, 16, 16, d == "f32", 1, 1, 1]
        yield case(
            "cast.queries", (d,), queries_kernel, 1,
            lambda rng, d=d: {"x": small(rng, 16, d), "out": sentinel(10, "i32"), "BLOCK": 16},
            lambda _, f=found: {"out": np.array(f, np.int32)}, level="standard",
        )  # fmt: skip
    for i, f, b in ((300, 4.5, True), (-7, -2.75, False)):
        found = [
            int(f), i / 2, (i + 128) % 256 - 128, b + 1, f, i * i, f == 4.5, 0,
        ]  # fmt: skip
        yield case(
            "cast.scalar", (f"i={i}", f"f={f}"), scalar_kernel, 1,
            lambda rng, i=i, f=f, b=b: {"out": sentinel(8, "f32"), "i": i, "f": f, "b": b},
            lambda _, found=found: {"out": np.array(found, np.float32)}, level="standard",
            note="scalar arguments are typed values",
        )  # fmt: skip


def _chopped(x, name):
    """Rounded toward zero."""
    with np.errstate(all="ignore"):
        near = rounded(x, name)
        away = np.abs(near.astype(np.float64)) > np.abs(x)
        return np.where(away, np.nextafter(near, dtype(name).type(0)), near)


def _implicit() -> Iterator[Case]:
    for d, value in (("f32", 3), ("f16", 1.5), ("i32", -4), ("i8", 100), ("bool", True),
                     ("f64", 0.1), ("u8", 200), ("bf16", -2.0)):  # fmt: skip
        yield case(
            "cast.other", (d, f"other={value}"), other_kernel, 1,
            lambda rng, d=d, v=value: {
                "x": data(rng, 20, d), "out": sentinel(32, d), "n": 20, "other": v, "BLOCK": 32
            },
            lambda a, d=d: {
                "out": np.concatenate([
                    a["x"], np.full(12, np.float32(a["other"]) if is_float(d) else a["other"])
                ]).astype(dtype(d))
            },
            level="standard", note="the value of masked lanes takes the type of the memory",
        )  # fmt: skip
    for a, b in (("f32", "i32"), ("f16", "f32"), ("i32", "f32")):
        yield case(
            "cast.other.block", (f"{a}_{b}",), other_block_kernel, 1,
            lambda rng, a=a, b=b: {
                "x": small(rng, 20, a), "y": np.abs(small(rng, 32, b)), "out": sentinel(32, a),
                "n": 20, "BLOCK": 32,
            },
            lambda given, a=a: {"out": np.append(given["x"], given["y"][20:].astype(dtype(a)))},
            level="standard",
        )  # fmt: skip
    for d in ("f32", "i8", "bf16", "u64"):
        yield case(
            "cast.like", (d,), like_kernel, 1,
            lambda rng, d=d: {
                "x": small(rng, 16, d), "zero": sentinel(16, d), "five": sentinel(16, d),
                "typed": sentinel(16, d), "BLOCK": 16,
            },
            lambda _, d=d: {
                "zero": np.zeros(16, dtype(d)), "five": np.full(16, 5, dtype(d)),
                "typed": np.full(16, 8, dtype(d)),
            },
            level="standard",
        )  # fmt: skip
    for d in FLOATS[:2]:

        def halves(x, y, d=d):
            less, more = rounded(x - y, d), rounded(x + y, d)
            return [
                np.where(np.arange(len(x)) < 40, x, 0.0), rounded(x * 2, d).astype(np.float64) + 0.5,
                x / y, less.astype(np.float64) * more.astype(np.float64),
            ]  # fmt: skip

        yield several(
            "cast.half_stays_half", half_kernel, halves, ins=(d, d),
            outs={"chosen": d, "scaled": d, "ratio": "f32", "power": d}, tolerance=EXACT,
            make=lambda rng, n, d: (rng.integers(1, 40, n) * 2.0).astype(dtype(d)),
            note="literals are weak: only a quotient widens",
        )  # fmt: skip
