"""The analyses backends use: pure functions of SSA."""

from __future__ import annotations

import time

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.analysis.lanes import definitions, distinct
from mytriton.analysis.offsets import address_only
from mytriton.ir.expr import Param
from mytriton.ir.parser import parse
from mytriton.ir.types import shape_of


def add_only(body: str, params: str = "x: ptr<i32>, n: i32") -> frozenset[int]:
    return address_only(parse(f"kernel k({params}) {{\n{body}\n}}\n"))


def test_offsets_and_masks_are_address_only() -> None:
    assert add_only("""
  %0 = program_id {axis=0} : i32
  %1 = mul %0, 8 : i32
  %2 = cmp_lt %1, n : bool
  %3 = addptr x, %1 : ptr<i32>
  %4 = load %3, %2, 0 : i32
  store %3, %4, %2""") == {0, 1, 2}  # fmt: skip


def test_stored_values_and_what_they_are_made_of_are_not() -> None:
    assert add_only("""
  %0 = program_id {axis=0} : i32
  %1 = mul %0, 8 : i32
  %2 = add %1, 1 : i32
  %3 = addptr x, %1 : ptr<i32>
  store %3, %2, none""") == set()  # fmt: skip


def test_condition_of_a_select_of_data_is_not() -> None:
    assert add_only("""
  %0 = program_id {axis=0} : i32
  %1 = add %0, 8 : i32
  %2 = cmp_lt %1, n : bool
  %3 = select %2, 1, 2 : i32
  store x, %3, none""") == set()  # fmt: skip


def test_bound_of_a_loop_is_not() -> None:
    found = add_only("""
  %0 = program_id {axis=0} : i32
  %1 = add %0, 8 : i32
  %5 = for %2 in range(0, %1, 1) iter_args(%3 = 0) : i32 {
    %4 = add %3, 4 : i32
    yield %4
  }
  %6 = addptr x, %5 : ptr<i32>
  store %6, 1, none""")  # fmt: skip
    assert not {0, 1} & found
    assert {3, 4, 5} <= found


def test_carried_offset_that_is_stored_in_the_end_is_not() -> None:
    assert not {2, 3, 4} & add_only("""
  %4 = for %1 in range(0, n, 1) iter_args(%2 = 0) : i32 {
    %3 = add %2, 4 : i32
    %5 = addptr x, %3 : ptr<i32>
    store %5, 7, none
    yield %3
  }
  store x, %4, none""")  # fmt: skip


def last_store(kernel: object, *args: object, **constants: int) -> bool:
    function = kernel.compile(*args, **constants).function  # type: ignore[attr-defined]
    makers = definitions(function)
    store = function.body[-1]
    offsets, pointer = [], store.operands[0]
    while not isinstance(pointer, Param):
        op = makers[pointer.id]
        pointer, offset = op.operands
        offsets.append(offset)
    return distinct(offsets, shape_of(store.operands[0].ty), store.operands[2], makers)


@triton.jit
def affine(x, n, A: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(x + tl.program_id(0) * n + tl.arange(0, BLOCK) * A + 5, 1.0)


@triton.jit
def tile(x, M, N, W, FROM: tl.constexpr, MASKED: tl.constexpr):
    i = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    j = tl.program_id(1) * 8 + tl.arange(FROM, FROM + 8)[None, :]
    tl.store(x + i * W + j, 1.0, mask=((i < M) & (j < N)) if MASKED else (i < M))


@triton.jit
def rows(x, M, N, FROM: tl.constexpr, MASKED: tl.constexpr):
    i = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    j = tl.program_id(1) * 8 + tl.arange(FROM, FROM + 8)[None, :]
    tl.store(x + (i * N + j), 1.0, mask=((i < M) & (j < N)) if MASKED else (i < M))


@triton.jit
def gathered(x, places, BLOCK: tl.constexpr):
    tl.store(x + tl.load(places + tl.arange(0, BLOCK)), 1.0)


@triton.jit
def doubling(x, K: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    for _ in tl.static_range(K):
        r = r + r
    tl.store(x + r, 1.0)


X = np.ones(9, np.float32)


@pytest.mark.parametrize(("factor", "expected"), [(1, True), (3, True), (-2, True), (0, False)])
def test_scaled_ranges(factor: int, expected: bool) -> None:
    assert last_store(affine, X, 9, A=factor, BLOCK=8) is expected


@pytest.mark.parametrize(
    ("start", "masked", "expected"), [(0, True, True), (0, False, False), (-1, True, False)]
)
def test_rows_that_the_mask_keeps_apart(start: int, masked: bool, expected: bool) -> None:
    assert last_store(rows, X, 4, 8, FROM=start, MASKED=masked) is expected


@pytest.mark.parametrize("masked", [True, False])
def test_rows_of_another_width_may_meet(masked: bool) -> None:
    assert not last_store(tile, X, 4, 8, 8, FROM=0, MASKED=masked)


def test_gathered_places_may_meet() -> None:
    assert not last_store(gathered, X, np.ones(9, np.int32), BLOCK=8)


def test_long_sums_take_no_time() -> None:
    started = time.perf_counter()
    assert not last_store(doubling, X, K=60, BLOCK=8)
    assert time.perf_counter() - started < 20
