"""Expression nodes and types under the names the articles use."""

from .ir.expr import (
    AddPtr,
    Arange,
    BinOp,
    Const,
    Empty,
    ExpandDims,
    ForRange,
    Full,
    Load,
    LoopCarry,
    LoopIndex,
    LoopResult,
    Max,
    Maximum,
    Min,
    Minimum,
    OpExpr,
    Param,
    ProgramId,
    Store,
    Sum,
    UnaryOp,
    Where,
    Zeros,
)
from .ir.types import BlockType, PointerType, ScalarType

__all__ = [
    "AddPtr", "Arange", "BinOp", "BlockType", "Const", "Empty", "ExpandDims", "ForRange", "Full",
    "Load", "LoopCarry", "LoopIndex", "LoopResult", "Max", "Maximum", "Min", "Minimum", "OpExpr",
    "Param", "PointerType", "ProgramId", "ScalarType", "Store", "Sum", "UnaryOp", "Where", "Zeros",
]  # fmt: skip
