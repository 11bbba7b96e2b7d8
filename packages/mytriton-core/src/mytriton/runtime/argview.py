"""``ArgView``: what the compiler and every backend know about one array argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..ir.types import PointerType, ScalarType


@dataclass(slots=True)
class ArgView:
    """An array seen as a base pointer. Owns nothing: ``owner`` keeps the memory alive."""

    #: Address of element ``[0, 0, ...]`` on its device.
    pointer: int
    dtype: ScalarType
    shape: tuple[int, ...]
    #: Strides in bytes, one per axis.
    strides: tuple[int, ...]
    #: Kind of device the memory is on: ``"cpu"``, ``"cuda"``, or whatever a plugin brings.
    device_kind: str = "cpu"
    device_id: int = 0
    readonly: bool = False
    #: The user's object (array, tensor).
    owner: Any = field(default=None, repr=False)

    @property
    def type(self) -> PointerType:
        return PointerType(self.dtype)

    @property
    def span(self) -> tuple[int, int]:
        """Addresses ``[low, high)`` of the bytes the view touches (empty when it has no elements)."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        low = high = self.pointer
        for extent, stride in zip(self.shape, self.strides):
            reach = (extent - 1) * stride
            low, high = (low + reach, high) if reach < 0 else (low, high + reach)
        return low, high + self.dtype.itemsize

    @property
    def element_range(self) -> tuple[int, int]:
        """Indices of the first and the last element the view touches, counted from ``pointer``."""
        low, high = self.span
        size = self.dtype.itemsize
        first = -((self.pointer - low) // size)
        return first, max(0, (high - self.pointer) // size - first) + first - 1

    @property
    def aligned(self) -> bool:
        """Whether the address is a multiple of the size of an element (also where there is none)."""
        return self.pointer % self.dtype.itemsize == 0 or 0 in self.shape

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps."""
        expected = self.dtype.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            if extent != 1 and stride != expected:
                return 0 in self.shape
            expected *= extent
        return True
