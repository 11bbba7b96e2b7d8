"""The check that runs before a kernel: it raises its flag exactly where an access would leave its
argument, and stores nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.interpreter.machine import run
from mytriton.ir.values import walk
from mytriton.runtime.arguments import launch_value
from mytriton.transforms.bounds import bounds_check


def flag_of(kernel, grid, *args, **constants):
    """Whether the check for a launch raises its flag."""
    function = kernel.compile(*args, **constants).function
    check = bounds_check(function)
    assert check is not None
    before = [a.copy() for a in args if isinstance(a, np.ndarray)]
    views = [launch_value(a) for a in args]
    ends = [
        n
        for a, v in zip(args, views, strict=True)
        if isinstance(a, np.ndarray)
        for n in v.element_range
    ]
    flag = np.zeros(1, np.int32)
    run(check, [*views, *ends, launch_value(flag)], (*grid, 1, 1)[:3])
    for old, new in zip(before, [a for a in args if isinstance(a, np.ndarray)], strict=True):
        np.testing.assert_array_equal(old, new)
    return bool(flag[0])


def f32(n):
    return np.arange(n, dtype=np.float32)


@triton.jit
def masked(x, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + offs, mask=offs < n) * 2, mask=offs < n)


@pytest.mark.parametrize(
    ("size", "n", "outside"), [(20, 20, False), (20, 21, True), (24, 20, False)]
)
def test_masks_count(size, n, outside):
    assert flag_of(masked, (3,), f32(size), f32(size), n, BLOCK=8) is outside
    assert flag_of(masked, (3,), f32(64), f32(size), n, BLOCK=8) is outside


@triton.jit
def narrow(x, o, start, D: tl.constexpr):
    offs = tl.arange(0, 8)
    tl.store(o + offs, tl.load(x + (offs + start).to(D)))


@triton.jit
def wrapping(x, o, start, D: tl.constexpr):
    offs = tl.arange(0, 8)
    tl.store(o + offs, tl.load(x + offs + (tl.full((8,), start, D) - 5)))


@triton.jit
def overflowing(x, o, n):
    offs = tl.arange(0, 8)
    tl.store(o + offs, tl.load(x + (offs * 0 + n) * n))


def test_an_overflow_raises_the_flag_however_it_is_computed():
    # (2**31 - 1) ** 2 is 1 in 32 bits, and far away in 64.
    assert flag_of(overflowing, (1,), f32(8), f32(8), 2**31 - 1)
    assert not flag_of(overflowing, (1,), f32(8), f32(8), 2)


CASTS = [
    (narrow, 100, tl.int8, False), (narrow, 200, tl.int8, True), (narrow, 200, tl.uint8, False),
    (narrow, 255, tl.uint8, False), (narrow, 65530, tl.int16, True), (narrow, -3, tl.int64, True),
    (wrapping, 5, tl.uint8, False), (wrapping, 0, tl.uint8, False), (wrapping, 0, tl.int8, True),
    (wrapping, -126, tl.int8, False), (wrapping, 0, tl.uint16, True),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "start", "dtype", "outside"), CASTS)
def test_small_and_unsigned_offsets_wrap(kernel, start, dtype, outside):
    assert flag_of(kernel, (1,), f32(300), f32(8), start, D=dtype) is outside


@triton.jit
def neighbours(x, o, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + offs - 1))


def test_both_ends_count():
    x = f32(18)
    assert flag_of(neighbours, (2,), x[:16], f32(16), BLOCK=8)
    # A view that begins later has its own first element.
    assert flag_of(neighbours, (2,), x[1:17], f32(16), BLOCK=8)


@triton.jit
def strided(x, o, n, step, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + offs * step, mask=offs < n, other=0.0), mask=offs < n)


@pytest.mark.parametrize(("n", "outside"), [(8, False), (9, True)])
def test_reversed_views_have_their_elements_before_the_first(n, outside):
    x = f32(8)[::-1]
    assert flag_of(strided, (1,), x, f32(16), n, -1, BLOCK=16) is outside


@triton.jit
def carried(x, o, n, BLOCK: tl.constexpr):
    p = x + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        total += tl.load(p, mask=tl.arange(0, BLOCK) < n - k, other=0.0)
        p += BLOCK
    tl.store(o + tl.arange(0, BLOCK), total)


@pytest.mark.parametrize(("size", "outside"), [(100, False), (99, True)])
def test_pointers_that_a_loop_advances(size, outside):
    assert flag_of(carried, (1,), f32(size), f32(16), 100, BLOCK=16) is outside


def test_of_a_carried_pointer_only_a_scalar_is_carried_and_no_data_is_loaded():
    check = bounds_check(carried.compile(f32(9), f32(9), 100, BLOCK=16).function)
    (loop,) = [item for item in check.body if item.opcode == "for"]
    assert [str(arg.ty) for arg in loop.carried_args] == ["i64"]
    assert "load" not in {item.opcode for item in walk(check.body)}


@triton.jit
def gathered(x, places, o):
    offs = tl.arange(0, 8)
    tl.store(o + offs, tl.load(x + tl.load(places + offs)))


@pytest.mark.parametrize(("last", "outside"), [(3, False), (4, True), (-1, True)])
def test_offsets_that_are_loaded(last, outside):
    places = np.array([0, 1, 2, 3, 0, 1, 2, last], np.int32)
    assert flag_of(gathered, (1,), f32(4), places, f32(8)) is outside


def test_offsets_that_are_loaded_from_outside_are_not_followed():
    assert flag_of(gathered, (1,), f32(4), np.zeros(7, np.int32), f32(8))


@triton.jit
def branching(x, o, n):
    pid = tl.program_id(0)
    if pid < n:
        tl.store(o + pid, tl.load(x + pid))
    k = 0
    while k < n:
        k += 1
    tl.store(o + k, 1.0)


@pytest.mark.parametrize(("n", "outside"), [(3, False), (4, True)])
def test_what_does_not_run_does_not_count(n, outside):
    assert flag_of(branching, (9,), f32(3), f32(4), n) is outside


@triton.jit
def odd_width(o, n):
    offs = tl.program_id(0) * 5 + tl.arange(0, 5)
    tl.store(o + offs, 1.0, mask=offs < n)


def test_blocks_whose_width_is_no_power_of_two():
    assert not flag_of(odd_width, (2,), f32(7), 7)
    assert flag_of(odd_width, (2,), f32(7), 8)


def test_offsets_that_the_kernel_stores_are_left_to_it():
    @triton.jit
    def kernel(x, o):
        tl.store(o, 5)
        tl.store(x + tl.load(o), 1.0)

    assert bounds_check(kernel.compile(f32(4), np.zeros(1, np.int32)).function) is None


def test_pointers_into_one_array_or_another_are_left_to_the_kernel():
    @triton.jit
    def kernel(x, y, o):
        if tl.program_id(0) == 0:
            p = x
        else:
            p = y
        tl.store(o, tl.load(p))

    assert bounds_check(kernel.compile(f32(4), f32(4), f32(1)).function) is None


@triton.jit
def doubled(x, s, T: tl.constexpr):
    offs = tl.arange(0, 4) * s
    for _ in tl.static_range(T):
        offs = offs + offs
    tl.store(x + offs, 1.0)


@triton.jit
def added(x, s, T: tl.constexpr):
    offs, mask = tl.arange(0, 4), tl.arange(0, 4) < 3
    for _ in tl.static_range(T):
        offs = offs + s
        mask = mask & (offs < 100000)
    tl.store(x + offs, 1.0, mask=mask)


@pytest.mark.parametrize(
    ("kernel", "s", "trips", "last"), [(doubled, 0, 60, 0), (added, 2, 1000, 2002)]
)
def test_long_sums_are_followed_or_left_to_the_lanes(kernel, s, trips, last):
    assert flag_of(kernel, (1,), f32(last), s, T=trips)
    assert not flag_of(kernel, (1,), f32(last + 1), s, T=trips)
