"""How far an array is from the reference, in units in the last place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..case import Case

Array = npt.NDArray[Any]


@dataclass
class Difference:
    """Result of a comparison. ``message`` is empty when all is well."""

    message: str = ""
    max_ulp: float = 0.0
    max_abs: float = 0.0


#: Explicit mantissa bits, exponent of the smallest normal number, largest finite value.
FORMATS = {
    "float8_e4m3fn": (3, -6, 448.0),
    "float8_e5m2": (2, -14, 57344.0),
    "float16": (10, -14, 65504.0),
    "bfloat16": (7, -126, (2 - 2.0**-7) * 2.0**127),
    "float32": (23, -126, (2 - 2.0**-23) * 2.0**127),
    "float64": (52, -1022, float(np.finfo(np.float64).max)),
}


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype holds floats (``bfloat16`` has a kind of its own)."""
    return dtype.name in FORMATS


def unit(values: Array, dtype: np.dtype[Any]) -> Array:
    """One unit in the last place of ``dtype`` at each of ``values`` (``float64``)."""
    bits, smallest, top = FORMATS[dtype.name]
    size = np.minimum(np.abs(np.where(np.isnan(values), 0.0, values)), top)
    # frexp gives zero the exponent 0, as if it were 0.5.
    exponent = np.where(size == 0, smallest, np.maximum(np.frexp(size)[1] - 1, smallest))
    return np.asarray(np.ldexp(1.0, exponent - bits))


def compare(
    name: str,
    got: Array,
    expected: Any,
    oracle: Array | None = None,
    *,
    ulp: float = 0.0,
    slack: Any = 0.0,
) -> Difference:
    """Compare one array with what it must be.

    Floats may be ``ulp`` units of the last place of ``expected`` (rounded to their type) away, and
    ``slack`` on top of that. NaN must be NaN, infinities must agree. A zero must have the right
    sign when nothing is tolerated and ``expected`` and ``oracle`` agree on the sign.
    """
    want = np.broadcast_to(np.asarray(expected), got.shape)
    if got.size == 0:
        return Difference()
    if not is_float(got.dtype):
        return _exact(name, got, want)
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        value, target = got.astype(np.float64), rounded.astype(np.float64)
        same = (value == target) | (np.isnan(value) & np.isnan(target))
        error = np.where(same, 0.0, np.abs(value - target))
        error = np.where(np.isfinite(error), error, np.inf)
        one = unit(target, got.dtype)
        bad = error > ulp * one + slack
        units = error / one
    result = Difference("", _largest(units), _largest(error))
    if ulp == 0 and not np.any(slack):
        signs = np.signbit(value) != np.signbit(target)
        if oracle is not None:
            # The reference expression may be careless about the sign; the interpreter is not.
            signs &= np.signbit(target) == np.signbit(oracle.astype(np.float64))
        bad |= (value == 0) & same & signs
    if bad.any():
        allowed = f"{ulp:g} ulp" + (" and rounding of the sum" if np.any(slack) else "")
        result.message = _describe(name, got, rounded, bad, f"{allowed} allowed", units)
    return result


def _largest(values: Array) -> float:
    return float(np.max(values)) if values.size else 0.0


def _exact(name: str, got: Array, want: Array) -> Difference:
    # Expected integers come in any width that holds them.
    bad = got != want.astype(got.dtype) if want.dtype != got.dtype else got != want
    if not bad.any():
        return Difference()
    result = Difference(_describe(name, got, want, bad, "", None), float("inf"), 0.0)
    if got.dtype.kind in "iu":
        result.max_abs = _largest(np.abs(got.astype(np.float64) - want.astype(np.float64)))
    return result


def _describe(
    name: str, got: Array, want: Array, bad: Array, allowed: str, units: Array | None
) -> str:
    count = int(np.count_nonzero(bad))
    at = np.unravel_index(int(np.argmax(bad)), bad.shape)
    where = f"{name}[{', '.join(str(int(i)) for i in at)}]"
    text = f"{where} is {got[at]!s}, expected {want[at]!s}"
    if units is not None and np.isfinite(units[at]):
        text += f" ({units[at]:.3g} ulp, {allowed})"
    return text + (f"; {count} of {bad.size} elements differ" if count > 1 else "")


def slack_of(case: Case, magnitude: Any, dtype: np.dtype[Any]) -> Any:
    """What a sum of ``case.terms`` terms may lose beside the rounding of its result: 16-bit floats
    are summed in f32."""
    if case.tolerance.scale_by != "terms" or not is_float(dtype):
        return 0.0
    size = np.abs(np.asarray(magnitude).astype(np.float64))
    size = np.where(np.isfinite(size), size, 0.0)
    u = 2.0**-53 if dtype.itemsize == 8 else 2.0**-24
    return case.tolerance.ulp * max(1, case.terms) * u * size
