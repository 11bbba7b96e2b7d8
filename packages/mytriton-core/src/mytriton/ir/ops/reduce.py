"""Reductions of a block along an axis, or over all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import rules
from ..numerics import settle
from ..registry import OpDef, register
from ..types import I32, ScalarType, Type, scalar_of, shape_of, with_shape


def reduced_axes(shape: tuple[int, ...], attrs: rules.Attrs) -> tuple[int, ...]:
    """The axes a reduction consumes: ``axis``, or all when it is absent."""
    axis = attrs.get("axis")
    return tuple(range(len(shape))) if axis is None else (axis,)


def check_axis(name: str, ty: Type | None, attrs: rules.Attrs) -> tuple[int, ...]:
    """The shape of a block that can be reduced as ``attrs`` say. Raises ``OpRuleError``."""
    rules.number(ty, name)
    shape = shape_of(ty)  # type: ignore[arg-type]
    if not shape:
        raise rules.OpRuleError(f"{name} needs a block, got {ty}; a scalar has nothing to reduce")
    axis = attrs.get("axis")
    if axis is not None and (type(axis) is not int or not 0 <= axis < len(shape)):
        axes = ", ".join(map(str, range(len(shape))))
        raise rules.OpRuleError(
            f"{name}: axis {axis!r} is not an axis of {ty}; its axes are {axes}"
        )
    for k in reduced_axes(shape, attrs):
        if not rules.is_power_of_two(shape[k]):
            raise rules.OpRuleError(
                f"{name} needs a power-of-two extent, got {shape[k]} (axis {k} of {ty}); pad the block "
                "to one and mask what is beyond"
            )
    return shape


def _infer(
    name: str, gives: ScalarType | None = None, accept: str = "number"
) -> Callable[[rules.Types, rules.Attrs], Type]:
    def infer(types: rules.Types, attrs: rules.Attrs) -> Type:
        (ty,) = types
        shape = check_axis(name, ty, attrs)
        element = rules.number(ty, name)
        if accept == "bits" and element.is_floating():
            raise rules.OpRuleError(f"{name} needs integers or bools, got {ty}")
        axes = reduced_axes(shape, attrs)
        rest = tuple(d for k, d in enumerate(shape) if k not in axes)
        return with_shape(rest, gives or element)

    return infer


def _meaning(of_float: Any, of_int: Any) -> Callable[..., Any]:
    def meaning(ev: Any, a: Any) -> Any:
        ty = ev.types[0]
        # Arrays lead with the program axis.
        axes = tuple(k + 1 for k in reduced_axes(shape_of(ty), ev.attrs))
        if a.dtype.kind == "f":
            wide = a.astype(np.float32) if a.dtype == np.float16 else a
            return settle(of_float(wide, axes), scalar_of(ev.result_type))
        return settle(of_int(a, axes), scalar_of(ev.result_type))

    return meaning


def _sum(a: Any, axes: tuple[int, ...]) -> Any:
    if a.dtype == np.bool_:  # an i1 wraps: its sum is the parity
        return (
            np.logical_xor.reduce(a, axis=axes)
            if len(axes) == 1
            else _sum(a.astype(np.int32), axes) & 1
        )
    return np.add.reduce(a, axis=axes, dtype=a.dtype)


def _quiet(a: Any) -> Any:
    """NaNs as NumPy's own: ``fmax`` and ``fmin`` lose elements next to a signalling NaN."""
    return np.where(a != a, a.dtype.type(np.nan), a) if a.dtype.kind == "f" else a


def _positions(of_all: Any) -> Callable[..., Any]:
    """First position of the element that ``of_all`` (``fmax`` or ``fmin``, for integers ``maximum``
    or ``minimum``) finds; 0 where every element is NaN."""

    def meaning(ev: Any, a: Any) -> Any:
        shape = shape_of(ev.types[0])
        axis = ev.attrs.get("axis")
        rows = a.reshape(a.shape[0], -1) if axis is None else np.moveaxis(a, axis + 1, -1)
        best = of_all(_quiet(rows), axis=-1, keepdims=True)
        found = np.argmax(rows == best, axis=-1).astype(np.int32)
        return found.reshape(a.shape[0], *(d for k, d in enumerate(shape) if axis not in (None, k)))

    return meaning


def _xor(a: Any, axes: tuple[int, ...]) -> Any:
    return np.bitwise_xor.reduce(a, axis=axes)


def _define(
    name: str,
    meaning: Callable[..., Any],
    doc: str,
    gives: ScalarType | None = None,
    accept: str = "number",
) -> OpDef:
    return register(
        OpDef(
            name, ("value",), _infer(name, gives, accept), meaning, doc,
            attrs=("axis?",), feature=f"reduce.{name}", foldable=False,
            constants="peer" if gives else "result",
        )
    )  # fmt: skip


sum_ = _define(
    "sum", _meaning(_sum, _sum),
    "Sum. The extent must be a power of two. `tl.sum` converts integers below 32 bits to 32 bits first.",
)  # fmt: skip
max_ = _define(
    "max",
    _meaning(
        lambda a, axes: np.fmax.reduce(_quiet(a), axis=axes),
        lambda a, axes: np.maximum.reduce(a, axis=axes),
    ),
    "Largest element. NaN is ignored unless every element is NaN.",
)  # fmt: skip
min_ = _define(
    "min",
    _meaning(
        lambda a, axes: np.fmin.reduce(_quiet(a), axis=axes),
        lambda a, axes: np.minimum.reduce(a, axis=axes),
    ),
    "Smallest element. NaN is ignored unless every element is NaN.",
)  # fmt: skip
xor_sum = _define(
    "xor_sum", _meaning(_xor, _xor), "Exclusive or of all elements (integers and bools).",
    accept="bits",
)  # fmt: skip
argmax = _define(
    "argmax", _positions(np.fmax.reduce),
    "Position (`i32`) of the largest element, the first of equals; NaN is ignored, 0 when all are NaN. "
    "Without `axis`, the position in row-major order.", gives=I32,
)  # fmt: skip
argmin = _define(
    "argmin", _positions(np.fmin.reduce),
    "Position (`i32`) of the smallest element, the first of equals; NaN is ignored, 0 when all are NaN. "
    "Without `axis`, the position in row-major order.", gives=I32,
)  # fmt: skip
