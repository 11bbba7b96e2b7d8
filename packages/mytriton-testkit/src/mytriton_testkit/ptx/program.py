"""A kernel and everything it calls, as basic blocks of steps that run on NumPy arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import access, alu, atomics, copies, matrix, warp
from .errors import PtxSyntaxError, PtxUnsupported
from .flow import constants, ends_block, grain, is_warp_barrier, mask_position, read_slots, split
from .operands import Names, Reader, Step, reader, writer
from .spaces import SHARED_BASE
from .state import Frame
from .syntax import (
    Call,
    Function,
    Immediate,
    Instruction,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
)
from .types import TYPES, Array, Selection

U32, PRED = TYPES["u32"], TYPES["pred"]
GUARD_GAP = 128
"""Bytes between two shared variables: no bank moves, and running off one is seen."""


@dataclass
class Gate:
    """What a collective waits for before it runs: all lanes of its mask."""

    mask: Reader | None
    """None for instructions that need the whole warp."""
    whole: bool
    """Whether the mask is known to name all 32 lanes."""
    ins: Instruction


@dataclass
class End:
    """How a basic block ends. Kinds: `next`, `bra`, `brx`, `ret`, `exit`, `bar`, `call`, `trap`."""

    kind: str
    ins: Instruction | None = None
    guard: Reader | None = None
    target: int = -1
    targets: list[int] = field(default_factory=list)
    index: Reader | None = None
    barrier: Reader | None = None
    count: Reader | None = None
    reduce: tuple[str, Reader, Callable[..., None]] | None = None


@dataclass
class Block:
    steps: list[Step]
    gate: Gate | None
    end: End
    opcodes: Counter[str]
    sites: list[Instruction]


@dataclass
class Code:
    """A compiled function."""

    function: Function
    blocks: list[Block]
    local_size: int
    sizes: dict[str, int]


def nothing(ins: Instruction, names: Names) -> Step:
    return lambda f, sel: None


BUILDERS: dict[str, Callable[[Instruction, Names], Step]] = {
    "mov": alu.move,
    "setp": alu.set_predicate,
    "set": alu.set_value,
    "addc": alu.carry_chain,
    "subc": alu.carry_chain,
    "madc": alu.carry_chain,
    "ld": access.load,
    "ldu": access.load,
    "st": access.store,
    "cvta": access.cvta,
    "isspacep": access.is_space,
    "atom": atomics.atomic,
    "red": atomics.atomic,
    "cp": copies.build,
    "shfl": warp.shuffle,
    "vote": warp.vote,
    "redux": warp.reduce,
    "match": warp.match,
    "activemask": warp.active_mask,
    "elect": warp.elect,
    "mma": matrix.mma,
    "ldmatrix": matrix.load_matrix,
    "membar": nothing,
    "fence": nothing,
    "prefetch": nothing,
    "prefetchu": nothing,
    "discard": nothing,
    "applypriority": nothing,
    "nanosleep": nothing,
    "griddepcontrol": nothing,
    "pmevent": nothing,
}
"""How to compile an instruction, by base opcode; everything else is arithmetic."""


def gate_of(ins: Instruction, names: Names) -> Gate | None:
    """The gate of a `.sync` collective, or None for other instructions."""
    at = mask_position(ins)
    if at is None:
        return None
    if at < 0:
        return Gate(None, True, ins)
    operand = ins.operands[at]
    if isinstance(operand, Register):
        operand = names.constants.get(operand.slot, operand)
    whole = isinstance(operand, Immediate) and (operand.bits or 0) & 0xFFFFFFFF == 0xFFFFFFFF
    return Gate(reader(operand, U32, names, ins), whole, ins)


class Program:
    """A kernel compiled with all it reaches; independent of launches and of memories."""

    def __init__(self, module: Module, kernel: Function) -> None:
        self.module, self.kernel = module, kernel
        self.reached = self._reach(kernel)
        self.names = Names()
        self.shared_static, self.owned_ranges = self._place_shared()
        self.codes: dict[str, Code] = {}
        instructions = [
            item
            for function in self.reached
            for item in function.body
            if isinstance(item, Instruction)
        ]
        self.grain_shared = grain(instructions, ("shared", "generic"))
        self.grain_global = grain(instructions, ("global", "const", "param", "generic"))
        self.takes_addresses = any(map(self._takes_address, kernel.body))
        self.warp_barriers = any(map(is_warp_barrier, instructions))
        self.async_copies = any(each.base == "cp" for each in instructions)
        for function in self.reached:
            self.codes[function.name] = self._compile(function)

    def _reach(self, kernel: Function) -> list[Function]:
        found, todo = [kernel], [kernel]
        while todo:
            for item in todo.pop().body:
                if not isinstance(item, Call):
                    continue
                callee = self.module.functions.get(item.target)
                if callee is not None and callee not in found:
                    found.append(callee)
                    todo.append(callee)
        return found

    def _place_shared(self) -> tuple[int, list[tuple[int, int]]]:
        """Addresses of shared variables; dynamic ones come last and begin at one place."""
        variables: list[Variable] = [
            each
            for each in self.module.variables
            + [each for function in self.reached for each in function.variables]
            if each.space == "shared"
        ]
        at, ranges = 0, []
        for each in sorted(variables, key=lambda each: each.dynamic):
            if each.dynamic:
                continue
            at = -(-at // each.align) * each.align
            self.names.shared[each.name] = SHARED_BASE + at
            ranges.append((at, at + each.size))
            at = -(-(at + each.size + GUARD_GAP) // GUARD_GAP) * GUARD_GAP
        end = ranges[-1][1] if ranges else 0
        for each in variables:
            if each.dynamic:
                self.names.shared[each.name] = SHARED_BASE + at
                end = at
        return end, ranges

    def _takes_address(self, item: object) -> bool:
        """Whether an instruction wants the address of a parameter, not its value."""
        if not isinstance(item, Instruction) or item.opcode.startswith("ld.param"):
            return False
        names = {param.name for param in self.kernel.params}
        bases = [getattr(each, "base", each) for each in item.operands]
        return any(isinstance(each, Symbol) and each.name in names for each in bases)

    def static_shared(self) -> int:
        """Bytes of the variables themselves, as the hardware counts them."""
        return sum(end - start for start, end in self.owned_ranges)

    # ------------------------------------------------------------------ one function

    def _compile(self, function: Function) -> Code:
        names = Names()
        names.shared = self.names.shared
        size = 0
        for variable in function.variables:
            if variable.space == "local":
                size = -(-size // variable.align) * variable.align
                names.local[variable.name] = size
                size += variable.size
            elif variable.space == "param":
                names.params[variable.name] = variable.size
        if not function.is_entry:
            for param in function.params + function.results:
                names.params[param.name] = param.size
        names.used = read_slots(function)
        names.constants = constants(function)
        chunks = split(function)
        index = {label: at for at, (labels, _) in enumerate(chunks) for label in labels}
        blocks = []
        for at, (_, items) in enumerate(chunks):
            blocks.append(self._block(items, names, index, function, at == len(chunks) - 1))
        return Code(function, blocks, size, names.params)

    def _block(
        self,
        items: list[Instruction],
        names: Names,
        index: dict[str, int],
        function: Function,
        last: bool,
    ) -> Block:
        opcodes = Counter(item.opcode for item in items)
        sites = list(items)
        end = End("ret" if last else "next")
        if items and ends_block(items[-1]):
            end = self._end(items[-1], names, index, function)
            items = items[:-1]
        gate = gate_of(items[0], names) if items else None
        steps = []
        for item in items:
            target = item.operands[0] if item.operands else None
            item.unused_result = isinstance(target, Register) and target.slot not in names.used
            steps.append(build(item, names))
        return Block(steps, gate, end, opcodes, sites)

    def _end(
        self, ins: Instruction, names: Names, index: dict[str, int], function: Function
    ) -> End:
        guard = reader(ins.guard, PRED, names, ins) if ins.guard is not None else None
        kind = {"bra": "bra", "brx": "brx", "ret": "ret", "exit": "exit", "trap": "trap"}.get(
            ins.base, "call" if isinstance(ins, Call) else "bar"
        )
        end = End(kind, ins, guard)

        def place(operand: Operand) -> int:
            if isinstance(operand, Symbol) and operand.name in index:
                return index[operand.name]
            raise PtxSyntaxError(f"unknown label: {ins.site}")

        if kind == "bra":
            end.target = place(ins.operands[0])
        elif kind == "brx":
            end.index = reader(ins.operands[0], U32, names, ins)
            table = ins.operands[1]
            assert isinstance(table, Symbol)
            if table.name not in function.tables:
                raise PtxSyntaxError(f"unknown branch table: {ins.site}")
            end.targets = [place(Symbol(name)) for name in function.tables[table.name]]
        elif kind == "bar":
            operands = list(ins.operands)
            if ins.has("red"):
                operation = ins.one_of("popc", "and", "or")
                type_ = U32 if operation == "popc" else PRED
                write = writer(operands.pop(0), type_, ins)
                end.reduce = (operation, reader(operands.pop(), PRED, names, ins), write)
            end.barrier = reader(operands[0] if operands else Immediate(0), U32, names, ins)
            if len(operands) > 1:
                end.count = reader(operands[1], U32, names, ins)
        return end


def build(ins: Instruction, names: Names) -> Step:
    """The step of one instruction, predicate included."""
    if is_warp_barrier(ins):
        step = warp.warp_barrier(ins, names)
    elif ins.has("cc") and ins.base in ("add", "sub", "mad"):
        step = alu.carry_chain(ins, names)
    else:
        try:
            step = BUILDERS.get(ins.base, alu.arithmetic)(ins, names)
        except (IndexError, ValueError, KeyError, TypeError, AssertionError) as problem:
            raise PtxUnsupported(f"cannot compile {ins.site}: {problem!r}") from problem
    return step if ins.guard is None else guarded(step, ins.guard)


def guarded(step: Step, guard: Register) -> Step:
    slot, negated = guard.slot, guard.negated

    def run(f: Frame, sel: Selection) -> None:
        test: Array = f.regs[slot]
        if sel is not None:
            test = test.take(sel)
        if negated:
            test = ~test
        count = int(np.count_nonzero(test))
        if count == len(test):
            step(f, sel)
        elif count:
            step(f, test.nonzero()[0] if sel is None else sel[test])

    return run
