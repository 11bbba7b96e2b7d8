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


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@pytest.mark.parametrize(
    "name",
    ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
     "bfloat16", "float32", "float64"],
)  # fmt: skip
def test_every_dtype_copies(name):
    dtype = getattr(torch, name)
    bits = torch.randint(0, 2 if name == "bool" else 120, (300,), dtype=torch.int64)
    x = bits.to(dtype)
    out = torch.zeros(300, dtype=dtype)
    copy_kernel[(3,)](x, out, 300, BLOCK=128)
    assert torch.equal(out.view(torch.uint8), x.view(torch.uint8))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("float8_e4m3fn", "ptr<f8e4nv>"), ("float8_e5m2", "ptr<f8e5>"), ("bfloat16", "ptr<bf16>")],
)
def test_types_of_small_floats(name, expected):
    x = torch.zeros(4, dtype=getattr(torch, name))
    compiled = copy_kernel.compile(x, torch.zeros(4), 4, BLOCK=4)
    assert str(compiled.function.params[0].ty) == expected


def test_bfloat16_arithmetic_rounds_to_bfloat16():
    x = torch.tensor([1.0, 2.5, -3.0], dtype=torch.bfloat16)
    y = torch.tensor([2.0**-9, 0.25, 1.0], dtype=torch.bfloat16)
    out = torch.zeros(3, dtype=torch.bfloat16)
    add_kernel[(1,)](x, y, out, 3, BLOCK=4)
    assert torch.equal(out, x + y)


def test_a_zero_dimensional_tensor_is_a_pointer():
    x, out = torch.tensor(2.5), torch.tensor(0.0)
    copy_kernel[(1,)](x, out, 1, BLOCK=1)
    assert out.item() == 2.5


def test_parameters_and_tensors_that_require_gradients():
    x = torch.nn.Parameter(torch.rand(8))
    out = torch.zeros(8, requires_grad=True)
    copy_kernel[(1,)](x, out, 8, BLOCK=8)
    assert torch.equal(out, x)


def test_a_subclass_of_tensor():
    class Marked(torch.Tensor):
        pass

    x = torch.rand(8).as_subclass(Marked)
    out = torch.zeros(8).as_subclass(Marked)
    copy_kernel[(1,)](x, out, 8, BLOCK=8)
    assert torch.equal(out, x)


def test_a_view_is_its_base_address_and_strides():
    whole = torch.arange(16.0).reshape(4, 4)

    @triton.jit
    def column_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
        rows = tl.arange(0, BLOCK)
        tl.store(out_ptr + rows, tl.load(x_ptr + rows * stride))

    out = torch.zeros(4)
    column_kernel[(1,)](whole[:, 1], out, whole.stride(0), BLOCK=4)
    assert torch.equal(out, whole[:, 1])


def test_kinds_of_tensors_have_variants_of_their_own():
    kernel = triton.jit(copy_kernel.fn)
    out = torch.zeros(8)
    kernel[(1,)](torch.rand(8), out, 8, BLOCK=8)
    kernel[(1,)](torch.rand(8), out, 8, BLOCK=8)
    assert len(kernel.specialisations) == 1
    kernel[(1,)](torch.rand(8, dtype=torch.float64), out, 8, BLOCK=8)
    assert len(kernel.specialisations) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.zeros(2, dtype=torch.complex64), "dtype torch.complex64 are not supported"),
        (lambda: torch.zeros(2, device="meta"), "on device 'meta' has no memory of its own"),
        (lambda: torch.zeros(2, 2).to_sparse(), "only plain strided tensors"),
        (lambda: torch.conj(torch.ones(2, dtype=torch.complex64)).imag, "resolve_neg"),
    ],
)
def test_tensors_without_plain_data_are_refused_by_name(make, message):
    copy_kernel[(1,)](torch.ones(2), torch.zeros(2), 2, BLOCK=2)  # the fast path is there
    for _ in range(2):
        with pytest.raises(TypeError, match=f"argument 'x_ptr': .*{message}"):
            copy_kernel[(1,)](make(), torch.zeros(2), 2, BLOCK=2)


def test_reinterpret():
    x = torch.tensor([1.0, 2.0]).view(torch.int32)
    out = torch.zeros(2)
    copy_kernel[(1,)](triton.reinterpret(x, tl.float32), out, 2, BLOCK=2)
    assert out.tolist() == [1.0, 2.0]
    assert triton.reinterpret(triton.reinterpret(x, tl.float32), torch.int32) is x
