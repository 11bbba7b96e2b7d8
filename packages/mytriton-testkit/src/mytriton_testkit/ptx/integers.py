"""Semantics of the integer, logic and selection instructions.

`INTEGER[base](instruction)` gives the function from operand arrays, already viewed as the types of
`signatures.py`, to the result array. Arrays wrap around as the hardware does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .syntax import Instruction
from .types import SIGNED, UNSIGNED, Array, Type

Function = Callable[..., Array]


def _limits(type_: Type) -> tuple[int, int]:
    if type_.kind == "s":
        return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
    return 0, (1 << type_.bits) - 1


def saturating(function: Function, type_: Type) -> Function:
    """add.sat.s32 and sub.sat.s32: computed in 64 bits, then clamped."""
    low, high = _limits(type_)

    def apply(a: Array, b: Array) -> Array:
        wide = function(a.astype(np.int64), b.astype(np.int64))
        return np.clip(wide, low, high).astype(type_.dtype)

    return apply


def mul_hi(a: Array, b: Array) -> Array:
    """The upper half of a product of two integers of one type."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = (SIGNED if a.dtype.kind == "i" else UNSIGNED)[bits * 2]
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(bits)).astype(a.dtype)
    ua, ub = a.astype(np.uint64), b.astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    al, ah, bl, bh = ua & low, ua >> half, ub & low, ub >> half
    middle = ah * bl + ((al * bl) >> half)
    other = al * bh + (middle & low)
    high = ah * bh + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, ub, np.uint64(0)) - np.where(b < 0, ua, np.uint64(0))
    return high.astype(a.dtype)


def widen(a: Array) -> Array:
    bits = a.dtype.itemsize * 16
    return a.astype((SIGNED if a.dtype.kind == "i" else UNSIGNED)[bits])


