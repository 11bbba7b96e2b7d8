"""What the text of a function tells before it is compiled: blocks, constants, unread results."""

from __future__ import annotations

from collections import Counter

from . import access
from .errors import PtxUnsupported
from .literals import immediate_bits
from .syntax import Call, Function, Immediate, Instruction, Label, Register

WHOLE_WARP = ("mma", "ldmatrix", "wmma", "stmatrix")
MASK_OPERAND = {"shfl": 4, "vote": 2, "redux": 2, "match": 2, "elect": 1}
"""Where the membermask of a collective stands."""


def is_warp_barrier(ins: Instruction) -> bool:
    return ins.base == "bar" and ins.has("warp")


def mask_position(ins: Instruction) -> int | None:
    """Which operand of a `.sync` collective is its mask: -1 for the whole warp, None for other
    instructions."""
    if not ins.has("sync") or (ins.base in ("bar", "barrier") and not is_warp_barrier(ins)):
        return None
    if ins.base in WHOLE_WARP:
        return -1
    at = 0 if is_warp_barrier(ins) else MASK_OPERAND.get(ins.base, len(ins.operands))
    return at if at < len(ins.operands) else None


def ends_block(ins: Instruction) -> bool:
    if ins.base in ("bra", "brx", "ret", "exit", "trap", "brkpt") or isinstance(ins, Call):
        return True
    if ins.base in ("bar", "barrier") and not is_warp_barrier(ins):
        if ins.has("cluster"):
            raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
        return True
    return False


def split(function: Function) -> list[tuple[list[str], list[Instruction]]]:
    """Basic blocks: (labels, instructions). Collectives begin a block of their own."""
    chunks: list[tuple[list[str], list[Instruction]]] = [([], [])]
    for item in function.body:
        if isinstance(item, Label):
            if chunks[-1][1]:
                chunks.append(([], []))
            chunks[-1][0].append(item.name)
            continue
        gated = mask_position(item) is not None
        if gated and chunks[-1][1]:
            chunks.append(([], []))
        chunks[-1][1].append(item)
        if ends_block(item):
            chunks.append(([], []))
    return chunks


def constants(function: Function) -> dict[int, Immediate]:
    """Registers whose only definition moves a literal to them."""
    written: Counter[int] = Counter(
        each.register.slot for each in function.params if each.register is not None
    )
    instructions = [item for item in function.body if isinstance(item, Instruction)]
    for item in instructions:
        for operand in [*item.operands[:1], *(item.results if isinstance(item, Call) else [])]:
            written.update(slots(operand))
    literals: dict[int, Immediate] = {}
    for item in instructions:
        if item.base != "mov" or item.guard is not None or len(item.operands) != 2:
            continue
        target, source = item.operands
        if isinstance(source, Register):
            source = literals.get(source.slot)
        if (
            isinstance(target, Register)
            and isinstance(source, Immediate)
            and target.type.bits == item.type.bits > 1
            and written[target.slot] == 1
        ):
            literals[target.slot] = Immediate(immediate_bits(source, item.type))
    return literals


def slots(operand: object) -> list[int]:
    """The registers an operand mentions."""
    if isinstance(operand, Register):
        return [operand.slot]
    found = [slot for part in getattr(operand, "items", ()) for slot in slots(part)]
    for name in ("base", "first", "second"):
        if hasattr(operand, name):
            found += slots(getattr(operand, name))
    return found


def read_slots(function: Function) -> set[int]:
    """Registers that some instruction reads."""
    found: set[int] = set()

    for item in function.body:
        if isinstance(item, Instruction):
            found.update(slots(item.guard))
            stores = item.base in ("st", "red", "cp", "bar", "prefetch", "call")
            sources = item.operands[0 if stores else 1 :]
            for operand in [*sources, *(item.arguments if isinstance(item, Call) else [])]:
                found.update(slots(operand))
    return found


def grain(instructions: list[Instruction], spaces: tuple[str, ...]) -> int:
    """Address bits below the shortest access to some spaces."""
    shortest = 4
    for ins in instructions:
        if ins.base in ("ld", "st", "ldu", "atom", "red") and access.space_name(ins) in spaces:
            size = ins.type.size
            at = 1 if ins.base == "st" else 0
            if ins.base in ("ld", "st", "ldu") and at < len(ins.operands):
                size *= len(access.elements(ins.operands[at]))
            shortest = min(shortest, size)
        elif ins.base == "cp" and "global" in spaces and len(ins.operands) > 3:
            shortest = 1
    return shortest.bit_length() - 1
