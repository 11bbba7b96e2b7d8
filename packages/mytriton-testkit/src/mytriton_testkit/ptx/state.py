"""What runs: a launch, and the machine of the blocks that run together (a chunk)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from .counters import Counters
from .errors import PtxCheckError, PtxUnsupported, Thread
from .memory import Buffer, Memory, Views
from .races import Shadow
from .spaces import GlobalSpace, LocalSpace, SharedSpace
from .syntax import Function, Instruction
from .types import UNSIGNED, Array, Selection

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Checks:
    """Which checks run. Bounds and alignment are not among them: like the hardware, the emulator
    cannot go on after such an access."""

    uninitialised: bool = True
    races: bool = True
    barriers: bool = True
    collectives: bool = True
    async_copies: bool = True
    counters: bool = True
    """Count sectors and wavefronts (warp instructions are always counted)."""
    step_limit: int = 2_000_000
    """Basic blocks a launch may run before it counts as hanging."""

    @classmethod
    def none(cls) -> Checks:
        return cls(False, False, False, False, False, False)


@dataclass
class Launch:
    """One launch of a kernel."""

    memory: Memory
    grid: Dim3
    block: Dim3
    image: bytes
    checks: Checks
    symbols: dict[str, int]
    arguments: dict[int, str]
    """What the buffer at an address is to the kernel: `argument 2 (out)`."""
    shared_size: int
    shared_owned: Array | None
    grain_shared: int
    grain_global: int
    warp_barriers: bool
    async_copies: bool
    counters: Counters = field(default_factory=Counters)
    clock: int = 0
    steps: int = 0

    def __post_init__(self) -> None:
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.padded = -(-self.threads // 32) * 32
        self.blocks = self.grid[0] * self.grid[1] * self.grid[2]
        self.space = GlobalSpace(self.memory, self.grain_global)
        if self.checks.uninitialised:
            self.space.fresh = self.memory.undefined
        if self.checks.races:
            size = (self.memory.used >> self.grain_global) + 16
            self.space.shadow = Shadow(size, self.padded, across_blocks=True)

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def describe(self, buffer: Buffer) -> str:
        role = self.arguments.get(buffer.address)
        name = repr(buffer.name) if buffer.name else "a buffer"
        text = f"{role}, {name}" if role and buffer.name else role or name
        text += f" of {buffer.nbytes} bytes"
        return text + " (freed)" if buffer.freed else text

    def thread(self, block: int, thread: int) -> Thread:
        return Thread(split(block, self.grid), split(thread, self.block))


def split(index: int, shape: Dim3) -> Dim3:
    return index % shape[0], index // shape[0] % shape[1], index // (shape[0] * shape[1])


class Machine:
    """The lanes of some consecutive blocks: each block padded to whole warps."""

    def __init__(self, launch: Launch, first: int, blocks: int) -> None:
        self.launch, self.first, self.blocks = launch, first, blocks
        padded = launch.padded
        self.n = blocks * padded
        self.warps = self.n // 32
        self.lanes: npt.NDArray[np.int64] = np.arange(self.n)
        self.block_of = self.lanes // padded
        self.thread_of = self.lanes % padded
        self.who = (self.lanes + (first * padded + 1)).astype(np.int32)
        self.since: npt.NDArray[np.int32] = np.full(self.n, launch.clock, np.int32)
        self.synced: Array | None = self.since if launch.warp_barriers else None
        self.live = self.thread_of < launch.threads
        self.live_count = blocks * launch.threads
        self._live_bits: Array | None = None
        self.specials: dict[str, Array] = {}
        self.local = LocalSpace(self.n)
        self.shared = SharedSpace(
            self.block_of, blocks, launch.shared_size, launch.shared_owned, launch.grain_shared
        )
        octets = len(self.shared.views.octets)
        if launch.checks.uninitialised:
            self.shared.fresh = Views(np.ones(octets, np.uint8))
        if launch.async_copies and launch.checks.async_copies:
            self.shared.pending = Views(np.zeros(octets, np.uint8))
        if launch.checks.races:
            size = (octets >> launch.grain_shared) + 1
            self.shared.shadow = Shadow(size, 32, across_blocks=False)
        self.copies: list[Copy] = []
        self.commits: Array = np.zeros(self.n, np.int64)
        self.garbage = {
            bits: np.full(self.n, -1, np.int64).astype(dtype) for bits, dtype in UNSIGNED.items()
        }
        self.garbage[1] = np.zeros(self.n, bool)

    def entry(self) -> Selection:
        """The lanes a kernel begins with."""
        return None if self.live_count == self.n else self.live.nonzero()[0]

    # ------------------------------------------------------------------ lanes

    def lane(self, sel: Selection, position: int) -> int:
        return position if sel is None else int(sel[position])

    def thread(self, lane: int) -> Thread:
        padded = self.launch.padded
        return self.launch.thread(self.first + lane // padded, lane % padded)

    def fail(self, kind: str, message: str, ins: Instruction, lane: int) -> NoReturn:
        raise PtxCheckError(kind, message, ins.site, self.thread(lane))

    def kill(self, sel: Selection) -> None:
        lanes = self.lanes if sel is None else sel
        self.live[lanes] = False
        self.live_count -= len(lanes)
        self._live_bits = None

    def live_bits(self) -> Array:
        """Each warp's mask of threads that have not ended."""
        if self._live_bits is None:
            self._live_bits = self.bits(self.live.nonzero()[0])
        return self._live_bits

    def bits(self, lanes: Array) -> Array:
        """Each warp's mask of some lanes."""
        weights = np.ldexp(1.0, lanes & 31)
        sums = np.bincount(lanes >> 5, weights=weights, minlength=self.warps)
        return sums.astype(np.int64).astype(np.uint32)

    def passed_barrier(self, sel: Selection) -> None:
        time = self.launch.tick()
        if sel is None:
            self.since = np.full(self.n, time, np.int32)
        else:
            self.since = self.since.copy()
            self.since[sel] = time

    def passed_warp_barrier(self, sel: Selection) -> None:
        if self.synced is not None:
            self.synced = self.synced.copy()
            self.synced[slice(None) if sel is None else sel] = self.launch.tick()

    # ------------------------------------------------------------------ special registers

    def special(self, name: str) -> Array:
        """A special register: one value for each lane, or an array of one value for all."""
        found = self.specials.get(name)
        if found is None or name.startswith(("%clock", "%globaltimer")):
            found = self.specials[name] = self._special(name)
        return found

    def _special(self, name: str) -> Array:
        stem, _, axis = name[1:].partition(".")
        at = "xyz".find(axis) if axis else 0
        if stem in PER_LANE:
            return np.asarray(PER_LANE[stem](self, at)).astype(np.uint32)
        if stem.startswith(("clock", "globaltimer")):
            dtype = np.uint64 if stem in ("clock64", "globaltimer") else np.uint32
            return np.array([self.launch.tick()], dtype)
        if stem in UNIFORM:
            return np.array([UNIFORM[stem](self, at)], np.uint32)
        raise PtxUnsupported(f"special register {name}")


