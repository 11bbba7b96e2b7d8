"""Literals of PTX: integers, hexadecimal floats, and the initial values of variables."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import NoReturn

from .syntax import Immediate
from .types import Type

INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9]\d*)U?$")
HEX_FLOAT = re.compile(r"([+-]?)0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))$")
DECIMAL = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?$")
PART = re.compile(r"(?:generic\s*\(\s*)?([\w$%.+-]+)\s*\)?(?:\s*\+\s*(\d+))?")


def _fail(message: str) -> NoReturn:
    raise ValueError(message)


def parse_immediate(text: str, fail: Callable[[str], NoReturn] = _fail) -> Immediate:
    if match := HEX_FLOAT.match(text):
        digits = match[2] or match[3]
        width = len(digits) * 4
        bits = int(digits, 16) ^ ((1 << (width - 1)) if match[1] == "-" else 0)
        return Immediate(bits, None, width)
    if match := INTEGER.match(text):
        digits = match[2]
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        value = int(digits, 8) if octal else int(digits, 0)
        return Immediate(-value if match[1] == "-" else value)
    if DECIMAL.match(text):
        return Immediate(None, float(text))
    fail(f"cannot read the number {text!r}")


def initial_values(text: str, type_: Type) -> tuple[bytes, list[tuple[int, int, str, int]]]:
    """Bytes of `{1, 2, {3}}`, and which of them are addresses: (offset, size, name, addend)."""
    values = bytearray()
    links: list[tuple[int, int, str, int]] = []
    for name, addend in PART.findall(text.replace("{", " ").replace("}", " ")):
        if name[0].isdigit() or name[0] in "+-.":
            values += encode(parse_immediate(name), type_)
        else:
            links.append((len(values), type_.size, name, int(addend or 0)))
            values += bytes(type_.size)
    return bytes(values), links


def encode(literal: Immediate, type_: Type) -> bytes:
    """The bytes of a literal as a value of a type."""
    return immediate_bits(literal, type_).to_bytes(type_.size, "little")


def immediate_bits(literal: Immediate, type_: Type) -> int:
    """The bit pattern of a literal where an operand of this type stands."""
    if literal.value is None and not (literal.width and type_.is_float):
        assert literal.bits is not None
        return literal.bits & ((1 << type_.bits) - 1)
    if literal.width:
        assert literal.bits is not None
        if literal.width == type_.bits:
            return literal.bits
        raw = literal.bits.to_bytes(literal.width // 8, "little")
        value: float = struct.unpack("<f" if literal.width == 32 else "<d", raw)[0]
    else:
        assert literal.value is not None
        value = literal.value
    if type_.kind != "f":
        return int(value) & ((1 << type_.bits) - 1)
    form = {16: "<e", 32: "<f", 64: "<d"}[type_.bits]
    return int.from_bytes(struct.pack(form, value), "little")
