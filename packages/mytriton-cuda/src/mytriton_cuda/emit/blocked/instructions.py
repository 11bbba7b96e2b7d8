"""Which matrix products tensor cores can do, and with which instruction."""

from __future__ import annotations

from dataclasses import dataclass

from mytriton.plugin_api import (
    BF16,
    F8E4NV,
    F8E5,
    F16,
    F32,
    I8,
    U8,
    SSAItem,
    operand_type,
    scalar_of,
    shape_of,
)


@dataclass(frozen=True)
class Instruction:
    """``mma.sync`` of 16 rows, 8 columns and ``depth`` products a sum."""

    #: The function of the prelude that issues it.
    name: str
    depth: int
    #: C++ type and bytes of an element in shared memory.
    kind: str
    size: int

    @property
    def packed(self) -> int:
        """Elements in one register."""
        return 4 // self.size


_HALF = Instruction("mma_f16", 16, "unsigned short", 2)
_BFLOAT = Instruction("mma_bf16", 16, "unsigned short", 2)
_SIGNED = Instruction("mma_s8", 32, "unsigned char", 1)
_UNSIGNED = Instruction("mma_u8", 32, "unsigned char", 1)
#: 8-bit floats are halves, too.
_BY_TYPE = {
    F16: _HALF, F8E4NV: _HALF, F8E5: _HALF, BF16: _BFLOAT, I8: _SIGNED, U8: _UNSIGNED,
}  # fmt: skip
_TF32 = Instruction("mma_tf32", 8, "unsigned int", 4)


def instruction(op: SSAItem) -> Instruction | None:
    """The instruction for a ``dot``; ``None`` where it is done by ordinary arithmetic: single
    precision, unless the user allows to round to ``tf32``, and tiles that are too small."""
    a, b = (operand_type(operand) for operand in op.inputs[:2])
    assert a is not None
    assert b is not None
    element = scalar_of(a)
    found = _BY_TYPE.get(element)
    if element == F32 and op.attrs.get("input_precision") == "tf32":
        found = _TF32
    (*_, rows, depth), columns = shape_of(a), shape_of(b)[-1]
    fits = found is not None and rows >= 16 and columns >= 8 and depth >= found.depth
    return found if fits else None
