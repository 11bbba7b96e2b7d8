"""Runs the blocks of a program on a chunk: divergence, reconvergence, barriers, calls.

Lanes wait at basic blocks. The first block, in the order of the text, that has lanes runs next;
compilers lay structured code out so that this brings lanes together again. Warp collectives wait
until all lanes of their mask are there, barriers until all threads of the block are.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from .errors import PtxCheckError, PtxError, PtxUnsupported
from .printing import vprintf
from .program import Block, Code, Gate, Program
from .state import Frame, Machine
from .syntax import Call, Instruction, Register, Symbol
from .types import Array, Selection

TURNS = 256
"""After so many turns the last waiting block has one, so that a spinning lane cannot starve the
lane it waits for."""


class Runner:
    """One activation of a function on some lanes."""

    def __init__(self, program: Program, machine: Machine, code: Code) -> None:
        self.program, self.m, self.code = program, machine, code
        self.frame = Frame(machine, code.function, code.local_size)
        self.waiting: dict[int, list[Selection]] = {}
        self.parked: dict[int, list[Selection]] = {}
        self.awaited: dict[int, Array] = {}
        self.arrived: Array | None = None

    def run(self, sel: Selection) -> None:
        launch = self.m.launch
        self.waiting[0] = [sel]
        while self.waiting or self.parked:
            launch.steps += 1
            if launch.steps > launch.checks.step_limit:
                self.hang()
            unfair = launch.steps % TURNS == 0
            if unfair and self.parked:
                self.release()
            if len(self.waiting) == 1:
                [index] = self.waiting
                chosen = self.take(index)
                if chosen is not None:
                    self.execute(index, chosen[0])
                    continue
            elif self.waiting and self.choose(unfair):
                continue
            if not self.release():
                self.deadlock()

    def choose(self, unfair: bool) -> bool:
        for index in sorted(self.waiting, reverse=unfair):
            chosen = self.take(index)
            if chosen is not None:
                self.execute(index, chosen[0])
                return True
        return False

    def take(self, index: int) -> tuple[Selection] | None:
        """The lanes that may run a block now, taken out of the waiting ones; None if none may."""
        sel = self.merge(self.waiting.pop(index))
        gate = self.code.blocks[index].gate
        if gate is None or (sel is None and gate.whole and self.m.live_count == self.m.n):
            return (sel,)
        ready, rest = self.at_gate(index, gate, self.m.lanes if sel is None else sel)
        if len(rest):
            self.waiting[index] = [rest]
        if not len(ready):
            return None
        return (None if len(ready) == self.m.n else ready,)

    def merge(self, pieces: list[Selection]) -> Selection:
        if len(pieces) == 1:
            return pieces[0]
        lanes = np.sort(np.concatenate([piece for piece in pieces if piece is not None]))
        return None if len(lanes) == self.m.n else lanes

    def put(self, index: int, sel: Selection) -> None:
        self.waiting.setdefault(index, []).append(sel)

    # ------------------------------------------------------------------ one block

    def execute(self, index: int, sel: Selection) -> None:
        block, f = self.code.blocks[index], self.frame
        self.count(block, sel)
        at = 0
        try:
            for step in block.steps:
                step(f, sel)
                at += 1
        except PtxError:
            raise
        except Exception as problem:
            raise PtxError(f"cannot run {block.sites[at].site}: {problem!r}") from problem
        self.leave(index, block, sel)

    def count(self, block: Block, sel: Selection) -> None:
        warps = self.m.warps
        if sel is not None:
            numbers = sel >> 5
            warps = int(np.count_nonzero(numbers[1:] != numbers[:-1])) + 1
        totals = self.m.launch.counters.opcodes
        for opcode, times in block.opcodes.items():
            totals[opcode] += times * warps

    def leave(self, index: int, block: Block, sel: Selection) -> None:
        end = block.end
        if end.guard is not None:
            test = np.broadcast_to(end.guard(self.frame, sel), self.size(sel))
            taken, stays = self.divide(sel, test)
            if stays is not NOBODY:
                self.put(index + 1, stays)  # type: ignore[arg-type]
            if taken is NOBODY:
                return
            sel = taken  # type: ignore[assignment]
        kind = end.kind
        if kind == "next":
            self.put(index + 1, sel)
        elif kind == "bra":
            self.put(end.target, sel)
        elif kind == "ret":
            if self.code.function.is_entry:
                self.m.kill(sel)
        elif kind == "exit":
            self.m.kill(sel)
        elif kind == "bar":
            self.reach_barrier(index, block, sel)
        elif kind == "call":
            assert isinstance(end.ins, Call)
            self.call(end.ins, index, sel)
        elif kind == "brx":
            assert end.index is not None
            chosen = np.broadcast_to(end.index(self.frame, sel), self.size(sel))
            lanes = self.m.lanes if sel is None else sel
            for place in np.unique(chosen):
                self.put(end.targets[int(place)], self.whole(lanes[chosen == place]))
        else:
            lane = self.m.lane(sel, 0)
            assert end.ins is not None
            self.m.fail("trap", "the kernel executed trap", end.ins, lane)

    def size(self, sel: Selection) -> tuple[int]:
        return (self.m.n if sel is None else len(sel),)

    def whole(self, lanes: Array) -> Selection:
        return None if len(lanes) == self.m.n else lanes

    def divide(self, sel: Selection, test: Array) -> tuple[object, object]:
        """The lanes for which a test holds, and the others; NOBODY where there are none."""
        count = int(np.count_nonzero(test))
        if count == len(test):
            return sel, NOBODY
        if count == 0:
            return NOBODY, sel
        lanes = self.m.lanes if sel is None else sel
        return lanes[test], lanes[~test]

    # ------------------------------------------------------------------ calls

    def call(self, ins: Call, index: int, sel: Selection) -> None:
        code = self.program.codes.get(ins.target)
        if code is None:
            return self.outside(ins, index, sel)
        inner = Runner(self.program, self.m, code)
        lanes = slice(None) if sel is None else sel
        for formal, actual in zip(code.function.params, ins.arguments, strict=True):
            if formal.register is not None:
                assert isinstance(actual, Register)
                inner.frame.regs[formal.register.slot] = self.frame.regs[actual.slot]
            else:
                assert isinstance(actual, Symbol)
                inner.frame.params[formal.name] = self.frame.params[actual.name].copy()
        inner.run(sel)
        self.m.local.top = inner.frame.local_base
        for formal, actual in zip(code.function.results, ins.results, strict=True):
            if formal.register is not None:
                assert isinstance(actual, Register)
                merged = self.frame.regs[actual.slot].copy()
                merged[lanes] = inner.frame.regs[formal.register.slot][lanes]
                self.frame.regs[actual.slot] = merged
                continue
            assert isinstance(actual, Symbol)
            empty = np.full((self.m.n, formal.size), 0xFF, np.uint8)
            result = inner.frame.params.get(formal.name, empty)
            kept = self.frame.params.setdefault(actual.name, empty.copy())
            kept[lanes, : formal.size] = result[lanes]
        every = self.m.lanes if sel is None else sel
        alive = self.m.live[every]
        if alive.all():
            self.put(index + 1, sel)
        elif alive.any():
            self.put(index + 1, every[alive])

    def outside(self, ins: Call, index: int, sel: Selection) -> None:
        """Calls of what the runtime provides: failed assertions and printing."""
        if ins.target == "__assertfail":
            self.m.fail("trap", "a device assertion failed", ins, self.m.lane(sel, 0))
        if ins.target != "vprintf":
            raise PtxUnsupported(f"call of {ins.target!r}, which has no body ({ins.site})")
        vprintf(self.m, self.frame, ins, self.m.lanes if sel is None else sel)
        for actual in ins.results:
            assert isinstance(actual, Symbol)
            self.frame.params[actual.name] = np.zeros((self.m.n, 8), np.uint8)
        self.put(index + 1, sel)

    # ------------------------------------------------------------------ collectives

    def at_gate(self, index: int, gate: Gate, lanes: Array) -> tuple[Array, Array]:
        """Split lanes at a collective into those whose whole mask is here and the others."""
        m = self.m
        warps = lanes >> 5
        present, alive = m.bits(lanes), m.live_bits()
        if gate.mask is None:
            mask: Array = np.full(len(lanes), 0xFFFFFFFF, np.uint32)
            short = alive[warps] != mask
            if short.any() and m.launch.checks.collectives:
                lane = int(lanes[short.argmax()])
                m.fail("collective", "needs all 32 lanes, but some have ended", gate.ins, lane)
        else:
            mask = np.broadcast_to(gate.mask(self.frame, lanes), lanes.shape)
            own = ((mask >> (lanes & 31).astype(np.uint32)) & np.uint32(1)) == 0
            if own.any() and m.launch.checks.collectives:
                lane = int(lanes[own.argmax()])
                m.fail("collective", "executed by a lane its own mask leaves out", gate.ins, lane)
        missing = mask & alive[warps] & ~present[warps]
        ready = missing == 0
        if ready.all() and index not in self.awaited:
            return lanes, lanes[:0]
        awaited = self.awaited.setdefault(index, np.zeros(m.warps, np.uint32))
        gone = awaited[warps] & mask & ~present[warps] & ~alive[warps]
        if (gone[ready] != 0).any() and m.launch.checks.collectives:
            lane = int(lanes[ready][(gone[ready] != 0).argmax()])
            text = "lanes of its mask ended without executing it"
            m.fail("collective", text, gate.ins, lane)
        np.bitwise_or.at(awaited, warps, missing)
        awaited[warps[ready]] = 0
        return lanes[ready], lanes[~ready]

    # ------------------------------------------------------------------ barriers

    def reach_barrier(self, index: int, block: Block, sel: Selection) -> None:
        end, m = block.end, self.m
        assert end.ins is not None
        everyone = self.size(sel)[0] == m.live_count
        if everyone and end.count is None and end.reduce is None and not self.parked:
            m.passed_barrier(sel)
            self.put(index + 1, sel)
        elif end.ins.has("arrive"):
            lanes = m.lanes if sel is None else sel
            np.add.at(self.arrivals(), self.keys(index, lanes), 1)
            self.put(index + 1, sel)
        else:
            self.parked.setdefault(index, []).append(sel)

    def arrivals(self) -> Array:
        if self.arrived is None:
            self.arrived = np.zeros(self.m.blocks * 16, np.int64)
        return self.arrived

    def keys(self, index: int, lanes: Array) -> Array:
        """Block and barrier number of lanes at a barrier, as one number."""
        barrier = self.code.blocks[index].end.barrier
        assert barrier is not None
        numbers = np.broadcast_to(barrier(self.frame, lanes), lanes.shape) & np.uint32(15)
        return self.m.block_of[lanes] * 16 + numbers.astype(np.int64)

    def release(self) -> bool:
        """Let lanes go on whose barrier is complete; tells whether any did."""
        if not self.parked:
            return False
        m = self.m
        alive = np.bincount(m.block_of[m.live], minlength=m.blocks)
        lanes, places, keys, expected = [], [], [], []
        for index, pieces in self.parked.items():
            sel = self.merge(pieces)
            here = m.lanes if sel is None else sel
            count = self.code.blocks[index].end.count
            lanes.append(here)
            places.append(np.full(len(here), index))
            keys.append(self.keys(index, here))
            expected.append(
                alive[m.block_of[here]]
                if count is None
                else np.broadcast_to(count(self.frame, here), here.shape).astype(np.int64)
            )
        lane, place, key, wanted = (
            np.concatenate(each) for each in (lanes, places, keys, expected)
        )
        totals = np.bincount(key, minlength=m.blocks * 16) + self.arrivals()
        done = totals[key] >= wanted
        if not done.any():
            return False
        self.one_place(lane[done], place[done], key[done])
        self.reduce(lane[done], place[done], key[done])
        self.arrivals()[key[done]] = 0
        m.passed_barrier(np.sort(lane[done]))
        for index in list(self.parked):
            here = place == index
            going, staying = lane[here & done], lane[here & ~done]
            del self.parked[index]
            if len(staying):
                self.parked[index] = [staying]
            if len(going):
                self.put(index + 1, self.whole(going))
        return True

    def one_place(self, lane: Array, place: Array, key: Array) -> None:
        """Threads of a block must meet at one barrier instruction, not at two of one number."""
        if not self.m.launch.checks.barriers or (place == place[0]).all():
            return
        for number in np.unique(key):
            here = key == number
            found = np.unique(place[here])
            ends = [self.code.blocks[int(each)].end for each in found]
            if len(found) > 1 and all(end.count is None for end in ends):
                one, other = (end.ins for end in ends[:2])
                assert one is not None
                assert other is not None
                text = f"threads of a block wait at different barriers: also at {other.site}"
                self.m.fail("barrier", text, one, int(lane[here & (place == found[0])][0]))

    def reduce(self, lane: Array, place: Array, key: Array) -> None:
        """bar.red: combine the predicates of the threads that met."""
        for index in np.unique(place):
            reduce = self.code.blocks[int(index)].end.reduce
            if reduce is None:
                continue
            operation, test, write = reduce
            here = place == index
            mine = np.sort(lane[here])
            true = np.broadcast_to(test(self.frame, mine), mine.shape)
            keys = self.keys(int(index), mine)
            counts = np.bincount(keys[true], minlength=self.m.blocks * 16)[keys]
            totals = np.bincount(keys, minlength=self.m.blocks * 16)[keys]
            results = {
                "popc": counts.astype(np.uint32),
                "and": counts == totals,
                "or": counts > 0,
            }
            write(self.frame, mine, results[operation])

    # ------------------------------------------------------------------ dead ends

    def positions(self) -> list[tuple[Instruction, int, int]]:
        """Where lanes wait: instruction, first lane, how many."""
        found = []
        for index, pieces in [*self.parked.items(), *self.waiting.items()]:
            block, sel = self.code.blocks[index], self.merge(list(pieces))
            ins = block.end.ins if index in self.parked else None
            if ins is None:
                ins = block.sites[0] if block.sites else self.code.blocks[0].sites[0]
            found.append((ins, self.m.lane(sel, 0), self.size(sel)[0]))
        return found

    def deadlock(self) -> NoReturn:
        found = self.positions()
        ins, lane, _ = found[0]
        kind = "barrier" if self.parked else "collective"
        others = "; ".join(f"{count} threads at {at.site}" for at, _, count in found)
        text = f"threads wait for others that never come: {others}"
        self.m.fail(kind, text, ins, lane)

    def hang(self) -> NoReturn:
        found = self.positions()
        limit = self.m.launch.checks.step_limit
        site, thread = (found[0][0].site, self.m.thread(found[0][1])) if found else (None, None)
        raise PtxCheckError("hang", f"still running after {limit} basic blocks", site, thread)


NOBODY = object()
