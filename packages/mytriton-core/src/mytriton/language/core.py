"""The functions a kernel calls (``tl.load``, ``tl.arange``, ...): thin wrappers that build nodes.

What an operation *means*, its type rule and its errors stand in its declaration in ``ir/ops``. This
module gathers the functions from the rooms they live in, and hangs on ``tl.tensor`` those that are
methods as well.
"""

from __future__ import annotations

from typing import Any

from . import dtypes, hints, matrix, memory, pointwise, reductions, shapes, standard
from .dtypes import PropagateNan, get_int_dtype
from .hints import (
    assume,
    debug_barrier,
    device_assert,
    device_print,
    max_constancy,
    max_contiguous,
    multiple_of,
    static_assert,
    static_print,
)
from .marks import builtin
from .matrix import dot
from .memory import load, store
from .pointwise import (
    abs,
    add,
    cast,
    cdiv,
    ceil,
    clamp,
    cos,
    div_rn,
    erf,
    exp,
    exp2,
    fdiv,
    floor,
    fma,
    log,
    log2,
    maximum,
    minimum,
    mul,
    num_programs,
    program_id,
    rsqrt,
    sin,
    sqrt,
    sqrt_rn,
    sub,
    to_tensor,
    umulhi,
    where,
)
from .ranges import static_range
from .reductions import argmax, argmin, max, min, sum, xor_sum
from .shapes import (
    arange,
    broadcast,
    broadcast_to,
    empty,
    expand_dims,
    full,
    full_like,
    permute,
    trans,
    zeros,
    zeros_like,
)
from .standard import sigmoid, softmax, swizzle2d
from .symbolic import as_type, binary, tensor

__all__ = [
    "PropagateNan", "abs", "add", "arange", "argmax", "argmin", "assume", "broadcast", "broadcast_to",
    "builtin", "cast", "cdiv", "ceil", "clamp", "cos", "debug_barrier", "device_assert",
    "device_print", "div_rn", "dot", "dtypes", "empty", "erf", "exp", "exp2", "expand_dims", "fdiv",
    "floor", "fma", "full", "full_like", "get_int_dtype", "hints", "load", "log", "log2", "matrix",
    "max", "max_constancy", "max_contiguous", "maximum", "memory", "min", "minimum", "mul",
    "multiple_of", "num_programs", "permute", "pointwise", "program_id", "reductions", "rsqrt",
    "shapes", "sigmoid", "sin", "softmax", "sqrt", "sqrt_rn", "standard", "static_assert",
    "static_print", "static_range", "store", "sub", "sum", "swizzle2d", "tensor", "to_tensor", "trans",
    "umulhi", "where", "xor_sum", "zeros", "zeros_like",
]  # fmt: skip


@builtin
def _to(self: tensor, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> tensor:
    """``tl.cast`` as a method."""
    return cast(self, dtype, fp_downcast_rounding, bitcast)


@builtin
def _reduce(self: tensor, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """``tl.reduce`` as a method."""
    from .combine import reduce

    return reduce(self, axis, combine_fn, keep_dims)


@builtin
def _logical_and(self: tensor, other: Any) -> tensor:
    """Whether both are not zero, element by element."""
    return _logical("&", self, other)


@builtin
def _logical_or(self: tensor, other: Any) -> tensor:
    """Whether either is not zero, element by element."""
    return _logical("|", self, other)


def _logical(symbol: str, x: Any, y: Any) -> tensor:
    from ..ir.types import BOOL

    return binary(symbol, *(tensor(as_type(v, BOOL)) for v in (x, y)))


#: Functions that are methods of ``tl.tensor`` too: ``x.sum(0)`` is ``tl.sum(x, 0)``.
METHODS = (
    abs, argmax, argmin, broadcast_to, cast, cdiv, ceil, cos, erf, exp, exp2, expand_dims, floor, log,
    log2, max, min, permute, rsqrt, sigmoid, sin, softmax, sqrt, sqrt_rn, store, sum, trans, xor_sum,
)  # fmt: skip

for _function in METHODS:
    setattr(tensor, _function.__name__, _function)
for _named in (_to, _reduce, _logical_and, _logical_or):
    setattr(tensor, _named.__name__[1:], _named)
