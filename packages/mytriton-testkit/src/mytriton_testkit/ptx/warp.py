"""Collectives of a warp: shfl, vote, match, redux, activemask."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .errors import PtxUnsupported
from .operands import Names, Step, reader, writer
from .state import Frame, Machine
from .syntax import Immediate, Instruction, Operand, Pair, Register
from .types import TYPES, Array, Selection, bits_type

U32, PRED, B32 = TYPES["u32"], TYPES["pred"], TYPES["b32"]


def spread(m: Machine, sel: Selection, values: Array, fill: int = 0) -> Array:
    """Values of the selected lanes laid out over all lanes."""
    if sel is None:
        return values if len(values) == m.n else np.repeat(values, m.n)
    whole: Array = np.full(m.n, fill, values.dtype)
    whole[sel] = values
    return whole


def present(m: Machine, sel: Selection) -> Array:
    """Each lane's warp mask of the lanes in a selection."""
    bits = np.full(m.warps, 0xFFFFFFFF, np.uint32) if sel is None else m.bits(sel)
    return bits[(m.lanes if sel is None else sel) >> 5]


def source_lane(mode: str, lane: Array, by: Array, clamp: Array) -> tuple[Array, Array]:
    """The lane a shuffle reads, and whether it is in range (else its own)."""
    segment = (clamp >> np.uint32(8)) & np.uint32(31)
    bound = clamp & np.uint32(31)
    low = (lane & segment).astype(np.int64)
    top = low | (bound & ~segment).astype(np.int64)
    step = (by & np.uint32(31)).astype(np.int64)
    if mode == "up":
        source = lane - step
        valid = source >= top
    elif mode == "down":
        source = lane + step
        valid = source <= top
    elif mode == "bfly":
        source = lane ^ step
        valid = source <= top
    else:
        source = low | (step & ~segment.astype(np.int64))
        valid = source <= top
    return np.where(valid, source, lane), valid


def shuffle(ins: Instruction, names: Names) -> Step:
    """shfl{.sync}.{up,down,bfly,idx}.b32 d{|p}, a, b, c{, mask}."""
    mode = ins.one_of("up", "down", "bfly", "idx")
    target = ins.operands[0]
    value, by, clamp = (reader(each, U32, names, ins) for each in ins.operands[1:4])
    write = writer(target, U32, ins)
    second: Operand = target.second if isinstance(target, Pair) else None
    if isinstance(second, Register) and second.slot not in names.used:
        second = None
    flag = writer(second, PRED, ins)
    fixed = _fixed_source(mode, ins.operands[2:4], names) if second is None else None

    def step(f: Frame, sel: Selection) -> None:
        m = f.machine
        if sel is None and fixed is not None:
            values = spread(m, sel, value(f, sel))
            write(f, sel, values.reshape(-1, 32).take(fixed, axis=1).reshape(-1))
            return
        lanes = m.lanes if sel is None else sel
        values = spread(m, sel, value(f, sel))
        source, valid = source_lane(mode, lanes & 31, by(f, sel), clamp(f, sel))
        origin = (lanes & ~31) | source
        if sel is not None and m.launch.checks.collectives:
            here = np.zeros(m.n, bool)
            here[sel] = True
            absent = ~here[origin]
            if absent.any():
                lane = int(absent.argmax())
                m.fail(
                    "collective",
                    f"shfl reads lane {int(source[lane])}, which does not take part",
                    ins,
                    int(lanes[lane]),
                )
        write(f, sel, values.take(origin))
        if second is not None:
            flag(f, sel, np.broadcast_to(valid, lanes.shape))

    return step


def _fixed_source(mode: str, operands: list[Operand], names: Names) -> Array | None:
    """The source of each lane of a warp where the text fixes it."""
    known = []
    for operand in operands:
        literal = names.constants.get(operand.slot) if isinstance(operand, Register) else operand
        if not isinstance(literal, Immediate) or literal.bits is None:
            return None
        known.append(np.array([literal.bits & 0xFFFFFFFF], np.uint32))
    return source_lane(mode, np.arange(32), known[0], known[1])[0]


