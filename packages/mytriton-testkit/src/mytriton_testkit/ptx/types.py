"""PTX scalar types and the NumPy types that carry them.

Registers hold untyped bits (`bool` for predicates, else an unsigned integer of the register's
width); an instruction views them as its own type. `bf16` and the packed types have no NumPy type:
their arrays stay bits, and the arithmetic that wants them converts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = Any
"""A NumPy array whose element type is known when it runs only. (NumPy's own annotations give up on
arithmetic with such arrays and call its results Any.)"""
Selection = npt.NDArray[np.int64] | None
"""The lanes an instruction runs on: their sorted numbers, or None for every lane."""

UNSIGNED: dict[int, np.dtype[Any]] = {bits: np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)}
SIGNED: dict[int, np.dtype[Any]] = {bits: np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)}


@dataclass(frozen=True)
class Type:
    """A PTX type: its name, width, and kind.

    Kinds: `p` predicate, `b` bits, `u`, `s`, `f` (float with a NumPy type), `h` (bf16),
    `x` (two 16-bit floats in 32 bits), `y` (two 16-bit integers there).
    """

    name: str
    bits: int
    kind: str
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return max(1, self.bits // 8)

    @property
    def storage(self) -> np.dtype[Any]:
        """The type of a register of this width."""
        return self.dtype if self.kind == "p" else UNSIGNED[self.bits]

    @property
    def is_float(self) -> bool:
        return self.kind in "fhx"


def _table() -> dict[str, Type]:
    types = [Type("pred", 1, "p", np.dtype(bool))]
    for bits in (8, 16, 32, 64):
        types.append(Type(f"b{bits}", bits, "b", UNSIGNED[bits]))
        types.append(Type(f"u{bits}", bits, "u", UNSIGNED[bits]))
        types.append(Type(f"s{bits}", bits, "s", SIGNED[bits]))
    types.extend(Type(f"f{bits}", bits, "f", np.dtype(f"f{bits // 8}")) for bits in (16, 32, 64))
    types.append(Type("bf16", 16, "h", UNSIGNED[16]))
    types.append(Type("f16x2", 32, "x", UNSIGNED[32]))
    types.append(Type("bf16x2", 32, "x", UNSIGNED[32]))
    types.extend(Type(name, 32, "y", UNSIGNED[32]) for name in ("s16x2", "u16x2"))
    types.append(Type("tf32", 32, "b", UNSIGNED[32]))
    return {kind.name: kind for kind in types}


TYPES: dict[str, Type] = _table()


def bits_type(bits: int) -> Type:
    """The untyped type of a width."""
    return TYPES["pred"] if bits == 1 else TYPES[f"b{bits}"]
