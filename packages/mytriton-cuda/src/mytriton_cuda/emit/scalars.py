"""Scalar types in C++: their names, literals, and conversions between them.

``float16`` and ``bfloat16`` are 16 bits in memory (``unsigned short``, so that no header is needed)
and ``float`` in registers: every value of such a type is a ``float`` that has been rounded to it.
The 8-bit floats are held in the same way (``unsigned char`` in memory).
"""

from __future__ import annotations

import math
import struct

from mytriton.plugin_api import (
    BF16,
    F8E4NV,
    F8E5,
    F16,
    F64,
    Constant,
    PointerType,
    ScalarType,
    Type,
    element_of,
)

from .prelude import Helpers

_NAMES = {
    "bool": "bool",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned int",
    "u64": "unsigned long long",
    "f16": "float",
    "bf16": "float",
    "f32": "float",
    "f64": "double",
    "f8e4nv": "float",
    "f8e5": "float",
}
_STORED = {
    "f16": "unsigned short",
    "bf16": "unsigned short",
    "f8e4nv": "unsigned char",
    "f8e5": "unsigned char",
}

#: Types whose values are rounded ``float``.
NARROW_FLOATS = frozenset({F16, BF16, F8E4NV, F8E5})


def value_type(ty: Type) -> str:
    """The C++ type of a variable that holds one element of ``ty``."""
    element = element_of(ty)
    if isinstance(element, PointerType):
        return stored_type(element.element) + "*"
    return _NAMES[element.name]


def stored_type(ty: ScalarType) -> str:
    """The C++ type of one element in memory."""
    return _STORED.get(ty.name) or _NAMES[ty.name]


def unsigned_of(ty: ScalarType) -> str:
    """The unsigned C++ type that arithmetic of an integer type wraps in."""
    return "unsigned long long" if ty.bits == 64 else "unsigned int"


def literal(constant: Constant) -> str:
    """A constant, exact to the last bit, as an expression of its own type."""
    ty, value = constant.ty, constant.value
    if ty.is_bool():
        return "true" if value else "false"
    if ty.is_floating():
        return _float_literal(float(value), ty)
    return _integer_literal(int(value), ty)


def _integer_literal(value: int, ty: ScalarType) -> str:
    suffix = {"u32": "u", "i64": "LL", "u64": "ULL"}.get(ty.name, "")
    if value == ty.int_range()[0] and ty.bits >= 32 and ty.is_signed():
        # -2147483648 is the negation of a literal that does not fit.
        return f"({value + 1}{suffix} - 1)"
    return f"{value}{suffix}"


def _float_literal(value: float, ty: ScalarType) -> str:
    double = ty == F64
    if not math.isfinite(value):
        if double:
            bits = struct.unpack("<Q", struct.pack("<d", value))[0]
            return f"__longlong_as_double({bits:#018x}ULL)"
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        return f"__uint_as_float({bits:#010x}u)"
    return repr(value) if double else f"{shortest_f32(value)}f"


def shortest_f32(value: float) -> str:
    """The shortest decimal that reads back as the same ``float32``."""
    import numpy as np

    return repr(float(str(np.float32(value))))


def convert(text: str, src: ScalarType, dst: ScalarType, helpers: Helpers) -> str:
    """``text``, an expression of type ``src``, as one of type ``dst`` (a conversion of values)."""
    if src == dst:
        return text
    if dst.is_bool():
        zero = "0.0" if src == F64 else "0.0f" if src.is_floating() else "0"
        return f"({text} != {zero})"
    if dst in NARROW_FLOATS:
        if src == F64:
            return helpers.call(f"round_double_to_{_word(dst)}", text)
        wide = text if src.is_floating() else f"(float){text}"
        return helpers.call(f"round_to_{_word(dst)}", wide)
    if _NAMES[src.name] == _NAMES[dst.name]:
        return text
    return f"({_NAMES[dst.name]}){text}"


def settle(text: str, computed: ScalarType, ty: ScalarType, helpers: Helpers) -> str:
    """A freshly computed ``text``, rounded where registers are wider than the type."""
    if ty in NARROW_FLOATS:
        return helpers.call(f"round_to_{_word(ty)}", text)
    return convert(text, computed, ty, helpers)


def from_memory(text: str, ty: ScalarType, helpers: Helpers) -> str:
    """The value of a memory element."""
    return helpers.call(f"{_word(ty)}_to_float", text) if ty in NARROW_FLOATS else text


def to_memory(text: str, ty: ScalarType, helpers: Helpers) -> str:
    """The memory element that holds a value."""
    return helpers.call(f"float_to_{_word(ty)}", text) if ty in NARROW_FLOATS else text


def _word(ty: ScalarType) -> str:
    return {"f16": "half", "bf16": "bfloat16"}.get(ty.name, ty.name)


def bits_of(text: str, ty: ScalarType, helpers: Helpers) -> str:
    """The bits of a value, as an integer expression of the same width."""
    if ty in NARROW_FLOATS:
        return to_memory(text, ty, helpers)
    if ty.is_floating():
        return f"__double_as_longlong({text})" if ty == F64 else f"__float_as_int({text})"
    return text


def from_bits(text: str, ty: ScalarType, helpers: Helpers) -> str:
    """The value that an integer expression of the same width is the bits of."""
    if ty in NARROW_FLOATS:
        return from_memory(f"({stored_type(ty)}){text}", ty, helpers)
    if ty.is_floating():
        return f"__longlong_as_double({text})" if ty == F64 else f"__int_as_float({text})"
    return f"({value_type(ty)}){text}"
