"""How values of each scalar type are held, and converted.

``f16`` and ``bf16`` are held as ``f32`` that are representable in them (rounded after every
operation): instruction sets without arithmetic for them would convert around each operation
anyway, and LLVM would call library functions that are not there. ``bool`` is held as ``i1``.
In memory, ``bool`` is a byte and ``bf16`` its bit pattern. 8-bit floats (``floats8.py``) are held as
``f32``, too.
"""

from __future__ import annotations

import mytriton.plugin_api as mt

from . import floats8
from .builder import Builder, Val

_HELD = {"bool": "i1", "f16": "f32", "bf16": "f32", "f8e4nv": "f32", "f8e5": "f32"}
_MEMORY = {"bool": "i8", "bf16": "i16", "f8e4nv": "i8", "f8e5": "i8"}


def held(ty: mt.ScalarType) -> str:
    """The MLIR type values of ``ty`` are computed in."""
    return _HELD.get(ty.name) or (ty.name if ty.is_floating() else f"i{ty.bits}")


def in_memory(ty: mt.ScalarType) -> str:
    """The MLIR type of an element in memory."""
    return _MEMORY.get(ty.name) or (ty.name if ty.is_floating() else f"i{ty.bits}")


def bits_of(kind: str) -> int:
    """Bits of an MLIR scalar type."""
    return int(kind[1:]) if kind[1:].isdigit() else 64


def literal(b: Builder, value: object, ty: mt.ScalarType, width: int = 0) -> Val:
    """A constant of type ``ty`` as it is held."""
    if ty.is_integer():
        assert isinstance(value, (int, float))
        number, half = int(value), 1 << (ty.bits - 1)
        # MLIR integers have no sign; the printer wants the signed reading.
        return b.constant((number + half) % (2 * half) - half, held(ty), width)
    return b.constant(value, held(ty), width)


def decode(b: Builder, val: Val, ty: mt.ScalarType) -> Val:
    """Memory element to held value."""
    if ty.is_bool():
        return b.compare("arith.cmpi", "ne", val, b.constant(0, "i8", val.width))
    if ty.name == "f16":
        return b.cast("arith.extf", val, "f32")
    if ty.name == "bf16":
        wide = b.cast("arith.extui", val, "i32")
        shifted = b.binary("arith.shli", wide, b.constant(16, "i32", val.width))
        return b.cast("arith.bitcast", shifted, "f32")
    return floats8.decode(b, val, ty) if ty in mt.STORAGE_ONLY else val


def encode(b: Builder, val: Val, ty: mt.ScalarType) -> Val:
    """Held value to memory element."""
    if ty.is_bool():
        return b.cast("arith.extui", val, "i8")
    if ty.name == "f16":
        return b.cast("arith.truncf", val, "f16")
    if ty.name == "bf16":
        bits = b.cast("arith.bitcast", val, "i32")
        high = b.binary("arith.shrui", bits, b.constant(16, "i32", val.width))
        return b.cast("arith.trunci", high, "i16")
    return floats8.encode(b, val, ty) if ty in mt.STORAGE_ONLY else val


def bitcast(b: Builder, val: Val, src: mt.ScalarType, dst: mt.ScalarType) -> Val:
    """The bits of a held value read as another type of the same width."""
    if src.is_bool() or dst.is_bool():
        return val  # both are
    stored = b.cast("arith.bitcast", encode(b, val, src), in_memory(dst))
    return decode(b, stored, dst)


def settle(b: Builder, val: Val, ty: mt.ScalarType) -> Val:
    """Round an ``f32`` that was just computed to a smaller float; anything else is settled."""
    if ty.name == "f16":
        return b.cast("arith.extf", b.cast("arith.truncf", val, "f16"), "f32")
    if ty.name == "bf16":
        return _round_bf16(b, val)
    return floats8.round_to(b, val, ty) if ty in mt.STORAGE_ONLY else val


