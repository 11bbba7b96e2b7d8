"""Operands to functions that read or write them for the lanes of a selection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .errors import PtxUnsupported
from .literals import immediate_bits
from .spaces import LOCAL_BASE
from .state import Frame
from .syntax import (
    Address,
    Immediate,
    Instruction,
    Operand,
    Pair,
    Register,
    Special,
    Symbol,
    Vector,
)
from .types import SIGNED, TYPES, UNSIGNED, Array, Selection, Type, bits_type

Reader = Callable[[Frame, Selection], Array]
Writer = Callable[[Frame, Selection, Array], None]
Step = Callable[[Frame, Selection], None]

B64 = TYPES["b64"]


class Names:
    """What the text of a function tells: where its symbols are (the rest is the launch's), which
    registers never change, and which anything reads."""

    def __init__(self) -> None:
        self.constants: dict[int, Immediate] = {}
        self.used: set[int] = set()
        self.shared: dict[str, int] = {}
        self.local: dict[str, int] = {}
        self.params: dict[str, int] = {}


def resize(values: Array, target: Type, signed: bool = False) -> Array:
    """Bits of one width as bits of another: truncated, or extended as the sign says."""
    if signed and values.dtype.itemsize < target.size:
        values = values.view(SIGNED[values.dtype.itemsize * 8]).astype(SIGNED[target.bits])
        return values.view(target.storage)
    return values.astype(target.storage)


def reader(operand: Operand, type_: Type, names: Names, ins: Instruction) -> Reader:
    """Read an operand as a type. Values that all lanes share come as arrays of one element."""
    if isinstance(operand, Register):
        constant_value = names.constants.get(operand.slot)
        if constant_value is None or operand.type.bits != type_.bits:
            return _register(operand, type_)
        operand = constant_value
    if isinstance(operand, Immediate):
        bits = immediate_bits(operand, type_)
        constant = np.array([bits], type_.storage).view(type_.dtype)
        return lambda f, sel: constant
    if isinstance(operand, Special):
        name, dtype = operand.name, type_.storage

        def read(f: Frame, sel: Selection) -> Array:
            values = f.machine.special(name)
            if sel is not None and len(values) > 1:
                values = values.take(sel)
            return values.astype(dtype).view(type_.dtype)

        return read
    if isinstance(operand, (Symbol, Address)):
        return _symbol(operand, type_, names, ins)
    if isinstance(operand, Vector):
        return _packed(operand, type_, names, ins)
    raise PtxUnsupported(f"operand of {ins.site}")


def _register(register: Register, type_: Type) -> Reader:
    slot, dtype = register.slot, type_.dtype
    if register.type.kind == "p":
        if register.negated:
            return lambda f, sel: ~(f.regs[slot] if sel is None else f.regs[slot].take(sel))
        return lambda f, sel: f.regs[slot] if sel is None else f.regs[slot].take(sel)
    if register.type.bits == type_.bits:

        def read(f: Frame, sel: Selection) -> Array:
            values = f.regs[slot]
            return (values if sel is None else values.take(sel)).view(dtype)

        return read

    def narrow(f: Frame, sel: Selection) -> Array:
        values = f.regs[slot]
        return resize(values if sel is None else values.take(sel), type_).view(dtype)

    return narrow


def _symbol(operand: Symbol | Address, type_: Type, names: Names, ins: Instruction) -> Reader:
    base, offset = (operand, 0) if isinstance(operand, Symbol) else (operand.base, operand.offset)
    dtype = type_.storage
    if isinstance(base, Register):
        inner = reader(base, B64 if base.type.bits == 64 else bits_type(32), names, ins)
        return lambda f, sel: (inner(f, sel) + inner(f, sel).dtype.type(offset)).astype(dtype)
    name = base.name if isinstance(base, Symbol) else ""
    if base is None or name in names.shared:
        value = np.array([names.shared.get(name, 0) + offset], np.uint64).astype(dtype)
        return lambda f, sel: value
    if name in names.local:
        start = LOCAL_BASE + names.local[name] + offset
        return lambda f, sel: np.array([start + f.local_base], dtype)

    def read(f: Frame, sel: Selection) -> Array:
        address = f.machine.launch.symbols.get(name)
        if address is None:
            raise PtxUnsupported(f"the symbol {name!r} has no address here ({ins.site})")
        return np.array([address + offset], dtype)

    return read


def _packed(vector: Vector, type_: Type, names: Names, ins: Instruction) -> Reader:
    """mov.b32 d, {lo, hi}: elements into one value."""
    width = type_.bits // len(vector.items)
    parts = [reader(item, bits_type(width), names, ins) for item in vector.items]
    dtype = UNSIGNED[type_.bits]

    def read(f: Frame, sel: Selection) -> Array:
        total = parts[0](f, sel).astype(dtype)
        for place, part in enumerate(parts[1:], 1):
            total = total | (part(f, sel).astype(dtype) << dtype.type(place * width))
        return total.view(type_.dtype)

    return read


def address_reader(operand: Operand, names: Names, ins: Instruction) -> Reader:
    """Read an address operand as uint64, one for each lane of the selection."""
    if isinstance(operand, Address) and isinstance(operand.base, Register):
        slot, offset = operand.base.slot, np.uint64(operand.offset & 0xFFFFFFFFFFFFFFFF)
        short = operand.base.type.bits == 32

        def read(f: Frame, sel: Selection) -> Array:
            values = f.regs[slot]
            if sel is not None:
                values = values.take(sel)
            if short:
                values = values.astype(np.uint64)
            return values + offset if offset else values

        return read
    inner = reader(operand, B64, names, ins)

    def spread(f: Frame, sel: Selection) -> Array:
        return np.repeat(inner(f, sel), f.machine.n if sel is None else len(sel))

    return spread


def writer(operand: Operand, type_: Type, ins: Instruction) -> Writer:
    """Write values of a type to a register (or to the parts of a vector, for mov)."""
    if operand is None:
        return lambda f, sel, values: None
    if isinstance(operand, Pair):
        return writer(operand.first, type_, ins)
    if isinstance(operand, Vector):
        width = bits_type(type_.bits // len(operand.items))
        parts = [writer(item, width, ins) for item in operand.items]

        def scatter(f: Frame, sel: Selection, values: Array) -> None:
            bits = values.view(type_.storage)
            for place, part in enumerate(parts):
                shift = bits.dtype.type(place * width.bits)
                part(f, sel, (bits >> shift).astype(width.storage))

        return scatter
    if not isinstance(operand, Register):
        raise PtxUnsupported(f"result of {ins.site}")
    slot, storage, held = operand.slot, type_.storage, operand.type
    same = held.bits == type_.bits
    signed = type_.kind == "s"

    def write(f: Frame, sel: Selection, values: Array) -> None:
        bits = values.view(storage)
        if not same:
            bits = resize(bits, held, signed)
        if sel is None:
            n = f.machine.n
            f.regs[slot] = bits if len(bits) == n else np.repeat(bits, n)
        else:
            # Arrays of registers are never changed in place: mov and the like share them.
            merged = f.regs[slot].copy()
            merged[sel] = bits
            f.regs[slot] = merged

    return write
