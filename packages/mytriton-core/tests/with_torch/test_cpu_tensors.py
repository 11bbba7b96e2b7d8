"""PyTorch CPU tensors as kernel arguments.

Everything that imports torch lives in this folder: `tox -e torch` is the one environment that has
it. There an absent torch fails; elsewhere these tests are skipped.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl

if os.environ.get("MYTRITON_REQUIRE_TORCH") == "1":
    import torch
else:
    torch = pytest.importorskip("torch", reason="PyTorch is in `tox -e torch` only")


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@pytest.mark.parametrize("name", ["float32", "float64", "int32", "int64"])
def test_vector_add_in_place(name):
    dtype = getattr(torch, name)
    x = torch.arange(1000, dtype=dtype)
    y = torch.arange(1000, dtype=dtype) * 3
    out = torch.zeros(1000, dtype=dtype)
    address = out.data_ptr()
    add_kernel[(4,)](x, y, out, 1000, BLOCK=256)
    assert out.data_ptr() == address
    assert torch.equal(out, x + y)


def test_tensor_and_array_in_one_launch():
    x = torch.arange(1000, dtype=torch.float32)
    y = np.full(1000, 0.5, dtype=np.float32)
    out = np.zeros(1000, dtype=np.float32)
    add_kernel[(4,)](x, y, out, 1000, BLOCK=256)
    np.testing.assert_array_equal(out, x.numpy() + y)
