"""Pointers: a memref and an index into it, never a value of MLIR of their own."""

from __future__ import annotations

from dataclasses import dataclass

from mytriton.plugin_api import ScalarType

from .scalars import memref


@dataclass(frozen=True)
class Pointer:
    """``base[index]``: names of values, ``index`` is ``""`` for the first element."""

    base: str
    element: ScalarType
    index: str = ""

    @property
    def type(self) -> str:
        """The type of ``base``."""
        return memref(self.element)
