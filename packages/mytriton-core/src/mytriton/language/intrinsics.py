"""Bit tricks and conversions under the names Triton's ``libdevice`` has for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import OpRuleError
from ..ir.types import F32, F64, I32, I64, U32, U64, ScalarType, scalar_of
from .casts import bitcast, convert
from .libm import floats
from .marks import builtin
from .pointwise import ceil, clamp, floor, rint, rsqrt, trunc, umulhi, where
from .symbolic import as_type, common, operand, tensor


def integers(name: str, *values: Any) -> tuple[list[Any], ScalarType]:
    """Operands converted to the 32- or 64-bit integer type they meet in. Raises ``OpRuleError``."""
    nodes, element = common(*values)
    if not element.is_integer() or element.bits < 32:
        shown = " and ".join(str(node.type) for node in nodes)
        raise OpRuleError(f"{name} needs integers of 32 or 64 bits, got {shown}; use .to(tl.int32)")
    return [tensor(as_type(tensor(node), element)) for node in nodes], element


def _bits(name: str, x: Any) -> tuple[Any, int]:
    """The operand as an unsigned integer, and its width."""
    (value,), element = integers(name, x)
    return bitcast(value, ScalarType(f"u{element.bits}")), element.bits


def _repeat(byte: int, width: int) -> int:
    return int.from_bytes(bytes([byte]) * (width // 8), "little")


def _population(value: Any, width: int) -> tensor:
    pairs = value - ((value >> 1) & _repeat(0x55, width))
    fours = (pairs & _repeat(0x33, width)) + ((pairs >> 2) & _repeat(0x33, width))
    eights = (fours + (fours >> 4)) & _repeat(0x0F, width)
    return tensor(as_type((eights * _repeat(0x01, width)) >> (width - 8), I32))


@builtin
def popc(x: Any) -> tensor:
    """How many bits of a 32- or 64-bit integer are set (``i32``)."""
    return _population(*_bits("popc", x))


@builtin
def clz(x: Any) -> tensor:
    """How many leading bits of a 32- or 64-bit integer are zero (``i32``)."""
    value, width = _bits("clz", x)
    shift = 1
    while shift < width:
        value = value | (value >> shift)
        shift *= 2
    return width - _population(value, width)


@builtin
def ffs(x: Any) -> tensor:
    """Position of the lowest set bit of a 32- or 64-bit integer, counted from 1; 0 for zero
    (``i32``)."""
    value, width = _bits("ffs", x)
    return where(value == 0, 0, _population(value ^ (value - 1), width))


@builtin
def brev(x: Any) -> tensor:
    """The bits of a 32- or 64-bit integer in reverse order."""
    value, width = _bits("brev", x)
    for shift, byte in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        mask = _repeat(byte, width)
        value = ((value >> shift) & mask) | ((value & mask) << shift)
    shift = 8
    while shift < width:
        mask = sum(((1 << shift) - 1) << at for at in range(0, width, 2 * shift))
        value = ((value >> shift) & mask) | ((value & mask) << shift)
        shift *= 2
    return bitcast(value, integers("brev", x)[1])


@builtin
def mulhi(x: Any, y: Any) -> tensor:
    """The upper half of the product of two integers of 32 or 64 bits, taken as their type says."""
    (a, b), element = integers("mulhi", x, y)
    high: Any = umulhi(a, b)
    if element.is_signed():
        high = high - where(a < 0, b, 0) - where(b < 0, a, 0)
    return high  # type: ignore[no-any-return]


@builtin
def mul24(x: Any, y: Any) -> tensor:
    """The product of the low 24 bits of two 32-bit integers (signed ones keep their sign)."""
    (a, b), element = integers("mul24", x, y)
    if element.bits != 32:
        raise OpRuleError(f"mul24 needs 32-bit integers, got {element}")
    return ((a << 8) >> 8) * ((b << 8) >> 8)  # type: ignore[no-any-return]


@builtin
def saturatef(x: Any) -> tensor:
    """A float limited to the range from 0 to 1; NaN gives 0."""
    return clamp(floats("saturatef", x)[0][0], 0.0, 1.0)


@builtin
def rcp_rn(x: Any) -> tensor:
    """``1 / x`` of a float."""
    (value,), element = floats("rcp_rn", x)
    return tensor(as_type(1.0 / value, element))


@builtin
def rsqrt_rn(x: Any) -> tensor:
    """``1 / sqrt(x)`` of a float: what ``tl.rsqrt`` gives."""
    return rsqrt(x)


@builtin
def llrint(x: Any) -> tensor:
    """Nearest integer (``i64``) to a float, ties to even."""
    return convert(rint(x), I64, None, False)


@builtin
def llround(x: Any) -> tensor:
    """Nearest integer (``i64``) to a float, halves away from zero."""
    from .libm import round as nearest

    return convert(nearest(x), I64, None, False)


@builtin
def double2float_rz(x: Any) -> tensor:
    """A ``f64`` rounded toward zero to ``f32``."""
    return convert(x, F32, "rtz", False)


def _conversion(name: str, doc: str, function: Callable[[Any], tensor]) -> Any:
    def converted(x: Any) -> tensor:
        return function(x)

    converted.__name__ = converted.__qualname__ = name
    converted.__doc__ = doc
    return builtin(converted)


_FLOATS = {"float": F32, "double": F64}
_INTEGERS = {"int": I32, "uint": U32, "ll": I64, "ull": U64}
_ROUNDING = {"rn": rint, "rz": trunc, "rd": floor, "ru": ceil}
_WORDS = {"rn": "to nearest", "rz": "toward zero", "rd": "down", "ru": "up"}


def _rounded(rounded: Callable[[Any], tensor], wanted: ScalarType) -> Callable[[Any], tensor]:
    return lambda x: convert(rounded(x), wanted, None, False)


def _cast(wanted: ScalarType) -> Callable[[Any], tensor]:
    return lambda x: convert(x, wanted, None, False)


def _reading(source: ScalarType, target: ScalarType) -> Callable[[Any], tensor]:
    return lambda x: _reread(x, source, target)


def _table() -> dict[str, Any]:
    """``float2int_rn`` and its like."""
    found: dict[str, Any] = {}

    def add(name: str, doc: str, function: Callable[[Any], tensor]) -> None:
        found[name] = _conversion(name, doc, function)

    for source, ty in _FLOATS.items():
        for target, wanted in _INTEGERS.items():
            for mode, rounded in _ROUNDING.items():
                doc = f"A ``{ty}`` rounded {_WORDS[mode]} to ``{wanted}``."
                add(f"{source}2{target}_{mode}", doc, _rounded(rounded, wanted))
            add(f"{target}2{source}_rn", f"A ``{wanted}`` as the nearest ``{ty}``.", _cast(ty))
    add("double2float_rn", "A ``f64`` as the nearest ``f32``.", _cast(F32))
    kinds = {**_FLOATS, **_INTEGERS, "longlong": I64}
    for one, other in (("float", "int"), ("float", "uint"), ("double", "longlong")):
        for source, target in ((one, other), (other, one)):
            doc = f"The bits of a ``{kinds[source]}`` as a ``{kinds[target]}``."
            add(f"{source}_as_{target}", doc, _reading(kinds[source], kinds[target]))
    return found


def _reread(x: Any, source: ScalarType, target: ScalarType) -> tensor:
    value = tensor(operand(x))
    if scalar_of(value.type).bits != source.bits:
        raise OpRuleError(f"a {source} is needed here, got {value.type}")
    return bitcast(value, target)


CONVERSIONS = _table()
globals().update(CONVERSIONS)
