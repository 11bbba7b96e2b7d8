"""The state spaces of a running chunk: where an address leads, and what is known of each byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from .memory import GAP, GLOBAL_BASE, Memory, Views
from .races import Party, Shadow
from .syntax import Instruction
from .types import Array, Selection

if TYPE_CHECKING:
    from .state import Machine

SHARED_BASE = 0x1000
"""Shared memory does not begin at 0, so that a forgotten base is out of bounds."""
LOCAL_BASE = 0x2000
WINDOW = 44
"""Generic addresses carry the space above this bit: 0 global, 1 shared, 2 local."""
SHARED_WINDOW, LOCAL_WINDOW = 1 << WINDOW, 2 << WINDOW


class Space:
    """Bytes with their checks. `fresh` marks bytes never written, `pending` those an asynchronous
    copy is on its way to; `grain` is the shortest access of the program, in address bits."""

    name = ""

    def __init__(self, views: Views, grain: int = 0) -> None:
        self.views, self.grain = views, grain
        self.shadow: Shadow | None = None
        self.fresh: Views | None = None
        self.pending: Views | None = None

    def locate(
        self, m: Machine, sel: Selection, address: Array, size: int, ins: Instruction
    ) -> Array:
        """Byte offsets into `views` of one access per lane, checked."""
        raise NotImplementedError

    def party(self, m: Machine, sel: Selection, offsets: Array, size: int) -> tuple[Array, Party]:
        """The pieces of memory and the threads of an access, for the race records."""
        who: Array = m.who
        since: Array = m.since
        synced = m.synced
        if sel is not None:
            who, since = who.take(sel), since.take(sel)
            synced = None if synced is None else synced.take(sel)
        at = offsets >> self.grain
        count = size >> self.grain
        if count > 1:
            at = (at[:, None] + np.arange(count)).ravel()
            who, since = np.repeat(who, count), np.repeat(since, count)
            synced = None if synced is None else np.repeat(synced, count)
        return at, Party(who, since, synced, m.launch.tick())

    def marked(self, marks: Views, offsets: Array, size: int) -> Array | None:
        """Which lanes touch a marked byte, or None."""
        step = min(size, 8)
        found = marks[step].take(offsets >> (step.bit_length() - 1)) != 0
        if size > 8:
            found = found | (marks[8].take((offsets >> 3) + 1) != 0)
        return found if found.any() else None

    def set_marks(self, marks: Views, offsets: Array, size: int, value: int) -> None:
        step = min(size, 8)
        for part in range(max(1, size // 8)):
            marks[step][(offsets >> (step.bit_length() - 1)) + part] = value

    def where(self, m: Machine, lane: int, offset: int) -> str:
        """How error messages call a place."""
        return f"{self.name} memory at {offset:#x}"


def alignment(
    m: Machine, sel: Selection, address: Array, size: int, space: str, ins: Instruction
) -> None:
    if size > 1:
        off = (address & np.uint64(size - 1)) != 0
        if off.any():
            lane = int(off.argmax())
            m.fail(
                "alignment",
                f"{space} address {int(address[lane]):#x} of {ins.base} is not a multiple of "
                f"{size}",
                ins,
                m.lane(sel, lane),
            )


class GlobalSpace(Space):
    name = "global"

    def __init__(self, memory: Memory, grain: int) -> None:
        super().__init__(memory.views, grain)
        self.memory = memory

    def locate(
        self, m: Machine, sel: Selection, address: Array, size: int, ins: Instruction
    ) -> Array:
        low, high = int(address.min()), int(address.max())
        buffer = self.memory.find(low)
        if buffer is None or high + size > buffer.end:
            starts, ends = self.memory.bounds()
            owner = np.searchsorted(starts, address, side="right").astype(np.int64) - 1
            last = ends.take(np.maximum(owner, 0)) if len(ends) else np.zeros_like(address)
            bad = (owner < 0) | (address > last - np.minimum(last, np.uint64(size)))
            if bad.any():
                lane = int(bad.argmax())
                self.out_of_bounds(m, sel, lane, int(address[lane]), size, ins)
        alignment(m, sel, address, size, "global", ins)
        return (address - np.uint64(GLOBAL_BASE)).view(np.int64)

    def out_of_bounds(
        self, m: Machine, sel: Selection, lane: int, address: int, size: int, ins: Instruction
    ) -> NoReturn:
        text = f"{ins.base} of {size} bytes at {address:#x}: "
        buffer = self.memory.nearest(address)
        if address < GLOBAL_BASE - GAP or address >> WINDOW or buffer is None:
            text += "no global address"
        else:
            # What lies before a buffer by less than the gap is an index below its start.
            at = self.memory.buffers.index(buffer)
            after = self.memory.buffers[at + 1] if at + 1 < len(self.memory.buffers) else None
            if after and after.address - address < address - buffer.end and not after.freed:
                buffer = after
            text += f"byte {address - buffer.address} of {m.launch.describe(buffer)}"
        m.fail("bounds", text, ins, m.lane(sel, lane))

    def where(self, m: Machine, lane: int, offset: int) -> str:
        buffer = self.memory.find(offset + GLOBAL_BASE)
        if buffer is None:
            return f"global memory at {offset + GLOBAL_BASE:#x}"
        return f"byte {offset + GLOBAL_BASE - buffer.address} of {m.launch.describe(buffer)}"


class SharedSpace(Space):
    name = "shared"

    def __init__(
        self, base: Array, blocks: int, size: int, owned: Array | None, grain: int
    ) -> None:
        self.stride = -(-max(size, 16) // 16) * 16
        super().__init__(Views(np.full(blocks * self.stride, 0xFF, np.uint8)), grain)
        self.base, self.size, self.owned = base * self.stride, size, owned

    def locate(
        self, m: Machine, sel: Selection, address: Array, size: int, ins: Instruction
    ) -> Array:
        inside = address - np.uint64(SHARED_BASE)
        bad = None
        if int(inside.max()) + size > self.size:
            bad = inside > np.uint64(max(0, self.size - size))
            bad |= size > self.size
        elif self.owned is not None:
            bad = ~self.owned.take(inside.view(np.int64))
            bad |= ~self.owned.take(inside.view(np.int64) + (size - 1))
            bad = bad if bad.any() else None
        if bad is not None:
            lane = int(bad.argmax())
            m.fail(
                "bounds",
                f"{ins.base} of {size} bytes at byte {int(inside.view(np.int64)[lane])} of "
                f"{self.size} bytes of shared memory"
                + (" (between two variables)" if int(inside[lane]) + size <= self.size else ""),
                ins,
                m.lane(sel, lane),
            )
        alignment(m, sel, address, size, "shared", ins)
        base = self.base if sel is None else self.base.take(sel)
        return inside.view(np.int64) + base

    def where(self, m: Machine, lane: int, offset: int) -> str:
        return f"byte {offset % self.stride} of shared memory"


class LocalSpace(Space):
    """Each lane's own bytes, a stack of the frames that are active."""

    name = "local"

    def __init__(self, lanes: int) -> None:
        super().__init__(Views(np.zeros(16, np.uint8)))
        self.lanes, self.stride, self.top = lanes, 0, 0

    def push(self, size: int) -> int:
        """Room for a frame; gives where it begins."""
        start = self.top
        self.top += -(-size // 16) * 16
        if self.top > self.stride:
            stride = max(2 * self.stride, self.top)
            grown = np.full((self.lanes, stride), 0xFF, np.uint8)
            grown[:, : self.stride] = self.views.octets[: self.lanes * self.stride].reshape(
                self.lanes, self.stride
            )
            self.views, self.stride = Views(grown.reshape(-1)), stride
        return start

    def locate(
        self, m: Machine, sel: Selection, address: Array, size: int, ins: Instruction
    ) -> Array:
        inside = address - np.uint64(LOCAL_BASE)
        if int(inside.max()) + size > self.top:
            bad = inside > np.uint64(max(0, self.top - size))
            lane = int(bad.argmax())
            m.fail(
                "bounds",
                f"{ins.base} of {size} bytes at byte {int(inside.view(np.int64)[lane])} of "
                f"{self.top} bytes of local memory",
                ins,
                m.lane(sel, lane),
            )
        alignment(m, sel, address, size, "local", ins)
        lanes = m.lanes if sel is None else sel
        return inside.view(np.int64) + lanes * self.stride
