"""Matrix product and transposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import rules
from ..numerics import convert, held_dtype
from ..registry import OpDef, register
from ..types import (
    F16,
    F32,
    F64,
    I32,
    STORAGE_ONLY,
    ScalarType,
    Type,
    element_of,
    scalar_of,
    shape_of,
    with_shape,
)

PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")


def dot_result(element: ScalarType, wanted: ScalarType | None = None) -> ScalarType:
    """The element type ``dot`` accumulates in for operands of ``element``; ``wanted`` may ask for
    ``f16`` where the operands are ``f16``. Raises ``OpRuleError`` where there is none."""
    if element.is_integer() and element.bits == 8:
        natural = I32
    elif element.is_floating():
        natural = F64 if element == F64 else F32
    else:
        raise rules.OpRuleError(
            f"dot takes floats and 8-bit integers, got {element}; convert with .to(...)"
        )
    if wanted is None or wanted == natural:
        return natural
    if wanted == F16 and (element == F16 or element in STORAGE_ONLY):
        return F16
    raise rules.OpRuleError(f"dot of {element} cannot give {wanted}; out_dtype must be {natural}")


def _operand_shapes(types: rules.Types) -> tuple[int, ...]:
    a, b = shape_of(types[0]), shape_of(types[1])  # type: ignore[arg-type]
    if len(a) != len(b) or len(a) not in (2, 3) or a[-1] != b[-2] or a[:-2] != b[:-2]:
        raise rules.OpRuleError(
            f"dot needs blocks of shapes (M, K) and (K, N), or (B, M, K) and (B, K, N), got {types[0]} "
            f"and {types[1]}"
        )
    for extent in (*a, *b):
        if not rules.is_power_of_two(extent):
            raise rules.OpRuleError(
                f"dot needs power-of-two extents, got {types[0]} and {types[1]}; pad and mask"
            )
    return (*a[:-1], b[-1])


def _out_dtype(attrs: rules.Attrs) -> ScalarType:
    dtype = attrs.get("out_dtype")
    if not isinstance(dtype, ScalarType):
        raise rules.OpRuleError(f"dot: out_dtype must be a scalar type, got {dtype!r}")
    return dtype


def _infer_dot(types: rules.Types, attrs: rules.Attrs) -> Type:
    x, y = rules.number(types[0], "dot"), rules.number(types[1], "dot")
    shape = _operand_shapes(types)
    if x != y and not (x in STORAGE_ONLY and y in STORAGE_ONLY):
        raise rules.OpRuleError(
            f"dot needs operands of one type, got {x} and {y}; convert one with .to(...)"
        )
    precision = attrs.get("input_precision")
    if precision is not None and precision not in PRECISIONS:
        raise rules.OpRuleError(
            f"dot: input_precision must be one of {', '.join(PRECISIONS)}, got {precision!r}"
        )
    result = with_shape(shape, dot_result(x, _out_dtype(attrs)))
    acc = types[2]
    if acc is not None and acc != result:
        raise rules.OpRuleError(
            f"dot: the accumulator is {acc} but the product is {result}; both need one type and shape"
        )
    return result


def _dot(ev: Any, a: Any, b: Any, acc: Any) -> Any:
    out = scalar_of(ev.result_type)
    wide = F32 if out == F16 else out
    x, y = (v.astype(held_dtype(wide)) for v in (a, b))
    product = np.matmul(x, y)
    if acc is not None:
        product = product + convert(acc, out, wide)
    return convert(product, wide, out)


def _infer_trans(types: rules.Types, attrs: rules.Attrs) -> Type:
    (ty,) = types
    shape = shape_of(ty) if ty is not None else ()
    order = attrs.get("order")
    if not shape or not isinstance(order, tuple) or sorted(order) != list(range(len(shape))):
        raise rules.OpRuleError(f"trans: the order must name each axis of {ty} once, got {order!r}")
    return with_shape(tuple(shape[k] for k in order), element_of(ty))  # type: ignore[arg-type]


def _trans(ev: Any, a: Any) -> Any:
    # Arrays lead with the program axis.
    return np.transpose(a, (0, *(k + 1 for k in ev.attrs["order"])))


dot = register(
    OpDef(
        "dot", ("a", "b", "acc?"), _infer_dot, _dot,
        "Matrix product of `(M, K)` and `(K, N)` blocks (or batches of them), plus `acc`. Floats "
        "accumulate in `f32` (`f64` for `f64`), 8-bit integers in `i32`. `input_precision` may allow a "
        "target to round `f32` operands (`tf32`); `ieee` forbids it.",
        attrs=("out_dtype", "input_precision?"), foldable=False,
    )
)  # fmt: skip
trans = register(
    OpDef(
        "trans", ("value",), _infer_trans, _trans,
        "Axes in another order: axis `k` of the result is axis `order[k]` of the operand.",
        attrs=("order",), foldable=False,
    )
)  # fmt: skip
