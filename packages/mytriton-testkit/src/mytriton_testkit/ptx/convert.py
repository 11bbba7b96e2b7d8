"""`cvt`: every pair of types, every rounding, saturation, and the packing forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import floats
from .errors import PtxUnsupported
from .reals import pack, unpack
from .syntax import Instruction
from .types import Array, Type

Function = Callable[..., Array]

TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}


def to_float64(a: Array) -> Array:
    """An integer or float as float64; 64-bit integers are rounded to odd."""
    if a.dtype.kind not in "iu" or a.dtype.itemsize < 8:
        return a.astype(np.float64)
    high = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32
    low = (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64)
    return floats.to_odd(*floats.two_sum(high, low))


def _integer_to_float(source: Type, target: Type, mode: str) -> Function:
    dtype = target.dtype
    if target.kind == "h":
        return lambda a: floats.bf16_bits(to_float64(a), mode)
    if mode == "rn" and target.name != "f16":
        return lambda a: a.astype(dtype)
    if target.name == "f64":

        def apply(a: Array) -> Array:
            high = (a >> a.dtype.type(32)).astype(np.float64) * 2.0**32
            total, error = floats.two_sum(high, (a & a.dtype.type(0xFFFFFFFF)).astype(np.float64))
            return floats._step(total, error, mode)

        return apply if source.bits == 64 else lambda a: a.astype(np.float64)

    return lambda a: floats.round_format(to_float64(a), target.name, mode).astype(dtype)


def _float_to_integer(target: Type, rounding: str) -> Function:
    low = -(1 << (target.bits - 1)) if target.kind == "s" else 0
    high = (1 << (target.bits - (1 if target.kind == "s" else 0))) - 1
    # high + 1 is a power of two, so it is a float even where high is none.
    above = float(high + 1)

    def apply(a: Array) -> Array:
        whole = TO_INTEGER[rounding](a.astype(np.float64))
        inside = (whole >= low) & (whole < above)
        safe = np.where(inside, whole, 0.0).astype(target.dtype)
        result = np.where(whole >= above, target.dtype.type(high), safe)
        return np.where(whole < low, target.dtype.type(low), result)

    return apply


def _integer_to_integer(source: Type, target: Type, saturate: bool) -> Function:
    if not saturate:
        return lambda a: a.astype(target.dtype)
    low = -(1 << (target.bits - 1)) if target.kind == "s" else 0
    high = (1 << (target.bits - (1 if target.kind == "s" else 0))) - 1
    smallest = 0 if source.kind == "u" else -(1 << (source.bits - 1))
    largest = (1 << (source.bits - (0 if source.kind == "u" else 1))) - 1
    bottom = source.dtype.type(max(low, smallest))
    top = source.dtype.type(min(high, largest))
    return lambda a: np.clip(a, bottom, top).astype(target.dtype)


def _float_to_float(source: Type, target: Type, ins: Instruction) -> Function:
    whole = ins.one_of(*TO_INTEGER)
    mode = ins.one_of("rna", "rn", "rz", "rm", "rp", default="rn")
    name = "tf32" if ins.has("tf32") else target.name

    def apply(a: Array) -> Array:
        values = unpack(a, "bf16") if source.kind == "h" else a
        if ins.has("ftz") and values.dtype == np.float32:
            values = floats.flush32(values)
        if whole:
            values = TO_INTEGER[whole](values)
        if ins.has("relu"):
            values = np.where(values < 0, values.dtype.type(0), values)
        if ins.has("sat"):
            values = floats.saturate(values)
        if name == "bf16":
            return floats.bf16_bits(values, mode)
        if name == "tf32":
            rounded = floats.round_format(values.astype(np.float64), name, mode)
            return np.asarray(rounded.astype(np.float32)).view(np.uint32)
        if mode == "rn" or target.bits >= source.bits:
            result = values.astype(target.dtype)
        else:
            exact = floats.round_format(values.astype(np.float64), name, mode)
            result = exact.astype(target.dtype)
        flush = ins.has("ftz") and result.dtype == np.float32
        return floats.flush32(result) if flush else result

    return apply


def build(ins: Instruction) -> Function:
    """The function of a `cvt` of one source."""
    target, source = ins.types[0], ins.types[-1]
    if len(ins.types) != 2:
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    if source.is_float and (target.is_float or target.name == "tf32"):
        return _float_to_float(source, target, ins)
    if source.is_float:
        inner = _float_to_integer(target, ins.one_of(*TO_INTEGER, default="rzi"))
        if source.kind == "h":
            return lambda a: inner(unpack(a, "bf16"))
        if ins.has("ftz"):
            return lambda a: inner(floats.flush32(a))
        return inner
    if target.is_float:
        mode = ins.one_of("rn", "rz", "rm", "rp", default="rn")
        plain = _integer_to_float(source, target, mode)
        return (lambda a: floats.saturate(plain(a))) if ins.has("sat") else plain
    return _integer_to_integer(source, target, ins.has("sat"))


def build_packed(ins: Instruction) -> Function:
    """cvt.f16x2.f32 and cvt.bf16x2.f32: two sources, the first to the upper half."""
    name = ins.types[0].name.removesuffix("x2")
    mode = ins.one_of("rn", "rz", default="rn")

    def half(a: Array) -> Array:
        values = np.where(a < 0, a.dtype.type(0), a) if ins.has("relu") else a
        if mode == "rn":
            return pack(values, name).astype(np.uint32)
        return pack(floats.round_format(values.astype(np.float64), name, mode), name).astype(
            np.uint32
        )

    return lambda upper, lower: (half(upper) << np.uint32(16)) | half(lower)
