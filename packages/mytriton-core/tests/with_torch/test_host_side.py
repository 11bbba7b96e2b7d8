"""PyTorch and what stands round kernels: tuning, warmup, timing, and standing in for Triton."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import mytriton as triton
import mytriton.language as tl

if os.environ.get("MYTRITON_REQUIRE_TORCH") == "1":
    import torch
else:
    torch = pytest.importorskip("torch", reason="PyTorch is in `tox -e torch` only")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("MYTRITON_CACHE_DIR", "")


@triton.jit
def add_one_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + 1, mask=mask)


def once(call, quantiles):
    call()
    return [1.0] * len(quantiles)


def grid(meta):
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


@pytest.mark.parametrize(("option", "expected"), [("reset_to_zero", 1.0), ("restore_value", 6.0)])
@pytest.mark.parametrize("gradients", [False, True])
def test_tensors_are_put_back_after_timing(option, expected, gradients):
    configs = [triton.Config({"BLOCK": b}) for b in (4, 8)]
    kernel = triton.autotune(configs, ["n"], do_bench=once, **{option: ["x_ptr"]})(add_one_kernel)
    x = torch.full((8,), 5.0, requires_grad=gradients)
    kernel[grid](x, 8)
    assert x.tolist() == [expected] * 8
    assert list(kernel.cache) == [(8, "torch.float32")]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool"])
def test_warmup_for_a_dtype_is_what_a_tensor_launches(dtype):
    @triton.jit
    def copy_kernel(x_ptr, out_ptr):
        tl.store(out_ptr, tl.load(x_ptr))

    dtype = getattr(torch, dtype)
    copy_kernel.warmup(dtype, triton.MockTensor(dtype), grid=(1,))
    x, out = torch.ones(1, dtype=dtype), torch.zeros(1, dtype=dtype)
    copy_kernel[(1,)](x, out)
    assert torch.equal(x, out)
    assert len(copy_kernel.specialisations) == 1


def test_the_active_device_is_the_host():
    device = triton.runtime.driver.active.get_active_torch_device()
    assert device == torch.device("cpu")
    x = torch.zeros(8, device=device)
    add_one_kernel[grid](x, 8, BLOCK=8)
    assert x.sum() == 8


def test_do_bench_and_assert_close():
    x = torch.zeros(8)
    assert triton.testing.do_bench(lambda: add_one_kernel[grid](x, 8, BLOCK=8), warmup=1, rep=2) > 0
    triton.testing.assert_close(torch.ones(3, dtype=torch.bfloat16), torch.ones(3), atol=0, rtol=0)
    with pytest.raises(AssertionError):
        triton.testing.assert_close(torch.ones(3), torch.zeros(3))


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )


def test_torch_imports_after_standing_in_for_triton():
    done = run("""
        import mytriton
        mytriton.install_as_triton()
        import torch
        from torch.utils._triton import get_triton_version, has_triton, has_triton_package
        print(has_triton_package(), get_triton_version() >= (3, 3), has_triton())
        import torch._dynamo
        print(torch.compile(lambda a: a + 1, backend="eager")(torch.ones(2)).tolist())
    """)
    assert done.stdout.splitlines() == ["True True False", "[2.0, 2.0]"], done.stderr


def test_a_program_written_for_triton_and_torch(tmp_path):
    (tmp_path / "softmax.py").write_text(
        textwrap.dedent("""
        import torch
        import triton
        import triton.language as tl
        from triton.runtime import driver

        DEVICE = triton.runtime.driver.active.get_active_torch_device()

        @triton.jit
        def softmax_kernel(out, x, stride, n_cols, BLOCK: tl.constexpr):
            row = tl.program_id(0)
            cols = tl.arange(0, BLOCK)
            values = tl.load(x + row * stride + cols, mask=cols < n_cols, other=-1e30)
            e = tl.exp(values - tl.max(values, axis=0))
            tl.store(out + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n_cols)

        properties = driver.active.utils.get_device_properties(DEVICE.index)
        x = torch.randn(64, 100, device=DEVICE)
        y = torch.empty_like(x)
        BLOCK = triton.next_power_of_2(x.shape[1])
        kernel = softmax_kernel.warmup(y, x, x.stride(0), x.shape[1], BLOCK=BLOCK, num_warps=8,
                                       num_stages=2, grid=(1,))
        kernel._init_handles()
        occupancy = properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * 8)
        occupancy = min(occupancy, properties["max_shared_mem"] // kernel.metadata.shared)
        assert occupancy > 0
        kernel[(x.shape[0], 1, 1)](y, x, x.stride(0), x.shape[1], BLOCK)
        torch.testing.assert_close(y, torch.softmax(x, axis=1))
        print("equal")
    """)
    )
    done = subprocess.run(
        [sys.executable, "-m", "mytriton.run", "softmax.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("equal\n", 0), done.stderr
