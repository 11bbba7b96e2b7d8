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
    if ty.is_floating():
        suffix = "" if ty == F64 else "f"
        return f"f{name}{suffix}({a}, {b})"
    return extremum(">" if name == "max" else "<", a, b, ty)
