"""On a GPU, through CuPy. Skipped and counted where there is none; with ``MYTRITON_REQUIRE_CUDA=1`` that
is a failure."""

from __future__ import annotations

import os
from typing import Any

import cuda_kernels as k
import numpy as np
import pytest

from mytriton.plugin_api import DeviceError, device_provider
from mytriton_cuda.device import CudaProvider

REQUIRED = os.environ.get("MYTRITON_REQUIRE_CUDA") == "1"


@pytest.fixture
def provider() -> Any:
    answer = CudaProvider().availability()
    if not answer.can_launch:
        if REQUIRED:
            pytest.fail(f"MYTRITON_REQUIRE_CUDA=1, but: {answer.reason}")
        pytest.skip(f"no GPU: {answer.reason}")
    return device_provider("cuda")


@pytest.mark.parametrize("warps", [None, 4])
def test_add(provider: Any, warps: int | None) -> None:
    x, y = (np.random.default_rng(n).standard_normal(1000).astype(np.float32) for n in (0, 1))
    out = provider.to_device(np.zeros_like(x))
    options = {} if warps is None else {"num_warps": warps}
    result = k.add_kernel[(4,)](
        provider.to_device(x), provider.to_device(y), out, 1000, BLOCK=256, **options
    )
    assert (result.backend, result.launched) == ("cuda", True)
    provider.synchronize()
    np.testing.assert_array_equal(provider.to_host(out), x + y)


def test_host_and_device_arrays_are_not_mixed(provider: Any) -> None:
    x = np.zeros(16, np.float32)
    with pytest.raises((DeviceError, RuntimeError)):
        k.add_kernel.with_backend("cuda")[(1,)](provider.to_device(x), x, x, 16, BLOCK=16)
