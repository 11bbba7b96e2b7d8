"""The meaning of reductions, on arrays that lead with a program axis."""

import math

import numpy as np
import pytest

from mytriton.ir.evaluate import Evaluation
from mytriton.ir.registry import get
from mytriton.ir.types import BOOL, F16, F32, I8, I32, BlockType


def reduce(opcode, rows, element, dtype, **attrs):
    array = np.array([rows], dtype)
    ty = BlockType(array.shape[1:], element)
    definition = get(opcode)
    result_type = definition.infer([ty], attrs)
    return definition.numpy(Evaluation(attrs, [ty], result_type), array)[0]


@pytest.mark.parametrize(
    ("opcode", "expected"), [("sum", [5, 7, 9, 11]), ("max", [4, 5, 6, 7]), ("min", [1, 2, 3, 4])]
)
def test_along_an_axis(opcode, expected):
    rows = [[1, 2, 3, 4], [4, 5, 6, 7]]
    assert reduce(opcode, rows, I32, np.int32, axis=0).tolist() == expected


def test_over_everything():
    assert reduce("sum", [[1, 2], [3, 4]], F32, np.float32) == 10.0


def test_sums_of_small_integers_wrap_in_their_type():
    assert reduce("sum", [100, 100], I8, np.int8) == -56


def test_a_sum_of_bools_is_the_parity():
    assert reduce("sum", [True, True, True, False], BOOL, np.bool_) == True
    assert reduce("sum", [[True, True], [True, True]], BOOL, np.bool_) == False


def test_halves_are_summed_in_f32():
    # 2048 + 1 is 2048 in f16: adding 1 two thousand times would never leave 2048.
    ones = [2048.0] + [1.0] * 2047
    assert reduce("sum", ones, F16, np.float16) == np.float16(4095)


@pytest.mark.parametrize(("opcode", "expected"), [("max", 2.0), ("min", 1.0)])
def test_extrema_ignore_nan_unless_all_are(opcode, expected):
    nan = math.nan
    assert reduce(opcode, [1.0, nan, 2.0, nan], F32, np.float32) == expected
    assert math.isnan(reduce(opcode, [nan, nan], F32, np.float32))
