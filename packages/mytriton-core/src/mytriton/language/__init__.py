"""The kernel language: ``import mytriton.language as tl``.

Importing it loads dtypes and ``tl.constexpr`` only; the functions load when a kernel is traced.
"""

from __future__ import annotations

from builtins import tuple as tuple  # what ``isinstance(x, tl.tuple)`` asks for
from typing import TYPE_CHECKING, Any

from ..ir.types import BF16 as bfloat16
from ..ir.types import BOOL as int1
from ..ir.types import F8E4NV as float8e4nv
from ..ir.types import F8E5 as float8e5
from ..ir.types import F16 as float16
from ..ir.types import F32 as float32
from ..ir.types import F64 as float64
from ..ir.types import I8 as int8
from ..ir.types import I16 as int16
from ..ir.types import I32 as int32
from ..ir.types import I64 as int64
from ..ir.types import U8 as uint8
from ..ir.types import U16 as uint16
from ..ir.types import U32 as uint32
from ..ir.types import U64 as uint64
from ..ir.types import BlockType as block_type
from ..ir.types import PointerType as pointer_type
from ..ir.types import ScalarType as dtype
from .compile_time import constexpr, constexpr_function

if TYPE_CHECKING:
    from . import extra, math, standard
    from .combine import reduce
    from .core import (
        abs,
        add,
        arange,
        argmax,
        argmin,
        assume,
        broadcast,
        broadcast_to,
        cast,
        cdiv,
        ceil,
        clamp,
        cos,
        debug_barrier,
        device_assert,
        device_print,
        div_rn,
        dot,
        empty,
        erf,
        exp,
        exp2,
        expand_dims,
        fdiv,
        floor,
        fma,
        full,
        full_like,
        load,
        log,
        log2,
        max,
        max_constancy,
        max_contiguous,
        maximum,
        min,
        minimum,
        mul,
        multiple_of,
        num_programs,
        permute,
        program_id,
        rsqrt,
        sigmoid,
        sin,
        softmax,
        sqrt,
        sqrt_rn,
        static_assert,
        static_print,
        store,
        sub,
        sum,
        swizzle2d,
        to_tensor,
        trans,
        umulhi,
        where,
        xor_sum,
        zeros,
        zeros_like,
    )
    from .dtypes import (
        TRITON_MAX_TENSOR_NUMEL,
        PropagateNan,
        const,
        float8e4b8,
        float8e4b15,
        float8e5b16,
        get_int_dtype,
        void,
    )
    from .extra import target_info
    from .ranges import range, static_range
    from .symbolic import tensor

__all__ = [
    "PropagateNan", "TRITON_MAX_TENSOR_NUMEL", "abs", "add", "arange", "argmax", "argmin",
    "assume", "bfloat16", "block_type", "broadcast", "broadcast_to", "cast", "cdiv", "ceil",
    "clamp", "const", "constexpr", "constexpr_function", "cos", "debug_barrier",
    "device_assert", "device_print", "div_rn", "dot", "dtype", "empty", "erf", "exp", "exp2",
    "expand_dims", "extra", "fdiv", "float8e4b15", "float8e4b8", "float8e4nv", "float8e5",
    "float8e5b16", "float16", "float32", "float64", "floor", "fma", "full", "full_like",
    "get_int_dtype", "int1", "int8", "int16", "int32", "int64", "load", "log", "log2", "math",
    "max", "max_constancy", "max_contiguous", "maximum", "min", "minimum", "mul", "multiple_of",
    "num_programs", "permute", "pointer_type", "program_id", "range", "reduce", "rsqrt",
    "sigmoid", "sin", "softmax", "sqrt", "sqrt_rn", "standard", "static_assert", "static_print",
    "static_range", "store", "sub", "sum", "swizzle2d", "target_info", "tensor", "to_tensor",
    "trans", "tuple", "uint8", "uint16", "uint32", "uint64", "umulhi", "void", "where",
    "xor_sum", "zeros", "zeros_like",
]  # fmt: skip

#: Where names live that are neither loaded with this module nor in ``core``.
_HOMES = {
    **dict.fromkeys(
        ("PropagateNan", "TRITON_MAX_TENSOR_NUMEL", "const", "float8e4b15", "float8e4b8",
         "float8e5b16", "get_int_dtype", "void"),
        "dtypes",
    ),
    "range": "ranges", "static_range": "ranges", "reduce": "combine",
}  # fmt: skip
_MODULES = {"extra": ".extra", "math": ".math", "standard": ".standard",
    "target_info": ".extra.target_info",
}  # fmt: skip


if not TYPE_CHECKING:  # a checker knows all names, and shall tell what is misspelt

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(_MODULES[name], __name__)
        if name not in __all__:
            from .pending import missing

            raise AttributeError(missing("module 'mytriton.language'", name))
        value = getattr(import_module(f".{_HOMES.get(name, 'core')}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
