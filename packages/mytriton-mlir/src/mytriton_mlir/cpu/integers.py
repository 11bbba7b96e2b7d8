"""Integer operations as MLIR text: rows of the table in ``lowerings.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mytriton.plugin_api as mt

from .builder import Builder, Val

Row = Callable[[Builder, mt.ScalarType, Sequence[Val]], Val]


def _harmless(b: Builder, ty: mt.ScalarType, x: Val, y: Val) -> tuple[Val, Val]:
    """Where a division would trap (its result is unspecified), and a divisor that never does."""
    kind, w = x.kind, x.width
    bad = b.compare("arith.cmpi", "eq", y, b.constant(0, kind, w))
    if ty.is_signed():
        least = b.constant(ty.int_range()[0], kind, w)
        minus_one = b.compare("arith.cmpi", "eq", y, b.constant(-1, kind, w))
        overflow = b.binary("arith.andi", minus_one, b.compare("arith.cmpi", "eq", x, least))
        bad = b.binary("arith.ori", bad, overflow)
    return bad, b.select(bad, b.constant(1, kind, w), y)


def divide(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    """The quotient, truncated; 0 where it would trap."""
    x, y = b.level_up(*v)
    if ty.is_bool():
        return b.binary("arith.andi", x, y)  # x / 1; division by 0 is 0
    bad, y = _harmless(b, ty, x, y)
    return b.select(bad, b.constant(0, x.kind, x.width), _quotient(b, ty, x, y))


def remainder(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    """The remainder with the sign of the dividend; 0 where it would trap."""
    x, y = b.level_up(*v)
    if ty.is_bool():
        return b.constant(False, "i1", x.width)
    bad, y = _harmless(b, ty, x, y)
    if not x.width or ty.bits == 64:
        left = b.binary("arith.remsi" if ty.is_signed() else "arith.remui", x, y)
    else:
        left = b.binary("arith.subi", x, b.binary("arith.muli", _quotient(b, ty, x, y), y))
    return b.select(bad, b.constant(0, x.kind, x.width), left)


def _quotient(b: Builder, ty: mt.ScalarType, x: Val, y: Val) -> Val:
    if not x.width or ty.bits == 64:
        return b.binary("arith.divsi" if ty.is_signed() else "arith.divui", x, y)
    # Vectors have no integer division. A float with twice the bits of the operands gives the
    # exact quotient: what is not whole is further from a whole number than it rounds.
    wide = "f64" if ty.bits == 32 else "f32"
    to, back = (
        ("arith.sitofp", "arith.fptosi") if ty.is_signed() else ("arith.uitofp", "arith.fptoui")
    )
    return b.cast(back, b.binary("arith.divf", b.cast(to, x, wide), b.cast(to, y, wide)), x.kind)


def shift(left: bool) -> Row:
    """``<<`` or ``>>``; what the width or more shifts by is taken modulo the width."""

    def row(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
        if ty.is_bool():
            return v[0]
        by = b.binary("arith.andi", v[1], b.constant(ty.bits - 1, v[1].kind, v[1].width))
        right = "arith.shrsi" if ty.is_signed() else "arith.shrui"
        return b.binary("arith.shli" if left else right, v[0], by)

    return row


def multiply_high(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    """The upper half of the product of two unsigned numbers."""
    x, y = b.level_up(*v)
    if ty.bits == 32:
        first, second = (b.cast("arith.extui", each, "i64") for each in (x, y))
        wide = b.binary("arith.muli", first, second)
        half = b.binary("arith.shrui", wide, b.constant(32, "i64", x.width))
        return b.cast("arith.trunci", half, "i32")
    mask, half = b.constant(0xFFFFFFFF, "i64", x.width), b.constant(32, "i64", x.width)
    (x0, x1), (y0, y1) = (
        (b.binary("arith.andi", each, mask), b.binary("arith.shrui", each, half)) for each in (x, y)
    )

    def product(p: Val, q: Val) -> Val:
        return b.binary("arith.muli", p, q)

    def high(p: Val) -> Val:
        return b.binary("arith.shrui", p, half)

    def total(p: Val, q: Val) -> Val:
        return b.binary("arith.addi", p, q)

    middle = total(product(x1, y0), high(product(x0, y0)))
    other = total(product(x0, y1), b.binary("arith.andi", middle, mask))
    return total(product(x1, y1), total(high(middle), high(other)))


def complement(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    """Every bit the other way."""
    ones = b.constant(True if ty.is_bool() else -1, v[0].kind, v[0].width)
    return b.binary("arith.xori", v[0], ones)


def absolute(b: Builder, ty: mt.ScalarType, v: Sequence[Val]) -> Val:
    """The magnitude; the smallest number of a signed type is its own."""
    (x,) = v
    if not ty.is_signed():
        return x
    zero = b.constant(0, x.kind, x.width)
    return b.select(b.compare("arith.cmpi", "slt", x, zero), b.binary("arith.subi", zero, x), x)


def bitwise(op: str) -> Row:
    """An operation on all bits."""
    return lambda b, ty, v: b.binary(op, v[0], v[1])
