"""What shared memory has no room for, and a reduction where not every thread comes by, are declined by
name, before anything is lowered."""

import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.plugins.errors import BackendDeclinedError


@triton.jit
def eight_sums(a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q):
    return a + i, b + j, c + k, d + m, e + n, f + o, g + p, h + q


@triton.jit
def sums(x, out, BLOCK: tl.constexpr):
    v = tl.load(x + tl.arange(0, BLOCK))
    a, b, c, d, e, f, g, h = tl.reduce((v, v, v, v, v, v, v, v), 0, eight_sums)
    tl.store(out, a + b + c + d + e + f + g + h)


def test_eight_buffers_of_a_full_thread_block_are_declined():
    with pytest.raises(BackendDeclinedError, match="missing limit.shared>49152 "):
        sums.emit(x="i64[1024]", out="i64[1]", BLOCK=1024, backend="mlir")


@pytest.mark.parametrize(("dtype", "block"), [("i64", 512), ("i32", 1024)])
def test_what_fits_is_lowered(dtype, block):
    text = sums.emit(x=f"{dtype}[1024]", out=f"{dtype}[1]", BLOCK=block, backend="mlir")
    assert "gpu.module" in text


@triton.jit
def with_a_sum(a, b):
    return a + b + tl.sum(tl.arange(0, 4))


@triton.jit
def nested(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, BLOCK)), 0, with_a_sum))


def test_a_reduction_in_the_function_of_a_reduction_is_declined():
    with pytest.raises(BackendDeclinedError, match="missing reduce.custom "):
        nested.emit(x="i32[64]", out="i32[1]", BLOCK=64, backend="mlir")
