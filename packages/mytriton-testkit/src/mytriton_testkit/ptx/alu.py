"""Register-to-register instructions: which types their operands have, and what runs them.

The arithmetic itself is in `integers.py`, `reals.py` and `convert.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import convert, floats, integers, reals
from .errors import PtxUnsupported
from .operands import Names, Reader, Step, reader, writer
from .state import Frame
from .syntax import Instruction, Operand, Pair
from .types import TYPES, UNSIGNED, Array, Selection, Type

Function = Callable[..., Array]
Builder = Callable[[Instruction, Names], Step]

PRED, U32, B32 = TYPES["pred"], TYPES["u32"], TYPES["b32"]


def double(type_: Type) -> Type:
    """The type of twice the width: the result of .wide."""
    return TYPES[type_.name[0] + str(type_.bits * 2)]


def _shift(ins: Instruction) -> tuple[Type, list[Type]]:
    return ins.type, [ins.type, U32]


def _find(ins: Instruction) -> tuple[Type, list[Type]]:
    bits = TYPES[f"u{ins.type.bits}"] if ins.base != "bfind" else ins.type
    return U32, [bits]


SIGNATURES: dict[str, Callable[[Instruction], tuple[Type, list[Type]]]] = {
    "shl": _shift,
    "shr": lambda ins: (_as_unsigned(ins), [_as_unsigned(ins), U32]),
    "shf": lambda ins: (B32, [B32, B32, U32]),
    "bfe": lambda ins: (ins.type, [ins.type, U32, U32]),
    "bfi": lambda ins: (ins.type, [ins.type, ins.type, U32, U32]),
    "szext": lambda ins: (ins.type, [ins.type, U32]),
    "popc": _find,
    "clz": _find,
    "bfind": _find,
    "sad": lambda ins: (ins.type, [ins.type] * 3),
    "dp4a": lambda ins: (B32, [B32] * 3),
    "dp2a": lambda ins: (B32, [B32] * 3),
    "testp": lambda ins: (PRED, [ins.type]),
    "selp": lambda ins: (ins.type, [ins.type, ins.type, PRED]),
    "slct": lambda ins: (ins.types[0], [ins.types[0], ins.types[0], ins.types[1]]),
    "cvt": lambda ins: (_target(ins), [ins.types[-1]] * (len(ins.operands) - 1)),
    "lop3": lambda ins: (B32, [B32] * 4),
}


def _as_unsigned(ins: Instruction) -> Type:
    return TYPES[f"u{ins.type.bits}"] if ins.type.kind == "b" else ins.type


def _target(ins: Instruction) -> Type:
    return B32 if ins.types[0].name == "tf32" else ins.types[0]


def product(ins: Instruction) -> Function:
    """mul in its integer forms: .lo, .hi, .wide, 24-bit."""
    if ins.base.endswith("24"):
        return integers.mul24(ins.has("hi"))
    if ins.has("wide"):
        return lambda a, b: integers.widen(a) * integers.widen(b)
    return integers.mul_hi if ins.has("hi") else np.multiply


def function_of(ins: Instruction) -> Function:
    """The arithmetic of an instruction as a function of operand arrays."""
    base, type_ = ins.base, ins.type
    if base == "cvt":
        packed = ins.types[0].kind == "x"
        return convert.build_packed(ins) if packed else convert.build(ins)
    if base == "selp":
        return lambda a, b, chosen: np.where(chosen, a, b)
    if base == "slct":
        return lambda a, b, chosen: np.where(chosen >= 0, a, b)
    if base in ("mul", "mul24") and not type_.is_float:
        return product(ins)
    if base in ("mad", "mad24") and not type_.is_float:
        multiply = product(ins)
        if ins.has("sat"):
            return lambda a, b, c: integers.saturating(np.add, type_)(multiply(a, b), c)
        return lambda a, b, c: multiply(a, b) + c
    if type_.is_float and base in reals.REAL:
        return reals.build(ins)
    if type_.kind == "y" and base in ("add", "min", "max"):
        return integers.packed(integers.INTEGER[base](ins), type_.name == "s16x2")
    if type_.kind != "y" and base in integers.INTEGER:
        return integers.INTEGER[base](ins)
    raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")


def signature(ins: Instruction) -> tuple[Type, list[Type]]:
    """Types of the result and of the sources."""
    if ins.base in SIGNATURES:
        return SIGNATURES[ins.base](ins)
    sources = [ins.type] * (len(ins.operands) - 1)
    result = ins.type
    if ins.has("wide"):
        result = double(ins.type)
        if ins.base == "mad":
            sources[2] = result
    return result, sources


def arithmetic(ins: Instruction, names: Names) -> Step:
    """Any instruction whose result is a function of its sources."""
    if not ins.types:
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    function = function_of(ins)
    result, sources = signature(ins)
    reads = [
        reader(operand, type_, names, ins)
        for operand, type_ in zip(ins.operands[1:], sources, strict=True)
    ]
    write = writer(ins.operands[0], result, ins)
    if len(reads) == 2:
        first, second = reads
        return lambda f, sel: write(f, sel, function(first(f, sel), second(f, sel)))
    return lambda f, sel: write(f, sel, function(*[read(f, sel) for read in reads]))


def move(ins: Instruction, names: Names) -> Step:
    """mov and cvta: bits, packed or unpacked by a vector on either side."""
    read = reader(ins.operands[1], ins.type, names, ins)
    write = writer(ins.operands[0], ins.type, ins)
    return lambda f, sel: write(f, sel, read(f, sel))


# ---------------------------------------------------------------------- comparisons


def _unordered(compare: Function) -> Function:
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


COMPARISONS: dict[str, Function] = {
    "eq": np.equal,
    "ne": lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b)),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
    "equ": _unordered(np.equal),
    "neu": np.not_equal,
    "ltu": _unordered(np.less),
    "leu": _unordered(np.less_equal),
    "gtu": _unordered(np.greater),
    "geu": _unordered(np.greater_equal),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}

COMBINATIONS: dict[str, Function] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def comparison(ins: Instruction, type_: Type) -> Function:
    """The test of a setp or set for operands of a type."""
    name = ins.modifiers[0]
    compare = COMPARISONS[name]
    if not type_.is_float:
        return np.not_equal if name == "ne" else compare
    if type_.kind == "x":
        raise PtxUnsupported(f"{ins.opcode} is not implemented ({ins.site})")
    if type_.kind == "h":
        return lambda a, b: compare(floats.bf16_to_f32(a), floats.bf16_to_f32(b))
    if ins.has("ftz"):
        return lambda a, b: compare(floats.flush32(a), floats.flush32(b))
    return compare


def _both(ins: Instruction, name: str) -> Callable[[Array, Array], tuple[Array, Array]]:
    """The test of a setp for the lower and the upper halves of f16x2 or bf16x2."""
    compare = comparison(ins, TYPES[name])

    def halves(bits: Array) -> tuple[Array, Array]:
        parts = ((bits >> np.uint32(shift)).astype(np.uint16) for shift in (0, 16))
        lower, upper = (half.view(TYPES[name].dtype) for half in parts)
        return lower, upper

    def tests(a: Array, b: Array) -> tuple[Array, Array]:
        (low, high), (other_low, other_high) = halves(a), halves(b)
        return compare(low, other_low), compare(high, other_high)

    return tests


def _opposites(ins: Instruction) -> Callable[[Array, Array], tuple[Array, Array]]:
    """The test of a setp, and its opposite."""
    compare = comparison(ins, ins.type)

    def tests(a: Array, b: Array) -> tuple[Array, Array]:
        test = compare(a, b)
        return test, ~test

    return tests


def set_predicate(ins: Instruction, names: Names) -> Step:
    """setp, with a second result and a predicate to combine with. The second result is the opposite
    of the first, but that of the upper halves for packed types."""
    target = ins.operands[0]
    first: Operand = target.first if isinstance(target, Pair) else target
    packed = ins.type.kind == "x"
    tests = _both(ins, ins.type.name.removesuffix("x2")) if packed else _opposites(ins)
    a, b = (reader(each, ins.type, names, ins) for each in ins.operands[1:3])
    write = writer(first, PRED, ins)
    combine = next((COMBINATIONS[part] for part in ins.modifiers[1:] if part in COMBINATIONS), None)
    if combine is None and not isinstance(target, Pair):
        return lambda f, sel: write(f, sel, tests(a(f, sel), b(f, sel))[0])
    other = writer(target.second, PRED, ins) if isinstance(target, Pair) else None
    with_ = reader(ins.operands[3], PRED, names, ins) if combine is not None else None

    def step(f: Frame, sel: Selection) -> None:
        test, second = tests(a(f, sel), b(f, sel))
        if combine is not None and with_ is not None:
            third = with_(f, sel)
            test, second = combine(test, third), combine(second, third)
        write(f, sel, test)
        if other is not None:
            other(f, sel, second)

    return step


def set_value(ins: Instruction, names: Names) -> Step:
    """set: a comparison as a number (all ones, or 1.0)."""
    result, type_ = ins.types
    compare = comparison(ins, type_)
    reads: list[Reader] = [reader(each, type_, names, ins) for each in ins.operands[1:3]]
    combine = next((COMBINATIONS[part] for part in ins.modifiers[1:] if part in COMBINATIONS), None)
    with_ = reader(ins.operands[3], PRED, names, ins) if combine is not None else None
    write = writer(ins.operands[0], result, ins)
    true = np.array([1], result.dtype) if result.kind == "f" else ~np.array([0], result.dtype)

    def step(f: Frame, sel: Selection) -> None:
        test = compare(reads[0](f, sel), reads[1](f, sel))
        if combine is not None and with_ is not None:
            test = combine(test, with_(f, sel))
        write(f, sel, np.where(test, true, np.zeros_like(true)))

    return step


# ---------------------------------------------------------------------- carry chains


def carry_chain(ins: Instruction, names: Names) -> Step:
    """add.cc, addc, sub.cc, subc, mad.cc, madc: the carry lives in the frame."""
    type_ = TYPES[f"u{ins.type.bits}"]
    signed = ins.type if ins.base.startswith("mad") else type_
    reads = [reader(each, signed, names, ins) for each in ins.operands[1:]]
    write = writer(ins.operands[0], type_, ins)
    takes, gives = ins.base.endswith("c"), ins.has("cc")
    subtract = ins.base.startswith("sub")
    multiply = product(ins) if ins.base.startswith("mad") else None
    unsigned = UNSIGNED[type_.bits]

    def step(f: Frame, sel: Selection) -> None:
        values = [read(f, sel) for read in reads]
        if multiply is not None:
            values = [multiply(values[0], values[1]), values[2]]
        a, b = (value.view(unsigned) for value in values)
        total = a - b if subtract else a + b
        carried = a < b if subtract else total < a
        if takes:
            held = f.carry if sel is None else f.carry.take(sel)
            old, total = total, total - held if subtract else total + held
            carried = carried | (total > old if subtract else total < old)
        write(f, sel, total.astype(unsigned))
        if gives:
            f.carry = f.carry.copy()
            f.carry[slice(None) if sel is None else sel] = carried

    return step
