"""One property of the text each."""

from __future__ import annotations

import re

import cuda_kernels as k
import numpy as np
import pytest
from cuda_support import emitted, f32, text

import mytriton as triton
import mytriton.language as tl
from mytriton.plugin_api import UnsupportedFeature


def test_elementwise_kernels_have_no_barrier() -> None:
    assert "__syncthreads" not in text(k.count_up, np.ones(64, np.int32), 3, BLOCK=64)
    assert "__syncthreads" not in text(
        k.matrix_add_2d_kernel, f32(9), f32(9), f32(9), 3, 3, BM=4, BN=4
    )


def test_barrier_says_why() -> None:
    assert (
        text(k.reverse_in_place, f32(64), BLOCK=64).count("__syncthreads();  // program order") == 1
    )


def test_kernel_with_one_thread_has_no_barrier() -> None:
    assert "__syncthreads" not in text(k.reverse_in_place, f32(64), BLOCK=1)


def test_buffers_of_reductions_are_shared() -> None:
    got = emitted(k.softmax_kernel, f32(9), f32(9), 9, BLOCK=1024)
    assert got.text.count("__shared__") == 1
    assert got.shared_bytes == 4096


def test_integers_that_are_data_wrap_and_offsets_do_not() -> None:
    got = text(k.squares, np.ones(8, np.int32), np.ones(8, np.int32), BLOCK=8)
    assert "(int)((unsigned int)v" in got
    assert "- 7u)" in got
    assert "unsigned" not in text(k.add_kernel, f32(9), f32(9), f32(9), 9, BLOCK=256)


def test_step_that_may_overflow_is_checked() -> None:
    out = np.zeros(1, np.int32)
    assert "break;" in text(k.near_the_top, out, 0, 5, STEP=2)
    assert "break;" not in text(k.near_the_top, out, 0, 5, STEP=1)


def test_pointer_sums_are_not_added_as_ints() -> None:
    assert "(x + v1)[v3]" in text(k.softmax_kernel, f32(9), f32(9), 9, BLOCK=128)


@triton.jit
def awkward(int, v0, threadIdx, exp, _, größe, u6f, scratch_f32, tile_i, __x, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    tl.store(int + r, tl.load(v0 + r) + tl.load(threadIdx + r) + exp + _ + größe + u6f)
    tl.store(scratch_f32, tl.sum(tl.load(tile_i + r)) + __x)


def test_awkward_parameter_names() -> None:
    a = f32(8)
    got = text(awkward, a, a, a, 1.0, 2.0, 3.0, 4.0, a, a, 1, BLOCK=8)
    head = re.search(r"\((.*?)\) \{", got)
    assert head
    names = [part.split()[-1] for part in head[1].split(", ")]
    assert len(set(names)) == 10
    assert not {"int", "v0", "threadIdx", "exp", "_", "tile_i"} & set(names)
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) and "__" not in name for name in names)
    assert "größe" not in got
    assert all(not re.search(rf"\b{n}\b *=[^=]", got.split("{", 1)[1]) for n in names)


def test_large_block_is_declined_by_name() -> None:
    with pytest.raises(UnsupportedFeature) as error:
        emitted(k.add_kernel, f32(9), f32(9), f32(9), 9, BLOCK=2048)
    assert error.value.feature == "limit.block>1024"


def test_lines_know_where_they_come_from() -> None:
    got = emitted(k.add_kernel, f32(9), f32(9), f32(9), 9, BLOCK=256)
    lines = got.text.splitlines()
    row = next(i for i, line in enumerate(lines, 1) if "v9 =" in line)
    assert "x_values + y_values" in got.spans[row].source_line()


@triton.jit
def eight_bits(x, out, BLOCK: tl.constexpr):
    r = tl.arange(-3, BLOCK - 3)
    tl.store(out + r, r < tl.load(x + r + 3))


def test_range_that_does_not_start_at_0_is_signed_from_the_start() -> None:
    got = text(eight_bits, np.ones(8, np.int8), np.zeros(8, np.bool_), BLOCK=8)
    assert "((int)threadIdx.x - 3)" in got
    assert "bool* out" in got
