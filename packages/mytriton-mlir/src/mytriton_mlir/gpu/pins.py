"""Keeping conditional accesses where they are written.

MLIR merges blocks that hold the same operations and lead to one place: a store that some threads make
before a loop, and one at the end of its body. From then on the loop is entered from two sides, and
LLVM, to mend that, copies its head, barriers included: some threads wait at the original and some at
the copy. Blocks differ when their operations carry different attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: The attribute. It means nothing, and is gone in the image.
NAME = "mytriton.place"


def pin(ir: Any, operations: Sequence[Any]) -> None:
    """Tell conditional accesses apart, where there are barriers that could be copied."""
    if not any(operation.name == "gpu.barrier" for operation in operations):
        return
    number = ir.IntegerType.get_signless(64)
    for place, operation in enumerate(operations):
        if operation.name in ("memref.store", "memref.load") and operation.parent.name == "scf.if":
            operation.attributes[NAME] = ir.IntegerAttr.get(number, place)
