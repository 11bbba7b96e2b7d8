"""``tl.math``: the mathematical functions of the language, those of ``tl.extra.libdevice`` included."""

from __future__ import annotations

from typing import Any

from . import intrinsics, libm, pointwise, standard
from .dtypes import PropagateNan
from .marks import builtin
from .pointwise import maximum, minimum

#: Where each group of names comes from.
_OWN = (
    "abs", "ceil", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2",
    "rint", "rsqrt", "sin", "sqrt", "sqrt_rn", "tanh", "trunc", "umulhi",
)  # fmt: skip
_LIBM = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cosh", "cospi",
    "erfc", "erfinv", "exp10", "expm1", "fdim", "finitef", "fmod", "hypot", "isinf", "isnan", "ldexp",
    "log10", "log1p", "normcdf", "pow", "rcbrt", "round", "signbit", "sinh", "sinpi", "tan",
)  # fmt: skip
_INTRINSICS = (
    "brev", "clz", "double2float_rz", "ffs", "llrint", "llround", "mul24", "mulhi", "popc", "rcp_rn",
    "rsqrt_rn", "saturatef", *intrinsics.CONVERSIONS,
)  # fmt: skip
#: Other names of the same functions: variants for one dtype, and fast ones, which are exact here.
_ALIASES = {
    "fabs": "abs", "nearbyint": "rint", "isfinited": "finitef", "scalbn": "ldexp",
    "fast_expf": "exp", "fast_exp10f": "exp10", "fast_logf": "log", "fast_log2f": "log2",
    "fast_log10f": "log10", "fast_sinf": "sin", "fast_cosf": "cos", "fast_tanf": "tan",
    "fast_powf": "pow", "fast_tanhf": "tanh", "fast_dividef": "fdiv", "fma_rn": "fma",
}  # fmt: skip
_ARITHMETIC = {"add_rn": "add", "sub_rn": "sub", "mul_rn": "mul"}


@builtin
def max(x: Any, y: Any) -> Any:
    """The larger of two numbers; the one that is no NaN."""
    return maximum(x, y, PropagateNan.NONE)


@builtin
def min(x: Any, y: Any) -> Any:
    """The smaller of two numbers; the one that is no NaN."""
    return minimum(x, y, PropagateNan.NONE)


fmax, fmin = max, min
sigmoid = standard.sigmoid

for _module, _names in ((pointwise, _OWN), (libm, _LIBM), (intrinsics, _INTRINSICS)):
    for _name in _names:
        globals()[_name] = getattr(_module, _name)
for _name, _same in _ALIASES.items():
    globals()[_name] = globals()[_same]
for _name, _same in _ARITHMETIC.items():
    globals()[_name] = getattr(pointwise, _same)

__all__ = sorted(
    {"fmax", "fmin", "max", "min", "sigmoid", *_OWN, *_LIBM, *_INTRINSICS, *_ALIASES, *_ARITHMETIC}
)


def __getattr__(name: str) -> Any:
    from .pending import missing

    raise AttributeError(missing("tl.math", name))
