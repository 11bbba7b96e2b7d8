"""The kernel language: ``import mytriton.language as tl``.

Importing it loads dtypes and ``tl.constexpr`` only; the functions load when a kernel is traced.
"""

from __future__ import annotations

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
from .compile_time import constexpr

if TYPE_CHECKING:
    from .combine import reduce
    from .core import (
        arange,
        empty,
        exp,
        full,
        load,
        max,
        maximum,
        min,
        minimum,
        program_id,
        store,
        sum,
        where,
        zeros,
    )
    from .ranges import range, static_range
    from .symbolic import tensor

__all__ = [
    "arange", "bfloat16", "block_type", "constexpr", "dtype", "empty", "exp", "float8e4nv",
    "float8e5", "float16", "float32", "float64", "full", "int1", "int8", "int16", "int32", "int64",
    "load", "max", "maximum", "min", "minimum", "pointer_type", "program_id", "range", "reduce",
    "static_range", "store",
    "sum", "tensor", "uint8", "uint16", "uint32", "uint64", "where", "zeros",
]  # fmt: skip


#: Functions that do not live in ``core``.
_ELSEWHERE = {"range": "ranges", "static_range": "ranges", "reduce": "combine"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mytriton.language' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_ELSEWHERE.get(name, 'core')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
