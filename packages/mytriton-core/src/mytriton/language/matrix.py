"""``tl.dot``."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir import expr
from ..ir.ops.matrix import PRECISIONS, dot_result
from ..ir.types import F16, F32, ScalarType, scalar_of
from .checks import static_bool, static_dtype, static_int
from .compile_time import unwrap
from .marks import builtin
from .symbolic import build, describe, tensor


@builtin
def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: ScalarType | None = None,
) -> tensor:
    """Matrix product of ``(M, K)`` and ``(K, N)`` blocks, or of ``(B, M, K)`` and ``(B, K, N)``, plus
    ``acc``; extents are powers of two.

    Both operands have one dtype: a float (``f8e4nv`` and ``f8e5`` may be mixed) or an 8-bit integer.
    Floats accumulate in ``f32`` (``f64`` for ``f64``), integers in ``i32``; ``out_dtype=tl.float16``
    asks for ``f16`` where the operands are ``f16`` or 8-bit floats. ``acc`` has the shape and dtype of
    the result. ``input_precision`` (``"tf32"``, ``"tf32x3"``, ``"bf16x3"``, ``"bf16x6"``, ``"ieee"``)
    or ``allow_tf32`` says how far a target may round ``f32`` operands; ``max_num_imprecise_acc`` is a
    hint. Raises for anything else, naming both types.
    """
    for value in (input, other):
        if not isinstance(value, tensor) or not value.shape:
            raise OpRuleError(f"dot needs blocks, got {describe(value)}")
    acc = unwrap(acc)
    if acc is not None and not isinstance(acc, tensor):
        raise OpRuleError(f"dot: the accumulator must be a block, got {describe(acc)}")
    if unwrap(max_num_imprecise_acc) is not None:
        static_int(max_num_imprecise_acc, "max_num_imprecise_acc of dot")
    wanted = None if unwrap(out_dtype) is None else static_dtype(out_dtype, "dot")
    attrs: list[tuple[str, Any]] = [("out_dtype", _out_dtype(input, acc, wanted))]
    if (precision := _precision(unwrap(input_precision), unwrap(allow_tf32))) is not None:
        attrs.append(("input_precision", precision))
    operands = (input.expr, other.expr, None if acc is None else acc.expr)
    return build(expr.OpExpr("dot", operands, tuple(attrs)))


def _out_dtype(input: tensor, acc: tensor | None, wanted: ScalarType | None) -> ScalarType:
    """``out_dtype`` only chooses where there is a choice; ``tl.float32``, Triton's default of old,
    stands for none."""
    element = scalar_of(input.type)
    narrow = element == F16 or element.is_fp8()
    if wanted is None and narrow and acc is not None and scalar_of(acc.type) == F16:
        wanted = F16
    return dot_result(element, None if wanted == F32 else wanted)


def _precision(input_precision: Any, allow_tf32: Any) -> str | None:
    if input_precision is None:
        if allow_tf32 is None:
            return None
        return "tf32" if static_bool(allow_tf32, "dot: allow_tf32") else "ieee"
    if allow_tf32 is not None:
        raise OpRuleError("dot takes input_precision or allow_tf32, not both")
    if not isinstance(input_precision, str) or input_precision.lower() not in PRECISIONS:
        raise OpRuleError(
            f"dot: input_precision must be one of {', '.join(PRECISIONS)}, got {input_precision!r}"
        )
    return input_precision.lower()
