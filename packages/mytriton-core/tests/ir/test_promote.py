"""The promotion table, against the rules as language.md section 3 states them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mytriton.errors import OpRuleError
from mytriton.ir.promote import check_literal, literal_type, promote, promote_literal
from mytriton.ir.types import (
    BF16,
    BOOL,
    F8E5,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
)

INTS = [I8, I16, I32, I64, U8, U16, U32, U64]
FLOATS = [F16, BF16, F32, F64]
NUMBERS = [BOOL, *INTS, *FLOATS]
number = st.sampled_from(NUMBERS)


@given(number, number)
def test_order_does_not_matter(a, b):
    assert promote(a, b) == promote(b, a)
    assert promote(a, b, division=True) == promote(b, a, division=True)


@given(number)
def test_a_type_meets_itself_unchanged(a):
    assert promote(a, a) == a


@given(st.sampled_from([F32, F64]), number)
def test_the_widest_float_wins(wide, other):
    expected = F64 if F64 in (wide, other) else F32
    assert promote(wide, other) == expected


@given(st.sampled_from(FLOATS), st.sampled_from(INTS))
def test_float_over_int(f, i):
    # an integer with bfloat16 gives float32; every other float stays
    assert promote(f, i) == (F32 if f == BF16 else f)


@given(st.sampled_from(INTS), st.sampled_from(INTS))
def test_integers(a, b):
    result = promote(a, b)
    assert result.bits == max(a.bits, b.bits)
    if a.bits == b.bits:
        assert result.is_signed() == (a.is_signed() and b.is_signed())  # unsigned wins
    else:
        assert result == max(a, b, key=lambda t: t.bits)


def test_half_precision():
    assert promote(F16, BF16) == F16
    for a in (F16, BF16):
        assert promote(a, a) == a
        assert promote(a, a, division=True) == F32


def test_bool():
    assert promote(BOOL, BOOL) == BOOL
    assert promote_literal(BOOL, 1) == I32
    assert promote(BOOL, I8) == I8


@pytest.mark.parametrize(
    ("value", "ty"),
    [
        (True, BOOL),
        (0, I32),
        (2**31 - 1, I32),
        (2**31, U32),
        (2**32, I64),
        (-(2**31) - 1, I64),
        (2**63, U64),
        (1.5, F32),
        (0.0, F32),
        (1e300, F64),
        (1e-300, F64),
        (float("inf"), F32),
        (float("nan"), F32),
    ],
)
def test_the_type_of_a_literal(value, ty):
    assert literal_type(value) == ty


def test_literals_of_more_than_64_bits_are_refused():
    with pytest.raises(OpRuleError, match="does not fit in 64 bits"):
        literal_type(2**70)


@pytest.mark.parametrize(
    ("ty", "value", "result"),
    [
        (I8, 1, I8),
        (U16, 7, U16),
        (F16, 1, F16),
        (F16, 2.5, F16),
        (BF16, 3, BF16),
        (F64, 0.1, F64),
        (I32, 0.5, F32),
        (I64, True, I64),
    ],
)
def test_literals_are_weak(ty, value, result):
    assert promote_literal(ty, value) == result


def test_division_of_a_half_by_a_literal():
    assert promote_literal(F16, 2.0, division=True) == F32


def test_a_literal_that_does_not_fit_is_refused():
    with pytest.raises(OpRuleError, match="the integer 300 does not fit in i8"):
        promote_literal(I8, 300)
    with pytest.raises(OpRuleError, match="the integer -1 does not fit in u8"):
        check_literal(-1, U8)


def test_storage_types_do_not_compute():
    with pytest.raises(OpRuleError, match="f8e5 is a storage type"):
        promote(F8E5, F32)
    with pytest.raises(OpRuleError, match="f8e5 is a storage type"):
        promote_literal(F8E5, 1.0)
