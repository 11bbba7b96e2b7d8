"""Accuracy of the elementary functions over their whole range, against NumPy in double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

ERF = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS = {
    "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "erf": ERF, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
TEXT = """kernel k(x: ptr<{ty}>, out: ptr<{ty}>, n: i32) {{
  %0 = program_id {{axis=0}} : i32
  %1 = mul %0, 1024 : i32
  %2 = arange {{start=0, end=1024}} : vector<1024 x i32>
  %3 = add %1, %2 : vector<1024 x i32>
  %4 = cmp_lt %3, n : vector<1024 x bool>
  %5 = addptr x, %3 : vector<1024 x ptr<{ty}>>
  %6 = load %5, %4, none : vector<1024 x {ty}>
  %7 = {op} %6 : vector<1024 x {ty}>
  %8 = addptr out, %3 : vector<1024 x ptr<{ty}>>
  store %8, %7, %4
}}"""


@pytest.fixture
def apply(run_ssa):
    def apply(op, x):
        out = np.empty_like(x)
        ty = "f64" if x.dtype == np.float64 else "f32"
        run_ssa(TEXT.format(op=op, ty=ty), [x, out, x.size], (-(-x.size // 1024), 1, 1))
        return out

    return apply


def every_kind_of_f32():
    return np.arange(0, 2**32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)


def ordinary_numbers():
    rng = np.random.default_rng(0)
    sizes = 2.0 ** rng.uniform(-12, 12, 200_000)
    return (sizes * rng.choice([-1, 1], sizes.size)).astype(np.float32)


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("numbers", [every_kind_of_f32, ordinary_numbers])
def test_f32_is_within_two_ulp(apply, op, numbers):
    x = numbers()
    got = apply(op, x).astype(np.float64)
    with np.errstate(all="ignore"):
        want = FUNCTIONS[op](x.astype(np.float64))
    finite = np.isfinite(want) & (np.abs(want) <= np.finfo(np.float32).max)
    spacing = np.spacing(np.maximum(np.abs(want[finite]), np.finfo(np.float32).tiny).astype("f"))
    assert (np.abs(got[finite] - want[finite]) / spacing).max() <= 2
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got[~finite], want[~finite].astype(np.float32))


@pytest.mark.parametrize("op", FUNCTIONS)
def test_f64_is_as_exact_as_the_c_library(apply, op):
    x = np.concatenate(
        [ordinary_numbers()[:20_000].astype(np.float64), [0.0, np.inf, np.nan, 1e300]]
    )
    with np.errstate(all="ignore"):
        want = FUNCTIONS[op](x)
    np.testing.assert_allclose(apply(op, x), want, rtol=1e-15, atol=5e-324)


@pytest.mark.parametrize("op", ["sin", "tanh", "erf"])
def test_a_negative_zero_stays_negative(apply, op):
    assert np.signbit(apply(op, np.full(5, -0.0, np.float32))).all()


@pytest.mark.parametrize(
    "op, function", [("sqrt", np.sqrt), ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("rint", np.rint)]
)  # fmt: skip
def test_what_is_exact_is_exact(apply, op, function):
    x = np.concatenate([every_kind_of_f32(), np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32)])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(apply(op, x), function(x))
