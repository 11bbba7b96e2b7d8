"""Typed SSA under the names the articles use."""

from .ir.printer import SSAPrinter, print_module
from .ir.values import Constant, Region, SSAForRange, SSAFunction, SSAOp, SSAValue, walk

__all__ = [
    "Constant", "Region", "SSAForRange", "SSAFunction", "SSAOp", "SSAPrinter", "SSAValue",
    "print_module", "walk",
]  # fmt: skip
