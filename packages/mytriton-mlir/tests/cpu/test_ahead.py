"""What nests fetch for each other and for the next program."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton_mlir.cpu.emitter import Assumptions, default_assumptions, emit
from mytriton_mlir.cpu.target import host


@triton.jit
def centre_kernel(x, out, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * stride + offs)
    tl.store(out + tl.program_id(0) * stride + offs, row - tl.sum(row))


@triton.jit
def chosen_kernel(x, rows, out, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    start = tl.load(rows + tl.program_id(0)) * stride
    row = tl.load(x + start + offs)
    tl.store(out + start + offs, row - tl.sum(row))


@triton.jit
def same_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.load(x + offs)
    tl.store(out + tl.program_id(1) * BLOCK + offs, row - tl.sum(row))


@triton.jit
def doubled_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    k = tl.program_id(0)
    for _ in tl.static_range(60):
        k = k + k
    row = tl.load(x + k + offs)
    tl.store(out + k + offs, row - tl.sum(row))


def text(kernel, assume=None, **arguments):
    function, _ = kernel.specialise(arguments)
    return emit(function, host(), assume and assume(function))


def fetched(lines, write):
    return len(re.findall(rf'"llvm.intr.prefetch".*rw = {write} ', lines))


CENTRE = {"x": "f32[9]", "out": "f32[9]", "stride": 9, "BLOCK": 1024}


def test_the_sum_fetches_what_is_stored_and_the_result_what_the_next_program_reads():
    lines = text(centre_kernel, **CENTRE)
    assert fetched(lines, 1) and fetched(lines, 0)
    # The next row is a stride away; its lines are fetched after the sum is known.
    summed = lines.index("vector.reduction")
    assert lines.index("rw = 1") < summed < lines.index("rw = 0")


def test_short_runs_are_left_to_the_processor():
    lines = text(centre_kernel, **CENTRE | {"BLOCK": 128})
    assert "prefetch" not in lines


def test_stores_that_bypass_the_caches_want_no_line_in_them():
    def streaming(function):
        return Assumptions(default_assumptions(function).classes, streaming=True)

    assert not fetched(text(centre_kernel, streaming, **CENTRE), 1)


def test_rows_that_memory_chooses_are_not_guessed():
    lines = text(
        chosen_kernel, x="f32[9]", rows="i32[9]", out="f32[9]", stride=9, BLOCK=1024
    )  # fmt: skip
    assert not fetched(lines, 1)


def test_what_every_program_reads_is_not_fetched_again():
    lines = text(same_kernel, x="f32[9]", out="f32[9]", BLOCK=1024)
    assert fetched(lines, 1) and not fetched(lines, 0)


def test_a_number_that_is_doubled_sixty_times_takes_no_time():
    text(doubled_kernel, x="f32[9]", out="f32[9]", BLOCK=1024)


@pytest.mark.parametrize("stride", [1024, 1100, 3, 0, -1024])
def test_rows_that_lie_anywhere_give_what_they_hold(stride):
    """At the ends of the arrays the hints go beyond them: none may fault."""
    rng = np.random.default_rng(0)
    rows, block = 5, 1024
    size = abs(stride) * (rows - 1) + block
    x = rng.integers(-9, 9, size).astype(np.float32)
    first = -stride * (rows - 1) if stride < 0 else 0
    out = np.zeros_like(x)
    centre_kernel.with_backend("mlir-cpu")[(1,)](x[first:], out[first:], stride, BLOCK=block)
    row = x[first : first + block].astype(np.float64)
    np.testing.assert_array_equal(out[first : first + block], row - row.sum())
    if abs(stride) >= block:
        centre_kernel.with_backend("mlir-cpu")[(rows,)](x[first:], out[first:], stride, BLOCK=block)
        for k in range(rows):
            at = first + k * stride
            row = x[at : at + block].astype(np.float64)
            np.testing.assert_array_equal(out[at : at + block], row - row.sum())
