"""Functions composed of others: what Triton's standard library defines in its own language."""

from __future__ import annotations

from builtins import max as max_
from typing import Any

from ..errors import OpRuleError
from ..ir.types import F32, scalar_of
from .checks import static_int
from .compile_time import unwrap
from .marks import builtin
from .pointwise import as_float, cdiv, exp, minimum
from .reductions import max, sum
from .shapes import full_like, zeros, zeros_like
from .symbolic import as_type, describe, operand, tensor

__all__ = ["cdiv", "full_like", "sigmoid", "softmax", "swizzle2d", "zeros", "zeros_like"]


@builtin
def sigmoid(x: Any) -> tensor:
    """``1 / (1 + exp(-x))`` of a float; 16-bit floats compute in ``f32`` and round back. Raises for
    integers."""
    value = tensor(operand(as_float(x)))
    element = scalar_of(value.type)
    wide = tensor(as_type(value, F32)) if element.is_floating() and element.bits < 32 else value
    result = 1.0 / (1.0 + exp(-wide))
    return tensor(as_type(result, element))


@builtin
def softmax(
    x: tensor, dim: int | None = None, keep_dims: Any = None, ieee_rounding: bool = False
) -> tensor:
    """``exp(x - max(x)) / sum(exp(x - max(x)))`` along the axis ``dim``.

    As in Triton ``dim`` is 0 when left out, not the last axis. The shape is that of ``x``, the dtype
    ``f32`` (``f64`` for ``f64``). ``keep_dims`` and ``ieee_rounding`` change nothing. Raises for
    scalars and integers.
    """
    if not isinstance(x, tensor) or not x.shape:
        raise OpRuleError(f"softmax needs a block, got {describe(x)}")
    axis = 0 if unwrap(dim) is None else static_int(dim, "dim of softmax")
    powers = exp(x - max(x, axis, keep_dims=True))
    return powers / sum(powers, axis, keep_dims=True)


@builtin
def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Any, Any]:
    """Row and column of program ``(i, j)`` of a ``size_i`` by ``size_j`` grid when programs walk it in
    bands of ``size_g`` rows, column by column within a band, instead of row by row.

    All arguments are integers; the result is a pair.
    """
    linear = i * size_j + j
    in_band = size_g * size_j
    first = linear // in_band * size_g
    rows = minimum(size_i - first, size_g)  # the last band may be lower
    linear = linear % in_band
    return first + linear % rows, linear // rows


@builtin
def _log2(i: int) -> int:
    """The whole part of the base-2 logarithm of a positive compile-time int; 0 for smaller ones."""
    return max_(0, static_int(i, "argument of _log2").bit_length() - 1)
