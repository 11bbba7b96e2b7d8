"""Arithmetic on operands of one scalar type: the right-hand sides of MLIR operations.

A function returns the last operation's text; operations before it are written through ``write``,
which gives the name of their result.
"""

from __future__ import annotations

from collections.abc import Callable

from mytriton.plugin_api import I32, Constant, ScalarType, SSAOperand

from .scalars import value_type

#: Writes ``%name = text`` and returns ``%name``; the second argument says what it is.
Write = Callable[[str, str], str]
#: Names a constant of a type.
Literal = Callable[[int, ScalarType], str]

_SIMPLE = {
    "add": ("arith.addf", "arith.addi"),
    "sub": ("arith.subf", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli"),
}


def simple(name: str, a: str, b: str, ty: ScalarType) -> str:
    """``add``, ``sub`` and ``mul``: integers wrap, a bool is a number modulo 2."""
    of_float, of_int = _SIMPLE[name]
    if ty.is_bool():
        of_int = "arith.andi" if name == "mul" else "arith.xori"
    return f"{of_float if ty.is_floating() else of_int} {a}, {b} : {value_type(ty)}"


_WORDS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def compare(symbol: str, a: str, b: str, ty: ScalarType) -> str:
    """A comparison by its symbol; with NaN it is false, but for ``!=``."""
    word = _WORDS[symbol]
    if ty.is_floating():
        word = "une" if symbol == "!=" else f"o{word}"
        return f"arith.cmpf {word}, {a}, {b} : {value_type(ty)}"
    if symbol not in ("==", "!="):
        word = ("s" if ty.is_signed() else "u") + word
    return f"arith.cmpi {word}, {a}, {b} : {value_type(ty)}"


def bitwise(name: str, a: str, b: str, ty: ScalarType) -> str:
    """``and``, ``or`` and ``xor``."""
    return f"arith.{name}i {a}, {b} : {value_type(ty)}"


def complement(a: str, ty: ScalarType, number: Literal) -> str:
    """``~a``."""
    return f"arith.xori {a}, {number(1 if ty.is_bool() else -1, ty)} : {value_type(ty)}"


def shift(
    name: str, a: str, b: str, ty: ScalarType, by: SSAOperand, write: Write, number: Literal
) -> str:
    """``shl`` and ``shr``. A shift by the width or more, which would be poison, is some value."""
    if ty.is_bool():
        return a  # by less than one bit
    if not (isinstance(by, Constant) and 0 <= by.value < ty.bits):
        b = write(f"arith.andi {b}, {number(ty.bits - 1, ty)} : {value_type(ty)}", "by")
    word = "shli" if name == "shl" else "shrsi" if ty.is_signed() else "shrui"
    return f"arith.{word} {a}, {b} : {value_type(ty)}"


def magnitude(a: str, ty: ScalarType, write: Write, number: Literal) -> str:
    """``|a|``; integers wrap."""
    if ty.is_floating():
        return f"math.absf {a} : {value_type(ty)}"
    if not ty.is_signed():
        return a
    negated = write(negation(a, ty, number), "negated")
    return f"arith.maxsi {a}, {negated} : {value_type(ty)}"


def choose(condition: str, a: str, b: str, ty: ScalarType) -> str:
    """``condition ? a : b``."""
    return f"arith.select {condition}, {a}, {b} : {value_type(ty)}"


def negation(a: str, ty: ScalarType, number: Literal) -> str:
    """``-a``."""
    if ty.is_floating():
        return f"arith.negf {a} : {value_type(ty)}"
    return f"arith.subi {number(0, ty)}, {a} : {value_type(ty)}"


def quotient(
    a: str, b: str, ty: ScalarType, divisor: SSAOperand, write: Write, number: Literal
) -> str:
    """``a / b``: truncated for integers, 0 for a division by zero, and never undefined."""
    spelled = value_type(ty)
    if ty.is_floating():
        return f"arith.divf {a}, {b} : {spelled}"
    if ty.is_bool():
        return f"arith.andi {a}, {b} : i1"
    name = "arith.divsi" if ty.is_signed() else "arith.divui"
    if isinstance(divisor, Constant) and divisor.value not in (0, -1):
        return f"{name} {a}, {b} : {spelled}"
    one, zero = number(1, ty), number(0, ty)
    by_zero = write(compare("==", b, zero, ty), "by_zero")
    if not ty.is_signed():
        safe = write(choose(by_zero, one, b, ty), "divisor")
        whole = write(f"{name} {a}, {safe} : {spelled}", "quotient")
        return choose(by_zero, zero, whole, ty)
    by_minus_one = write(compare("==", b, number(-1, ty), ty), "by_minus_one")
    unsafe = write(f"arith.ori {by_zero}, {by_minus_one} : i1", "unsafe")
    safe = write(choose(unsafe, one, b, ty), "divisor")
    whole = write(f"{name} {a}, {safe} : {spelled}", "quotient")
    negated = write(negation(a, ty, number), "negated")
    signed = write(choose(by_minus_one, negated, whole, ty), "signed")
    return choose(by_zero, zero, signed, ty)


def remainder(
    a: str, b: str, ty: ScalarType, divisor: SSAOperand, write: Write, number: Literal
) -> str:
    """``a % b`` with the sign of ``a``: 0 for an integer division by zero, and never undefined."""
    spelled = value_type(ty)
    if ty.is_floating():
        return f"arith.remf {a}, {b} : {spelled}"
    zero = number(0, ty)
    if ty.is_bool():
        return zero
    name = "arith.remsi" if ty.is_signed() else "arith.remui"
    if isinstance(divisor, Constant) and divisor.value not in (0, -1):
        return f"{name} {a}, {b} : {spelled}"
    unsafe = write(compare("==", b, zero, ty), "by_zero")
    if ty.is_signed():
        by_minus_one = write(compare("==", b, number(-1, ty), ty), "by_minus_one")
        unsafe = write(f"arith.ori {unsafe}, {by_minus_one} : i1", "unsafe")
    safe = write(choose(unsafe, number(1, ty), b, ty), "divisor")
    # A remainder by one is the zero that is wanted.
    return f"{name} {a}, {safe} : {spelled}"


def extremum(symbol: str, a: str, b: str, ty: ScalarType, write: Write) -> str:
    """The larger (``>``) or smaller (``<``): NaN propagates, the right operand wins ties."""
    wins = write(compare(symbol, a, b, ty), "left")
    if ty.is_floating():
        nan = write(f"arith.cmpf uno, {a}, {a} : {value_type(ty)}", "nan")
        wins = write(f"arith.ori {wins}, {nan} : i1", "kept")
    return choose(wins, a, b, ty)


def first_of(
    symbol: str, mine: list[str], other: list[str], ty: ScalarType, write: Write
) -> list[str]:
    """Of two pairs of value and position the one with the larger (``>``) or smaller (``<``) value,
    the first of equals; NaN only beside NaN."""
    (a, at), (b, bt) = mine, other
    wins = write(compare(symbol, b, a, ty), "wins")
    equal = write(compare("==", a, b, ty), "equal")
    if ty.is_floating():
        spelled = value_type(ty)
        lost = write(f"arith.cmpf uno, {a}, {a} : {spelled}", "lost")
        number = write(f"arith.cmpf ord, {b}, {b} : {spelled}", "number")
        instead = write(f"arith.andi {lost}, {number} : i1", "instead")
        wins = write(f"arith.ori {wins}, {instead} : i1", "takes")
    before = write(compare("<", bt, at, I32), "before")
    first = write(f"arith.andi {equal}, {before} : i1", "first")
    wins = write(f"arith.ori {wins}, {first} : i1", "chosen")
    return [write(choose(wins, b, a, ty), "best"), write(choose(wins, bt, at, I32), "best_at")]


def combine(name: str, a: str, b: str, ty: ScalarType, *, parity: bool) -> str:
    """One step of the reduction ``name``; extrema ignore NaN, sums of bools are parities."""
    spelled = value_type(ty)
    if name == "xor_sum":
        return f"arith.xori {a}, {b} : {spelled}"
    if name == "sum":
        return f"arith.xori {a}, {b} : {spelled}" if parity else simple("add", a, b, ty)
    if ty.is_floating():
        return f"arith.{name}numf {a}, {b} : {spelled}"
    signed = ty.is_signed() and not parity
    return f"arith.{name}{'s' if signed else 'u'}i {a}, {b} : {spelled}"