def divide(a: Array, b: Array) -> Array:
    """Quotient rounded to zero; division by zero gives all ones."""
    zero = b == 0
    if a.dtype.kind == "u":
        return np.where(zero, ~a.dtype.type(0), a // np.where(zero, b.dtype.type(1), b))
    unsigned = UNSIGNED[a.dtype.itemsize * 8]
    size = np.abs(a).astype(unsigned) // np.where(zero, 1, np.abs(b)).astype(unsigned)
    quotient = size.astype(a.dtype)
    quotient = np.where((a < 0) != (b < 0), -quotient, quotient)
    return np.where(zero, a.dtype.type(-1), quotient)


def remainder(a: Array, b: Array) -> Array:
    return np.where(b == 0, a, a - divide(a, b) * b)


def _low24(a: Array) -> Array:
    if a.dtype.kind == "i":
        return (a << a.dtype.type(8)) >> a.dtype.type(8)
    return a & a.dtype.type(0xFFFFFF)


def mul24(high: bool) -> Function:
    def apply(a: Array, b: Array) -> Array:
        product = widen(_low24(a)) * widen(_low24(b))
        return (product >> product.dtype.type(16 if high else 0)).astype(a.dtype)

    return apply


# ---------------------------------------------------------------------- shifts and bits


def shift_left(a: Array, by: Array) -> Array:
    bits = np.uint32(a.dtype.itemsize * 8)
    shifted = a << np.minimum(by, bits - np.uint32(1)).astype(a.dtype)
    return np.where(by >= bits, a.dtype.type(0), shifted)


def shift_right(a: Array, by: Array) -> Array:
    bits = np.uint32(a.dtype.itemsize * 8)
    shifted = a >> np.minimum(by, bits - np.uint32(1)).astype(a.dtype)
    return shifted if a.dtype.kind == "i" else np.where(by >= bits, a.dtype.type(0), shifted)


def funnel(left: bool, clamp: bool) -> Function:
    def apply(a: Array, b: Array, by: Array) -> Array:
        n = np.minimum(by, np.uint32(32)) if clamp else by & np.uint32(31)
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        shift = n.astype(np.uint64)
        moved = (both << shift) >> np.uint64(32) if left else both >> shift
        return moved.astype(np.uint32)

    return apply


def popcount(a: Array) -> Array:
    octets = np.ascontiguousarray(a).view(np.uint8).reshape(*np.shape(a), -1)
    return np.unpackbits(octets, axis=-1).sum(axis=-1).astype(np.uint32)


def highest_bit(a: Array) -> Array:
    """Position of the most significant one of unsigned values; -1 for zero."""
    wide = a.astype(np.uint64)
    high, low = wide >> np.uint64(32), wide & np.uint64(0xFFFFFFFF)
    top = np.frexp(high.astype(np.float64))[1] + 31
    return np.where(high != 0, top, np.frexp(low.astype(np.float64))[1] - 1)


def leading_zeros(a: Array) -> Array:
    return (a.dtype.itemsize * 8 - 1 - highest_bit(a)).astype(np.uint32)


def find_bit(shift_amount: bool) -> Function:
    def apply(a: Array) -> Array:
        positive = np.where(a < 0, ~a, a) if a.dtype.kind == "i" else a
        found = highest_bit(positive.astype(UNSIGNED[a.dtype.itemsize * 8]))
        if shift_amount:
            found = np.where(found >= 0, a.dtype.itemsize * 8 - 1 - found, found)
        return found.astype(np.int32).view(np.uint32)

    return apply


def reverse_bits(a: Array) -> Array:
    octets = np.ascontiguousarray(a).view(np.uint8).reshape(*np.shape(a), -1)[..., ::-1]
    flipped = np.packbits(np.unpackbits(octets, axis=-1, bitorder="little"), axis=-1)
    return np.ascontiguousarray(flipped).view(a.dtype).reshape(np.shape(a))


def _field_mask(length: Array, dtype: np.dtype[Any]) -> Array:
    bits = np.uint32(dtype.itemsize * 8)
    ones = ~dtype.type(0)
    mask = ones >> (bits - np.clip(length, np.uint32(1), bits)).astype(dtype)
    return np.where(length == 0, dtype.type(0), mask)


def extract(a: Array, start: Array, length: Array) -> Array:
    """bfe: a field of `length` bits at `start`, sign-extended for signed types."""
    bits = a.dtype.itemsize * 8
    unsigned = UNSIGNED[bits]
    start, length = start & np.uint32(255), length & np.uint32(255)
    raw = a.astype(unsigned)
    mask = _field_mask(length, unsigned)
    field = shift_right(raw, start) & mask
    if a.dtype.kind == "u":
        return field
    top = np.minimum(start + length - np.uint32(1), np.uint32(bits - 1))
    sign = (raw >> top.astype(unsigned)) & unsigned.type(1)
    # Bits beyond the operand are copies of its sign.
    known = np.where(start >= bits, unsigned.type(0), _field_mask(bits - start, unsigned)) & mask
    filled = field | np.where(sign != 0, ~known, unsigned.type(0))
    return np.where(length == 0, unsigned.type(0), filled).astype(a.dtype)


def insert(a: Array, b: Array, start: Array, length: Array) -> Array:
    """bfi: the low bits of `a` go into `b`."""
    start, length = start & np.uint32(255), length & np.uint32(255)
    mask = shift_left(_field_mask(length, b.dtype), start)
    return (shift_left(a, start) & mask) | (b & ~mask)


def bit_mask(clamp: bool) -> Function:
    def apply(start: Array, length: Array) -> Array:
        if not clamp:
            start, length = start & np.uint32(31), length & np.uint32(31)
        return shift_left(_field_mask(length, UNSIGNED[32]), start)

    return apply


PRMT_MODES: dict[str, Callable[[Array], list[Array]]] = {
    "f4e": lambda n: [n, n + 1, n + 2, n + 3],
    "b4e": lambda n: [n, (n + 7) & 7, (n + 6) & 7, (n + 5) & 7],
    "rc8": lambda n: [n, n, n, n],
    "ecl": lambda n: [np.maximum(n, i) for i in range(4)],
    "ecr": lambda n: [np.minimum(n, i) for i in range(4)],
    "rc16": lambda n: [(n & 1) * 2 + (i & 1) for i in range(4)],
}


def permute(mode: str) -> Function:
    def apply(a: Array, b: Array, selector: Array) -> Array:
        both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
        if mode:
            picks = PRMT_MODES[mode](selector & np.uint32(3))
        else:
            picks = [(selector >> np.uint32(4 * i)) & np.uint32(15) for i in range(4)]
        result = np.zeros_like(both)
        for place, pick in enumerate(picks):
            octet = (both >> ((pick & 7).astype(np.uint64) * np.uint64(8))) & np.uint64(255)
            sign = np.where(octet & np.uint64(128), np.uint64(255), np.uint64(0))
            octet = np.where((pick & 8) != 0, sign, octet)
            result |= octet << np.uint64(8 * place)
        return result.astype(np.uint32)

    return apply


def lop3(a: Array, b: Array, c: Array, table: Array) -> Array:
    """Any function of three bits, given by its truth table."""
    result = np.zeros_like(a)
    code = int(np.ravel(table)[0])
    for row in range(8):
        if code >> row & 1:
            term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
            result = result | term
    return result


def dot_bytes(ins: Instruction) -> Function:
    """dp4a and dp2a: products of bytes added to a 32-bit sum."""
    first, second = ins.types[0], ins.types[1]
    high = 2 if ins.has("hi") else 0

    def parts(x: Array, type_: Type, width: int, at: int) -> Array:
        kind = (SIGNED if type_.kind == "s" else UNSIGNED)[width]
        octets = (np.asarray(x) >> np.uint32(width * at)).astype(UNSIGNED[width])
        return octets.view(kind).astype(np.int64)

    def apply(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(np.int64)
        for i in range(4 if ins.base == "dp4a" else 2):
            if ins.base == "dp4a":
                total = total + parts(a, first, 8, i) * parts(b, second, 8, i)
            else:
                total = total + parts(a, first, 16, i) * parts(b, second, 8, i + high)
        return total.astype(np.uint32)

    return apply


def sign_extend(clamp: bool, signed: bool) -> Function:
    def apply(a: Array, bits: Array) -> Array:
        n = np.minimum(bits, np.uint32(32)) if clamp else bits & np.uint32(31)
        return extract(a, n * np.uint32(0), n) if signed else a & _field_mask(n, UNSIGNED[32])

    return apply


def not_negative(core: Function) -> Function:
    """.relu: a negative result becomes 0."""

    def apply(a: Array, b: Array) -> Array:
        result = core(a, b)
        return np.maximum(result, result.dtype.type(0))

    return apply


def packed(core: Function, signed: bool) -> Function:
    """s16x2 and u16x2: the operation on both halves."""
    kind = (SIGNED if signed else UNSIGNED)[16]

    def apply(*values: Array) -> Array:
        parts = []
        for shift in (0, 16):
            halves = ((each >> np.uint32(shift)).astype(np.uint16).view(kind) for each in values)
            parts.append(core(*halves).view(np.uint16).astype(np.uint32))
        return parts[0] | (parts[1] << np.uint32(16))

    return apply


INTEGER: dict[str, Callable[[Instruction], Function]] = {
    "div": lambda ins: divide,
    "rem": lambda ins: remainder,
    "mul24": lambda ins: mul24(ins.has("hi")),
    "shl": lambda ins: shift_left,
    "shr": lambda ins: shift_right,
    "shf": lambda ins: funnel(ins.has("l"), ins.has("clamp")),
    "and": lambda ins: np.bitwise_and,
    "or": lambda ins: np.bitwise_or,
    "xor": lambda ins: np.bitwise_xor,
    "not": lambda ins: np.invert,
    "cnot": lambda ins: lambda a: (a == 0).astype(a.dtype),
    "lop3": lambda ins: lop3,
    "popc": lambda ins: popcount,
    "clz": lambda ins: leading_zeros,
    "brev": lambda ins: reverse_bits,
    "bfind": lambda ins: find_bit(ins.has("shiftamt")),
    "bfe": lambda ins: extract,
    "bfi": lambda ins: insert,
    "bmsk": lambda ins: bit_mask(ins.has("clamp")),
    "szext": lambda ins: sign_extend(ins.has("clamp"), ins.type.kind == "s"),
    "prmt": lambda ins: permute(ins.one_of(*PRMT_MODES)),
    "sad": lambda ins: lambda a, b, c: c + (np.maximum(a, b) - np.minimum(a, b)).view(c.dtype),
    "dp4a": dot_bytes,
    "dp2a": dot_bytes,
    "neg": lambda ins: np.negative,
    "abs": lambda ins: np.abs,
    "min": lambda ins: not_negative(np.minimum) if ins.has("relu") else np.minimum,
    "max": lambda ins: not_negative(np.maximum) if ins.has("relu") else np.maximum,
    "add": lambda ins: saturating(np.add, ins.type) if ins.has("sat") else np.add,
    "sub": lambda ins: saturating(np.subtract, ins.type) if ins.has("sat") else np.subtract,
}
