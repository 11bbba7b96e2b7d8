"""Type promotion: which type two operands meet in.

The rules are Triton's (language.md section 3): the widest float wins, float over int, unsigned wins
at equal width; Python literals are *weak*, they take the type of the other operand unless they are
of a higher kind (bool < int < float).
"""

from __future__ import annotations

import math
from functools import lru_cache

from ..errors import OpRuleError
from .types import BF16, BOOL, F16, F32, F64, I32, I64, STORAGE_ONLY, U32, U64, ScalarType

_KIND_RANK = {"bool": 0, "int": 1, "uint": 1, "float": 2}
_F32_MAX = float.fromhex("0x1.fffffep+127")
_F32_MIN_NORMAL = 2.0**-126

Literal = bool | int | float


@lru_cache(maxsize=1024)
def promote(a: ScalarType, b: ScalarType, *, division: bool = False) -> ScalarType:
    """The type ``a op b`` computes in. ``division`` is true for ``/`` and ``%``: 16-bit floats
    then meet in ``f32``."""
    for t in (a, b):
        if t in STORAGE_ONLY:
            raise OpRuleError(f"{t} is a storage type: cast it to f16 or f32 before computing")
    if F64 in (a, b):
        return F64
    if F32 in (a, b):
        return F32
    if F16 in (a, b):
        return F32 if division else F16
    if BF16 in (a, b):
        return BF16 if a == b and not division else F32
    return _promote_ints(a, b)


def _promote_ints(a: ScalarType, b: ScalarType) -> ScalarType:
    # bool counts as an unsigned integer of one bit.
    signed_a, signed_b = a.is_signed(), b.is_signed()
    if signed_a == signed_b:
        return a if a.bits >= b.bits else b
    unsigned, signed = (b, a) if signed_a else (a, b)
    return unsigned if unsigned.bits >= signed.bits else signed


def literal_type(value: Literal) -> ScalarType:
    """The type a Python literal has on its own. Raises ``OpRuleError`` beyond 64 bits."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        if -0x80000000 <= value <= 0x7FFFFFFF:
            return I32
        for ty in (I32, U32, I64, U64):
            low, high = ty.int_range()
            if low <= value <= high:
                return ty
        raise OpRuleError(f"the integer {value} does not fit in 64 bits")
    magnitude = abs(value)
    fits = magnitude == 0 or not math.isfinite(value) or _F32_MIN_NORMAL <= magnitude <= _F32_MAX
    return F32 if fits else F64


def promote_literal(ty: ScalarType, value: Literal, *, division: bool = False) -> ScalarType:
    """The type ``ty op literal`` computes in (the literal is weak)."""
    own = literal_type(value)
    if ty in STORAGE_ONLY:
        return promote(ty, ty)
    if _KIND_RANK[own.kind] > _KIND_RANK[ty.kind]:
        return promote(ty, own, division=division)
    if division and ty in (F16, BF16):
        return F32
    check_literal(value, ty)
    return ty


def check_literal(value: Literal, ty: ScalarType) -> None:
    """Raise ``OpRuleError`` when an integer literal cannot be a ``ty``."""
    if isinstance(value, int) and ty.is_floating() and value.bit_length() > 1024:
        raise OpRuleError(f"the integer {hex(value)[:12]}... is too large for {ty}")
    if isinstance(value, int) and not isinstance(value, bool) and ty.is_integer():
        low, high = ty.int_range()
        if not low <= value <= high:
            raise OpRuleError(f"the integer {value} does not fit in {ty} ({low} to {high})")
