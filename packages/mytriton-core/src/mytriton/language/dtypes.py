"""Dtype names beside the types themselves, and small enumerations of the language."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from ..ir.types import BOOL, MAX_BLOCK_ELEMENTS, ScalarType

#: Elements a block may have.
TRITON_MAX_TENSOR_NUMEL = MAX_BLOCK_ELEMENTS


class const:
    """Annotation of a pointer parameter that is only read from; it changes nothing."""


class PropagateNan(enum.Enum):
    """What ``tl.maximum``, ``tl.minimum`` and ``tl.clamp`` make of NaN: ``NONE`` takes the operand
    that is a number, ``ALL`` gives NaN when either operand is NaN."""

    NONE = 0
    ALL = 0xFFFF


@dataclass(frozen=True)
class ForeignType:
    """A dtype of Triton's that no backend here has. Kernels may compare with it (no value ever is of
    it); making a value of it is an error."""

    name: str

    def __str__(self) -> str:
        return self.name

    def is_floating(self) -> bool:
        return True

    def is_fp8(self) -> bool:
        return True

    def is_int(self) -> bool:
        return False

    def is_ptr(self) -> bool:
        return False

    def is_block(self) -> bool:
        return False

    @property
    def primitive_bitwidth(self) -> int:
        return 8


float8e4b15 = ForeignType("float8e4b15")
float8e4b8 = ForeignType("float8e4b8")
float8e5b16 = ForeignType("float8e5b16")


@dataclass(frozen=True)
class VoidType:
    """The type of a function that returns nothing."""

    name: str = "void"

    def __str__(self) -> str:
        return self.name


void = VoidType()


def get_int_dtype(bitwidth: Any, signed: Any) -> ScalarType:
    """The integer type of a width: 1 (bool), 8, 16, 32 or 64. Raises ``ValueError`` for another."""
    width = int(bitwidth)
    if width == 1:
        return BOOL
    if width not in (8, 16, 32, 64):
        raise ValueError(f"no integer type has {width} bits; known: 1, 8, 16, 32, 64")
    return ScalarType(f"{'i' if signed else 'u'}{width}")


get_int_dtype.__mytriton_builtin__ = True  # type: ignore[attr-defined]
