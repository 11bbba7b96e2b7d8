"""What the case modules share: data types, test data, and helpers that make cases.

Nothing here calls the compiler: expected values come from NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from typing import Any

import numpy as np
import numpy.typing as npt

from ..case import ARITHMETIC, EXACT, Arguments, Case, Tolerance

Array = npt.NDArray[Any]

INTS = ("i8", "i16", "i32", "i64")
UINTS = ("u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
#: Every type of which there are values (8-bit floats only exist in memory).
DTYPES = ("bool", *INTS, *UINTS, *FLOATS)
#: Types of memory only.
STORED = ("f8e4nv", "f8e5")
#: The types every backend must know.
CORE_DTYPES = ("f32", "i32")

_NAMES = {
    "bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2",
    "u32": "u4", "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8",
}  # fmt: skip
_FOREIGN = {"bf16": "bfloat16", "f8e4nv": "float8_e4m3fn", "f8e5": "float8_e5m2"}


@cache
def dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of an element type; ``bf16`` and 8-bit floats need ``ml_dtypes``."""
    if name in _FOREIGN:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _FOREIGN[name]))
        return found
    return np.dtype(_NAMES[name])


def is_float(name: str) -> bool:
    return name in FLOATS


# ---------------------------------------------------------------------------- test data


def sentinel(shape: int | tuple[int, ...], name: str) -> Array:
    """An output array before the launch: a pattern that no kernel computes by accident."""
    return np.full(shape, name == "bool" or 113, dtype(name))


def data(rng: np.random.Generator, shape: int | tuple[int, ...], name: str) -> Array:
    """Ordinary values: floats of both signs around 1, integers over the whole range."""
    if name == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if is_float(name):
        return (rng.standard_normal(shape) * 2).astype(dtype(name))
    info = np.iinfo(dtype(name))
    found: Array = rng.integers(info.min, info.max, shape, dtype=dtype(name), endpoint=True)
    flat = found.reshape(-1)
    flat[: min(3, flat.size)] = [info.max, info.min, 1][: min(3, flat.size)]
    return found


def positive(rng: np.random.Generator, shape: int | tuple[int, ...], name: str) -> Array:
    """Floats from 0.5 to 2, integers from 1 to 100: sums and products lose nothing to cancellation."""
    if is_float(name):
        return rng.uniform(0.5, 2.0, shape).astype(dtype(name))
    return rng.integers(1, 100, shape).astype(dtype(name))


def small(rng: np.random.Generator, shape: int | tuple[int, ...], name: str) -> Array:
    """Whole numbers of magnitude up to 60 (bool: both): every type holds them exactly."""
    low = -60 if is_float(name) or name in INTS else 0
    return rng.integers(low, 61, shape).astype(dtype(name))


def exact(x: Any) -> Array:
    """Floats as ``float64``; everything else as it is."""
    array: Array = np.asarray(x)
    return array if array.dtype.kind in "biu" else array.astype(np.float64)


def _round_bf16(x: Array) -> Array:
    # Nearest even on the grid of bf16, in one step: a cast through float32 would round twice.
    exponent = np.maximum(np.frexp(x)[1], -125)
    quantum = np.ldexp(1.0, exponent - 8)
    found = np.where(np.isfinite(x), np.rint(x / quantum) * quantum, x)
    return np.where(np.abs(found) >= 2.0**128, np.copysign(np.inf, found), found)


def rounded(x: Any, name: str) -> Array:
    """``x`` (exact or ``float64``) as an array of the element type, rounded once."""
    with np.errstate(all="ignore"):
        x = np.asarray(x)
        if name == "bf16" and x.dtype == np.float64:
            x = _round_bf16(x)
        found: Array = x.astype(dtype(name))
        return found


# ---------------------------------------------------------------------------- cases


def case(
    path: str,
    axes: Iterable[str],
    kernel: Any,
    grid: int | tuple[int, ...],
    arguments: Callable[[np.random.Generator], Arguments],
    expected: Callable[[Arguments], Mapping[str, Any]],
    **fields: Any,
) -> Case:
    """A case called ``path[axis,axis,...]``. NumPy's warnings stay inside of its functions."""
    joined = ",".join(axes)
    name = f"{path}[{joined}]" if joined else path
    size = grid if isinstance(grid, tuple) else (grid,)
    if fields.get("magnitude") is not None:
        fields["magnitude"] = _quiet(fields["magnitude"])
    return Case(name, kernel, _quiet(arguments), size, _quiet(expected), **fields)


