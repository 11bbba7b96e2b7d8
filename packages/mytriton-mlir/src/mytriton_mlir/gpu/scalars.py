"""Scalar types in MLIR: their names, literals, and conversions between them."""

from __future__ import annotations

import math
import struct

from mytriton.plugin_api import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    STORAGE_ONLY,
    Constant,
    ScalarType,
    encode,
    held_dtype,
    numerics,
    round_constant,
)

#: Floats that reductions accumulate, and functions compute, in ``f32``.
NARROW_FLOATS = frozenset({F16, BF16})


def value_type(ty: ScalarType) -> str:
    """The MLIR type of a value: integers have no sign there, and 8-bit floats are their bits."""
    if ty.is_floating() and ty not in STORAGE_ONLY:
        return ty.name
    return f"i{ty.bits}"


def memory_type(ty: ScalarType) -> str:
    """The MLIR type of an element in memory, where a bool fills a byte."""
    return "i8" if ty.is_bool() else value_type(ty)


def memref(ty: ScalarType) -> str:
    """The MLIR type of a pointer to ``ty``."""
    return f"memref<?x{memory_type(ty)}>"


# ------------------------------------------------------------------ literals


def literal(constant: Constant) -> str:
    """A constant as an attribute without its type, exact to the last bit."""
    ty, value = constant.ty, constant.value
    if ty.is_bool():
        return "true" if value else "false"
    if ty.is_integer():
        return str(_signed(int(value), ty))
    if ty in STORAGE_ONLY:
        return str(_signed(_bits(float(value), ty), I8))
    return _float_literal(float(value), ty)


def constant_name(constant: Constant) -> str:
    """What the value of a constant is called: ``c_i32_256``, ``c_f32_0_0``, ``c_i32_m1``."""
    ty, value = constant.ty, constant.value
    if ty.is_bool():
        return "true" if value else "false"
    if ty.is_integer():
        text = str(_signed(int(value), ty))
    else:
        number = float(value)
        text = repr(number)
        if math.isfinite(number) and ty != F64:
            text = repr(float(str(held_dtype(ty).type(number))))
    for sign, word in (("+", ""), ("-", "m"), (".", "_")):
        text = text.replace(sign, word)
    return f"c_{ty if ty in STORAGE_ONLY else value_type(ty)}_{text}"


def _signed(value: int, ty: ScalarType) -> int:
    """An integer as MLIR prints it: the bits, read as a signed number."""
    half = 1 << (ty.bits - 1)
    return (value + half) % (2 * half) - half


def _float_literal(value: float, ty: ScalarType) -> str:
    if math.isfinite(value):
        text = f"{value:.6e}"
        # MLIR reads a decimal as a double and rounds it to the type.
        again = round_constant(float(text), ty)
        if again == value and math.copysign(1, again) == math.copysign(1, value):
            return text
    return f"{_bits(value, ty):#0{2 + ty.bits // 4}X}".replace("0X", "0x")


def _bits(value: float, ty: ScalarType) -> int:
    if ty == F64:
        return int.from_bytes(struct.pack("<d", value), "little")
    import numpy as np

    with np.errstate(all="ignore"):
        stored = encode(np.asarray(value, held_dtype(ty)), ty)
    return int.from_bytes(stored.tobytes(), "little")


def converted_constant(constant: Constant, ty: ScalarType) -> Constant:
    """A constant in another type (any value, where the language leaves it open)."""
    import numpy as np

    value = constant.value
    if constant.ty.is_floating() and ty.is_integer():
        whole = int(value) if math.isfinite(value) else 0
        return Constant(whole, ty)
    with np.errstate(all="ignore"):
        held = np.asarray(value, held_dtype(constant.ty))
        return Constant(numerics.convert(held, constant.ty, ty).item(), ty)


# ------------------------------------------------------------------ conversions


def conversion(src: ScalarType, dst: ScalarType) -> list[tuple[str, ScalarType]]:
    """The operations that convert a value, in order, each with the type it gives.

    ``"!= 0"`` stands for the comparison with zero that makes a bool, ``"decode"`` and ``"encode"``
    for what 8-bit floats take, ``"to odd"`` for ``f64`` to ``f32`` rounded so that rounding once
    more is harmless.
    """
    if src == dst:
        return []
    if src in STORAGE_ONLY:
        return [("decode", F32), *conversion(F32, dst)]
    if dst in STORAGE_ONLY:
        return [*([("to odd", F32)] if src == F64 else conversion(src, F32)), ("encode", dst)]
    if dst.is_bool():
        return [("!= 0", BOOL)]
    if src.is_floating() and dst.is_floating():
        return _between_floats(src, dst)
    if src.is_floating():
        name = "arith.fptosi" if dst.is_signed() else "arith.fptoui"
        # What is out of range is unspecified: any value, but one value.
        return [*_widened(src), (name, dst), ("llvm.freeze", dst)]
    if dst.is_floating():
        name = "arith.sitofp" if src.is_signed() else "arith.uitofp"
        first = F32 if dst in NARROW_FLOATS else dst
        return [(name, first), *_between_floats(first, dst)]
    if src.bits == dst.bits:
        return []
    if src.bits > dst.bits:
        return [("arith.trunci", dst)]
    return [("arith.extsi" if src.is_signed() else "arith.extui", dst)]


def _widened(src: ScalarType) -> list[tuple[str, ScalarType]]:
    return [("arith.extf", F32)] if src in NARROW_FLOATS else []


def _between_floats(src: ScalarType, dst: ScalarType) -> list[tuple[str, ScalarType]]:
    if src == dst:
        return []
    if src.bits == dst.bits:
        return [("arith.extf", F32), ("arith.truncf", dst)]
    return [("arith.extf" if src.bits < dst.bits else "arith.truncf", dst)]


#: The type a reduction works in, in workgroup memory.
def scratch_type(ty: ScalarType) -> ScalarType:
    """Bools and 8-bit floats are bytes there, 16-bit floats ``f32``."""
    if ty.is_bool() or ty in STORAGE_ONLY:
        return I8
    return F32 if ty in NARROW_FLOATS else ty
