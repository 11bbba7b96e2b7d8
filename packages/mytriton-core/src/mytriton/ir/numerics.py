"""How values of each scalar type are held in NumPy, and conversion between them.

NumPy has no ``bfloat16``: such values are held as ``float32`` that are always representable in
``bfloat16`` (rounded after every operation), and as ``uint16`` bit patterns in memory.
"""

from __future__ import annotations

import math
import struct
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .types import BF16, F8E5, F16, F64, STORAGE_ONLY, ScalarType

Array = npt.NDArray[Any]

_HELD: dict[str, str] = {
    "bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8",
    "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
    "f16": "f2", "bf16": "f4", "f32": "f4", "f64": "f8", "f8e4nv": "f4", "f8e5": "f4",
}  # fmt: skip


@cache
def held_dtype(ty: ScalarType) -> np.dtype[Any]:
    """The NumPy dtype values of ``ty`` are computed in."""
    return np.dtype(_HELD[ty.name])


@cache
def storage_dtype(ty: ScalarType) -> np.dtype[Any]:
    """The NumPy dtype of one element in memory (bit patterns where NumPy lacks the type)."""
    if ty == BF16:
        return np.dtype("u2")
    return np.dtype("u1") if ty in STORAGE_ONLY else held_dtype(ty)


def _bf16_bits(values: Array) -> Array:
    """Round ``float32`` to nearest even ``bfloat16``; NaN stays NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    out: Array = np.where(np.isnan(values), quiet, rounded).astype(np.uint16)
    return out.reshape(np.shape(values))


def _bf16_values(bits: Array) -> Array:
    wide: Array = np.ascontiguousarray(bits).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32).reshape(np.shape(bits))


#: 8-bit floats: mantissa bits and exponent bias.
_F8 = {"f8e4nv": (3, 7), "f8e5": (2, 15)}


@cache
def _f8_values(ty: ScalarType) -> Array:
    """The value of every bit pattern. ``f8e4nv`` (E4M3FN) has no infinity and one NaN a sign;
    ``f8e5`` (E5M2) is IEEE-like."""
    mantissa, bias = _F8[ty.name]
    bits = np.arange(256)
    exponent = (bits & 0x7F) >> mantissa
    fraction = (bits & ((1 << mantissa) - 1)) / (1 << mantissa)
    normal = np.ldexp(1 + fraction, exponent - bias)
    values = np.where(exponent == 0, np.ldexp(fraction, 1 - bias), normal)
    if ty == F8E5:
        values[exponent == 31] = np.nan
        values[(bits & 0x7F) == 0x7C] = np.inf
    else:
        values[(bits & 0x7F) == 0x7F] = np.nan
    return np.where(bits & 0x80, -values, values).astype(np.float32)


def _f8_bits(values: Array, ty: ScalarType) -> Array:
    """Round to nearest even. Beyond the largest value ``f8e5`` gives infinity and ``f8e4nv`` (which
    has none) NaN."""
    wide = np.abs(np.asarray(values, np.float64))
    table = _f8_values(ty)[:128].astype(np.float64)
    finite = table[np.isfinite(table)]
    # One step past the largest value: what rounds there does not fit.
    grid = np.append(finite, 2 * finite[-1] - finite[-2])
    above = np.clip(np.searchsorted(grid, wide), 1, len(grid) - 1)
    low, high = grid[above - 1], grid[above]
    up = (wide - low > high - wide) | ((wide - low == high - wide) & (above % 2 == 0))
    code = np.where(up, above, above - 1)
    code = np.where(wide > grid[-1], len(finite), code)
    code = np.where(code >= len(finite), 0x7C if ty == F8E5 else 0x7F, code)
    code = np.where(np.isnan(wide), 0x7F, code)
    bits: Array = (code | np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)
    return bits


def decode(stored: Array, ty: ScalarType) -> Array:
    """Memory elements (``storage_dtype``) to values (``held_dtype``)."""
    if ty == BF16:
        return _bf16_values(stored)
    return _f8_values(ty)[stored] if ty in STORAGE_ONLY else stored


def encode(values: Array, ty: ScalarType) -> Array:
    """Values (``held_dtype``) to memory elements (``storage_dtype``)."""
    if ty == BF16:
        return _bf16_bits(values)
    return _f8_bits(values, ty) if ty in STORAGE_ONLY else values


def settle(values: Array, ty: ScalarType) -> Array:
    """Bring freshly computed values to ``ty``: the held dtype, rounded where it is wider."""
    held = held_dtype(ty)
    if values.dtype != held:
        values = values.astype(held)
    if ty == BF16:
        return _bf16_values(_bf16_bits(values))
    return _f8_values(ty)[_f8_bits(values, ty)] if ty in STORAGE_ONLY else values


def convert(values: Array, src: ScalarType, dst: ScalarType) -> Array:
    """Value conversion as a C cast: float to int truncates, int to int wraps, anything to bool
    is ``!= 0``. Out-of-range float to int is unspecified."""
    if src == dst:
        return values
    if dst.is_bool():
        truth: Array = values != 0
        return truth
    if dst in STORAGE_ONLY:  # from any width at once: through float32 it would be rounded twice
        return _f8_values(dst)[_f8_bits(values.astype(np.float64), dst)]
    if src == F64 and dst == BF16:
        # Through float32 the value would be rounded twice: round to odd first.
        return _bf16_values(_bf16_bits(_round_to_odd_f32(values)))
    return settle(values.astype(held_dtype(dst)), dst)


def _round_to_odd_f32(values: Array) -> Array:
    nearest = values.astype(np.float32)
    wide = nearest.astype(np.float64)
    toward_zero = np.where(
        np.abs(wide) > np.abs(values),
        np.nextafter(nearest, np.float32(0), dtype=np.float32),
        nearest,
    ).astype(np.float32)
    inexact = np.isfinite(values) & (toward_zero.astype(np.float64) != values)
    bits = np.ascontiguousarray(toward_zero).view(np.uint32) | inexact.astype(np.uint32)
    return np.where(np.isfinite(values), bits.view(np.float32), nearest).reshape(np.shape(values))


def round_constant(value: bool | int | float, ty: ScalarType) -> bool | int | float:
    """The Python value a literal has once it is a constant of type ``ty``."""
    if ty.is_bool():
        return bool(value)
    if ty.is_integer():
        low, high = ty.int_range()
        as_int = int(value) if not isinstance(value, float) or math.isfinite(value) else 0
        return (as_int - low) % (high - low + 1) + low
    number = float(value)
    if ty == F64 or not math.isfinite(number):
        return number
    if ty == BF16 or ty in STORAGE_ONLY:
        with np.errstate(all="ignore"):
            return float(convert(np.array([number]), F64, ty)[0])
    layout = "<e" if ty == F16 else "<f"
    try:
        return float(struct.unpack(layout, struct.pack(layout, number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def constant_bits(value: bool | int | float, ty: ScalarType) -> int:
    """Bit pattern of a constant: tells ``-0.0`` from ``0.0`` and one NaN from another."""
    if ty.is_floating():
        return int.from_bytes(struct.pack("<d", float(value)), "little")
    return int(value)


def format_constant(value: bool | int | float, ty: ScalarType) -> str:
    """Shortest text that reads back as the same constant of type ``ty``."""
    if ty.is_bool():
        return "true" if value else "false"
    if ty.is_integer():
        return str(int(value))
    number = float(value)
    if math.isnan(number):
        bits = constant_bits(number, ty)
        return "nan" if bits == constant_bits(math.nan, ty) else f"nan({bits:#x})"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    # bf16 is held as f32; its shortest f32 text reads back exactly.
    shown = number if ty == F64 else held_dtype(ty).type(number)
    text = repr(float(str(shown)))
    return text