def _quiet(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(function)
    def quiet(argument: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(argument)

    return quiet


def of_edition(edition: str) -> Callable[[Callable[[], Iterator[Case]]], Callable[[], list[Case]]]:
    """Decorates the ``cases`` of a module whose cases all entered in one edition."""

    def decorate(cases: Callable[[], Iterator[Case]]) -> Callable[[], list[Case]]:
        return lambda: [replace(case, edition=edition) for case in cases()]

    return decorate


def level_of(*dtypes: str) -> str:
    """``core`` when every backend must know the types, else ``standard``."""
    return "core" if set(dtypes) <= {"f32", "i32", "bool"} else "standard"


def pointwise(
    path: str,
    kernel: Any,
    compute: Callable[..., Any],
    *,
    ins: Sequence[str] = ("f32",),
    out: str = "",
    n: int = 300,
    block: int = 128,
    make: Callable[..., Array] = data,
    axes: Sequence[str] | None = None,
    tolerance: Tolerance | None = None,
    level: str = "",
    extra: Mapping[str, Any] | None = None,
    inputs: Callable[[np.random.Generator], Sequence[Array]] | None = None,
    note: str = "",
) -> Case:
    """``kernel(x[, y[, z]], out, n, BLOCK)`` stores ``compute(x, ...)`` for ``n`` elements.

    ``compute`` gets floats as ``float64`` and what ``extra`` (further scalar arguments) holds by
    keyword. ``inputs`` replaces data made by ``make``. The output is longer than ``n``: what lies
    beyond must not change.
    """
    out = out or ins[0]
    names = "xyzw"[: len(ins)]
    length = n if inputs is None else len(inputs(np.random.default_rng(0))[0])

    def arguments(rng: np.random.Generator) -> Arguments:
        arrays = [make(rng, n, d) for d in ins] if inputs is None else inputs(rng)
        given = dict(zip(names, arrays, strict=True))
        rest = {"out": sentinel(length + 5, out), "n": length, **(extra or {}), "BLOCK": block}
        return {**given, **rest}

    def expected(a: Arguments) -> Mapping[str, Any]:
        values = compute(*(exact(a[k]) for k in names), **(extra or {}))
        full = a["out"]
        full[:length] = rounded(np.broadcast_to(values, (length,)), out)
        return {"out": full}

    shape = [f"block={block}", f"n={length}"]
    floats = is_float(out) or any(map(is_float, ins))
    return case(
        path, [*ins[:1], *shape] if axes is None else axes, kernel, max(1, -(-length // block)),
        arguments, expected, level=level or level_of(*ins, out), note=note,
        tolerance=tolerance or (ARITHMETIC if floats else EXACT),
    )  # fmt: skip


def several(
    path: str,
    kernel: Any,
    compute: Callable[..., Sequence[Any]],
    *,
    ins: Sequence[str],
    outs: Mapping[str, str],
    n: int = 100,
    block: int = 64,
    make: Callable[..., Array] = data,
    axes: Sequence[str] | None = None,
    tolerance: Tolerance = EXACT,
    level: str = "standard",
    extra: Mapping[str, Any] | None = None,
    inputs: Callable[[np.random.Generator], Sequence[Array]] | None = None,
    note: str = "",
) -> Case:
    """``kernel(x[, y[, z]], <outs>, n, BLOCK)`` stores several results of the same ``n`` elements.

    ``compute(x, ...)`` gives them in the order of ``outs`` (name -> type); it gets floats as
    ``float64``. ``inputs`` replaces data made by ``make``; ``extra`` are further arguments.
    """
    names = "xyzw"[: len(ins)]
    length = n if inputs is None else len(inputs(np.random.default_rng(0))[0])

    def arguments(rng: np.random.Generator) -> Arguments:
        arrays = [make(rng, n, d) for d in ins] if inputs is None else inputs(rng)
        made = {name: sentinel(length + 3, d) for name, d in outs.items()}
        rest = {"n": length, **(extra or {}), "BLOCK": block}
        return {**dict(zip(names, arrays, strict=True)), **made, **rest}

    def expected(a: Arguments) -> Mapping[str, Any]:
        found = compute(*(exact(a[k]) for k in names))
        for (name, d), values in zip(outs.items(), found, strict=True):
            a[name][:length] = rounded(np.broadcast_to(values, (length,)), d)
        return {name: a[name] for name in outs}

    return case(
        path, ins[:1] if axes is None else axes, kernel, -(-length // block), arguments, expected,
        level=level, note=note, tolerance=tolerance,
    )  # fmt: skip
