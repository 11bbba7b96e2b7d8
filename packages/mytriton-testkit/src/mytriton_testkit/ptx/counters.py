"""What a launch cost, as far as PTX tells: warp instructions, sectors, wavefronts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from .types import Array

MOVES = ("mov", "cvt", "cvta")
FREE = ("ld.param", "ret", "exit")


@dataclass
class Counters:
    """Dynamic counts of one launch, over all its warps.

    A warp instruction is one instruction issued by one warp, whatever lanes its predicate leaves.
    Sectors are the distinct 32-byte pieces of global memory of each warp instruction. Wavefronts
    are the passes shared memory needs with 32 banks of 4 bytes; `ideal` those it would need
    without bank conflicts.
    """

    opcodes: Counter[str] = field(default_factory=Counter)
    """Warp instructions by full opcode."""
    global_requests: int = 0
    global_sectors: int = 0
    global_bytes: int = 0
    shared_requests: int = 0
    shared_wavefronts: int = 0
    shared_wavefronts_ideal: int = 0

    @property
    def warp_instructions(self) -> int:
        """Everything but what costs no issue slot: `ld.param`, `ret`, `exit`."""
        return sum(count for opcode, count in self.opcodes.items() if not opcode.startswith(FREE))

    @property
    def warp_instructions_without_moves(self) -> int:
        """`warp_instructions` without `mov`, `cvt` and `cvta`, most of which ptxas removes."""
        moves = sum(n for opcode, n in self.opcodes.items() if opcode.split(".")[0] in MOVES)
        return self.warp_instructions - moves

    @property
    def matrix_instructions(self) -> int:
        return self._of("mma", "wmma")

    @property
    def barriers(self) -> int:
        return self._of("bar", "barrier")

    def _of(self, *bases: str) -> int:
        return sum(n for opcode, n in self.opcodes.items() if opcode.split(".")[0] in bases)

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        names = (
            "warp_instructions",
            "warp_instructions_without_moves",
            "matrix_instructions",
            "barriers",
            "global_requests",
            "global_sectors",
            "global_bytes",
            "shared_requests",
            "shared_wavefronts",
            "shared_wavefronts_ideal",
        )
        result: dict[str, object] = {name: getattr(self, name) for name in names}
        return result | {"opcodes": dict(sorted(self.opcodes.items()))}

    # ------------------------------------------------------------------ fed by the machine

    def count_global(self, lanes: Array, addresses: Array, size: int) -> None:
        """One global access of some lanes; lanes and addresses in order of the lanes."""
        sectors = addresses >> 5
        warps = lanes >> 5
        first = np.empty(len(warps), bool)
        first[:1] = True
        np.not_equal(warps[1:], warps[:-1], out=first[1:])
        steps = sectors[1:] - sectors[:-1]
        if ((steps < 0) & ~first[1:]).any():
            keys = _distinct((warps.astype(np.int64) << 44) | sectors)
            self.global_sectors += len(keys)
        else:
            self.global_sectors += int(np.count_nonzero(first[1:] | (steps != 0))) + 1
        self.global_requests += int(np.count_nonzero(first))
        self.global_bytes += len(lanes) * size

    def count_shared(self, lanes: Array, offsets: Array, size: int, group: int = 0) -> None:
        """One shared access; `group` lanes go at once (32 for up to 4 bytes, 16 for 8, ...)."""
        group = group or max(1, min(32, 128 // size))
        self.shared_requests += _runs(lanes >> 5)
        low = offsets >> 2
        if len(lanes) % group == 0 and int(lanes[-1]) - int(lanes[0]) + 1 == len(lanes):
            groups, table = len(lanes) // group, low.reshape(-1, group)
            span = table.max(axis=1) - table.min(axis=1)
            rows = None
        else:
            groups, rows = _dense(lanes // group)
            starts = np.searchsorted(rows, np.arange(groups))
            span = np.maximum.reduceat(low, starts) - np.minimum.reduceat(low, starts)
        # Words that lie within 128 bytes are in different banks.
        hard = span + max(1, size // 4) > 32
        self.shared_wavefronts += groups - int(np.count_nonzero(hard))
        self.shared_wavefronts_ideal += groups - int(np.count_nonzero(hard))
        if not hard.any():
            return
        rows = np.repeat(np.arange(groups), group) if rows is None else rows
        chosen = hard[rows]
        words, rows = low[chosen], rows[chosen]
        if size > 4:
            words = (words[:, None] + np.arange(size // 4)).ravel()
            rows = np.repeat(rows, size // 4)
        keys = _distinct((rows << 40) | words)
        cells = (keys >> 40) * 32 + (keys & 31)
        each = np.bincount(cells, minlength=groups * 32).reshape(groups, 32)
        self.shared_wavefronts += int(each.max(axis=1).sum())
        self.shared_wavefronts_ideal += int((-(-each.sum(axis=1) // 32)).sum())


def _distinct(values: Array) -> Array:
    """Like numpy.unique, which is slower."""
    ordered = np.sort(values)
    first = np.empty(len(ordered), bool)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _runs(values: Array) -> int:
    return int(np.count_nonzero(values[1:] != values[:-1])) + 1


def _dense(values: Array) -> tuple[int, Array]:
    """Number of runs of a sorted array, and for each entry the number of its run."""
    steps = np.zeros(len(values), np.int64)
    np.cumsum(values[1:] != values[:-1], out=steps[1:])
    return int(steps[-1]) + 1, steps
