"""Tuples of arrays and numbers as runtime arguments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ArgumentError


@triton.jit
def sum_kernel(xs, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(len(xs)):
        total += tl.load(xs[k] + offs, mask=mask)
    tl.store(out + offs, total, mask=mask)


@triton.jit
def scaled_kernel(pairs, out, xs_0, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32) + xs_0
    for x, scale in pairs:
        if x is not None:
            total += tl.load(x + offs, mask=offs < n) * scale
    tl.store(out + offs, total, mask=offs < n)


@triton.jit
def rebound_kernel(xs, out, BLOCK: tl.constexpr):
    x, y = xs
    x += BLOCK
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs) - tl.load(y + offs))


class Strided(NamedTuple):
    data: np.ndarray
    stride: int


@triton.jit
def strided_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x.data + offs * x.stride, mask=offs < n), mask=offs < n)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_tuple_of_arrays(count):
    rng = np.random.default_rng(count)
    xs = tuple(rng.standard_normal((count, 100)).astype(np.float32))
    out = np.zeros(100, np.float32)
    for _ in range(2):
        sum_kernel[(4,)](xs, out, 100, BLOCK=32)
        np.testing.assert_allclose(out, sum(x.astype(np.float64) for x in xs), rtol=1e-6, atol=1e-6)
    assert len(sum_kernel.spread) >= 1


def test_types_of_the_elements_tell_variants_apart():
    one, two = np.ones(8, np.float32), np.full(8, 2, np.float16)
    out = np.zeros(8, np.float32)
    sum_kernel[(1,)]((one, two), out, 8, BLOCK=8)
    assert out[0] == 3
    sum_kernel[(1,)]((two, two), out, 8, BLOCK=8)
    assert out[0] == 4


def test_nested_ones_with_numbers_and_none():
    x = np.arange(8, dtype=np.float32)
    out = np.zeros(8, np.float32)
    scaled_kernel[(1,)](((x, 2), (None, 5), (x, 0.5)), out, 1.0, 8, BLOCK=8)
    np.testing.assert_array_equal(out, x * 2.5 + 1)


def test_elements_are_rebound_as_other_parameters_are():
    x, out = np.arange(16, dtype=np.int32), np.zeros(8, np.int32)
    rebound_kernel[(1,)](xs=(x, x), out=out, BLOCK=8)
    np.testing.assert_array_equal(out, np.full(8, 8))


def test_named_tuples_keep_their_names():
    x, out = np.arange(16, dtype=np.int32), np.zeros(8, np.int32)
    strided_kernel[(1,)](Strided(x, 2), out, 8, BLOCK=8)
    np.testing.assert_array_equal(out, x[::2])


def test_every_way_to_a_kernel_takes_them():
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    assert sum_kernel.compile((x, x), out, 8, BLOCK=8).function.params[1].name == "xs_1"
    assert sum_kernel.trace((x,), out, 8, BLOCK=8).params[0].name == "xs_0"
    assert "xs_1" in sum_kernel.emit(
        xs=("f32[8]", "f32[8]"), out="f32[8]", n=8, BLOCK=8, backend="interpreter"
    )
    assert "xs_0" in sum_kernel.inspect((x,), out, 8, BLOCK=8)["optimised"]
    sum_kernel.warmup((x, x), out, 8, BLOCK=8, grid=(1,))
    sum_kernel.sanitize()[(1,)]((x, x), out, 8, BLOCK=8)
    assert out[0] == 2


def test_what_is_wrong_with_an_element_is_said_of_the_element():
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    with pytest.raises(ArgumentError, match="argument 'xs_1': a str can only"):
        sum_kernel[(1,)]((x, "x"), out, 8, BLOCK=8)
    with pytest.raises(ArgumentError, match="a list .* pass a tuple"):
        sum_kernel[(1,)]([x, x], out, 8, BLOCK=8)
    with pytest.raises(ArgumentError, match="missing .*'n'"):
        sum_kernel[(1,)]((x, x), out, BLOCK=8)


def test_clearing_the_cache_forgets_them():
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    sum_kernel[(1,)]((x,), out, 8, BLOCK=8)
    sum_kernel.clear_cache()
    assert not sum_kernel.spread
