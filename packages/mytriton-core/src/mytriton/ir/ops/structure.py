"""Program ids, block constructors, shape operations and structured control flow."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import rules
from ..numerics import held_dtype
from ..registry import OpDef, register
from ..types import I32, Type, element_of, shape_of, with_shape


def _axis(op: str, attrs: rules.Attrs, rank: int) -> int:
    axis = attrs.get("axis")
    if type(axis) is not int or not 0 <= axis < rank:
        raise rules.OpRuleError(f"{op}: the axis must be an int from 0 to {rank - 1}, got {axis!r}")
    return axis


def _infer_axis3(name: str) -> Any:
    def infer(types: rules.Types, attrs: rules.Attrs) -> Type:
        _axis(name, attrs, 3)
        return I32

    return infer


def _infer_broadcast(types: rules.Types, attrs: rules.Attrs) -> Type:
    (ty,) = types
    element = rules.number(ty, "broadcast")
    shape = rules.static_shape("broadcast", attrs)
    if rules.shapes(ty, with_shape(shape, element)) != shape:
        raise rules.OpRuleError(f"broadcast: {ty} does not broadcast to the shape {shape}")
    return with_shape(shape, element)


def _infer_arange(types: rules.Types, attrs: rules.Attrs) -> Type:
    start, end = attrs.get("start"), attrs.get("end")
    if type(start) is not int or type(end) is not int:
        raise rules.OpRuleError(
            f"arange: the bounds must be compile-time ints, got {start!r}, {end!r}"
        )
    if end <= start:
        raise rules.OpRuleError(
            f"arange: the end must be larger than the start, got {start}, {end}"
        )
    low, high = I32.int_range()
    if start < low or end > high:
        raise rules.OpRuleError(f"arange: the bounds must fit in i32, got {start}, {end}")
    return with_shape((end - start,), I32)


def _infer_expand_dims(types: rules.Types, attrs: rules.Attrs) -> Type:
    (ty,) = types
    if ty is None or not shape_of(ty):
        raise rules.OpRuleError(f"expand_dims needs a block, got {ty if ty else 'none'}")
    shape = shape_of(ty)
    axis = _axis("expand_dims", attrs, len(shape) + 1)
    return with_shape((*shape[:axis], 1, *shape[axis:]), element_of(ty))


def _infer_constructor(name: str) -> Any:
    def infer(types: rules.Types, attrs: rules.Attrs) -> Type:
        return with_shape(rules.static_shape(name, attrs), rules.static_dtype(name, attrs))

    return infer


def _infer_full(types: rules.Types, attrs: rules.Attrs) -> Type:
    (value,) = types
    if value is None or shape_of(value):
        raise rules.OpRuleError(
            f"full: the fill value must be a scalar, got {value if value else 'none'}"
        )
    rules.number(value, "full", "fill value")
    return _infer_constructor("full")(types, attrs)  # type: ignore[no-any-return]


def _infer_for(types: rules.Types, attrs: rules.Attrs) -> None:
    return None


def _block(ev: Any, fill: Any) -> Any:
    shape = shape_of(ev.result_type)
    return np.full((1, *shape), fill, held_dtype(ev.attrs["dtype"]))


program_id = register(
    OpDef(
        "program_id", (), _infer_axis3("program_id"), lambda ev: ev.program_id(ev.attrs["axis"]),
        "Index of the running program along an axis (0, 1 or 2) of the launch grid.",
        attrs=("axis",), foldable=False,
    )
)  # fmt: skip
num_programs = register(
    OpDef(
        "num_programs", (), _infer_axis3("num_programs"), lambda ev: ev.num_programs(ev.attrs["axis"]),
        "Extent of the launch grid along an axis (0, 1 or 2).", attrs=("axis",), foldable=False,
    )
)  # fmt: skip
broadcast = register(
    OpDef(
        "broadcast", ("value",), _infer_broadcast, lambda ev, a: a,
        "The operand repeated to a larger shape, as NumPy broadcasts.",
        attrs=("shape",), elementwise=True, foldable=False,
    )
)  # fmt: skip
arange = register(
    OpDef(
        "arange", (), _infer_arange,
        lambda ev: np.arange(ev.attrs["start"], ev.attrs["end"], dtype=np.int32)[None],
        "The `i32` values from `start` up to, not including, `end`.",
        attrs=("start", "end"), foldable=False,
    )
)  # fmt: skip
expand_dims = register(
    OpDef(
        "expand_dims", ("value",), _infer_expand_dims,
        # Arrays lead with the program axis.
        lambda ev, a: np.expand_dims(a, ev.attrs["axis"] + 1),
        "Insert an axis of extent 1: `x[:, None]` is axis 1, `x[None, :]` axis 0.",
        attrs=("axis",), foldable=False,
    )
)  # fmt: skip
zeros = register(
    OpDef(
        "zeros", (), _infer_constructor("zeros"), lambda ev: _block(ev, 0),
        "A block of zeros.", attrs=("shape", "dtype"), foldable=False,
    )
)  # fmt: skip
empty = register(
    OpDef(
        "empty", (), _infer_constructor("empty"), lambda ev: ev.undefined(),
        "A block whose contents are undefined until overwritten.",
        attrs=("shape", "dtype"), foldable=False,
    )
)  # fmt: skip
full = register(
    OpDef(
        "full", ("value",), _infer_full, lambda ev, value: ev.fill(value),
        "A block filled with one scalar, converted to `dtype`.",
        attrs=("shape", "dtype"), foldable=False,
    )
)  # fmt: skip
for_ = register(
    OpDef(
        "for", ("start", "stop", "step"), _infer_for, None,
        "Structured loop over `range(start, stop, step)` with a positive constant step. Loop-carried "
        "values enter as `iter_args`, leave an iteration by `yield` and the loop as its results.",
        feature="control.for", foldable=False, speculatable=False, regions=1, loop=True, constants="i32",
    )
)  # fmt: skip
