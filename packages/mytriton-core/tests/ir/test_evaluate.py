"""Elementwise evaluation: convert, compute, settle; and the meaning of each elementwise operation
against NumPy."""

import math

import numpy as np
import pytest

from mytriton.ir import ops  # noqa: F401  (registers the operations)
from mytriton.ir.evaluate import elementwise, is_defined
from mytriton.ir.numerics import held_dtype
from mytriton.ir.registry import get
from mytriton.ir.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, U32, BlockType

INT_MIN = -(2**31)


def run(opcode, *operands, attrs=None):
    """``operands`` are (value, type) pairs; returns a Python value."""
    definition = get(opcode)
    types = [ty for _, ty in operands]
    result_type = definition.infer(types, attrs or {})
    arrays = [np.array([v], held_dtype(ty)) for v, ty in operands]
    result = elementwise(definition, attrs or {}, types, result_type, arrays)
    assert result.dtype == held_dtype(result_type)
    return result[0].item()


def defined(opcode, *operands, attrs=None):
    definition = get(opcode)
    types = [ty for _, ty in operands]
    result_type = definition.infer(types, attrs or {})
    arrays = [np.array([v], held_dtype(ty)) for v, ty in operands]
    return is_defined(definition, attrs or {}, types, result_type, arrays)


@pytest.mark.parametrize(
    ("opcode", "operands", "expected"),
    [
        ("add", [(2**31 - 1, I32), (1, I32)], INT_MIN),
        ("add", [(200, U8), (100, U8)], 44),
        ("add", [(True, BOOL), (True, BOOL)], False),
        ("add", [(1, I32), (2.5, F32)], 3.5),
        ("add", [(1, I8), (2**40, I64)], 2**40 + 1),
        ("add", [(256.0, BF16), (1.0, BF16)], 256.0),
        ("add", [(2048.0, F16), (1.0, F16)], 2048.0),
        ("add", [(2.0**24, F32), (1.0, F32)], 2.0**24),
        ("sub", [(INT_MIN, I32), (1, I32)], 2**31 - 1),
        ("sub", [(0, U32), (1, U32)], 2**32 - 1),
        ("sub", [(False, BOOL), (True, BOOL)], True),
        ("mul", [(65536, I32), (65536, I32)], 0),
        ("mul", [(1e30, F32), (1e30, F32)], math.inf),
        ("div", [(7, I32), (-2, I32)], -3),
        ("div", [(-7, I32), (2, I32)], -3),
        ("div", [(-7, I32), (-2, I32)], 3),
        ("div", [(7, U32), (2, U32)], 3),
        ("div", [(2**63 - 1, I64), (-1, I64)], -(2**63) + 1),
        ("div", [(7, I32), (0, I32)], 0),
        ("div", [(INT_MIN, I32), (-1, I32)], 0),
        ("div", [(1.0, F32), (0.0, F32)], math.inf),
        ("div", [(1.0, F32), (-0.0, F32)], -math.inf),
        ("cmp_lt", [(1, I32), (2, I32)], True),
        ("cmp_lt", [(math.nan, F32), (2.0, F32)], False),
        ("cmp_lt", [(-1, I32), (1, U32)], False),  # unsigned wins: 2**32 - 1 < 1
        ("and", [(12, I32), (10, I32)], 8),
        ("and", [(True, BOOL), (False, BOOL)], False),
        ("neg", [(INT_MIN, I32)], INT_MIN),
        ("neg", [(1, U8)], 255),
        ("neg", [(0.0, F32)], -0.0),
        ("exp", [(1000.0, F32)], math.inf),
        ("exp", [(0.0, F16)], 1.0),
        ("exp", [(-1000.0, F64)], 0.0),
        ("maximum", [(1.0, F32), (2.0, F32)], 2.0),
        ("maximum", [(-0.0, F32), (0.0, F32)], 0.0),
        ("maximum", [(0.0, F32), (-0.0, F32)], -0.0),
        ("minimum", [(0.0, F32), (-0.0, F32)], -0.0),
        ("minimum", [(-0.0, F32), (0.0, F32)], 0.0),
        ("minimum", [(3, I32), (-3, I32)], -3),
        ("select", [(True, BOOL), (1.0, F32), (math.nan, F32)], 1.0),
        ("select", [(False, BOOL), (1, I32), (2.5, F32)], 2.5),
    ],
)
def test_meanings(opcode, operands, expected):
    result = run(opcode, *operands)
    assert result == expected
    assert math.copysign(1, result) == math.copysign(1, expected)


@pytest.mark.parametrize("opcode", ["maximum", "minimum"])
@pytest.mark.parametrize("pair", [(math.nan, 1.0), (1.0, math.nan)])
def test_extrema_propagate_nan(opcode, pair):
    assert math.isnan(run(opcode, *((x, F32) for x in pair)))


def test_exp_of_a_half_computes_in_f32_and_rounds_back():
    expected = float(np.float16(np.exp(np.float32(1.0))))
    assert run("exp", (1.0, F16)) == expected


@pytest.mark.parametrize(
    ("value", "src", "dst", "expected"),
    [(2.9, F32, I32, 2), (-1, I32, U8, 255), (0.5, F32, BOOL, True), (1, I32, F64, 1.0)],
)
def test_cast(value, src, dst, expected):
    result = run("cast", (value, src), attrs={"dtype": dst})
    assert result == expected and type(result) is type(expected)


def test_blocks_broadcast():
    row, column = BlockType((1, 3), I32), BlockType((2, 1), I32)
    definition = get("add")
    result_type = definition.infer([row, column], {})
    arrays = [np.array([[1, 2, 3]], np.int32), np.array([[10], [20]], np.int32)]
    result = elementwise(definition, {}, [row, column], result_type, arrays)
    assert result.tolist() == [[11, 12, 13], [21, 22, 23]]


def test_no_warning_leaves(recwarn):
    with np.errstate(all="raise"):
        assert run("mul", (1e38, F32), (1e38, F32)) == math.inf
        assert run("exp", (-1e30, F32)) == 0.0
    assert not recwarn.list


@pytest.mark.parametrize(
    ("opcode", "operands", "attrs", "answer"),
    [
        ("add", [(1, I32), (1, I32)], None, True),
        ("div", [(7, I32), (0, I32)], None, False),
        ("div", [(INT_MIN, I32), (-1, I32)], None, False),
        ("div", [(-5, I32), (-1, I32)], None, True),
        ("div", [(7, U32), (0, U32)], None, False),
        ("div", [(7, U32), (1, U32)], None, True),
        ("div", [(1.0, F32), (0.0, F32)], None, True),
        ("cast", [(3e9, F32)], {"dtype": I32}, False),
        ("cast", [(-2147483648.0, F32)], {"dtype": I32}, True),
        ("cast", [(-0.5, F32)], {"dtype": U32}, True),
        ("cast", [(-1.0, F32)], {"dtype": U32}, False),
        ("cast", [(math.nan, F32)], {"dtype": I32}, False),
        ("cast", [(math.inf, F64)], {"dtype": F32}, True),
        ("cast", [(2**40, I64)], {"dtype": I32}, True),
    ],
)
def test_where_results_are_specified(opcode, operands, attrs, answer):
    assert defined(opcode, *operands, attrs=attrs) is answer
