"""How values are written in C.

Two forms occur: *stored*, as a value lies in memory and in blocks (``f16``, ``bf16``: bits), and
*working*, what C computes with (``f16``, ``bf16``: float). Pointers are integers (``uintptr_t``):
the wild address of a masked lane is just a number.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import mytriton.plugin_api as mt

STORED = {
    "bool": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "f64": "double",
}  # fmt: skip
HALVES = ("f16", "bf16")


def stored(ty: mt.Type, span: mt.Span | None = None) -> str:
    """The C type of one stored element. Raises ``UnsupportedFeature``."""
    element = mt.element_of(ty)
    if isinstance(element, mt.PointerType):
        return "uintptr_t"
    if element.name not in STORED:
        raise mt.UnsupportedFeature(f"dtype.{element}", "C has no such type", span)
    return STORED[element.name]


def working(ty: mt.ScalarType) -> str:
    """The C type that computes with ``ty``."""
    return "float" if ty.name in HALVES else stored(ty)


def decode(ty: mt.ScalarType, text: str) -> str:
    """Stored to working."""
    return f"value_{ty}({text})" if ty.name in HALVES else text


def encode(ty: mt.ScalarType, text: str) -> str:
    """Working to stored, rounding."""
    return f"bits_{ty}({text})" if ty.name in HALVES else text


def convert(src: mt.ScalarType, dst: mt.ScalarType, text: str) -> str:
    """Value conversion between working forms."""
    if src == dst:
        return text
    if dst.is_bool():
        return f"({text}) != 0"
    if dst.is_integer():
        return f"trunc_{dst}({text})" if src.is_floating() else f"as_{dst}(U({text}))"
    if dst.name in HALVES:
        narrow = f"odd_f32({text})" if src.name == "f64" else f"(float)({text})"
        return decode(dst, encode(dst, narrow))
    return f"({stored(dst)})({text})"


def literal(value: Any, ty: mt.ScalarType) -> str:
    """A constant in working form, to the last bit."""
    if ty.is_bool():
        return str(int(value))
    if ty.is_integer():
        if value == ty.int_range()[0] and ty.is_signed():
            return f"INT{ty.bits}_MIN"
        text = f"{stored(ty).upper()[:-2]}_C({value})"
    elif math.isnan(value):
        double = ty.name == "f64"
        bits = struct.pack(">d" if double else ">f", value).hex()
        return f"f64_bits(0x{bits}ULL)" if double else f"f32_bits(0x{bits}U)"
    elif math.isinf(value):
        text = "INFINITY" if value > 0 else "-INFINITY"
    else:
        exact = value.is_integer() and abs(value) < 2**24
        text = repr(value) if exact else re.sub(r"\.?0*p", "p", value.hex())
        text += "" if ty.name == "f64" else "f"
    return f"({text})" if text.startswith("-") else text


def passed(ty: mt.Type) -> str:
    """The C type a launch argument is passed as: floats of every width come as ``double``."""
    if mt.is_pointer(ty):
        return "void *"
    return "double" if mt.scalar_of(ty).is_floating() else stored(ty)


def received(ty: mt.Type, name: str) -> str:
    """A parameter in stored form."""
    if mt.is_pointer(ty):
        return f"(uintptr_t){name}"
    if not mt.scalar_of(ty).is_floating():
        return name
    return encode(mt.scalar_of(ty), convert(mt.ScalarType("f64"), mt.scalar_of(ty), name))
