"""Mathematical functions. 16-bit floats compute in ``f32`` and round back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import rules
from ..promote import promote
from ..registry import OpDef, register
from ..types import Type, with_shape

_erf = np.frompyfunc(math.erf, 1, 1)


def _float_function(name: str, meaning: Any, doc: str) -> OpDef:
    return register(
        OpDef(
            name, ("operand",), rules.same(name, "float"), lambda ev, a: meaning(a), doc,
            elementwise=True, compute=rules.at_least_f32,
        )
    )  # fmt: skip


def _erf_of(a: Any) -> Any:
    return np.asarray(_erf(a.astype(np.float64))).astype(a.dtype)


def _rsqrt(a: Any) -> Any:
    # In double for single precision: the reciprocal and the root must not round twice.
    wide = a.astype(np.float64)
    return (1.0 / np.sqrt(wide)).astype(a.dtype)


exp2 = _float_function("exp2", np.exp2, "Base-2 exponential.")
log = _float_function("log", np.log, "Natural logarithm; NaN below zero, `-inf` at zero.")
log2 = _float_function("log2", np.log2, "Base-2 logarithm; NaN below zero, `-inf` at zero.")
sqrt = _float_function("sqrt", np.sqrt, "Square root, correctly rounded; NaN below zero.")
rsqrt = _float_function("rsqrt", _rsqrt, "One over the square root.")
sin = _float_function("sin", np.sin, "Sine of an angle in radians.")
cos = _float_function("cos", np.cos, "Cosine of an angle in radians.")
tanh = _float_function("tanh", np.tanh, "Hyperbolic tangent.")
erf = _float_function("erf", _erf_of, "Error function.")
floor = _float_function("floor", np.floor, "Largest whole number not above the operand.")
ceil = _float_function("ceil", np.ceil, "Smallest whole number not below the operand.")
trunc = _float_function("trunc", np.trunc, "The operand without its fraction.")
rint = _float_function("rint", np.rint, "Nearest whole number, ties to even.")


def _abs(ev: Any, a: Any) -> Any:
    return np.abs(a)


def _fma_element(types: rules.Types) -> Any:
    elements = [rules.number(ty, "fma") for ty in types]
    for element, ty in zip(elements, types, strict=True):
        if not element.is_floating():
            raise rules.OpRuleError(f"fma needs floating-point operands, got {ty}")
    return promote(promote(elements[0], elements[1]), elements[2])


def _infer_fma(types: rules.Types, attrs: rules.Attrs) -> Type:
    return with_shape(rules.shapes(*types), _fma_element(types))


def _fma(ev: Any, x: Any, y: Any, z: Any) -> Any:
    if x.dtype.itemsize >= 8:
        return x * y + z
    wide = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
    return wide.astype(x.dtype)


abs_ = register(
    OpDef(
        "abs", ("operand",), rules.same("abs"), _abs,
        "Absolute value. [Integers wrap](#integers) (`abs(INT_MIN)` is `INT_MIN`).", elementwise=True,
    )
)  # fmt: skip
fma = register(
    OpDef(
        "fma", ("x", "y", "z"), _infer_fma, _fma,
        "`x * y + z` on floats, rounded once where the target can.",
        elementwise=True, compute=rules.at_least_f32,
    )
)  # fmt: skip
