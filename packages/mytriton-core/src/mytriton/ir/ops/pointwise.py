"""Elementwise operations."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from .. import rules
from ..expr import BINARY_SYMBOLS
from ..numerics import convert
from ..registry import OpDef, register
from ..types import BOOL, ScalarType, Type, scalar_of, with_shape
from ..values import Constant, SSAOp, SSAOperand, operand_type


def _constant(op: SSAOp, operand: SSAOperand, value: float) -> bool:
    """Whether ``operand`` is a constant that is ``value`` (sign of zero included) once converted to
    the result's type: an ``i32`` 0 added to a float is ``0.0``, not ``-0.0``."""
    if operand.__class__ is not Constant or operand.value != value:
        return False
    signs = math.copysign(1, operand.value), math.copysign(1, value)
    return signs[0] == signs[1] or not _is_float(op)


def _all_ones(op: SSAOp, operand: SSAOperand) -> bool:
    """Whether ``operand`` is an integer constant with every bit of the result's type set."""
    if not isinstance(operand, Constant):
        return False
    mask = (1 << scalar_of(op.results[0].ty).bits) - 1
    return int(operand.value) & mask == mask


def _keeps(op: SSAOp, operand: SSAOperand) -> SSAOperand:
    """``operand`` when it can stand for the result as it is (same type and shape)."""
    (result,) = op.results
    return operand if operand_type(operand) == result.ty else None


def _is_float(op: SSAOp) -> bool:
    return scalar_of(op.results[0].ty).is_floating()


