"""The table of lowerings: one function per operation.

A lowering returns the text of the operation that gives the result, which the kernel then names; or
the result itself: the name (``%...``) of a value that exists already, or a ``Pointer``. ``stem`` is
the name the result will have: names of values that are needed on the way begin with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mytriton.plugin_api import ScalarType, SSAOp, SSAOperand, operand_type, scalar_of

if TYPE_CHECKING:
    from mytriton.analysis.threads import Layout

    from .kernel import Kernel
    from .pointers import Pointer

    Lowering = Callable[[Kernel, SSAOp, Layout, str], "str | Pointer | None"]

LOWERINGS: dict[str, Lowering] = {}


def lowers(*names: str) -> Callable[[Lowering], Lowering]:
    """Enter a lowering into the table."""

    def enter(lowering: Lowering) -> Lowering:
        LOWERINGS.update(dict.fromkeys(names, lowering))
        return lowering

    return enter


def result_scalar(op: SSAOp) -> ScalarType:
    """The element type of the result."""
    return scalar_of(op.results[0].ty)


def scalar(operand: SSAOperand) -> ScalarType:
    """The element type of an operand."""
    return scalar_of(operand_type(operand))  # type: ignore[arg-type]
