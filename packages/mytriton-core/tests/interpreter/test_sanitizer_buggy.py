"""Kernels with one bug each. The line that is marked ``BUG`` must be reported, with the right kind,
argument and program, and nothing else."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import SanitizerError
from mytriton.interpreter import sanitizer

BUGGY = []


def f32(n, *shape):
    return (np.arange(n, dtype=np.float32) + 1).reshape(shape or (n,))


def buggy(kind, argument, program, grid, *args, **options):
    """Register a kernel with what is to be found in it and how it is launched."""

    def register(function):
        BUGGY.append(
            pytest.param(
                triton.jit(function), kind, argument, (*program, 0, 0)[:3], grid, args, options,
                id=function.__name__,
            )
        )  # fmt: skip
        return function

    return register


def marked_line(function):
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + k for k, line in enumerate(lines) if line.rstrip().endswith("# BUG")]
    return found


def run(kernel, grid, args, options):
    options = dict(options)
    nan = options.pop("nan", False)
    with pytest.raises(SanitizerError) as caught:
        kernel.sanitize(nan=nan)[grid](
            *(make() if callable(make) else make for make in args), **options
        )
    return caught.value.findings


@pytest.mark.parametrize(
    ("kernel", "kind", "argument", "program", "grid", "args", "options"), BUGGY
)
def test_the_marked_line_is_reported(kernel, kind, argument, program, grid, args, options):
    found = run(kernel, grid, args, options)
    assert [(f.kind, f.argument, f.program) for f in found] == [(kind, argument, program)]
    assert found[0].span.line == marked_line(kernel.fn)
    assert found[0].span.filename == __file__
    assert found[0].chain or kind == "conflict"


@pytest.mark.parametrize(
    ("kernel", "kind", "argument", "program", "grid", "args", "options"), BUGGY
)
def test_one_program_at_a_time_tells_the_same(
    monkeypatch, kernel, kind, argument, program, grid, args, options
):
    together = run(kernel, grid, args, options)
    monkeypatch.setattr(sanitizer, "CHUNK_ELEMENTS", 1)
    alone = run(kernel, grid, args, options)
    if kind == "conflict":  # whether a race shows at the load or at the store is up to the order
        assert {(f.kind, f.argument) for f in alone} == {(kind, argument)}
    else:
        assert [str(f) for f in alone] == [str(f) for f in together]


# ---------------------------------------------------------------------- bounds


@buggy("out-of-bounds", "x", (3,), (4,), lambda: f32(1000), lambda: f32(1000), 1000, BLOCK=256)
def load_without_mask(x, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + offs)  # BUG
    tl.store(o + offs, a * 2, mask=offs < n)


@buggy("out-of-bounds", "o", (3,), (4,), lambda: f32(1000), lambda: f32(1000), 1000, BLOCK=256)
def store_without_mask(x, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + offs, mask=offs < n)
    tl.store(o + offs, a * 2)  # BUG


@buggy("out-of-bounds", "o", (1,), (2,), lambda: f32(15), 15, BLOCK=8)
def mask_off_by_one(o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, 1.0, mask=offs <= n)  # BUG


@buggy("out-of-bounds", "x", (0,), (1,), lambda: f32(5 * 7), lambda: f32(5 * 7), 5, 7, BLOCK=8)
def mask_on_the_wrong_axis(x, o, M, N, BLOCK: tl.constexpr):
    rows, cols = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    a = tl.load(x + rows * N + cols, mask=(rows < N) & (cols < M), other=0.0)  # BUG
    tl.store(o + rows * N + cols, a, mask=(rows < M) & (cols < N))


@buggy("out-of-bounds", "x", (0,), (2,), lambda: f32(16), lambda: f32(16), BLOCK=8)
def left_neighbour_of_the_first(x, o, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + offs - 1)  # BUG
    tl.store(o + offs, left)


@buggy("out-of-bounds", "x", (1,), (4,), lambda: f32(32), lambda: f32(32), 4, 8)
def stride_of_the_other_axis(x, o, M, N):
    row, cols = tl.program_id(0), tl.arange(0, 4)
    a = tl.load(x + cols * N + row * M * N)  # BUG
    tl.store(o + row * 4 + cols, a)


@buggy("out-of-bounds", "x", (1,), (2,), lambda: f32(2 * 200), lambda: f32(2), 200, BLOCK=64)
def last_trip_of_a_loop(x, o, n, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        total += tl.load(x + row * n + k + cols)  # BUG
    tl.store(o + row, tl.sum(total))


@buggy(
    "out-of-bounds", "x", (1,), (2,), lambda: f32(4),
    lambda: np.array([0, 3, 1, 2, 3, 3, 4, 0], np.int32), lambda: f32(8),
)  # fmt: skip
def index_from_memory(x, places, o):
    offs = tl.program_id(0) * 4 + tl.arange(0, 4)
    where = tl.load(places + offs)
    a = tl.load(x + where)  # BUG
    tl.store(o + offs, a)


@buggy("out-of-bounds", "o", (4,), (5,), lambda: f32(16), BLOCK=4)
def grid_too_large(o, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, 0.0)  # BUG


@buggy("out-of-bounds", "x", (0, 2), (2, 3), lambda: f32(4), lambda: f32(6))
def second_axis_of_the_grid(x, o):
    i, j = tl.program_id(0), tl.program_id(1)
    a = tl.load(x + i + 2 * j)  # BUG
    tl.store(o + i + 2 * j, a)


@triton.jit
def _fetch(base, where):
    return tl.load(base + where)


@buggy("out-of-bounds", "x", (2,), (3,), lambda: f32(8), lambda: f32(8))
def only_in_one_branch(x, o):
    pid = tl.program_id(0)
    if pid == 2:
        tl.store(x + 8, 1.0)  # BUG
    else:
        tl.store(o + pid, 1.0)


@buggy(
    "out-of-bounds",
    "x",
    (1,),
    (2,),
    lambda: f32(6),
    lambda: np.array([2, 5], np.int32),
    lambda: f32(2),
)
def while_that_walks_too_far(x, steps, o):
    pid = tl.program_id(0)
    left = tl.load(steps + pid)
    total = 0.0
    while left >= 0:
        total += tl.load(x + left + pid)  # BUG
        left -= 1
    tl.store(o + pid, total)


@buggy("out-of-bounds", "x", (1,), (2,), lambda: f32(24)[::-1], lambda: f32(2), -1)
def outside_a_reversed_view(x, o, step):
    pid = tl.program_id(0)
    a = tl.load(x + (23 + pid) * step)  # BUG
    tl.store(o + pid, a)


@buggy(
    "out-of-bounds", "b", (0,), (1,), lambda: f32(256, 16, 16), lambda: f32(192, 12, 16),
    lambda: f32(256, 16, 16), 16, 16, 16, BLOCK=16,
)  # fmt: skip
def matmul_with_a_short_operand(a, b, c, M, N, K, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    x = tl.load(a + i * K + j, mask=(i < M) & (j < K), other=0.0)
    y = tl.load(b + i * N + j, mask=(i < K) & (j < N), other=0.0)  # BUG
    tl.store(c + i * N + j, tl.dot(x, y), mask=(i < M) & (j < N))


@buggy("out-of-bounds", "o", (0,), (3,), lambda: f32(4))
def each_trip_walks_further(o):
    for k in range(70):
        tl.store(o + 4 + tl.program_id(0) * 100 + k, 1.0)  # BUG


# ---------------------------------------------------------------------- races


@buggy("conflict", "o", (1,), (8,), lambda: np.zeros(1, np.int32))
def everybody_stores_a_number_of_its_own(o):
    tl.store(o, tl.program_id(0))  # BUG


@buggy("conflict", "o", (1,), (4,), lambda: np.zeros(1, np.int32))
def the_first_program_changes_its_mind(o):
    if tl.program_id(0) == 0:
        tl.store(o, 1)
    tl.store(o, 3)  # BUG


@buggy("conflict", "o", (1,), (4,), lambda: np.full(40, -1, np.int32), BLOCK=8)
def tiles_that_overlap(o, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.arange(0, BLOCK))  # BUG


@buggy("conflict", "o", (0,), (16,), lambda: np.zeros(1, np.float32), lambda: f32(16))
def sum_without_an_atomic(o, x):
    pid = tl.program_id(0)
    a = tl.load(x + pid)
    total = tl.load(o)
    tl.store(o, total + a)  # BUG


@buggy("conflict", "x", (0,), (4,), lambda: f32(8), BLOCK=8)
def forgotten_program_id(x, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    tl.store(x + offs, a * 2)  # BUG


@buggy("conflict", "x", (1,), (4,), lambda: f32(33), 32, BLOCK=8)
def shift_in_place(x, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    right = tl.load(x + offs + 1, mask=offs < n)
    tl.store(x + offs, right, mask=offs < n)  # BUG


@buggy("conflict", "o", (0,), (1,), lambda: f32(16), lambda: f32(16))
def lanes_on_top_of_each_other(x, o):
    rows, cols = tl.arange(0, 4)[:, None], tl.arange(0, 4)[None, :]
    a = tl.load(x + rows * 4 + cols)
    tl.store(o + rows + cols, a)  # BUG


# ---------------------------------------------------------------------- undefined contents


@buggy("undefined", "o", (0,), (2,), lambda: f32(16), lambda: f32(16), 5)
def empty_block_half_filled(x, o, n):
    offs = tl.program_id(0) * 8 + tl.arange(0, 8)
    block = tl.empty((8,), tl.float32)
    block = tl.where(tl.arange(0, 8) < n, tl.load(x + offs), block)
    tl.store(o + offs, block)  # BUG


@buggy("undefined", "o", (0,), (2,), lambda: f32(16), lambda: f32(2))
def accumulator_that_starts_empty(x, o):
    pid = tl.program_id(0)
    total = tl.empty((8,), tl.float32)
    for k in range(100):
        total += tl.load(x + pid * 8 + tl.arange(0, 8)) * k
    tl.store(o + pid, tl.sum(total))  # BUG


@buggy("undefined", "x", (0,), (1,), lambda: f32(8), lambda: f32(8))
def empty_index(x, o):
    where = tl.empty((8,), tl.int32)
    a = tl.load(x + where)  # BUG
    tl.store(o + tl.arange(0, 8), a)


@buggy("undefined", "", (0,), (1,), lambda: f32(1))
def empty_condition(o):
    flag = tl.sum(tl.empty((2,), tl.int32))
    if flag > 3:  # BUG
        tl.store(o, 1.0)


@buggy("undefined", "c", (0,), (1,), lambda: f32(256), lambda: f32(256))
def product_onto_an_empty_block(a, c):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(a + at)
    acc = tl.empty((16, 16), tl.float32)
    acc = tl.dot(x, x, acc)
    tl.store(c + at, acc)  # BUG


# ---------------------------------------------------------------------- arithmetic


@buggy("overflow", "x", (3,), (4,), lambda: f32(8), lambda: f32(8), 1 << 30)
def row_times_stride_overflows(x, o, stride):
    pid = tl.program_id(0)
    wild = (pid == 1) | (pid == 2)
    a = tl.load(
        x + pid * stride  # BUG
        + tl.arange(0, 8), mask=((tl.arange(0, 8) * 0 + pid) > 0) & (wild == 0)
    )  # fmt: skip
    tl.store(o + tl.arange(0, 8), a, mask=(tl.arange(0, 8) * 0 + pid) > 5)


@buggy("overflow", "o", (2,), (3,), lambda: f32(24), 1 << 30)
def mask_overflows(o, scale):
    pid = tl.program_id(0)
    offs = pid * 8 + tl.arange(0, 8)
    inside = pid * scale < 7  # BUG
    tl.store(o + offs, 1.0, mask=inside & (offs < 24))


@buggy(
    "division-by-zero",
    "o",
    (1,),
    (2,),
    lambda: np.array([1, 2, 3, 0], np.int32),
    lambda: np.zeros(4, np.int32),
)
def quotient_that_is_stored(x, o):
    offs = tl.program_id(0) * 2 + tl.arange(0, 2)
    a = 10 // tl.load(x + offs)  # BUG
    tl.store(o + offs, a + 1)


@buggy("division-by-zero", "x", (0,), (2,), lambda: f32(8), lambda: f32(2), 0)
def bucket_of_an_empty_table(x, o, buckets):
    pid = tl.program_id(0)
    where = (pid + 5) % buckets  # BUG
    a = tl.load(x + where)
    tl.store(o + pid, a)


@buggy("shift-out-of-range", "o", (0,), (1,), lambda: np.zeros(64, np.int32), BLOCK=64)
def bit_beyond_the_word(o, BLOCK: tl.constexpr):
    bits = tl.arange(0, BLOCK)
    tl.store(o + bits, 1 << bits)  # BUG


@buggy("shift-out-of-range", "o", (0,), (1,), lambda: np.zeros(64, np.int32), BLOCK=64)
def bit_beyond_the_word_as_a_mask(o, BLOCK: tl.constexpr):
    bits = tl.arange(0, BLOCK)
    some = tl.where(bits == 31, 0, 1 << bits)  # BUG
    tl.store(o + bits, 1, mask=some > 5)


@buggy(
    "cast-out-of-range",
    "x",
    (1,),
    (2,),
    lambda: f32(4),
    lambda: np.array([3.0, 1e20], np.float32),
    lambda: f32(2),
)
def float_that_is_no_index(x, where, o):
    pid = tl.program_id(0)
    at = tl.load(where + pid).to(tl.int32)  # BUG
    tl.store(o + pid, tl.load(x + at))


@buggy("overflow", "o", (2,), (3,), lambda: f32(4), 1 << 62)
def wide_offset_overflows(o, far):
    pid = tl.program_id(0)
    offs = pid.to(tl.int64) * far  # BUG
    tl.store(o + offs * (pid > 1), 1.0)


@buggy("overflow", "o", (1,), (2,), lambda: f32(4), 31)
def shift_in_an_offset_overflows(o, by):
    pid = tl.program_id(0)
    offs = (pid * 4 + 4) << (by - 3 * pid - 1 + pid)  # BUG
    tl.store(o + offs, 1.0, mask=pid > 0)


@triton.jit
def _ratio(a, b):
    return a // b  # BUG


@buggy(
    "nan",
    "",
    (1,),
    (2,),
    lambda: np.array([1, 2, -np.inf, -np.inf], np.float32),
    lambda: f32(4),
    nan=True,
)
def softmax_of_a_row_of_nothing(x, o):
    offs = tl.program_id(0) * 2 + tl.arange(0, 2)
    a = tl.load(x + offs)
    e = tl.exp(a - tl.max(a))  # BUG
    tl.store(o + offs, e / tl.sum(e))


# ---------------------------------------------------------------------- what a report says


def report(kernel, grid, *args, **options):
    with pytest.raises(SanitizerError) as caught:
        kernel.sanitize()[grid](*args, **options)
    return caught.value


@triton.jit
def calls(x, o):
    pid = tl.program_id(0)
    tl.store(o + pid, _fetch(x, pid * 3))


def test_an_inlined_function_is_shown_with_its_caller():
    error = report(calls, (4,), f32(8), f32(4))
    (found,) = error.findings
    assert found.span.line == inspect.getsourcelines(_fetch.fn)[1] + 2
    assert found.span.caller.line == inspect.getsourcelines(calls.fn)[1] + 3
    assert "called from" in str(error)
    assert (found.program, found.index) == ((3, 0, 0), 9)


def test_division_in_a_combine_function_is_found():
    @triton.jit
    def kernel(x, o):
        tl.store(o, tl.reduce(tl.load(x + tl.arange(0, 4)), 0, _ratio))

    error = report(kernel, (1,), np.array([5, 0, 7, 9], np.int32), np.zeros(1, np.int32))
    (found,) = error.findings
    assert (found.kind, found.argument) == ("division-by-zero", "o")
    assert found.span.line == marked_line(_ratio.fn)


@triton.jit
def _safe_ratio(a, b):
    return tl.where(b == 0, a, a // b)


@triton.jit
def _branching(a, b):
    if a // b > 0:
        c = a
    else:
        c = b
    return c


def test_a_division_that_a_combine_function_drops_is_not():
    @triton.jit
    def kernel(x, o):
        tl.store(o, tl.reduce(tl.load(x + tl.arange(0, 4)), 0, _safe_ratio))

    out = np.zeros(1, np.int32)
    kernel.sanitize()[(1,)](np.array([8, 0, 2, 2], np.int32), out)
    assert out.tolist() == [8]


def test_a_condition_in_a_combine_function_decides_about_the_result():
    @triton.jit
    def kernel(x, o):
        pid = tl.program_id(0)
        a = tl.load(x + pid * 4 + tl.arange(0, 4))
        tl.store(o + pid, tl.reduce(a, 0, _branching))

    x = np.array([1, 2, 3, 4, 1, 2, 3, 0], np.int32)
    (found,) = report(kernel, (2,), x, np.zeros(2, np.int32)).findings
    assert (found.kind, found.argument, found.program) == ("division-by-zero", "o", (1, 0, 0))


def test_the_chain_leads_back_to_arguments_and_program_ids():
    @triton.jit
    def kernel(x, o, n, BLOCK: tl.constexpr):
        offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(o + offs, tl.load(x + offs, mask=offs <= n), mask=offs < n)

    error = report(kernel, (4,), f32(1000), f32(1000), 1000, BLOCK=256)
    (found,) = error.findings
    assert (found.index, found.indices, found.lane, found.mask) == (1000, (1000,), (232,), True)
    said = {link.expression: link.value for link in found.chain}
    assert said["tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"] == "1000"
    assert said["tl.program_id(0) * BLOCK"] == "768"
    assert said["tl.program_id(0)"] == "3"
    assert said["tl.arange(0, BLOCK)"] == "232"
    assert said["offs <= n"] == "True"
    assert said["n"] == "1000"
    assert "mask: true" in str(error)


def test_the_chain_goes_through_transposed_lanes_and_loaded_indices():
    @triton.jit
    def kernel(x, places, o):
        i, j = tl.arange(0, 2)[:, None], tl.arange(0, 4)[None, :]
        where = tl.trans(tl.load(places + i * 4 + j))
        tl.store(o + tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :], tl.load(x + where))

    places = np.array([0, 1, 2, 3, 4, 5, 77, 7], np.int32)
    (found,) = report(kernel, (1,), f32(8), places, f32(8)).findings
    assert (found.index, found.lane) == (77, (2, 1))
    said = {link.expression: link.value for link in found.chain}
    assert said["tl.load(places + i * 4 + j)"] == "77"
    assert said["places + i * 4 + j"] == "places[6]"


def test_an_overflow_names_its_operands():
    @triton.jit
    def kernel(o, stride):
        tl.store(o + tl.program_id(0) * stride, 1.0)

    found = report(kernel, (3,), f32(1), 1 << 30).findings
    assert [(f.kind, f.program) for f in found] == [
        ("overflow", (2, 0, 0)), ("out-of-bounds", (1, 0, 0))
    ]  # fmt: skip
    found = found[0]
    assert "mul of lhs = 2 and rhs = 1073741824 does not fit in i32" in found.message
    assert "ptr of the store" in found.message


def test_the_whole_grid_is_checked_before_the_launch_raises():
    @triton.jit
    def kernel(o):
        tl.store(o + tl.program_id(0) * 2, 1.0)

    out = np.zeros(8, np.float32)
    (found,) = report(kernel, (6,), out).findings
    assert (found.count, found.indices) == (2, (8, 10))
    assert out.tolist() == [1, 0, 1, 0, 1, 0, 1, 0]


@triton.jit
def _mean(a, b):
    return (a + b) / (a - a + b - b)


def nan_report(kernel, grid, *args):
    with pytest.raises(SanitizerError) as caught:
        kernel.sanitize(nan=True)[grid](*args)
    return [(f.kind, f.program, f.span.line) for f in caught.value.findings]


def test_a_nan_is_reported_in_the_program_that_stores_it():
    @triton.jit
    def kernel(x, o):
        pid = tl.program_id(0)
        a = tl.load(x + pid)
        a = a / a
        tl.store(o + pid, a, mask=pid != 1)

    line = inspect.getsourcelines(kernel.fn)[1] + 4
    found = nan_report(kernel, (4,), np.array([1, 0, 0, 1], np.float32), f32(4))
    assert found == [("nan", (2, 0, 0), line)]


def test_a_nan_that_a_loop_carries_is_found_where_it_was_made():
    @triton.jit
    def kernel(x, o):
        total = 0.0
        for k in range(100):
            a = tl.load(x + k)
            total += a / a
        tl.store(o, total)

    x = f32(100)
    x[3] = 0
    line = inspect.getsourcelines(kernel.fn)[1] + 5
    assert nan_report(kernel, (1,), x, f32(1)) == [("nan", (0, 0, 0), line)]


def test_a_nan_of_a_combine_function_is_found_at_the_reduction():
    @triton.jit
    def kernel(x, o):
        tl.store(o, tl.reduce(tl.load(x + tl.arange(0, 2)) * 0, 0, _mean))

    line = inspect.getsourcelines(kernel.fn)[1] + 2
    assert nan_report(kernel, (1,), f32(2), f32(1)) == [("nan", (0, 0, 0), line)]


def test_a_program_that_waits_for_another_ends_and_is_reported():
    # In vectorised steps program 0 would store only after program 1 has stopped waiting.
    @triton.jit
    def kernel(flag, o):
        pid = tl.program_id(0)
        while tl.load(flag) < pid:
            tl.store(o + pid, 1)
        tl.store(flag, pid + 1)

    flag = np.zeros(1, np.int32)
    found = report(kernel, (2,), flag, np.zeros(2, np.int32)).findings
    assert {(f.kind, f.argument, f.program) for f in found} == {("conflict", "flag", (1, 0, 0))}
    assert flag[0] == 2


def test_a_loop_that_a_finding_makes_endless_is_ended():
    @triton.jit
    def kernel(links, o):
        at = tl.program_id(0)
        while at != 3:
            at = tl.load(links + at)
        tl.store(o, at)

    links = np.array([1, 9, 2, 3], np.int32)
    (found,) = report(kernel, (1,), links, np.zeros(1, np.int32)).findings
    assert (found.kind, found.index) == ("out-of-bounds", 9)
