"""Elementwise functions: mathematics, extrema, selection, conversion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import OpRuleError
from ..ir import expr
from ..ir.types import BOOL, ScalarType, is_pointer, scalar_of
from . import pointers
from .casts import convert
from .checks import choice, static_bool, static_int
from .compile_time import unwrap
from .dtypes import PropagateNan
from .marks import builtin, computes
from .symbolic import as_type, binary, build, common, describe, is_literal, operand, pair, tensor


def unary_function(name: str, doc: str) -> Callable[[Any], tensor]:
    """The function of one float that the operation ``name`` is."""

    def function(x: Any) -> tensor:
        return build(expr.UnaryOp(name, operand(as_float(x))))

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = doc
    return builtin(function)


def as_float(x: Any) -> Any:
    """An integer literal as the float it stands for; anything else as it is."""
    x = unwrap(x)
    return float(x) if isinstance(x, int) and not isinstance(x, bool) else x


_FLOATS = "Takes a float of any width (16-bit floats compute in ``f32`` and round back)"
_KEEPS = f"{_FLOATS}; shape and dtype are those of ``x``. Raises for integers: convert them first."

exp = unary_function("exp", f"Natural exponential. {_KEEPS}")
exp2 = unary_function("exp2", f"Base-2 exponential. {_KEEPS}")
log = unary_function("log", f"Natural logarithm: NaN below zero, ``-inf`` at zero. {_KEEPS}")
log2 = unary_function("log2", f"Base-2 logarithm: NaN below zero, ``-inf`` at zero. {_KEEPS}")
sqrt = unary_function("sqrt", f"Square root, correctly rounded; NaN below zero. {_KEEPS}")
rsqrt = unary_function("rsqrt", f"One over the square root. {_KEEPS}")
sin = unary_function("sin", f"Sine of an angle in radians. {_KEEPS}")
cos = unary_function("cos", f"Cosine of an angle in radians. {_KEEPS}")
tanh = unary_function("tanh", f"Hyperbolic tangent. {_KEEPS}")
erf = unary_function("erf", f"Error function. {_KEEPS}")
floor = unary_function("floor", f"Largest whole number not above ``x``. {_KEEPS}")
ceil = unary_function("ceil", f"Smallest whole number not below ``x``. {_KEEPS}")
trunc = unary_function("trunc", f"``x`` without its fraction. {_KEEPS}")
rint = unary_function("rint", f"Nearest whole number, ties to even. {_KEEPS}")


@builtin
def sqrt_rn(x: Any) -> tensor:
    """Square root rounded to nearest: what ``tl.sqrt`` gives as well."""
    return sqrt(x)


@builtin
def abs(x: Any) -> tensor:
    """Absolute value of a number of any dtype. Integers wrap (``abs(INT_MIN)`` is ``INT_MIN``);
    unsigned integers and bools are their own."""
    value = operand(x)
    if scalar_of(value.type).is_int_unsigned():
        return tensor(value)
    return build(expr.UnaryOp("abs", value))


@computes
def maximum(x: Any, y: Any, propagate_nan: PropagateNan = PropagateNan.ALL) -> tensor:
    """Elementwise maximum; the operands broadcast and promote.

    By default NaN propagates, and on a tie the right operand is the result;
    ``propagate_nan=tl.PropagateNan.NONE`` gives the operand that is no NaN.
    """
    return _extremum(expr.Maximum, x, y, propagate_nan, "maximum")


@computes
def minimum(x: Any, y: Any, propagate_nan: PropagateNan = PropagateNan.ALL) -> tensor:
    """Elementwise minimum; the operands broadcast and promote.

    By default NaN propagates, and on a tie the right operand is the result;
    ``propagate_nan=tl.PropagateNan.NONE`` gives the operand that is no NaN.
    """
    return _extremum(expr.Minimum, x, y, propagate_nan, "minimum")


def _extremum(node: Any, x: Any, y: Any, propagate_nan: Any, name: str) -> tensor:
    a, b = pair(x, y)
    result = build(node(a, b))
    if _propagates(propagate_nan, name) or not scalar_of(result.type).is_floating():
        return result
    element = scalar_of(result.type)
    lhs, rhs = (tensor(as_type(tensor(v), element)) for v in (a, b))
    return where(binary("!=", lhs, lhs), rhs, where(binary("!=", rhs, rhs), lhs, result))


def _propagates(value: Any, name: str) -> bool:
    value = unwrap(value)
    if not isinstance(value, PropagateNan):
        raise OpRuleError(
            f"{name}: propagate_nan must be tl.PropagateNan.ALL or NONE, got {describe(value)}"
        )
    return value is PropagateNan.ALL


@computes
def clamp(x: Any, min: Any, max: Any, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """``x`` limited to the range from ``min`` to ``max``; the three broadcast and promote.

    A NaN in ``x`` gives ``min``, or NaN with ``propagate_nan=tl.PropagateNan.ALL``. The result is
    unspecified where ``min > max``.
    """
    (value, low, high), _ = common(x, min, max)
    lifted = maximum(tensor(value), tensor(low), propagate_nan)
    return minimum(lifted, tensor(high), propagate_nan)


@computes
def where(condition: Any, x: Any, y: Any) -> tensor:
    """``x`` where ``condition`` holds, else ``y``. Both are computed.

    The condition is a bool or an integer (where not zero is true), literal, scalar or block; the three
    broadcast, and ``x`` and ``y`` promote as in arithmetic: a Python number takes the other's type.
    Pointers may be into different arrays where the condition is a scalar.
    """
    if any(isinstance(value, tensor) and is_pointer(value.type) for value in (x, y)):
        return pointers.where(condition, x, y)
    return build(expr.Where(as_type(condition, BOOL), *pair(x, y)))


@computes
def fma(x: Any, y: Any, z: Any) -> tensor:
    """``x * y + z`` on floats, rounded once where the target can; the three broadcast and promote.
    Raises for integers."""
    nodes, _ = common(x, y, z)
    return build(expr.OpExpr("fma", tuple(nodes)))


@computes
def umulhi(x: Any, y: Any) -> tensor:
    """The upper half of the product of two integers of 32 or 64 bits, taken as unsigned.
    Raises for floats and narrower integers."""
    return build(expr.OpExpr("umulhi", pair(x, y)))


@computes
def fdiv(x: Any, y: Any, ieee_rounding: bool = False, approx: bool = False) -> tensor:
    """``x / y`` on floats, correctly rounded whatever is asked for. Raises for two integers."""
    static_bool(ieee_rounding, "fdiv: ieee_rounding")
    static_bool(approx, "fdiv: approx")
    a, b = pair(x, y, division=True)
    if not (scalar_of(a.type).is_floating() or scalar_of(b.type).is_floating()):
        raise OpRuleError(f"fdiv needs floating-point operands, got {a.type} and {b.type}")
    return build(expr.BinOp("/", a, b))


@computes
def div_rn(x: Any, y: Any) -> tensor:
    """``x / y`` on floats, rounded to nearest. Raises for two integers."""
    return fdiv(x, y)


@computes
def add(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """``x + y``. ``sanitize_overflow`` says whether Triton's debug build may check for overflow; it
    changes no result."""
    return _arithmetic("+", x, y, sanitize_overflow)


@computes
def sub(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """``x - y``; ``sanitize_overflow`` as for ``tl.add``."""
    return _arithmetic("-", x, y, sanitize_overflow)


@computes
def mul(x: Any, y: Any, sanitize_overflow: bool = True) -> tensor:
    """``x * y``; ``sanitize_overflow`` as for ``tl.add``."""
    return _arithmetic("*", x, y, sanitize_overflow)


def _arithmetic(symbol: str, x: Any, y: Any, sanitize_overflow: Any) -> tensor:
    static_bool(sanitize_overflow, "sanitize_overflow")
    return binary(symbol, x, y)


@builtin
def cast(
    input: Any,
    dtype: ScalarType,
    fp_downcast_rounding: str | None = None,
    bitcast: bool = False,
) -> tensor:
    """``input`` converted to ``dtype``; also ``x.to(dtype)``.

    Floats are truncated to integers (unspecified where the type cannot hold the result), integers
    wrap, anything but zero is true. A narrower float is rounded to nearest, ties to even
    (``"rtne"``), or toward zero with ``fp_downcast_rounding="rtz"``. ``bitcast=True`` keeps the bits
    and needs types of one width.

    Raises for pointers, widths that differ in a bitcast, and a rounding mode where a float is not
    narrowed.
    """
    choice(fp_downcast_rounding, ("rtne", "rtz"), "cast", "fp_downcast_rounding")
    return convert(
        input, dtype, unwrap(fp_downcast_rounding), static_bool(bitcast, "cast: bitcast")
    )


@builtin
def to_tensor(x: Any) -> tensor:
    """A Python number as a runtime scalar of the type it has on its own (``i32`` or the smallest of
    ``u32``, ``i64``, ``u64`` that holds it, ``f32`` or ``f64``, ``bool``); a runtime value as it is."""
    return x if isinstance(x, tensor) else tensor(operand(x))


@builtin
def cdiv(x: Any, div: Any) -> Any:
    """``x / div`` rounded up, for integers that are not negative.

    A compile-time int when both are; else computed as ``(x + (div - 1)) // div`` on integers.
    Raises for floats.
    """
    x, div = unwrap(x), unwrap(div)
    if not isinstance(x, tensor) and not isinstance(div, tensor):
        if not (is_literal(x) and is_literal(div)):
            raise OpRuleError(f"cdiv takes integers, got {describe(x)} and {describe(div)}")
        return (x + (div - 1)) // div
    one_less = binary("-", div, 1) if isinstance(div, tensor) else div - 1
    return binary("//", binary("+", x, one_less), div)


@builtin
def program_id(axis: int) -> tensor:
    """Index (``i32``) of the running program along ``axis`` (0, 1 or 2) of the launch grid."""
    return build(expr.ProgramId(static_int(axis, "axis of program_id")))


@builtin
def num_programs(axis: int) -> tensor:
    """Extent (``i32``) of the launch grid along ``axis`` (0, 1 or 2); 1 for an axis it lacks."""
    number = static_int(axis, "axis of num_programs")
    return build(expr.OpExpr("num_programs", (), (("axis", number),)))
