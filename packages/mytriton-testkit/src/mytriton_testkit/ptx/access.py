"""Loads and stores of every space, and the checks around them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .errors import PtxUnsupported
from .operands import Names, Step, address_reader, reader, writer
from .races import Party
from .spaces import LOCAL_WINDOW, SHARED_WINDOW, WINDOW, Space
from .state import Frame, Machine
from .syntax import Address, Instruction, Operand, Register, Symbol, Vector
from .types import UNSIGNED, Array, Selection, bits_type

STRONG = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
"""Accesses meant for communication: they race with plain ones only."""


def space_name(ins: Instruction) -> str:
    return ins.one_of("global", "shared", "local", "param", "const", default="generic")


def space_of(m: Machine, name: str) -> Space:
    if name == "shared":
        return m.shared
    return m.local if name == "local" else m.launch.space


Part = tuple[Space, Selection, Array | None, Array]
"""Space, lanes, their positions within the access (None: all of it), addresses in the space."""


def parts(m: Machine, sel: Selection, address: Array, name: str) -> list[Part]:
    """Split an access by the space its addresses are in; only generic ones need it."""
    if name != "generic":
        return [(space_of(m, name), sel, None, address)]
    kinds = address >> np.uint64(WINDOW)
    result: list[Part] = []
    for kind, space, window in (
        (0, m.launch.space, 0),
        (1, m.shared, SHARED_WINDOW),
        (2, m.local, LOCAL_WINDOW),
    ):
        here = kinds == kind if kind else (kinds == 0) | (kinds > 2)
        if here.all():
            return [(space, sel, None, address - np.uint64(window))]
        if here.any():
            at = here.nonzero()[0]
            lanes = at if sel is None else sel[at]
            result.append((space, lanes, at, address[at] - np.uint64(window)))
    return result


# ---------------------------------------------------------------------- checked accesses


def report(
    m: Machine,
    space: Space,
    sel: Selection,
    bad: Array,
    offsets: Array,
    size: int,
    kind: str,
    message: str,
    ins: Instruction,
) -> None:
    """Raise for the first bad piece of an access; `bad` has one entry per lane or per piece."""
    lane = int(bad.argmax()) // max(1, len(bad) // len(offsets))
    number = m.lane(sel, lane)
    place = space.where(m, number, int(offsets[lane]))
    m.fail(kind, message.format(what=f"{ins.base} of {size} bytes", place=place), ins, number)


def check_read(
    m: Machine, space: Space, sel: Selection, offsets: Array, size: int, ins: Instruction
) -> None:
    if space.fresh is not None:
        bad = space.marked(space.fresh, offsets, size)
        if bad is not None:
            text = "{what} reads {place}, which nobody has written"
            report(m, space, sel, bad, offsets, size, "uninitialised", text, ins)
    if space.pending is not None:
        check_pending(m, space, sel, offsets, size, ins)
    if space.shadow is not None:
        at, party = space.party(m, sel, offsets, size)
        strong = ins.has(*STRONG)
        raced = (space.shadow.atomic if strong else space.shadow.read)(at, party)
        if raced is not None:
            race(m, space, sel, raced, at, party, offsets, size, ins)
        if strong:
            note_order(m, space, sel, offsets, party.time)


def check_pending(
    m: Machine, space: Space, sel: Selection, offsets: Array, size: int, ins: Instruction
) -> None:
    assert space.pending is not None
    bad = space.marked(space.pending, offsets, size)
    if bad is not None:
        text = "{what} touches {place} while a cp.async to it has not landed: a wait is missing"
        report(m, space, sel, bad, offsets, size, "async-copy", text, ins)


def check_write(
    m: Machine,
    space: Space,
    sel: Selection,
    offsets: Array,
    size: int,
    ins: Instruction,
    changed: Callable[[], Array],
) -> None:
    """`changed` gives, for each lane, whether it would change what is in memory."""
    if space.pending is not None:
        check_pending(m, space, sel, offsets, size, ins)
    if space.fresh is not None:
        space.set_marks(space.fresh, offsets, size, 0)
    if space.shadow is not None:
        at, party = space.party(m, sel, offsets, size)
        if ins.has(*STRONG):
            raced = space.shadow.atomic(at, party)
            note_order(m, space, sel, offsets, party.time)
        else:
            pieces = len(at) // len(offsets)
            differ: Array = (
                np.repeat(changed(), pieces) if space.shadow.writes.used else np.ones(1, bool)
            )
            raced = space.shadow.write(at, party, differ)
        if raced is not None:
            race(m, space, sel, raced, at, party, offsets, size, ins)


def race(
    m: Machine,
    space: Space,
    sel: Selection,
    raced: Array,
    at: Array,
    party: Party,
    offsets: Array,
    size: int,
    ins: Instruction,
) -> None:
    """Say who else touched the place. The records hold the last accesses, so look there."""
    assert space.shadow is not None
    shadow, piece = space.shadow, int(raced.argmax())
    others = []
    for verb, record in (
        ("written", shadow.writes),
        ("read", shadow.reads),
        ("changed atomically", shadow.atomics),
    ):
        who = int(record.who[at[piece]])
        if who > 0 and who != int(party.who[piece]):
            padded = m.launch.padded
            others.append(f"{verb} by {m.launch.thread((who - 1) // padded, (who - 1) % padded)}")
        elif who < 0:
            others.append(f"{verb} by several threads")
    before = ", ".join(others) or "used by another thread"
    text = f"{{what}} on {{place}}, {before}, with no barrier between"
    report(m, space, sel, raced, offsets, size, "race", text, ins)


def note_order(m: Machine, space: Space, sel: Selection, offsets: Array, time: int) -> None:
    """Remember an atomic access: blocks that meet at one are in order."""
    if space.shadow is not None and space.shadow.across:
        blocks = (m.block_of if sel is None else m.block_of.take(sel)) + m.first
        space.shadow.order.append((time, blocks, offsets >> space.grain))


def count_access(m: Machine, space: Space, sel: Selection, offsets: Array, size: int) -> None:
    if m.launch.checks.counters and space.name != "local":
        lanes = m.lanes if sel is None else sel
        if space.name == "global":
            m.launch.counters.count_global(lanes, offsets, size)
        else:
            m.launch.counters.count_shared(lanes, offsets, size)


def load_lanes(
    m: Machine, space: Space, sel: Selection, offsets: Array, size: int, count: int,
    ins: Instruction,
) -> list[Array]:  # fmt: skip
    """Checked load of `count` elements of `size` bytes for each lane."""
    check_read(m, space, sel, offsets, size * count, ins)
    first = offsets >> (size.bit_length() - 1)
    view = space.views[size]
    return [view.take(first + i if i else first) for i in range(count)]


def store_lanes(
    m: Machine, space: Space, sel: Selection, offsets: Array, values: list[Array],
    ins: Instruction,
) -> None:  # fmt: skip
    size = values[0].dtype.itemsize
    first = offsets >> (size.bit_length() - 1)
    view = space.views[size]

    def changed() -> Array:
        differs = view.take(first) != values[0]
        for i, value in enumerate(values[1:], 1):
            differs = differs | (view.take(first + i) != value)
        return differs

    check_write(m, space, sel, offsets, size * len(values), ins, changed)
    for i, value in enumerate(values):
        view[first + i if i else first] = value
    if space.shadow is not None and not ins.has(*STRONG):
        lost = changed()
        if lost.any():
            text = "{what} on {place}: threads of this instruction store different values"
            total = size * len(values)
            report(m, space, sel, lost, offsets, total, "race", text, ins)


# ---------------------------------------------------------------------- instructions


def elements(operand: Operand) -> list[Operand]:
    return list(operand.items) if isinstance(operand, Vector) else [operand]


def is_formal(operand: Operand, names: Names) -> bool:
    """Whether an address is a `.param` variable of a call or function, not of the kernel."""
    base = operand.base if isinstance(operand, Address) else operand
    return isinstance(base, Symbol) and base.name in names.params


def load(ins: Instruction, names: Names) -> Step:
    """ld and ldu."""
    name, type_ = space_name(ins), ins.type
    targets = elements(ins.operands[0])
    if name == "param" and is_formal(ins.operands[1], names):
        return load_formal(ins, targets)
    if name == "param" and not isinstance(getattr(ins.operands[1], "base", None), Register):
        return load_argument(ins, names, targets)
    size, count = type_.size, len(targets)
    address = address_reader(ins.operands[1], names, ins)
    writes = [writer(target, type_, ins) for target in targets]

    def step(f: Frame, sel: Selection) -> None:
        m, where = f.machine, address(f, sel)
        values: list[Array] = []
        for space, lanes, at, inside in parts(m, sel, where, name):
            offsets = space.locate(m, lanes, inside, size * count, ins)
            count_access(m, space, lanes, offsets, size * count)
            loaded = load_lanes(m, space, lanes, offsets, size, count, ins)
            if at is None:
                values = loaded
                break
            if not values:
                values = [np.zeros(len(where), part.dtype) for part in loaded]
            for whole, part in zip(values, loaded, strict=True):
                whole[at] = part
        for write, value in zip(writes, values, strict=True):
            write(f, sel, value)

    return step


def store(ins: Instruction, names: Names) -> Step:
    name, type_ = space_name(ins), ins.type
    sources = elements(ins.operands[1])
    if name == "param":
        return store_formal(ins, names, sources)
    bits = bits_type(type_.bits)
    size = type_.size
    address = address_reader(ins.operands[0], names, ins)
    reads = [reader(source, bits, names, ins) for source in sources]

    def step(f: Frame, sel: Selection) -> None:
        m, where = f.machine, address(f, sel)
        values = [
            value if len(value) == len(where) else np.repeat(value, len(where))
            for value in (read(f, sel) for read in reads)
        ]
        for space, lanes, at, inside in parts(m, sel, where, name):
            offsets = space.locate(m, lanes, inside, size * len(values), ins)
            count_access(m, space, lanes, offsets, size * len(values))
            mine = values if at is None else [value[at] for value in values]
            store_lanes(m, space, lanes, offsets, mine, ins)

    return step


# ---------------------------------------------------------------------- parameters


def load_argument(ins: Instruction, names: Names, targets: list[Operand]) -> Step:
    """ld.param of a kernel: bytes of the launch's argument image."""
    operand, type_ = ins.operands[1], ins.type
    assert isinstance(operand, Address)
    assert isinstance(operand.base, Symbol)
    key, offset = f"param {operand.base.name}", operand.offset
    writes = [writer(target, type_, ins) for target in targets]

    def step(f: Frame, sel: Selection) -> None:
        launch = f.machine.launch
        if key not in launch.symbols:
            raise PtxUnsupported(f"unknown parameter ({ins.site})")
        start = launch.symbols[key] + offset
        for i, write in enumerate(writes):
            at = start + i * type_.size
            write(f, sel, np.frombuffer(launch.image, type_.dtype, 1, at))

    return step


