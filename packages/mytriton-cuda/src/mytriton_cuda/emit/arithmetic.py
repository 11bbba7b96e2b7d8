"""Arithmetic on expressions of one scalar type. Signed integers wrap, as the language says: they
are computed in the unsigned type, where C++ lets them."""

from __future__ import annotations

import re

from mytriton.plugin_api import F64, Constant, ScalarType, SSAOperand

from .scalars import unsigned_of, value_type

_DIGITS = re.compile(r"\d+(?:LL)?")


def wrapping(symbol: str, a: str, b: str, ty: ScalarType, *, plain: bool) -> str:
    """``a symbol b`` for ``+``, ``-`` and ``*``. ``plain``: overflow may be undefined."""
    simple = f"({a} {symbol} {b})"
    if ty.is_floating():
        return simple
    if ty.is_bool():
        # Arithmetic modulo 2.
        return f"({a} && {b})" if symbol == "*" else f"({a} != {b})"
    if ty.bits < 32:
        # Computed in int, where only the product of two 16-bit unsigned numbers can overflow.
        if ty.kind == "uint" and symbol == "*":
            simple = f"((unsigned int){a} * (unsigned int){b})"
        return f"({value_type(ty)}){simple}"
    if plain or not ty.is_signed():
        return simple
    return f"({value_type(ty)})({_unsigned(a, ty)} {symbol} {_unsigned(b, ty)})"


def _unsigned(text: str, ty: ScalarType) -> str:
    """An expression of a signed type in the unsigned type of the same width."""
    if _DIGITS.fullmatch(text):
        return f"{text.removesuffix('LL')}{'ULL' if ty.bits == 64 else 'u'}"
    return f"({unsigned_of(ty)}){text}"


def negation(a: str, ty: ScalarType, *, plain: bool) -> str:
    """``-a``."""
    if ty.is_floating() or plain or (ty.kind == "uint" and ty.bits >= 32):
        return f"(-{a})"
    if ty.bits < 32:
        return f"({value_type(ty)})(-{a})"
    zero = "0ULL" if ty.bits == 64 else "0u"
    return f"({value_type(ty)})({zero} - ({unsigned_of(ty)}){a})"


def quotient(a: str, b: str, ty: ScalarType, divisor: SSAOperand) -> str:
    """``a / b``: truncated for integers, 0 for a division by zero, and never undefined."""
    simple = f"({a} / {b})"
    if ty.is_floating():
        return simple
    if ty.is_bool():
        return f"({b} && {a})"
    if isinstance(divisor, Constant) and divisor.value not in (0, -1):
        return _narrow(simple, ty)
    if not ty.is_signed():
        return _narrow(f"({b} != 0 ? {a} / {b} : 0)", ty)
    negated = negation(a, ty, plain=False)
    return _narrow(f"({b} == 0 ? 0 : {b} == -1 ? {negated} : {a} / {b})", ty)


def remainder(a: str, b: str, ty: ScalarType, divisor: SSAOperand) -> str:
    """``a % b`` with the sign of ``a``; 0 for integers where C leaves it undefined."""
    if ty.is_floating():
        return f"fmod({a}, {b})" if ty == F64 else f"fmodf({a}, {b})"
    if ty.is_bool():
        return "false"
    simple = f"({a} % {b})"
    if isinstance(divisor, Constant) and divisor.value not in (0, -1):
        return _narrow(simple, ty)
    bad = f"{b} == 0 || {b} == -1" if ty.is_signed() else f"{b} == 0"
    return _narrow(f"({bad} ? 0 : {a} % {b})", ty)


def shift_left(a: str, b: str, ty: ScalarType) -> str:
    """``a << b``, in the unsigned type where bits may leave a signed one."""
    if ty.is_bool():
        return f"({a} && !{b})"
    if not ty.is_signed() and ty.bits >= 32:
        return f"({a} << {b})"
    return f"({value_type(ty)})({_unsigned(a, ty)} << {b})"


def shift_right(a: str, b: str, ty: ScalarType) -> str:
    """``a >> b``: arithmetic for signed types, logical for the others."""
    return f"({a} && !{b})" if ty.is_bool() else f"({a} >> {b})"


def complement(a: str, ty: ScalarType) -> str:
    """``~a``."""
    return f"(!{a})" if ty.is_bool() else _narrow(f"(~{a})", ty)


def absolute(a: str, ty: ScalarType) -> str:
    """``|a|``; integers wrap."""
    if ty.is_floating():
        return f"fabs({a})" if ty == F64 else f"fabsf({a})"
    return f"({a} < 0 ? {negation(a, ty, plain=False)} : {a})" if ty.is_signed() else a


def upper_product(a: str, b: str, ty: ScalarType) -> str:
    """The upper half of the product of two integers taken as unsigned."""
    name = "__umul64hi" if ty.bits == 64 else "__umulhi"
    text = (
        f"{name}({_unsigned(a, ty)}, {_unsigned(b, ty)})" if ty.is_signed() else f"{name}({a}, {b})"
    )
    return f"({value_type(ty)}){text}" if ty.is_signed() else text


def _narrow(text: str, ty: ScalarType) -> str:
    return f"({value_type(ty)}){text}" if ty.bits < 32 else text


def extremum(symbol: str, a: str, b: str, ty: ScalarType) -> str:
    """The larger (``>``) or smaller (``<``): NaN propagates, the right operand wins ties."""
    if ty.is_floating():
        return f"({a} {symbol} {b} || {a} != {a} ? {a} : {b})"
    return f"({a} {symbol} {b} ? {a} : {b})"


def combine(name: str, a: str, b: str, ty: ScalarType) -> str:
    """One step of the reduction ``name``; extrema ignore NaN."""
    if name == "sum":
        return wrapping("+", a, b, ty, plain=False)
    if name == "xor_sum":
        return f"({a} != {b})" if ty.is_bool() else f"({a} ^ {b})"
    if ty.is_floating():
        suffix = "" if ty == F64 else "f"
        return f"f{name}{suffix}({a}, {b})"
    return extremum(">" if name == "max" else "<", a, b, ty)


def beats(name: str, a: str, at_a: str, b: str, at_b: str, ty: ScalarType) -> str:
    """Whether the element ``b`` at ``at_b`` goes before ``a`` as the result of ``argmax`` or
    ``argmin``: a larger (smaller) one, of equals the first, and NaN only when all are NaN."""
    better = f"{b} {'>' if name == 'argmax' else '<'} {a}"
    text = f"{better} || ({b} == {a} && {at_b} < {at_a})"
    if ty.is_floating():
        text += f" || ({a} != {a} && ({b} == {b} || {at_b} < {at_a}))"
    return text