def _round_bf16(b: Builder, val: Val) -> Val:
    w = val.width
    bits = b.cast("arith.bitcast", val, "i32")
    odd = b.binary(
        "arith.andi",
        b.binary("arith.shrui", bits, b.constant(16, "i32", w)),
        b.constant(1, "i32", w),
    )
    nearest = b.binary(
        "arith.addi", bits, b.binary("arith.addi", odd, b.constant(0x7FFF, "i32", w))
    )
    quiet = b.binary("arith.ori", bits, b.constant(0x400000, "i32", w))
    chosen = b.select(b.compare("arith.cmpf", "uno", val, val), quiet, nearest)
    kept = b.binary("arith.andi", chosen, b.constant(-0x10000, "i32", w))
    return b.cast("arith.bitcast", kept, "f32")


def _round_to_odd(b: Builder, val: Val) -> Val:
    """``f64`` to ``f32`` so that rounding the result again rounds only once."""
    w = val.width
    near = b.cast("arith.truncf", val, "f32")
    back = b.cast("arith.extf", near, "f64")
    bits = b.cast("arith.bitcast", near, "i32")
    larger = b.compare("arith.cmpf", "ogt", b.unary("math.absf", back), b.unary("math.absf", val))
    toward_zero = b.select(larger, b.binary("arith.subi", bits, b.constant(1, "i32", w)), bits)
    exact = b.cast("arith.extf", b.cast("arith.bitcast", toward_zero, "f32"), "f64")
    # Ordered: neither NaN nor an exact value is made odd; infinity is exact.
    inexact = b.compare("arith.cmpf", "one", exact, val)
    odd = b.binary("arith.ori", toward_zero, b.constant(1, "i32", w))
    return b.cast("arith.bitcast", b.select(inexact, odd, toward_zero), "f32")


def convert(b: Builder, val: Val, src: mt.ScalarType, dst: mt.ScalarType) -> Val:
    """Value conversion as the language says: float to int truncates, int to int wraps, anything
    to bool is ``!= 0``."""
    if src == dst:
        return val
    if src.is_floating():
        return _from_float(b, val, src, dst)
    zero = b.constant(0, val.kind, val.width)
    if dst.is_bool():
        return b.compare("arith.cmpi", "ne", val, zero)
    if dst.is_floating():
        op = "arith.sitofp" if src.is_signed() else "arith.uitofp"
        if dst in mt.STORAGE_ONLY and src.bits >= 32:  # through f32 it would be rounded twice
            return settle(b, _round_to_odd(b, b.cast(op, val, "f64")), dst)
        return settle(b, b.cast(op, val, held(dst)), dst)
    return resize(b, val, held(dst), src.is_signed())


def resize(b: Builder, val: Val, kind: str, signed: bool) -> Val:
    """An integer in another width."""
    if bits_of(kind) < bits_of(val.kind):
        return b.cast("arith.trunci", val, kind)
    return b.cast("arith.extsi" if signed else "arith.extui", val, kind)


def _from_float(b: Builder, val: Val, src: mt.ScalarType, dst: mt.ScalarType) -> Val:
    if dst.is_bool():
        return b.compare("arith.cmpf", "une", val, b.constant(0.0, val.kind, val.width))
    if dst.is_integer():
        # Narrow integers by way of i32: what does not fit is unspecified, and vectors stay whole.
        op = "arith.fptosi" if dst.is_signed() else "arith.fptoui"
        if dst.bits < 32:
            return b.cast("arith.trunci", b.cast("arith.fptosi", val, "i32"), held(dst))
        return b.cast(op, val, held(dst))
    if held(dst) == val.kind:
        return settle(b, val, dst)
    if held(dst) == "f64":
        return b.cast("arith.extf", val, "f64")
    if dst.bits <= 16:
        return settle(b, _round_to_odd(b, val), dst)
    return b.cast("arith.truncf", val, "f32")