def masked(
    f: Frame, sel: Selection, mask: Callable[[Frame, Selection], Array] | None
) -> tuple[Array, Array]:
    """The lanes, and for each the mask of those it works with."""
    m = f.machine
    lanes = m.lanes if sel is None else sel
    members = present(m, sel)
    return lanes, members if mask is None else members & mask(f, sel)


def vote(ins: Instruction, names: Names) -> Step:
    """vote{.sync}.{all,any,uni,ballot}."""
    mode = ins.one_of("all", "any", "uni", "ballot")
    test = reader(ins.operands[1], PRED, names, ins)
    mask = reader(ins.operands[2], U32, names, ins) if ins.has("sync") else None
    write = writer(ins.operands[0], B32 if mode == "ballot" else PRED, ins)

    def step(f: Frame, sel: Selection) -> None:
        m = f.machine
        lanes, members = masked(f, sel, mask)
        true = np.broadcast_to(test(f, sel), lanes.shape)
        ballot = m.bits(lanes[true])[lanes >> 5] & members
        results = {
            "ballot": ballot,
            "any": ballot != 0,
            "all": ballot == members,
            "uni": (ballot == 0) | (ballot == members),
        }
        write(f, sel, results[mode])

    return step


REDUCTIONS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def reduce(ins: Instruction, names: Names) -> Step:
    """redux.sync over the lanes of each mask."""
    operation = REDUCTIONS[ins.one_of(*REDUCTIONS)]
    value = reader(ins.operands[1], ins.type, names, ins)
    mask = reader(ins.operands[2], U32, names, ins)
    write = writer(ins.operands[0], ins.type, ins)

    def step(f: Frame, sel: Selection) -> None:
        lanes, members = masked(f, sel, mask)
        values = np.broadcast_to(value(f, sel), lanes.shape)
        groups, inverse = np.unique((lanes >> 5 << 32) | members, return_inverse=True)
        inverse = inverse.reshape(-1)
        order = np.argsort(inverse, kind="stable")
        starts = np.searchsorted(inverse[order], np.arange(len(groups)))
        totals = operation.reduceat(values[order], starts).astype(values.dtype)
        write(f, sel, totals[inverse])

    return step


def match(ins: Instruction, names: Names) -> Step:
    """match.{any,all}.sync: which lanes hold the same value."""
    target = ins.operands[0]
    value = reader(ins.operands[1], bits_type(ins.type.bits), names, ins)
    mask = reader(ins.operands[2], U32, names, ins)
    write = writer(target, B32, ins)
    flag = writer(target.second if isinstance(target, Pair) else None, PRED, ins)

    def step(f: Frame, sel: Selection) -> None:
        m = f.machine
        lanes, members = masked(f, sel, mask)
        values = np.broadcast_to(value(f, sel), lanes.shape)
        whole = spread(m, sel, values).reshape(-1, 32)
        equal = (whole[:, :, None] == whole[:, None, :]) @ (1 << np.arange(32, dtype=np.int64))
        same = equal.reshape(-1)[lanes].astype(np.uint32) & members
        if ins.has("all"):
            agreed = same == members
            write(f, sel, np.where(agreed, members, np.uint32(0)))
            flag(f, sel, agreed)
        else:
            write(f, sel, same)

    return step


def active_mask(ins: Instruction, names: Names) -> Step:
    write = writer(ins.operands[0], B32, ins)
    return lambda f, sel: write(f, sel, present(f.machine, sel))


def elect(ins: Instruction, names: Names) -> Step:
    """elect.sync: the lowest lane of the mask leads."""
    target = ins.operands[0]
    if not isinstance(target, Pair):
        raise PtxUnsupported(f"{ins.opcode} ({ins.site})")
    mask = reader(ins.operands[1], U32, names, ins)
    write, flag = writer(target.first, B32, ins), writer(target.second, PRED, ins)

    def step(f: Frame, sel: Selection) -> None:
        lanes, members = masked(f, sel, mask)
        lowest = members & (~members + np.uint32(1))
        leader = np.log2(lowest.astype(np.float64)).astype(np.uint32)
        write(f, sel, leader)
        flag(f, sel, leader == (lanes & 31))

    return step


def warp_barrier(ins: Instruction, names: Names) -> Step:
    """bar.warp.sync: the gate has gathered the lanes already; it orders their memory."""
    return lambda f, sel: f.machine.passed_warp_barrier(sel)
