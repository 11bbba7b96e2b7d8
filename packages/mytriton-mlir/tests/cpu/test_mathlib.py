"""Accuracy of the mathematical functions over their whole range."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl


@triton.jit
def exp_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.exp(tl.load(x + offs, mask=offs < n)), mask=offs < n)


def run(x):
    out = np.empty_like(x)
    exp_kernel.with_backend("mlir-cpu")[(triton.cdiv(x.size, 1024),)](x, out, x.size, BLOCK=1024)
    return out


def ulps(got, want, dtype):
    """Distance in units of the last place of ``dtype`` at ``want`` (denormals included)."""
    spacing = np.spacing(np.maximum(np.abs(want).astype(dtype), np.finfo(dtype).tiny)).astype(
        want.dtype
    )
    return np.abs(got.astype(want.dtype) - want) / spacing


def test_exp_of_every_kind_of_f32():
    bits = np.arange(0, 2**32, 1021, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32)
    got = run(x)
    with np.errstate(all="ignore"):
        want = np.exp(x.astype(np.float64))
    finite = want <= np.finfo(np.float32).max
    assert ulps(got[finite], want[finite], np.float32).max() <= 2
    assert np.isinf(got[~finite & ~np.isnan(x)]).all()
    np.testing.assert_array_equal(np.isnan(got), np.isnan(x))


def test_exp_where_f32_results_are_ordinary():
    x = np.linspace(-104, 88.8, 2_000_000, dtype=np.float32)
    want = np.exp(x.astype(np.float64))
    finite = want <= np.finfo(np.float32).max
    assert ulps(run(x)[finite], want[finite], np.float32).max() <= 2


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="needs an extended reference")
def test_exp_of_f64():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-746, 709.7, 1_000_000), rng.uniform(-1, 1, 500_000)])
    want = np.exp(x.astype(np.longdouble))
    finite = want <= np.finfo(np.float64).max
    spacing = np.spacing(np.maximum(want.astype(np.float64), np.finfo(np.float64).tiny))
    assert (np.abs(run(x) - want)[finite] / spacing[finite]).max() <= 2
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308, -1e308, 5e-324])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(special), np.exp(special))
