"""From text to an image: the cache on disk, machines without a device, what ptxas reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cuda_kernels as k
import numpy as np
import pytest
from cuda_support import f32

from mytriton.plugin_api import ArgSpec, Device, DeviceError, LaunchSpec, VariableError
from mytriton.plugins.devices import register_device, unregister_device
from mytriton_cuda import mapping, nvrtc
from mytriton_cuda.launch import CudaKernel, arch_name, compile_source, usage

pytestmark = pytest.mark.nvrtc


def source(**options: Any) -> Any:
    function = k.softmax_kernel.compile(f32(9), f32(9), 9, BLOCK=128).function
    return mapping.lowered(function, LaunchSpec((), options=options))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_images_come_from_the_disk(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compile_source(source(), "sm_80", "cubin")
    assert first.data[:4] == b"\x7fELF"
    calls: list[Any] = []
    real = nvrtc.Nvrtc.compile

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        calls.append(options["arch"])
        return real(self, *args, **options)

    monkeypatch.setattr(nvrtc.Nvrtc, "compile", counted)
    again = compile_source(source(), "sm_80", "cubin")
    assert (again.data, again.log) == (first.data, first.log)
    assert calls == []
    compile_source(source(), "sm_90", "cubin")
    compile_source(source(), "sm_80", "ptx")
    compile_source(source(num_warps=4), "sm_80", "cubin")
    assert calls == ["sm_90", "sm_80", "sm_80"]


def test_ptx_ends_without_a_nul(cache: Path) -> None:
    assert compile_source(source(), "sm_80", "ptx").data.rstrip().endswith(b"}")


def test_without_a_device_a_kernel_is_compiled_and_not_launched(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(kind: str) -> Any:
        raise DeviceError("nothing provides device kind 'cuda'")

    monkeypatch.setattr("mytriton_cuda.launch.device_provider", absent)
    monkeypatch.setenv("MYTRITON_CUDA_ARCH", "sm_90")
    made = CudaKernel(source())
    assert made.metadata["arch"] == "sm_90"
    stages = made.metadata["asm"]
    assert list(stages) == ["ptx", "cubin"]
    assert ".target sm_90" in stages["ptx"]
    assert stages["cubin"].startswith(b"\x7fELF")
    with pytest.raises(DeviceError, match="only compiled: nothing provides"):
        made.launch((1, 1, 1), [])


@pytest.mark.parametrize(
    ("given", "wanted"), [("8.0", "sm_80"), ("90", "sm_90"), ("sm_90a", "sm_90a"), ("", "sm_80")]
)
def test_architectures(given: str, wanted: str) -> None:
    assert arch_name(given) == wanted


@pytest.mark.parametrize("asked", ["foo", "sm_", "sm_90x", "eighty"])
def test_an_architecture_that_is_none(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYTRITON_CUDA_ARCH", asked)
    with pytest.raises(VariableError, match=f"MYTRITON_CUDA_ARCH is '{asked}'; .*as sm_80"):
        arch_name("")


def test_what_ptxas_says() -> None:
    log = (
        "ptxas info : 0 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
        "ptxas info : Used 23 registers, used 1 barriers, 16 bytes smem, 372 bytes cmem[0]"
    )
    assert usage(log) == {"registers": 23, "spill_bytes": 24, "static_shared": 16}
    assert usage("") == {}


def test_arguments_on_two_devices_are_refused(cache: Path) -> None:
    from test_backend import Recorder

    recorder = Recorder()
    register_device(recorder)
    try:
        arguments = tuple(ArgSpec(n, k_type(), "cuda", d) for n, d in (("x", 0), ("y", 1)))
        with pytest.raises(DeviceError, match="'x' is on cuda:0, 'y' is on cuda:1"):
            CudaKernel(source(), LaunchSpec(arguments))
        made = CudaKernel(source(), LaunchSpec(arguments[1:]))
        assert made.metadata["threads"] == 128
        assert recorder.current_device() == Device("cuda", "recorder", "sm_80")
    finally:
        unregister_device("cuda")


def k_type() -> Any:
    return k.add_kernel.compile(*[np.ones(1, np.float32)] * 3, 1, BLOCK=32).function.params[0].ty
