"""Distances in ulp, and the marks around arrays."""

from __future__ import annotations

import numpy as np
import pytest

from mytriton_testkit.suite.compare import compare, unit
from mytriton_testkit.suite.memory import guard

F32 = np.float32


def f32(*values):
    return np.array(values, F32)


@pytest.mark.parametrize("value", [1.0, 1.5, -3.0, 1e-40, 1e-45, 65504.0, 3e38, 0.0])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_unit_is_spacing(value, dtype):
    with np.errstate(all="ignore"):
        x = np.array(value).astype(dtype)
        spacing = abs(np.spacing(abs(x)))
    if np.isfinite(spacing):
        assert unit(x.astype(np.float64), np.dtype(dtype)) == spacing


def test_ulp_bound():
    one = f32(1.0)
    next_but_one = np.nextafter(np.nextafter(one, F32(2)), F32(2))
    assert compare("x", next_but_one, [1.0], ulp=1).message.startswith(
        "x[0] is 1.0000002, expected 1.0"
    )
    found = compare("x", next_but_one, [1.0], ulp=2)
    assert (found.message, found.max_ulp) == ("", 2.0)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (np.nan, 1.0),
        (1.0, np.nan),
        (np.inf, 1.0),
        (1.0, np.inf),
        (np.inf, -np.inf),
        (np.inf, np.nan),
    ],
)
def test_special_values_must_agree(got, want):
    assert compare("x", f32(got), [want], ulp=1e30, slack=1e30).message
    assert not compare("x", f32(got), [got]).message


def test_signed_zero():
    assert compare("x", f32(-0.0), f32(0.0)).message
    assert not compare("x", f32(-0.0), f32(0.0), f32(-0.0)).message, (
        "expected is careless, oracle says so"
    )
    assert compare("x", f32(-0.0), f32(0.0), f32(0.0)).message
    assert not compare("x", f32(-0.0), f32(0.0), ulp=1).message


def test_integers_are_exact():
    big = np.array([2**63 - 1], np.int64)
    assert (
        compare("x", big, big - 1).message
        == "x[0] is 9223372036854775807, expected 9223372036854775806"
    )
    assert not compare("x", big, big).message
    assert compare("x", np.array([True, False]), [True, True]).message


def test_bf16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.0, 2.0], ml_dtypes.bfloat16)
    assert not compare("x", x, [1.0, 2.0]).message
    found = compare("x", x, [1.0078125, 2.0], ulp=1)
    assert (found.message, found.max_ulp) == ("", 1.0)
    assert compare("x", x, [1.015625, 2.0], ulp=1).message


@pytest.mark.parametrize("fence", [False, True])
def test_guard_keeps_layout_and_sharing(fence):
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    arguments = {"a": base[:, ::2], "b": base[1:, 1], "c": np.arange(3), "d": base[::-1], "n": 3}
    placed, guards = guard(arguments, fence=fence)
    assert len(guards) == 2, "overlapping arrays share memory"
    for name in "abcd":
        assert placed[name].strides == arguments[name].strides
        np.testing.assert_array_equal(placed[name], arguments[name])
    placed["d"][:] = 0
    assert not placed["a"].any()
    assert base.any()
    assert all(not g.damage() for g in guards)


@pytest.mark.parametrize("fence", [False, True])
@pytest.mark.parametrize("shift", [1, 2, 4, 0])
def test_guard_keeps_the_alignment_of_an_element(shift, fence):
    raw = np.zeros(64, np.uint8)
    start = (shift - raw.ctypes.data) % 16
    x = raw[start : start + 20].view(np.float32)
    x[:] = np.arange(5)
    placed, (only,) = guard({"x": x}, fence=fence)
    assert placed["x"].ctypes.data % 4 == shift % 4
    np.testing.assert_array_equal(placed["x"], np.arange(5))
    placed["x"][:] = 7
    assert not only.damage()


@pytest.mark.parametrize("at", [-1, -1000, 5, 900])
def test_stores_out_of_bounds_are_seen(at):
    placed, (only,) = guard({"x": np.zeros(5, np.float32)})
    wide = np.ndarray(2000, np.float32, only.buffer.data, only.start - 4000)
    wide[1000 + at] = 0.0
    (text,) = only.damage()
    assert ("before" if at < 0 else "after the end") in text
    assert not placed["x"].any()


def test_empty_and_readonly_arrays():
    x = np.zeros(3)
    x.flags.writeable = False
    placed, guards = guard({"x": x, "e": np.empty(0, np.int32)})
    assert not placed["x"].flags.writeable
    assert placed["e"].size == 0
    assert all(not g.damage() for g in guards)