def _fold_add(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    if lhs.__class__ is not Constant and rhs.__class__ is not Constant:
        return None
    # x + 0.0 is not x for x = -0.0; x + -0.0 is.
    zero = -0.0 if _is_float(op) else 0
    if _constant(op, rhs, zero):
        return _keeps(op, lhs)
    return _keeps(op, rhs) if _constant(op, lhs, zero) else None


def _fold_sub(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    return _keeps(op, lhs) if _constant(op, rhs, 0) else None


def _fold_mul(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    for operand, other in ((lhs, rhs), (rhs, lhs)):
        if _constant(op, operand, 1):
            return _keeps(op, other)
        if _constant(op, operand, 0) and not _is_float(op):
            return _keeps(op, operand)
    return None


def _fold_div(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    return _keeps(op, lhs) if _constant(op, rhs, 1) else None


def _fold_and(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    if lhs == rhs:
        return _keeps(op, lhs)
    for operand, other in ((lhs, rhs), (rhs, lhs)):
        if _constant(op, operand, 0):
            return _keeps(op, operand)
        if _all_ones(op, operand):
            return _keeps(op, other)
    return None


def _fold_extremum(op: SSAOp) -> SSAOperand:
    lhs, rhs = op.operands
    return _keeps(op, rhs) if lhs == rhs else None


def _fold_select(op: SSAOp) -> SSAOperand:
    condition, x, y = op.operands
    if isinstance(condition, Constant):
        return _keeps(op, x if condition.value else y)
    return _keeps(op, x) if x == y else None


def _fold_cast(op: SSAOp) -> SSAOperand:
    return _keeps(op, op.operands[0])


def _divide(ev: Any, a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        return np.divide(a, b)
    return c_divide(a, b)


def c_divide(a: Any, b: Any) -> Any:
    """Integer division that truncates toward zero; 0 where C leaves it undefined (division by
    zero, ``INT_MIN / -1``)."""
    bad = b == 0
    if a.dtype.kind == "i":
        bad = bad | ((b == -1) & (a == np.iinfo(a.dtype).min))
    safe = np.where(bad, np.ones_like(b), b)
    quotient = a // safe
    inexact = (quotient * safe != a) & ((a < 0) != (safe < 0))
    return np.where(bad, np.zeros_like(quotient), quotient + inexact.astype(quotient.dtype))


def _remainder(ev: Any, a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    if a.dtype == np.bool_:
        return np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_)
    bad = b == 0
    if a.dtype.kind == "i":
        bad = bad | (b == -1)  # INT_MIN % -1 may trap, and every other one is zero
    return np.where(bad, np.zeros_like(b), np.fmod(a, np.where(bad, np.ones_like(b), b)))


def _divisible(ev: Any, a: Any, b: Any) -> Any:
    """Where ``a / b`` is specified: floats everywhere, integers where C says so."""
    if a.dtype.kind != "i":
        return (b != 0) | (a.dtype.kind == "f")
    return (b != 0) & ~((b == -1) & (a == np.iinfo(a.dtype).min))


def _castable(ev: Any, a: Any) -> Any:
    """Where a cast is specified: a float must fit the integer type it truncates to."""
    dtype: ScalarType = ev.attrs["dtype"]
    if a.dtype.kind != "f" or not dtype.is_integer():
        return True
    low, high = dtype.int_range()
    whole = np.trunc(a.astype(np.float64))
    return (whole >= float(low)) & (whole < float(high + 1))


def _add(ev: Any, a: Any, b: Any) -> Any:
    return a ^ b if a.dtype == np.bool_ else a + b


def _sub(ev: Any, a: Any, b: Any) -> Any:
    return a ^ b if a.dtype == np.bool_ else a - b


def _maximum(ev: Any, a: Any, b: Any) -> Any:
    # The right operand wins ties (maximum(-0.0, 0.0) is 0.0) and a NaN on either side stays.
    return np.where((a > b) | (a != a), a, b)


def _minimum(ev: Any, a: Any, b: Any) -> Any:
    return np.where((a < b) | (a != a), a, b)


def _infer_select(types: rules.Types, attrs: rules.Attrs) -> Type:
    condition, x, y = types
    if condition is None or scalar_of(condition) != BOOL:
        raise rules.OpRuleError(f"select needs a bool condition, got {condition}")
    element = scalar_of(rules.arithmetic("select")((x, y), attrs))
    return with_shape(rules.shapes(condition, x, y), element)


def _compute_select(types: rules.Types, result: Type | None) -> tuple[ScalarType, ...]:
    """The condition in bool, the values in the element type of the result."""
    element = scalar_of(result)  # type: ignore[arg-type]
    return BOOL, element, element


def _source_type(types: rules.Types, result: Type | None) -> ScalarType:
    """The element type of the operand."""
    return scalar_of(types[0])  # type: ignore[arg-type]


def _infer_cast(types: rules.Types, attrs: rules.Attrs) -> Type:
    (ty,) = types
    rules.number(ty, "cast")
    dtype: ScalarType = rules.static_dtype("cast", attrs)
    return with_shape(rules.shapes(ty), dtype)


add = register(
    OpDef(
        "add", ("lhs", "rhs"), rules.arithmetic("add"), _add,
        "Sum of two numbers. [Integers wrap](#integers); `bool + bool` stays `bool` (exclusive or).",
        elementwise=True, commutative=True, symbol="+", fold=_fold_add, exact=operator.add,
    )
)  # fmt: skip
sub = register(
    OpDef(
        "sub", ("lhs", "rhs"), rules.arithmetic("sub"), _sub,
        "Difference of two numbers. [Integers wrap](#integers).",
        elementwise=True, symbol="-", fold=_fold_sub, exact=operator.sub,
    )
)  # fmt: skip
mul = register(
    OpDef(
        "mul", ("lhs", "rhs"), rules.arithmetic("mul"), lambda ev, a, b: a * b,
        "Product of two numbers. [Integers wrap](#integers).",
        elementwise=True, commutative=True, symbol="*", fold=_fold_mul, exact=operator.mul,
    )
)  # fmt: skip
div = register(
    OpDef(
        "div", ("lhs", "rhs"), rules.arithmetic("div", division=True), _divide,
        "Quotient. Floats divide as IEEE 754 says (16-bit floats in `f32`); integers truncate toward "
        "zero as in C. An integer divided by zero, and `INT_MIN` by -1, give an unspecified value but "
        "never trap. The `/` operator on two integers converts both to `f32` first.",
        elementwise=True, symbol="/", fold=_fold_div, speculatable=False, defined=_divisible,
        hazard="division-by-zero",
    )
)  # fmt: skip
BINARY_SYMBOLS["//"] = "div"  # on integers only: the language sees to that
rem = register(
    OpDef(
        "rem", ("lhs", "rhs"), rules.arithmetic("rem", division=True), _remainder,
        "Remainder of a division that truncates toward zero, as in C: it takes the sign of `lhs`. "
        "16-bit floats compute in `f32`. An integer remainder by zero, and that of `INT_MIN` by -1, is "
        "unspecified but never traps.",
        elementwise=True, symbol="%", speculatable=False, defined=_divisible,
        hazard="division-by-zero",
    )
)  # fmt: skip
and_ = register(
    OpDef(
        "and", ("lhs", "rhs"), rules.bitwise("and"), lambda ev, a, b: a & b,
        "Bitwise and of integers, conjunction of bools.",
        elementwise=True, commutative=True, symbol="&", fold=_fold_and,
    )
)  # fmt: skip
neg = register(
    OpDef(
        "neg", ("operand",), rules.same("neg"), lambda ev, a: np.negative(a),
        "Negation. [Integers wrap](#integers) (`-INT_MIN` is `INT_MIN`).", elementwise=True, symbol="-",
        exact=operator.neg,
    )
)  # fmt: skip
exp = register(
    OpDef(
        "exp", ("operand",), rules.same("exp", "float"), lambda ev, a: np.exp(a),
        "Natural exponential. `f16` and `bf16` compute in `f32` and round back.",
        elementwise=True, compute=rules.at_least_f32,
    )
)  # fmt: skip
maximum = register(
    OpDef(
        "maximum", ("lhs", "rhs"), rules.arithmetic("maximum"), _maximum,
        "Elementwise maximum. NaN propagates; on a tie the right operand is the result.",
        elementwise=True, fold=_fold_extremum,
    )
)  # fmt: skip
minimum = register(
    OpDef(
        "minimum", ("lhs", "rhs"), rules.arithmetic("minimum"), _minimum,
        "Elementwise minimum. NaN propagates; on a tie the right operand is the result.",
        elementwise=True, fold=_fold_extremum,
    )
)  # fmt: skip
select = register(
    OpDef(
        "select", ("condition", "x", "y"), _infer_select, lambda ev, c, x, y: np.where(c, x, y),
        "`x` where the condition holds, else `y` (`tl.where`). Both are computed; only the chosen one "
        "reaches the result.",
        elementwise=True, compute=_compute_select, fold=_fold_select,
    )
)  # fmt: skip
cast = register(
    OpDef(
        "cast", ("operand",), _infer_cast, lambda ev, a: convert(a, ev.source, ev.attrs["dtype"]),
        "Value conversion: float to int truncates, int to int wraps, to bool is `!= 0`. A float that "
        "truncates to a number outside the integer type (a negative one to an unsigned type, too), or "
        "is NaN, gives an unspecified value. Integers reach `bf16` through `f32`.",
        attrs=("dtype",), elementwise=True, fold=_fold_cast, defined=_castable,
        compute=_source_type, constants="peer", hazard="cast-out-of-range",
    )
)  # fmt: skip
