"""Correct kernels, strange ones among them: strict mode reports nothing and changes no result."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.interpreter import sanitizer

CLEAN = []


def f32(n, *shape):
    return (np.arange(n, dtype=np.float32) + 1).reshape(shape or (n,))


def i32(*values):
    return np.array(values, np.int32)


def clean(grid, *args, **options):
    """Register a kernel and how it is launched; arrays are made by functions."""

    def register(function):
        CLEAN.append(pytest.param(triton.jit(function), grid, args, options, id=function.__name__))
        return function

    return register


@pytest.mark.parametrize("chunk", [1 << 15, 1], ids=["together", "alone"])
@pytest.mark.parametrize(("kernel", "grid", "args", "options"), CLEAN)
def test_nothing_is_reported(monkeypatch, chunk, kernel, grid, args, options):
    monkeypatch.setattr(sanitizer, "CHUNK_ELEMENTS", chunk)
    options = dict(options)
    nan = options.pop("nan", False)
    plain = [make() if callable(make) else make for make in args]
    checked = [make() if callable(make) else make for make in args]
    if options.pop("same", False):  # one array as two arguments
        plain[1], checked[1] = plain[0], checked[0]
    kernel.with_backend("interpreter")[grid](*plain, **options)
    result = kernel.sanitize(nan=nan)[grid](*checked, **options)
    assert result.launched
    assert result.backend == "interpreter"
    for a, b in zip(plain, checked, strict=True):
        np.testing.assert_array_equal(a, b)


# ---------------------------------------------------------------------- masks


@clean((4,), lambda: f32(1000), lambda: f32(1000), lambda: f32(1000), 1000, BLOCK=256)
def vector_add(x, y, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(o + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)


@clean((3,), lambda: f32(24), lambda: f32(24), 5)
def masked_off_wild_addresses(x, o, n):
    offs = tl.arange(0, 8)
    row = tl.program_id(0) * 8
    a = tl.load(x + row + tl.where(offs < n, offs, 1_000_000_000), mask=offs < n, other=0.0)
    tl.store(o + row - tl.where(offs < n, 0, 1_000_000_000) + offs, a, mask=offs < n)


@clean((4,), lambda: f32(8), lambda: f32(8), 1 << 30)
def masked_off_addresses_that_overflow(x, o, stride):
    pid = tl.program_id(0)
    offs = pid * stride + tl.arange(0, 8)
    a = tl.load(x + offs, mask=(tl.arange(0, 8) + pid * 8) < 8, other=0.0)
    tl.store(o + offs, a + 1, mask=(tl.arange(0, 8) + pid * 8) < 8)


@clean((2,), lambda: i32(3, 0, 5, 0), lambda: i32(0, 0, 0, 0))
def zero_divisors_in_masked_lanes(x, o):
    offs = tl.program_id(0) * 2 + tl.arange(0, 2)
    divisor = tl.load(x + offs)
    tl.store(o + offs, 100 // divisor, mask=divisor != 0)


@clean((2,), lambda: i32(3, 0, 5, 0), lambda: i32(0, 0, 0, 0))
def zero_divisors_that_a_select_drops(x, o):
    offs = tl.program_id(0) * 2 + tl.arange(0, 2)
    divisor = tl.load(x + offs)
    tl.store(o + offs, tl.where(divisor == 0, -1, 100 % divisor))


@clean((1,), lambda: np.zeros(64, np.int32), BLOCK=64)
def shifts_beyond_the_word_in_masked_lanes(o, BLOCK: tl.constexpr):
    bits = tl.arange(0, BLOCK)
    tl.store(o + bits, (1 << bits) >> 1, mask=bits < 32)


@clean((2,), lambda: np.zeros(0, np.float32), lambda: f32(4), 0)
def argument_without_elements(x, o, n):
    offs = tl.program_id(0) * 2 + tl.arange(0, 2)
    tl.store(o + offs, tl.load(x + offs, mask=offs < n, other=7.0))


# ---------------------------------------------------------------------- programs that meet


@clean((16,), lambda: f32(4))
def everybody_stores_the_same(o):
    tl.store(o + tl.arange(0, 4), tl.arange(0, 4) * 2.0)


@clean((16,), lambda: i32(0, 0), lambda: np.zeros(16, np.int32))
def everybody_stores_the_same_and_reads_it_back(flag, o):
    pid = tl.program_id(0)
    tl.store(flag, 7)
    tl.store(flag + 1 + pid * 0, 9)
    tl.store(o + pid, tl.load(flag) + tl.load(flag + 1 + pid * 0))


@clean((4,), lambda: f32(34), lambda: f32(32), BLOCK=8)
def overlapping_reads(x, o, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + offs) + tl.load(x + offs + 1) + tl.load(x + offs + 2))


@clean((4,), lambda: f32(32), BLOCK=8)
def reads_what_it_wrote(x, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for k in range(100):
        tl.store(x + offs, tl.load(x + offs) + k)
    last = tl.load(x + tl.program_id(0) * BLOCK + BLOCK - 1)
    tl.store(x + offs, tl.load(x + offs) - last)


@clean((4,), lambda: f32(32), lambda: None, 32, BLOCK=8, same=True)
def one_array_as_two_arguments(x, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + offs, mask=offs < n) * 2, mask=offs < n)


@clean((4,), lambda: i32(*[5] * 33), lambda: np.zeros(32, np.int32), BLOCK=8)
def stores_what_is_there_while_others_read(x, o, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + offs + 1))
    tl.store(x + offs, 5)


@clean((8,), lambda: np.zeros((8, 8), np.float32), 8)
def columns_that_interleave(o, n):
    tl.store(o + tl.arange(0, 8) * n + tl.program_id(0), tl.program_id(0) * 1.0)


@clean((4,), lambda: np.zeros(4, np.float32))
def lanes_that_agree_on_one_address(o):
    tl.store(o + tl.program_id(0) + tl.arange(0, 8) * 0, tl.arange(0, 8) * 0.0 + 3.0)


# ---------------------------------------------------------------------- tl.empty


@clean((2,), lambda: f32(16), lambda: f32(16))
def empty_that_is_overwritten(x, o):
    offs = tl.program_id(0) * 8 + tl.arange(0, 8)
    block = tl.empty((8,), tl.float32)
    block = tl.where(tl.arange(0, 8) < 8, tl.load(x + offs), block)
    tl.store(o + offs, block)


@clean((2,), lambda: f32(16), 3)
def empty_that_is_masked_off(o, n):
    lane = tl.arange(0, 8)
    block = tl.where(lane < n, lane * 1.0, tl.empty((8,), tl.float32))
    tl.store(o + tl.program_id(0) * 8 + lane, block + 1, mask=lane < n)


@clean((2,), lambda: f32(256), lambda: f32(2))
def empty_before_the_first_trip(x, o):
    pid = tl.program_id(0)
    last = tl.empty((8,), tl.float32)
    for k in range(100):
        last = tl.load(x + k + tl.arange(0, 8))
    tl.store(o + pid, tl.max(last))


# ---------------------------------------------------------------------- arithmetic


@clean((4,), lambda: np.zeros(32, np.int32))
def hash_that_wraps_is_stored(o):
    offs = tl.program_id(0) * 8 + tl.arange(0, 8)
    tl.store(o + offs, (offs + 1) * 1_664_525 * 1_013_904_223 + 12345)


@clean((4,), lambda: f32(16), lambda: f32(32))
def unsigned_hash_as_an_index(table, o):
    offs = tl.program_id(0) * 8 + tl.arange(0, 8)
    where = (offs.to(tl.uint32) + 1) * 2_654_435_769 >> 28
    tl.store(o + offs, tl.load(table + where))


@clean((3,), lambda: f32(6), lambda: f32(6), 1 << 31)
def wide_offsets(x, o, far):
    pid = tl.program_id(0)
    offs = pid.to(tl.int64) * far + tl.arange(0, 2)
    tl.store(o + pid * 2 + tl.arange(0, 2), tl.load(x + offs - pid * far + pid * 2))


@clean((2,), lambda: np.array([1, np.nan, 3, np.inf], np.float32), lambda: f32(4), nan=True)
def nan_that_came_in(x, o):
    offs = tl.program_id(0) * 2 + tl.arange(0, 2)
    tl.store(o + offs, tl.load(x + offs) * 2 + 1)


@clean((3,), lambda: f32(18), lambda: f32(18), 6, 3, BLOCK=8, nan=True)
def softmax_with_padding(x, o, n, rows, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + cols
    a = tl.load(x + at, mask=cols < n, other=-float("inf"))
    e = tl.exp(a - tl.max(a))
    pad = tl.where(cols < n, 1.0, 0.0)
    tl.store(o + at, e / tl.sum(e) / pad / pad * pad, mask=cols < n)


# ---------------------------------------------------------------------- control flow


@clean((5,), lambda: f32(8), lambda: f32(8), 3)
def early_return(x, o, n):
    pid = tl.program_id(0)
    if pid * 3 >= 8:
        return
    for k in range(pid * 3, min(pid * 3 + 3, 8)):
        tl.store(o + k, tl.load(x + k) * n)


@clean((5,), lambda: i32(0, 1, 5, 64, 3), lambda: np.zeros(5, np.int32))
def whiles_of_different_length(x, o):
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    steps = 0
    while n > 0:
        n = n // 2
        steps += tl.load(x + n % 5) * 0 + 1
    tl.store(o + pid, steps)


@clean((6,), lambda: f32(4), lambda: f32(2), lambda: f32(6))
def pointer_chosen_by_a_branch(a, b, o):
    pid = tl.program_id(0)
    if pid < 4:
        p = a + pid
    else:
        p = b + (pid - 4)
    tl.store(o + pid, tl.load(p))


@clean((2,), lambda: f32(16)[::-1], lambda: f32(16), -1)
def reversed_view(x, o, step):
    offs = tl.program_id(0) * 8 + tl.arange(0, 8)
    tl.store(o + offs, tl.load(x + offs * step))


@triton.jit
def _larger(a, i, b, j):
    keep = a >= b
    return tl.where(keep, a, b), tl.where(keep, i, j)


@clean((3,), lambda: f32(24), lambda: f32(3), lambda: np.zeros(3, np.int32), 6)
def combine_function_over_padding(x, o, where, n):
    pid, lane = tl.program_id(0), tl.arange(0, 8)
    a = tl.load(x + pid * 8 + lane, mask=lane < n, other=-float("inf"))
    best, place = tl.reduce((a, lane), 0, _larger)
    tl.store(o + pid, best)
    tl.store(where + pid, place)


@clean(
    (2, 2), lambda: f32(600, 30, 20), lambda: f32(500, 20, 25), lambda: f32(750, 30, 25),
    30, 25, 20, BLOCK=16,
)  # fmt: skip
def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        r = k + tl.arange(0, BLOCK)
        x = tl.load(
            a + i[:, None] * K + r[None, :], mask=(i[:, None] < M) & (r[None, :] < K), other=0.0
        )
        y = tl.load(
            b + r[:, None] * N + j[None, :], mask=(r[:, None] < K) & (j[None, :] < N), other=0.0
        )
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))
