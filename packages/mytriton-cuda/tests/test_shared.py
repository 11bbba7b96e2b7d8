"""Shared memory: what needs more than a kernel has by itself asks for it at launch, what needs more
than there is declines by name; and so does a reduction where not every thread comes by."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.plugin_api import LaunchSpec
from mytriton.plugins.errors import BackendDeclinedError
from mytriton_cuda import backend


@triton.jit
def eight_sums(a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q):
    return a + i, b + j, c + k, d + m, e + n, f + o, g + p, h + q


@triton.jit
def sums(x, out, BLOCK: tl.constexpr):
    v = tl.load(x + tl.arange(0, BLOCK))
    several = (v, v * 2, v * 3, v * 4, v * 5, v * 6, v * 7, v * 8)
    a, b, c, d, e, f, g, h = tl.reduce(several, 0, eight_sums)
    tl.store(out, a)
    tl.store(out + 1, b + c + d + e + f + g)
    tl.store(out + 2, h)


@triton.jit
def with_a_sum(a, b):
    return a + b + tl.sum(tl.arange(0, 4))


@triton.jit
def nested(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, BLOCK)), 0, with_a_sum))


@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + i[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + j[None, :])
    tl.store(out + i[:, None] * N + j[None, :], tl.dot(x, y))


LONG = np.arange(1024, dtype=np.int64)


@pytest.mark.nvrtc
def test_one_thread_per_element_is_no_reason_to_go_without_shared_memory() -> None:
    """Eight times 1,024 elements of 8 bytes are 64 KiB, and 48 is what a kernel has unasked."""
    device = pytest.importorskip("mytriton_testkit.emulator_device")
    out = np.zeros(3, np.int64)
    with device.use_emulator():
        result = sums.with_backend("cuda")[(1,)](LONG, out, BLOCK=1024)
    assert result.artifact.metadata["shared_bytes"] == 8 * 1024 * 8
    total = int(LONG.sum())
    assert out.tolist() == [total, 27 * total, 8 * total]


def test_what_fits_in_no_shared_memory_is_declined_by_name() -> None:
    words = "missing limit.shared>101376 "
    with pytest.raises(BackendDeclinedError, match=words):
        sums.emit(x="i64[2048]", out="i64[3]", BLOCK=2048, backend="cuda")
    matrix = "f64[16384]"
    with pytest.raises(BackendDeclinedError, match=words):
        product.emit(a=matrix, b=matrix, out=matrix, M=128, N=128, K=128, backend="cuda")


def test_what_fits_is_claimed() -> None:
    function = sums.compile(LONG, LONG, BLOCK=1024).function
    assert backend.mytriton_claim(function, LaunchSpec(())) is None


@pytest.mark.parametrize("options", [{}, {"num_warps": 4}])
def test_a_reduction_in_the_function_of_a_reduction_is_declined(options: dict[str, int]) -> None:
    """Some threads would wait for others that never come."""
    with pytest.raises(BackendDeclinedError, match="missing reduce.custom "):
        nested.emit(x="i32[64]", out="i32[1]", BLOCK=64, backend="cuda", **options)
