"""Conversion of values, bit for bit or by value, with either rounding."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir import expr
from ..ir.types import ScalarType, element_of, is_pointer, scalar_of
from .checks import static_dtype
from .symbolic import as_type, binary, build, operand, tensor


def convert(input: Any, dtype: Any, rounding: str | None, bits: bool) -> tensor:
    """What ``tl.cast`` does. Raises ``OpRuleError``."""
    value = input if isinstance(input, tensor) else tensor(operand(input))
    if is_pointer(value.type):
        if element_of(value.type) == dtype:
            return value
        raise OpRuleError(f"cast: casts of pointers are not supported yet, got {value.type}")
    wanted = static_dtype(dtype, "cast")
    element = scalar_of(value.type)
    if bits:
        return bitcast(value, wanted)
    if element == wanted:
        return value  # nothing is rounded, so either rounding may be asked for
    if rounding is not None and not _narrows(element, wanted):
        raise OpRuleError(
            f"cast: fp_downcast_rounding is only for a float that gets narrower, not {element} to "
            f"{wanted}"
        )
    if rounding == "rtz":
        return _toward_zero(value, wanted)
    return tensor(as_type(value, wanted))


def bitcast(input: tensor, dtype: ScalarType) -> tensor:
    """The same bits as another type of the same width."""
    if scalar_of(input.type) == dtype:
        return input
    return build(expr.OpExpr("bitcast", (input.expr,), (("dtype", dtype),)))


def _narrows(source: ScalarType, wanted: ScalarType) -> bool:
    return source.is_floating() and wanted.is_floating() and wanted.bits < source.bits


def _toward_zero(input: tensor, dtype: ScalarType) -> tensor:
    """Round to nearest, then step back where that went away from zero. The magnitudes of a float
    are in the order of its bits, so the step is minus one; past the largest value it lands there."""
    from .pointwise import abs, where

    element = scalar_of(input.type)
    bits = ScalarType(f"u{dtype.bits}")
    nearest = tensor(as_type(input, dtype))
    back = tensor(as_type(nearest, element))
    away = binary(">", abs(back), abs(input))
    # A format without infinities has NaN beyond its largest value.
    away = binary("|", away, binary("&", binary("!=", back, back), binary("==", input, input)))
    code = bitcast(nearest, bits)
    return bitcast(where(away, binary("-", code, 1), code), dtype)
