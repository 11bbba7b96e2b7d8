"""Types: spelling, queries, and the inverse of spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mytriton.errors import OpRuleError
from mytriton.ir import types as T

SCALARS = st.sampled_from([T.ScalarType(name) for name in T.SCALAR_NAMES])
ELEMENTS = st.one_of(SCALARS, SCALARS.map(T.PointerType))
BLOCKS = st.builds(
    T.BlockType, st.lists(st.integers(1, 4096), min_size=1, max_size=5).map(tuple), ELEMENTS
)
TYPES = st.one_of(ELEMENTS, BLOCKS)


@pytest.mark.parametrize(
    ("ty", "text"),
    [
        (T.F32, "f32"),
        (T.BOOL, "bool"),
        (T.PointerType(T.F32), "ptr<f32>"),
        (T.BlockType((256,), T.F32), "vector<256 x f32>"),
        (T.BlockType((16, 32), T.F32), "block<16x32 x f32>"),
        (T.BlockType((4, 1), T.PointerType(T.F32)), "block<4x1 x ptr<f32>>"),
    ],
)
def test_spelling(ty, text):
    assert str(ty) == text
    assert T.parse_type(text) == ty


@given(TYPES)
def test_parse_inverts_str(ty):
    assert T.parse_type(str(ty)) == ty


@pytest.mark.parametrize(
    "text",
    ["", "f31", "ptr<f32", "ptr<ptr<f32>>", "vector<2x2 x f32>", "block<2 x f32>", "f32>",
     "vector<0 x f32>", "vector<256 x ptr<f32>", "ptr<vector<2 x f32>>", "vector<x f32>"],
)  # fmt: skip
def test_what_is_no_type_is_refused(text):
    with pytest.raises(ValueError):
        T.parse_type(text)


@pytest.mark.parametrize("shape", [(), (0,), (-1,), (2, 0), (True,), (2.0,)])
def test_blocks_need_positive_extents(shape):
    with pytest.raises(ValueError, match="non-empty shape of positive ints"):
        T.BlockType(shape, T.F32)


def test_unknown_scalar():
    with pytest.raises(ValueError, match="'f31'"):
        T.ScalarType("f31")


@pytest.mark.parametrize(
    ("ty", "low", "high"),
    [
        (T.I8, -128, 127),
        (T.U8, 0, 255),
        (T.I32, -2147483648, 2147483647),
        (T.U64, 0, 18446744073709551615),
        (T.BOOL, 0, 1),
    ],
)
def test_integer_ranges(ty, low, high):
    assert ty.int_range() == (low, high)


def test_queries():
    assert T.F16.is_floating() and not T.F16.is_integer()
    assert T.U32.is_integer() and not T.U32.is_signed()
    assert T.I32.is_signed() and not T.I32.is_bool()
    assert T.BOOL.is_bool() and not T.BOOL.is_integer()
    assert T.BF16.primitive_bitwidth == 16 and T.BOOL.itemsize == 1 and T.F64.itemsize == 8
    assert T.I32.scalar is T.I32
    assert T.PointerType(T.F16).element_ty == T.F16
    assert T.BlockType((4, 8), T.F32).numel == 32


def test_parts_of_a_type():
    block = T.BlockType((4,), T.PointerType(T.F32))
    assert T.element_of(block) == T.PointerType(T.F32) and T.element_of(T.F32) == T.F32
    assert T.shape_of(block) == (4,) and T.shape_of(T.F32) == ()
    assert T.is_pointer(block) and not T.is_pointer(T.F32)
    assert T.with_shape((), T.F32) == T.F32
    with pytest.raises(OpRuleError, match="ptr<f32>"):
        T.scalar_of(block)


@pytest.mark.parametrize(
    ("shapes", "result"),
    [
        ([], ()),
        ([()], ()),
        ([(4,), ()], (4,)),
        ([(4, 1), (1, 8)], (4, 8)),
        ([(8,), (4, 1)], (4, 8)),
        ([(1, 1), (1,)], (1, 1)),
    ],
)
def test_broadcasting(shapes, result):
    assert T.broadcast_shapes(*shapes) == result


def test_broadcasting_clash_names_both_shapes():
    with pytest.raises(OpRuleError, match=r"\(4,\) and \(8,\)"):
        T.broadcast_shapes((4,), (8,))
