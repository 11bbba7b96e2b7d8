"""Kernels with matrix products in a loop, written in the language, on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl

pytestmark = pytest.mark.nvrtc
device = pytest.importorskip("mytriton_testkit.emulator_device")
RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def emulator() -> Iterator[None]:
    with device.use_emulator():
        yield


@triton.jit
def matmul(
    x, y, out, m, n, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, RELU: tl.constexpr
):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, K)
    p = x + i[:, None] * depth + k[None, :]
    q = y + k[:, None] * n + j[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, depth, K):
        a = tl.load(p, mask=(i[:, None] < m) & (k[None, :] + start < depth), other=0.0)
        b = tl.load(q, mask=(j[None, :] < n) & (k[:, None] + start < depth), other=0.0)
        acc = tl.dot(a, b, acc=acc)
        p += K
        q += K * n
    if RELU:
        acc = tl.maximum(acc, 0.0)
    tl.store(out + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < m) & (j[None, :] < n))


@pytest.mark.parametrize("dtype", ["f2", "f4"])
@pytest.mark.parametrize(("m", "n", "depth"), [(64, 64, 64), (50, 33, 40), (7, 90, 0)])
def test_matrix_product_with_edges(dtype: str, m: int, n: int, depth: int) -> None:
    x = RNG.integers(-4, 5, (m, depth)).astype(dtype)
    y = RNG.integers(-4, 5, (depth, n)).astype(dtype)
    out = np.full((m, n), 7, "f4")
    grid = ((m + 31) // 32, (n + 31) // 32)
    result = matmul.with_backend("cuda")[grid](x, y, out, m, n, depth, M=32, N=32, K=16, RELU=True)
    assert result.launched
    np.testing.assert_array_equal(out, np.maximum(x.astype("f8") @ y.astype("f8"), 0))
    assert ("mma_f16(" in result.src) == (dtype == "f2")


@triton.jit
def attention(
    q, k, v, out, n, scale, CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr
):
    row = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    queries = tl.load(q + row[:, None] * D + d[None, :], mask=row[:, None] < n, other=0.0)
    top = tl.full((M,), float("-inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    acc = tl.zeros((M, D), tl.float32)
    end = n
    if CAUSAL:
        end = tl.minimum(n, (tl.program_id(0) + 1) * M)
    for start in range(0, end, N):
        col = start + tl.arange(0, N)
        keys = tl.load(k + col[:, None] * D + d[None, :], mask=col[:, None] < n, other=0.0)
        score = tl.dot(queries, tl.trans(keys)) * scale
        seen = col[None, :] < n
        if CAUSAL:
            seen = seen & (col[None, :] <= row[:, None])
        score = tl.where(seen, score, float("-inf"))
        higher = tl.maximum(top, tl.max(score, axis=1))
        p = tl.exp(score - higher[:, None])
        shrink = tl.exp(top - higher)
        total = total * shrink + tl.sum(p, axis=1)
        values = tl.load(v + col[:, None] * D + d[None, :], mask=col[:, None] < n, other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p.to(values.dtype), values)
        top = higher
    tl.store(out + row[:, None] * D + d[None, :], acc / total[:, None], mask=row[:, None] < n)


def exact(q: Any, k: Any, v: Any, causal: bool) -> Any:
    q, k, v = (t.astype("f8") for t in (q, k, v))
    score = q @ k.T / np.sqrt(q.shape[1])
    if causal:
        score = np.where(np.tril(np.ones_like(score)) > 0, score, -np.inf)
    e = np.exp(score - score.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ v


@pytest.mark.parametrize(("dtype", "bound"), [("f2", 2e-3), ("f4", 2e-6)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(dtype: str, bound: float, causal: bool) -> None:
    n = 50
    q, k, v = (RNG.standard_normal((n, 32)).astype(dtype) for _ in "qkv")
    out = np.zeros((n, 32), "f4")
    scale = float(1 / np.sqrt(32))
    result = attention.with_backend("cuda")[2,](
        q, k, v, out, n, scale, CAUSAL=causal, M=32, N=16, D=32, num_warps=2
    )
    np.testing.assert_allclose(out, exact(q, k, v, causal), atol=bound)
    # What the first product gives is not computed a second time for the second.
    assert result.src.count("= fast_exp(") == 2