def formal_place(ins: Instruction, operand: Operand) -> tuple[str, int]:
    base, offset = (operand.base, operand.offset) if isinstance(operand, Address) else (operand, 0)
    if not isinstance(base, Symbol):
        raise PtxUnsupported(f"the address of a .param variable in a register ({ins.site})")
    return base.name, offset


def load_formal(ins: Instruction, targets: list[Operand]) -> Step:
    """ld.param of a call's result or a function's parameter."""
    name, offset = formal_place(ins, ins.operands[1])
    type_ = ins.type
    writes = [writer(target, type_, ins) for target in targets]

    def step(f: Frame, sel: Selection) -> None:
        rows = f.params[name] if sel is None else f.params[name][sel]
        for i, write in enumerate(writes):
            start = offset + i * type_.size
            octets = np.ascontiguousarray(rows[:, start : start + type_.size])
            write(f, sel, octets.view(type_.dtype).reshape(-1))

    return step


def store_formal(ins: Instruction, names: Names, sources: list[Operand]) -> Step:
    name, offset = formal_place(ins, ins.operands[0])
    bits = bits_type(ins.type.bits)
    reads = [reader(source, bits, names, ins) for source in sources]

    def step(f: Frame, sel: Selection) -> None:
        if name not in f.params:
            f.params[name] = np.full((f.machine.n, names.params[name]), 0xFF, np.uint8)
        rows = f.params[name]
        for i, read in enumerate(reads):
            start = offset + i * bits.size
            octets = np.ascontiguousarray(read(f, sel), UNSIGNED[bits.bits]).view(np.uint8)
            rows[slice(None) if sel is None else sel, start : start + bits.size] = octets.reshape(
                -1, bits.size
            )

    return step


def cvta(ins: Instruction, names: Names) -> Step:
    """Between a space's addresses and generic ones."""
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space_name(ins), 0)
    type_ = bits_type(ins.type.bits)
    read, write = reader(ins.operands[1], type_, names, ins), writer(ins.operands[0], type_, ins)
    if not window:
        return lambda f, sel: write(f, sel, read(f, sel))
    delta = np.uint64(window if not ins.has("to") else (1 << 64) - window)
    return lambda f, sel: write(f, sel, read(f, sel) + delta)


def is_space(ins: Instruction, names: Names) -> Step:
    """isspacep: whether a generic address is in a space."""
    kind = {"global": 0, "const": 0, "param": 0, "shared": 1, "local": 2}[space_name(ins)]
    read = reader(ins.operands[1], bits_type(64), names, ins)
    write = writer(ins.operands[0], bits_type(1), ins)
    return lambda f, sel: write(f, sel, (read(f, sel) >> np.uint64(WINDOW)) == kind)
