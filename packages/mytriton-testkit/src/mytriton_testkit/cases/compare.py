"""How far a result is from what it must be, in units of what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..case import Arguments, Case
from ..suite.compare import FORMATS, is_float, unit

Array = npt.NDArray[Any]


def _as_int(array: Array) -> Array:
    """Integers and bools as exact Python integers where 64 bits might not hold a difference."""
    return array.astype(object) if array.dtype.itemsize == 8 else array.astype(np.int64)


@dataclass(frozen=True)
class Deviation:
    """The worst element of one output. ``ratio`` above 1 is a failure."""

    output: str
    ratio: float
    ulp: float
    index: tuple[int, ...] = ()
    got: Any = None
    wanted: Any = None

    def __str__(self) -> str:
        where = f"{self.output}[{', '.join(map(str, self.index))}]"
        return f"{where} is {self.got!r}, expected {self.wanted!r} ({self.ulp:.3g} ulp)"


def deviation(
    case: Case, output: str, got: Array, wanted: Array, magnitude: Array | None = None
) -> Deviation:
    """Compare one output with what it must be. ``got`` decides the dtype."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        return Deviation(output, np.inf, np.inf, (), got.shape, wanted.shape)
    if got.size == 0:
        return Deviation(output, 0.0, 0.0)
    if not is_float(got.dtype):
        distance = np.abs(_as_int(got) - _as_int(wanted)).astype(np.float64)
        ratio = np.where(distance > 0, np.inf, 0.0)
        return _worst(output, ratio, distance, got, wanted)
    one, two = got.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (one == two) | (np.isnan(one) & np.isnan(two))
        if case.tolerance.ulp == 0:
            same &= np.isnan(one) | (np.signbit(one) == np.signbit(two))
        off = np.where(same, 0.0, np.abs(one - two) / unit(two, got.dtype))
        # Unequal and not measurable: a NaN, an infinity, or a zero of the wrong sign.
        odd = np.isnan(off) | (off == 0) | (np.isfinite(one) != np.isfinite(two))
        off = np.where(same, 0.0, np.where(odd, np.inf, off))
        allowed = np.full(got.shape, case.tolerance.ulp)
        if case.tolerance.scale_by == "terms":
            size = np.abs(two) if magnitude is None else np.broadcast_to(magnitude, got.shape)
            half = np.ldexp(1.0, -FORMATS[got.dtype.name][0] - 1)
            allowed = 1.0 + allowed * case.terms * half * size / unit(two, got.dtype)
        ratio = np.where(off == 0, 0.0, off / np.where(allowed == 0, 1e-300, allowed))
    return _worst(output, ratio, off, got, wanted)


def _worst(output: str, ratio: Array, off: Array, got: Array, wanted: Array) -> Deviation:
    ratio = np.nan_to_num(ratio, nan=0.0, posinf=np.inf)
    at = tuple(int(k) for k in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
    return Deviation(output, float(ratio[at]), float(off[at]), at, got[at], wanted[at])


def magnitudes(case: Case, before: Arguments) -> Mapping[str, Any]:
    """What ``case.magnitude`` says (it may change the arguments it is given)."""
    return {} if case.magnitude is None else case.magnitude(before)


def worst(
    case: Case, got: Arguments, wanted: Mapping[str, Any], size: Mapping[str, Any]
) -> Deviation:
    """The worst deviation over all outputs of a case."""
    found = [
        deviation(case, name, got[name], np.asarray(value), size.get(name))
        for name, value in wanted.items()
    ]
    return max(found, key=lambda d: d.ratio)
