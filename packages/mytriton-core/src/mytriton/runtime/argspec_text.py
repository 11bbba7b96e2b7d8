"""Arguments written as text: ``f32[1000]``, ``*fp16``, ``f32[64,64]@cuda``, ``i64``, ``0.5``."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from ..errors import ArgumentError, ArgumentRangeError
from ..ir.types import BOOL, F32, I32, I64, SCALAR_NAMES, PointerType, ScalarType, Type
from ..plugins.types import ArgSpec

_ARRAY = re.compile(
    r"(?P<star>\*)?\s*(?P<name>[A-Za-z]\w*)\s*(?:\[(?P<shape>[\d\s,]*)\])?"
    r"\s*(?:@\s*(?P<kind>[a-z]\w*)(?::(?P<id>\d+))?)?\Z"
)
_POINTER = re.compile(r"(?:ptr|pointer)<(\w+)>(.*)\Z", re.S)


def _spellings() -> dict[str, ScalarType]:
    found = {"int1": BOOL, "i1": BOOL, "uint1": BOOL, "u1": BOOL}
    for name in SCALAR_NAMES:
        ty = ScalarType(name)
        found[name] = ty
        if ty.kind in ("int", "uint"):
            found[f"{ty.kind}{ty.bits}"] = ty
    for bits in (16, 32, 64):
        found[f"float{bits}"] = found[f"fp{bits}"] = ScalarType(f"f{bits}")
    found["bfloat16"] = ScalarType("bf16")
    for kind in ("e4nv", "e5"):
        found[f"float8{kind}"] = found[f"fp8{kind}"] = ScalarType(f"f8{kind}")
    return found


#: Every way to write a scalar type, Triton's included.
DTYPES: dict[str, ScalarType] = _spellings()


@dataclass(frozen=True)
class ArgText:
    """What a text describes. ``shape`` is ``None`` for scalars and for pointers without one;
    ``value`` is the number a scalar was written as."""

    type: Type
    shape: tuple[int, ...] | None = None
    device_kind: str = ""
    device_id: int = 0
    value: bool | int | float | None = None

    def spec(self, name: str) -> ArgSpec:
        """The same as an argument called ``name``."""
        return ArgSpec(name, self.type, self.device_kind, self.device_id)


def describe_text(text: str) -> ArgText:
    """Read a description.

    Raises ``ArgumentError`` for what is none, ``ArgumentRangeError`` for an integer beyond 64 bits.
    """
    text = text.strip()
    number = _number(text)
    if number is not None:
        return ArgText(_type_of(number), value=number)
    source = text
    if match := _POINTER.match(text):
        source = f"*{match[1]}{match[2]}"
    match = _ARRAY.match(source)
    if match is None:
        raise ArgumentError(f"{text!r} describes no argument; write {_HOW}")
    dtype = DTYPES.get(match["name"])
    if dtype is None:
        raise ArgumentError(f"{match['name']!r} in {text!r} is not a dtype{_near(match['name'])}")
    if match["star"] is None and match["shape"] is None:
        if match["kind"]:
            raise ArgumentError(f"{text!r} places a scalar on a device; write {dtype}[...]@...")
        return ArgText(dtype)
    shape = None
    if match["shape"] is not None:
        try:
            shape = tuple(int(n) for n in match["shape"].split(",") if n.strip())
        except ValueError:
            raise ArgumentError(f"{text!r} has no shape of integers; write {_HOW}") from None
    return ArgText(PointerType(dtype), shape, match["kind"] or "cpu", int(match["id"] or 0))


def parse_arg(text: str, name: str = "") -> ArgSpec:
    """The argument called ``name`` that ``text`` describes. Raises like ``describe_text``, naming
    the parameter."""
    try:
        return describe_text(text).spec(name)
    except ArgumentError as error:
        raise type(error)(f"argument {name!r}: {error}" if name else str(error)) from None


def parse_value(text: str) -> object:
    """A compile-time value: a Python literal, ``true`` and ``false``, or else the text itself."""
    number = _number(text)
    if number is not None:
        return number
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


_HOW = "an array as f32[1000] or f32[64,64]@cuda, a scalar as i32, 1000, 0.5 or true"


def _number(text: str) -> bool | int | float | None:
    word = text.strip().lower()
    if word in ("true", "false"):
        return word == "true"
    try:
        return int(word, 0)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return None


def _type_of(value: bool | int | float) -> ScalarType:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return F32
    for ty in (I32, I64):
        low, high = ty.int_range()
        if low <= value <= high:
            return ty
    raise ArgumentRangeError(f"the integer {value} does not fit in 64 bits")


def _near(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), DTYPES, n=1)
    return f"; closest: {close[0]}" if close else f"; known: {', '.join(SCALAR_NAMES)}"
