"""Arrays a kernel is given: in memory of their own, with marks around them that must survive.

Bytes before and after each array hold a pattern whose values are large as any type, so that a load
out of bounds shows in the result, and are compared afterwards, so that a store does. A *fence* is
stronger: the array ends where readable memory ends (where the system can do that), and the process
dies of the first access past it.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
PAD = 4096
_PATTERN = bytes([0x7B] * 8 + [0xFB] * 8) * (PAD // 16)


@dataclass
class Guarded:
    """One piece of memory and the arrays in it."""

    buffer: Array
    size: int
    pad_after: int
    #: Arrays by argument name.
    views: dict[str, Array]

    @property
    def start(self) -> int:
        """Where in the buffer the arrays begin; at least ``PAD`` bytes of pattern come first."""
        return self.buffer.size - self.pad_after - self.size

    def damage(self) -> list[str]:
        """What was written outside the arrays."""
        start = self.start
        found = []
        names = ", ".join(self.views)
        head = self.buffer[start - PAD : start].tobytes()
        end = start + self.size
        tail = self.buffer[end : end + self.pad_after].tobytes()
        if head != _PATTERN:
            last = max(i for i in range(PAD) if head[i] != _PATTERN[i])
            found.append(f"stored out of bounds, {PAD - last} bytes before {names}")
        if tail != _PATTERN[: self.pad_after]:
            first = next(i for i in range(self.pad_after) if tail[i] != _PATTERN[i])
            found.append(f"stored out of bounds, {first} bytes after the end of {names}")
        return found


def guard(
    arguments: dict[str, Any], *, fence: bool = False
) -> tuple[dict[str, Any], list[Guarded]]:
    """The arguments with every array moved into guarded memory, shapes, strides and overlaps kept.

    The new arrays hold what the old ones did, gaps between strided elements included, and are
    aligned as they were, up to 16 bytes (to an element, under a fence).
    """
    spans = []
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            low, high = _span(value)
            spans.append((low, high, name, value))
    groups: list[list[tuple[int, int, str, Array]]] = []
    top = -1
    for span in sorted(spans, key=lambda s: (s[0], s[1])):
        if span[0] >= top:
            groups.append([])
        groups[-1].append(span)
        top = max(top, span[1])
    made = dict(arguments)
    guards = []
    for group in groups:
        low = min(s[0] for s in group)
        size = max(s[1] for s in group) - low
        pieces = _memory(size, fence, low % 16, max(s[3].dtype.itemsize for s in group))
        start = pieces.start
        pieces.buffer[start - PAD : start] = np.frombuffer(_PATTERN, np.uint8)
        tail = np.frombuffer(_PATTERN[: pieces.pad_after], np.uint8)
        pieces.buffer[start + size : start + size + pieces.pad_after] = tail
        pieces.buffer[start : start + size] = np.frombuffer(ctypes.string_at(low, size), np.uint8)
        for _, _, name, array in group:
            offset = start + array.__array_interface__["data"][0] - low
            view: Array = np.ndarray(
                array.shape, array.dtype, pieces.buffer.data, offset, array.strides
            )
            view.flags.writeable = array.flags.writeable
            made[name] = pieces.views[name] = view
        guards.append(pieces)
    return made, guards


def _span(array: Array) -> tuple[int, int]:
    low = high = int(array.__array_interface__["data"][0])
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + array.dtype.itemsize


def _memory(size: int, fence: bool, shift: int, element: int) -> Guarded:
    """Memory for ``size`` bytes at an address that is ``shift`` more than a multiple of 16; under
    a fence, of ``element``."""
    if fence and (made := _fenced(size + element)) is not None:
        # The area ends on a page: what is left over comes before its end.
        return Guarded(made, size, -(size + shift) % element, {})
    # Aligned as any allocator would.
    raw = np.empty(PAD + size + PAD + 64, np.uint8)
    skip = (shift - int(raw.__array_interface__["data"][0])) % 64
    return Guarded(raw[skip : skip + PAD + size + PAD], size, PAD, {})


def _fenced(size: int) -> Array | None:
    """Memory whose last byte is the last before a page nobody may touch; ``None`` if impossible."""
    if not sys.platform.startswith(("linux", "darwin")):
        return None
    page = mmap.PAGESIZE
    room = -(-(PAD + size) // page) * page
    area = mmap.mmap(-1, room + page)
    whole = np.frombuffer(area, np.uint8)
    address = int(whole.__array_interface__["data"][0])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if libc.mprotect(address + room, page, 0) != 0:
        return None
    return whole[:room]
