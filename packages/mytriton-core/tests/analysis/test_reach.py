"""Lanes that a launch is known to touch before it runs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mytriton as triton
import mytriton.language as tl
from mytriton.analysis.reach import Launch, reaches


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets))


@triton.jit
def tile_kernel(out, rows, cols, stride, start, step: tl.constexpr, MASKED: tl.constexpr):
    row = tl.program_id(1) * 4 + tl.arange(0, 4)[:, None]
    col = tl.program_id(0) * 8 + tl.arange(0, 8)[None, :]
    if MASKED:
        tl.store(out + start + row * stride + col * step, 1.0, mask=(row < rows) & (col < cols))
    else:
        tl.store(out + start + row * stride + col * step, 1.0)


@triton.jit
def guarded_kernel(x, out, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out + pid, tl.load(x + pid))


@triton.jit
def indirect_kernel(x, out, n, flag):
    at = tl.load(x + tl.program_id(0))
    tl.store(out + at, 1)
    tl.store(out + tl.program_id(0) // 2, 2)
    tl.store(out + tl.program_id(0) * 1_000_000_000, 3)
    tl.store(out + tl.arange(0, 8), 4, mask=(tl.arange(0, 8) < n) & (flag > 0))
    if flag > 0:
        tl.store(out + 5, 5)
    for k in range(n):
        tl.store(out + k, 6)


@triton.jit
def last_kernel(out, n):
    tl.store(out + tl.num_programs(0) - 1 - tl.program_id(0) + n, 1.0)


F = np.zeros(1, np.float32)
I = np.zeros(1, np.int32)


def touched(function, grid, **values):
    launch = Launch(function, values, (*grid, 1, 1)[:3])
    found = {}
    for reach in reaches(function):
        lanes = [(t.index, t.program) for t in launch.touched(reach)]
        found.setdefault((reach.item.opcode, reach.argument), []).extend(lanes)
    return found


def test_first_and_last_lanes_of_first_and_last_programs():
    function = add_kernel.compile(F, F, F, 100, BLOCK=32).function
    found = touched(function, (4,), n=100)
    ends = {(0, (0, 0, 0)), (31, (0, 0, 0)), (96, (3, 0, 0)), (127, (3, 0, 0))}
    assert set(found["load", "y"]) == set(found["store", "out"]) == ends
    masked = {(0, (0, 0, 0)), (31, (0, 0, 0)), (96, (3, 0, 0)), (99, (3, 0, 0))}
    assert set(found["load", "x"]) == masked


@pytest.mark.parametrize("programs", [5, 9, 1_000, 2**31 - 1])
def test_the_last_program_is_the_last_that_has_lanes(programs):
    function = add_kernel.compile(F, F, F, 100, BLOCK=32).function
    found = touched(function, (programs,), n=100)
    assert set(found["load", "x"]) == {
        (0, (0, 0, 0)), (31, (0, 0, 0)), (96, (3, 0, 0)), (99, (3, 0, 0)),
    }  # fmt: skip
    assert touched(function, (programs,), n=0)["load", "x"] == []


def test_scalars():
    function = last_kernel.compile(F, 7).function
    assert set(touched(function, (5,), n=7)["store", "out"]) == {(11, (0, 0, 0)), (7, (4, 0, 0))}


def test_what_only_the_kernel_decides_is_left_out():
    assert touched(guarded_kernel.compile(I, I, 3).function, (8,), n=3) == {}
    function = indirect_kernel.compile(I, I, 3, 1).function
    found = touched(function, (8,), n=3, flag=1)
    assert set(found["load", "x"]) == {(0, (0, 0, 0)), (7, (7, 0, 0))}
    # Not those at offsets that are loaded or wrap, under a mask with a condition, in branches and loops.
    assert set(found["store", "out"]) == {(0, (0, 0, 0)), (3, (7, 0, 0))}


@triton.jit
def twice_kernel(out, a, b):
    tl.store(out + (tl.arange(0, 8) + a + b), 1.0)


def test_an_offset_that_wraps_is_left_out():
    most = 2**31 - 1
    function = twice_kernel.compile(F, most, most).function
    assert touched(function, (1,), a=most, b=most)["store", "out"] == []
    assert len(touched(function, (1,), a=most, b=-most)["store", "out"]) == 2


def test_an_argument_that_is_not_known_gives_nothing():
    function = last_kernel.compile(F, 7).function
    assert touched(function, (5,)) == {("store", "out"): []}


@settings(deadline=None, max_examples=60)
@given(
    grid=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    rows=st.integers(0, 12), cols=st.integers(0, 24), stride=st.integers(-20, 40),
    start=st.integers(-50, 50), step=st.sampled_from([-3, 0, 1, 2]), masked=st.booleans(),
)  # fmt: skip
def test_every_lane_is_touched_and_the_farthest_are_among_them(
    grid, rows, cols, stride, start, step, masked
):
    function = tile_kernel.compile(F, rows, cols, stride, start, step=step, MASKED=masked).function
    values = {"rows": rows, "cols": cols, "stride": stride, "start": start}
    found = touched(function, grid, **values).get(("store", "out"), [])
    really = {}
    for px, py in product(range(grid[0]), range(grid[1])):
        row = py * 4 + np.arange(4)[:, None]
        col = px * 8 + np.arange(8)[None, :]
        index = start + row * stride + col * step
        keep = (row < rows) & (col < cols) if masked else np.ones((4, 8), bool)
        really[px, py, 0] = set(index[keep].tolist())
    assert all(index in really[program] for index, program in found)
    if not masked:
        every = set().union(*really.values())
        assert {min(every), max(every)} <= {index for index, _ in found}


def test_a_kernel_that_only_stores_in_a_branch_has_none():
    @triton.jit
    def branch_kernel(out, n):
        if n > 0:
            tl.store(out, 1.0)

    assert reaches(branch_kernel.compile(F, 3).function) == []


@triton.jit
def far_kernel(x, s, n):
    p = tl.program_id(0).to(tl.int64)
    off = p * s + tl.arange(0, 8)
    tl.load(x + off, mask=off < n)
    tl.store(x + off, 1.0, mask=off < n)


@triton.jit
def near_kernel(x, s):
    off = tl.program_id(0) * s + tl.arange(0, 8)
    tl.store(x + off + s, 1.0)
    tl.store(x + (tl.arange(0, 8) + s).to(tl.int64), 1.0)


@pytest.mark.parametrize("s", [-1, -(2**33), -(2**40), 2**50])
def test_offsets_in_64_bits_may_be_far(s):
    function = far_kernel.compile(F, 2**40, 100).function
    found = {index for index, _ in touched(function, (3,), s=s, n=2**55)["store", "x"]}
    assert found == {0, 7, 2 * s, 2 * s + 7}


def test_those_in_32_bits_wrap():
    function = near_kernel.compile(F, 1).function
    found = {index for index, _ in touched(function, (1,), s=2**31 - 4)["store", "x"]}
    assert found == {2**31 - 4}  # the first lanes; the last ones wrap


@triton.jit
def constant_kernel(x, n):
    tl.store(x + (tl.arange(0, 8) + 2147483644).to(tl.int64), 1.0)
    tl.store(x + (tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]).to(tl.int64), 1.0)
    moved = tl.full((8,), n, tl.int32).to(tl.int64) * 4
    tl.store(x + moved, 1.0)


def test_constant_offsets_wrap_only_where_they_leave_their_type():
    function = constant_kernel.compile(F, 3).function
    found = {index for index, _ in touched(function, (1,), n=2**30)["store", "x"]}
    assert found == {2**31 - 4, 0, 7, 56, 63, 2**32}


@triton.jit
def long_kernel(x, s, T: tl.constexpr):
    scalar = tl.program_id(0)
    block = tl.arange(0, 8).to(tl.int64)
    for _ in tl.static_range(T):
        scalar = scalar * 3 + s
        block = block + s
    tl.store(x + block, 1.0)
    tl.store(x + scalar, 1.0)


def test_addresses_of_a_thousand_operations():
    function = long_kernel.compile(F, 1, T=1000).function
    touched(function, (3,), s=1)
    short = long_kernel.compile(F, 1, T=3).function
    assert {i for i, _ in touched(short, (1,), s=1)["store", "x"]} == {3, 10, 13}
