"""``assert_close``."""

from __future__ import annotations

import numpy as np
import pytest

from mytriton.testing import assert_close


def test_within_the_default_tolerance() -> None:
    assert_close(np.array([1.0, 2.0]), np.array([1.005, 2.005]))


def test_beyond_it() -> None:
    with pytest.raises(AssertionError):
        assert_close(np.array([1.0, 2.0]), np.array([1.0, 2.1]))


def test_tolerances_are_taken_as_given() -> None:
    assert_close(np.ones(3), np.full(3, 1.4), atol=0.5, rtol=0)
    with pytest.raises(AssertionError, match="kernel differs"):
        assert_close(np.ones(3), np.full(3, 1.001), atol=0, rtol=1e-6, err_msg="kernel differs")


def test_nan_equals_nan_and_nothing_else() -> None:
    assert_close(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]))
    with pytest.raises(AssertionError):
        assert_close(np.array([np.nan, 1.0]), np.array([0.0, 1.0]))


def test_infinities_equal_themselves() -> None:
    assert_close(np.array([np.inf, 1.0]), np.array([np.inf, 1.0]))
    with pytest.raises(AssertionError):
        assert_close(np.array([np.inf, 1.0]), np.array([1e30, 1.0]))


def test_numbers() -> None:
    assert_close(1.0, np.float32(1.001))
    with pytest.raises(AssertionError, match=r"1.0 is not close to 2.0 \(atol=0.01, rtol=0.01\)"):
        assert_close(1.0, 2.0)


def test_lists_and_16_bit_floats() -> None:
    assert_close([1, 2], np.array([1, 2], np.float16))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert_close(np.array([1.0, 2.5], ml_dtypes.bfloat16), [1.0, 2.5], atol=0, rtol=0)


def test_other_shapes() -> None:
    with pytest.raises(AssertionError):
        assert_close(np.ones(3), np.ones(4))
