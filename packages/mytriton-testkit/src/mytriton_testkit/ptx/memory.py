"""Device memory: one arena of bytes in which buffers lie far apart.

Behind each buffer is a gap as large as the buffer (4 KiB at least), so that an index that runs off
one argument does not silently land in the next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import LaunchError
from .types import UNSIGNED, Array

GLOBAL_BASE = 1 << 36
ALIGNMENT = 256
GAP = 4096


@dataclass(eq=False)
class Buffer:
    """A piece of device memory. `name` is what error messages call it."""

    address: int
    nbytes: int
    name: str = ""
    freed: bool = False
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.uint8))
    shape: tuple[int, ...] = ()

    @property
    def end(self) -> int:
        return self.address + self.nbytes

    def __int__(self) -> int:
        return self.address


class Views:
    """A byte array seen as unsigned integers of every width."""

    def __init__(self, octets: npt.NDArray[np.uint8]) -> None:
        self.octets = octets
        self.by_size: dict[int, Array] = {
            size: octets[: len(octets) // 16 * 16].view(UNSIGNED[size * 8]) for size in (1, 2, 4, 8)
        }

    def __getitem__(self, size: int) -> Array:
        return self.by_size[size]


class Memory:
    """Device memory as the host sees it: allocate, upload, download, free.

    Fresh memory holds 0xFF bytes (NaN, -1). `allocate(..., undefined=True)` also makes reading it
    before it is written an error; `mark_undefined` does so for memory there already.
    """

    def __init__(self, capacity: int = 1 << 24) -> None:
        self.views = Views(np.zeros(capacity, np.uint8))
        self.used = ALIGNMENT
        self.starts: list[int] = []
        self.buffers: list[Buffer] = []
        self.undefined: Views | None = None

    # ------------------------------------------------------------------ host interface

    def allocate(
        self, nbytes: int, name: str = "", *, undefined: bool = False, shift: int = 0
    ) -> Buffer:
        """A buffer aligned to 256 bytes, or `shift` bytes behind such an address."""
        if nbytes < 0:
            raise LaunchError(f"cannot allocate {nbytes} bytes")
        buffer = None if shift else self._recycled(nbytes)
        if buffer is None:
            address = GLOBAL_BASE + self.used + shift
            need = nbytes + max(GAP, nbytes) + shift
            self.used += -(-need // ALIGNMENT) * ALIGNMENT
            if self.used > len(self.views.octets):
                self._grow()
            buffer = Buffer(address, nbytes)
            self.starts.append(address)
            self.buffers.append(buffer)
        buffer.name, buffer.shape, buffer.dtype = name, (nbytes,), np.dtype(np.uint8)
        self._bytes(buffer.address, nbytes)[:] = 0xFF
        if undefined:
            self.mark_undefined(buffer)
        return buffer

    def upload(self, array: npt.ArrayLike, name: str = "") -> Buffer:
        """Copy a host array to a new buffer that remembers its dtype and shape."""
        host = np.asarray(array)
        buffer = self.allocate(host.nbytes, name)
        self.write(buffer.address, host)
        buffer.dtype, buffer.shape = host.dtype, host.shape
        return buffer

    def download(
        self,
        buffer: Buffer,
        dtype: npt.DTypeLike | None = None,
        shape: Sequence[int] | None = None,
    ) -> Array:
        """A host copy of a buffer, by default as the array that was uploaded."""
        kind = buffer.dtype if dtype is None else np.dtype(dtype)
        octets = self.read(buffer.address, buffer.nbytes)
        array = octets[: len(octets) // kind.itemsize * kind.itemsize].view(kind)
        if shape is None and dtype is None:
            shape = buffer.shape
        return array if shape is None else array.reshape(tuple(shape))

    def free(self, buffer: Buffer) -> None:
        """Give a buffer back; using its address is an error until the memory is reused."""
        if buffer.freed:
            raise LaunchError(f"buffer {buffer.name or hex(buffer.address)} was freed before")
        buffer.freed = True

    def read(self, address: int, nbytes: int) -> Array:
        """Bytes at a device address, checked as a driver would."""
        self._owner(address, nbytes)
        return self._bytes(address, nbytes).copy()

    def write(self, address: int, data: Array | bytes) -> None:
        host = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
        octets = np.ascontiguousarray(host).reshape(-1).view(np.uint8)
        self._owner(address, len(octets))
        self._bytes(address, len(octets))[:] = octets
        if self.undefined is not None:
            self._marks(address, len(octets))[:] = 0

    def mark_undefined(self, buffer: Buffer, start: int = 0, nbytes: int | None = None) -> None:
        """Declare bytes of a buffer as never written: a kernel must not read them first."""
        if self.undefined is None:
            self.undefined = Views(np.zeros(len(self.views.octets), np.uint8))
        count = buffer.nbytes - start if nbytes is None else nbytes
        self._marks(buffer.address + start, count)[:] = 1

    # ------------------------------------------------------------------ for the machine

    def find(self, address: int) -> Buffer | None:
        """The live buffer that holds an address."""
        at = bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        buffer = self.buffers[at]
        return buffer if address < buffer.end and not buffer.freed else None

    def nearest(self, address: int) -> Buffer | None:
        """The buffer that begins last before an address, whether it holds it or not."""
        at = bisect_right(self.starts, address) - 1
        return self.buffers[max(at, 0)] if self.buffers else None

    def bounds(self) -> tuple[Array, Array]:
        """First and last addresses of all buffers, in order; freed ones are empty."""
        ends = [each.address if each.freed else each.end for each in self.buffers]
        return np.array(self.starts, np.uint64), np.array(ends, np.uint64)

    def _bytes(self, address: int, nbytes: int) -> Array:
        start = address - GLOBAL_BASE
        return self.views.octets[start : start + nbytes]

    def _marks(self, address: int, nbytes: int) -> Array:
        assert self.undefined is not None
        start = address - GLOBAL_BASE
        return self.undefined.octets[start : start + nbytes]

    def _owner(self, address: int, nbytes: int) -> None:
        buffer = self.find(address)
        if nbytes and (buffer is None or address + nbytes > buffer.end):
            raise LaunchError(f"host access to {nbytes} bytes at {address:#x}: not in a buffer")

    def _recycled(self, nbytes: int) -> Buffer | None:
        """A freed buffer that is large enough, once the arena is full."""
        if self.used + 2 * nbytes + GAP < len(self.views.octets):
            return None
        for at, buffer in enumerate(self.buffers):
            room = 2 * max(buffer.nbytes, 1)
            if buffer.freed and nbytes <= buffer.nbytes and room <= 4 * max(nbytes, GAP):
                self.buffers[at] = Buffer(buffer.address, nbytes)
                return self.buffers[at]
        return None

    def _grow(self) -> None:
        size = max(2 * len(self.views.octets), -(-self.used // 4096) * 4096)
        self.views = Views(_grown(self.views.octets, size))
        if self.undefined is not None:
            self.undefined = Views(_grown(self.undefined.octets, size))


def _grown(octets: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    larger = np.zeros(size, np.uint8)
    larger[: len(octets)] = octets
    return larger
