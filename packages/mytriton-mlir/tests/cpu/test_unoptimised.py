"""Kernels at optimisation level 0, which hold values that nothing needs."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl


@triton.jit
def unused_product_kernel(x, o):
    i = tl.arange(0, 16)
    a = tl.load(x + i[:, None] * 16 + i[None, :])
    tl.dot((a % 8).to(tl.float32), (a + 1).to(tl.float32))
    tl.store(o + i, i)


@triton.jit
def unused_chain_kernel(x, o, n):
    i = tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    most = 0.0
    for _ in range(n):
        a = tl.load(x + i[:, None] * 16 + i[None, :]).to(tl.float32)
        total = tl.dot(a + 1.0, tl.trans(a), total)
        most += tl.max(tl.sum(total, axis=1))
    tl.store(o + i, i)


@triton.jit
def unused_result_kernel(x, o, n):
    i = tl.arange(0, 16)
    a = tl.load(x + i[:, None] * 16 + i[None, :]).to(tl.float32)
    if n > 1:
        b = tl.dot(a + 1.0, a * 2.0)
    else:
        b = a
    c = tl.dot(b * 2.0, b + 3.0)
    tl.argmax(c, axis=1)
    tl.store(o + i, i)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize(
    ("kernel", "scalars"),
    [(unused_product_kernel, ()), (unused_chain_kernel, (3,)), (unused_result_kernel, (3,))],
)
def test_what_nothing_needs_is_left_out(monkeypatch, kernel, scalars, level):
    monkeypatch.setenv("MYTRITON_OPT_LEVEL", str(level))
    x, o = np.arange(256, dtype=np.int32), np.zeros(16, np.int32)
    kernel.with_backend("mlir-cpu")[(1,)](x, o, *scalars)
    np.testing.assert_array_equal(o, np.arange(16))