def _lane_mask(compare: Callable[[int, int], bool]) -> Callable[[Machine, int], Array]:
    masks = np.array(
        [sum(1 << other for other in range(32) if compare(other, lane)) for lane in range(32)],
        np.uint32,
    )
    return lambda m, _: masks.take(m.lanes & 31)


def _axis(index: Array, shape: Dim3, at: int) -> Array:
    return index // (1, shape[0], shape[0] * shape[1])[at] % shape[at]


PER_LANE: dict[str, Callable[[Machine, int], Array]] = {
    "tid": lambda m, at: _axis(m.thread_of, m.launch.block, at),
    "ctaid": lambda m, at: _axis(m.block_of + m.first, m.launch.grid, at),
    "laneid": lambda m, _: m.lanes & 31,
    "warpid": lambda m, _: m.thread_of >> 5,
    "smid": lambda m, _: m.block_of,
    "lanemask_eq": _lane_mask(lambda other, lane: other == lane),
    "lanemask_lt": _lane_mask(lambda other, lane: other < lane),
    "lanemask_le": _lane_mask(lambda other, lane: other <= lane),
    "lanemask_gt": _lane_mask(lambda other, lane: other > lane),
    "lanemask_ge": _lane_mask(lambda other, lane: other >= lane),
}

UNIFORM: dict[str, Callable[[Machine, int], int]] = {
    "ntid": lambda m, at: m.launch.block[at],
    "nctaid": lambda m, at: m.launch.grid[at],
    "nwarpid": lambda m, _: m.launch.padded // 32,
    "nsmid": lambda m, _: 128,
    "gridid": lambda m, _: 1,
    "dynamic_smem_size": lambda m, _: m.launch.symbols.get("dynamic shared bytes", 0),
    "total_smem_size": lambda m, _: m.launch.shared_size,
}


@dataclass
class Copy:
    """A `cp.async` that has not landed: for each lane the place, the words, and the number of its
    group (-1 before the commit)."""

    lanes: Array
    offsets: Array
    words: list[Array]
    size: int
    group: Array
    ins: Instruction


class Frame:
    """One activation of a function: registers of all lanes of the chunk."""

    def __init__(self, machine: Machine, function: Function, local_size: int) -> None:
        self.machine = machine
        self.regs: list[Array] = [machine.garbage[each.bits] for each in function.registers]
        self.carry: Array = machine.garbage[1]
        self.params: dict[str, Array] = {}
        self.local_base = machine.local.push(local_size)
