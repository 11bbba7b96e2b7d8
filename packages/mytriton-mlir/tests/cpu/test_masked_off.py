"""Programs and strips that every mask leaves out: not run, and the others as ever."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton_mlir.cpu.emitter import emit
from mytriton_mlir.cpu.target import host


@triton.jit
def add_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n) + 1.0, mask=offs < n)


@triton.jit
def two_kernel(x, out, more, n, m, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs, mask=offs < n, other=7.0)
    tl.store(out + offs, v, mask=offs < n)
    tl.store(more + offs, v, mask=offs < m)


@triton.jit
def tile_kernel(x, out, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    offs = r[:, None] * cols + c[None, :]
    mask = (r < rows)[:, None] & (c < cols)[None, :]
    tl.store(out + offs, tl.load(x + offs, mask=mask) * 2.0, mask=mask)


@triton.jit
def rows_kernel(x, out, rows, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + r * cols + c, mask=(r < rows) & (c < cols), other=0.0)
    tl.store(out + r, tl.sum(v), mask=r < rows)


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    offs = tl.program_id(0) * cols + c
    e = tl.exp(tl.load(x + offs, mask=c < cols, other=float("-inf")))
    tl.store(out + offs, e / tl.sum(e), mask=c < cols)


@triton.jit
def said_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + offs, mask=offs < n))
    tl.device_print("total", total)
    tl.store(out + offs, total, mask=offs < n)


@triton.jit
def read_kernel(x, limit, out, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.load(limit)
    total = tl.sum(tl.load(x + offs, mask=offs < n))
    tl.store(out + offs, total, mask=offs < n)


@triton.jit
def partly_kernel(x, out, every, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + offs, mask=offs < n, other=0.0))
    tl.store(out + offs, total, mask=offs < n)
    tl.store(every + tl.program_id(0), total)


def text(kernel, **arguments):
    function, _ = kernel.specialise(arguments)
    return emit(function, host())


def program(lines):
    """The lines of the body of a program."""
    return lines[lines.index("scf.for %p") :].splitlines()[1:]


def guarded(lines):
    return any(re.fullmatch(r" {6}scf\.if %v\d+ {", line) for line in program(lines))


def test_strips_end_with_the_store():
    lines = text(add_kernel, x="f32[9]", out="f32[9]", n=9, BLOCK=256)
    loops = re.findall(r"scf\.for %i\d+ = (%\w+) to (%\w+) step", lines)
    assert len(loops) == 2
    assert re.fullmatch(r"%v\d+", loops[1][1])
    assert not guarded(lines)


def test_bounds_that_all_programs_share_stay_constants():
    lines = text(softmax_kernel, x="f32[9]", out="f32[9]", cols=9, BLOCK=256)
    ends = re.findall(r"scf\.for %i\d+ = %v\d+ to (%\w+) step", lines)
    assert ends
    assert all(end.startswith("%c") for end in ends)
    assert not guarded(lines)


def test_programs_of_several_nests_are_guarded():
    assert guarded(text(rows_kernel, x="f32[9]", out="f32[9]", rows=3, cols=3, BLOCK=64))


@pytest.mark.parametrize("kernel", [said_kernel, read_kernel, partly_kernel])
def test_what_acts_without_a_mask_that_is_known_is_not_guarded(kernel):
    arguments = dict.fromkeys((p for p in kernel.arg_names if p not in ("n", "BLOCK")), "f32[9]")
    if "limit" in arguments:
        arguments["limit"] = "i32[1]"
    else:
        arguments["n"] = 9
    assert not guarded(text(kernel, **arguments, BLOCK=64))


@pytest.mark.parametrize("block", [1, 2, 64, 256, 1024])
@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 255, 256, 257, 1000])
def test_a_grid_that_is_far_too_large(n, block):
    x = np.arange(1000, dtype="f")
    out = np.zeros(1000, "f")
    add_kernel.with_backend("mlir-cpu")[(5000,)](x, out, n, BLOCK=block)
    want = np.zeros(1000, "f")
    want[:n] = x[:n] + 1
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(("n", "m"), [(1000, 3), (3, 1000), (0, 500), (500, 0), (300, 300)])
def test_the_longest_of_several_stores_counts(n, m):
    x = np.arange(1000, dtype="f")
    out, more = np.zeros(1000, "f"), np.zeros(1000, "f")
    two_kernel.with_backend("mlir-cpu")[(300,)](x, out, more, n, m, BLOCK=64)
    held = np.where(np.arange(1000) < n, x, 7)
    np.testing.assert_array_equal(out, np.where(np.arange(1000) < n, held, 0))
    np.testing.assert_array_equal(more, np.where(np.arange(1000) < m, held, 0))


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (5, 33), (8, 64), (9, 100)])
@pytest.mark.parametrize(("r", "c"), [(1, 64), (4, 32), (8, 4), (64, 1)])
def test_tiles_beyond_both_axes(rows, cols, r, c):
    x = np.arange(rows * cols, dtype="f").reshape(rows, cols)
    out = np.zeros_like(x)
    tile_kernel.with_backend("mlir-cpu")[(40, 120)](x, out, rows, cols, R=r, C=c)
    np.testing.assert_array_equal(out, x * 2)


def test_rows_beyond_the_last():
    x = np.random.default_rng(0).random((7, 50), dtype="f")
    out = np.zeros(7, "f")
    rows_kernel.with_backend("mlir-cpu")[(20_000,)](x, out, 7, 50, BLOCK=64)
    np.testing.assert_allclose(out, x.sum(1, dtype="d"), rtol=1e-5)


def test_stores_without_a_mask_happen_in_every_program():
    x = np.ones(100, "f")
    out, every = np.zeros(100, "f"), np.full(50, -1, "f")
    partly_kernel.with_backend("mlir-cpu")[(50,)](x, out, every, 100, BLOCK=64)
    np.testing.assert_array_equal(every[:3], [64, 36, 0])
    assert (every[3:] == 0).all()
