"""The hooks, and that they cost nothing that is not needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import cuda_kernels as k
import numpy as np
import pytest
from cuda_support import f32

import mytriton_cuda_info
from mytriton.plugin_api import (
    ArgSpec,
    Availability,
    Device,
    DeviceError,
    LaunchSpec,
    all_ops,
    features,
)
from mytriton.plugins.claims import missing_features
from mytriton.plugins.devices import register_device, unregister_device
from mytriton.plugins.interface import check
from mytriton_cuda import backend, nvrtc, probe
from mytriton_cuda.emit import RENDERERS

INFO = mytriton_cuda_info.INFO


def test_keeps_to_the_hook_specifications() -> None:
    check(backend, "mytriton-cuda", backend="cuda")


def test_every_declared_operation_has_a_renderer_and_every_renderer_is_declared() -> None:
    declared = {
        feature
        for feature, known in INFO.capabilities.items()
        if feature.startswith(("op.", "reduce.", "control.")) and known.state == "yes"
    }
    # These have functions of their own.
    written = {*RENDERERS, "for", "if", "while", "reduce"}
    assert declared == {op.feature_id for op in all_ops() if op.name in written}


def test_importing_the_plugin_imports_no_toolchain() -> None:
    code = (
        "import sys, mytriton_cuda_info, mytriton_cuda.backend, mytriton_cuda.emit;"
        "bad = {'cupy', 'torch', 'mytriton_cuda.nvrtc'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_info_is_data_of_core_only() -> None:
    code = (
        "import sys, mytriton_cuda_info;"
        "bad = {n for n in sys.modules if n.startswith('mytriton_cuda.')}; assert not bad, bad;"
        "assert 'pluggy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def lowered(kernel: Any, *args: Any, **constants: Any) -> Any:
    return backend.mytriton_lower(kernel.compile(*args, **constants).function, LaunchSpec(()))


def test_source_says_what_a_launch_takes() -> None:
    source = lowered(k.softmax_kernel, f32(9), f32(9), 9, BLOCK=128)
    assert (source.language, source.entry) == ("CUDA C++", "softmax_kernel")
    assert source.resources["threads"] == 128
    assert source.resources["shared_bytes"] == 512
    assert [str(t) for t in source.resources["parameters"]] == ["ptr<f32>", "ptr<f32>", "i32"]


@pytest.mark.parametrize(
    "kernel", [k.softmax_kernel, k.add_kernel], ids=lambda kernel: kernel.__name__
)
def test_seed_kernels_are_claimed(kernel: Any) -> None:
    args = [f32(9), f32(9), 9] if kernel is k.softmax_kernel else [f32(9), f32(9), f32(9), 9]
    function = kernel.compile(*args, BLOCK=128).function
    assert features(function)
    launch = LaunchSpec((ArgSpec("x", function.params[0].ty, "cuda"),), grid=(4, 1, 1))
    assert not missing_features(function, launch, INFO)


def test_large_blocks_are_planned() -> None:
    function = k.add_kernel.compile(f32(9), f32(9), f32(9), 9, BLOCK=131072).function
    assert missing_features(function, LaunchSpec(()), INFO) == {"limit.block>65536"}


class Recorder:
    """A device provider that writes down what it is given."""

    kind = "cuda"
    image_kinds = ("ptx",)

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def availability(self) -> Availability:
        return Availability(devices=(self.current_device(),))

    def current_device(self) -> Device:
        return Device("cuda", "recorder", "sm_80")

    def limits(self, device: Device) -> dict[str, int]:
        return {}

    def owns(self, value: object) -> bool:
        return False

    def view(self, value: Any) -> Any:
        raise NotImplementedError

    def load(self, image: bytes, *, kind: str, device: Any = None) -> Any:
        self.calls.append((kind, image))
        return image

    def function(self, module: Any, name: str) -> Any:
        assert f".entry {name}(".encode() in module
        return name

    def launch(self, function: Any, grid: Any, block: Any, args: Any, **options: Any) -> None:
        self.calls.append((function, grid, block, [v.value for v in args.values]))

    def synchronize(self, stream: Any = None) -> None: ...

    def to_device(self, array: Any) -> Any:
        return array

    def to_host(self, value: Any) -> Any:
        return value


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    provider = Recorder()
    register_device(provider)
    yield provider
    unregister_device("cuda")


@pytest.mark.nvrtc
def test_launch_packs_arguments_as_the_driver_takes_them(recorder: Recorder) -> None:
    from mytriton.runtime.arguments import launch_value

    source = lowered(k.add_kernel, f32(9), f32(9), f32(9), 9, BLOCK=256)
    kernel = backend.mytriton_compile(source, LaunchSpec(()))
    x = f32(9)
    kernel.launch((3, 1, 1), [launch_value(v) for v in (x, x, x, 9)])
    assert recorder.calls[0][0] == "ptx"
    assert recorder.calls[1] == ("add_kernel", (3, 1, 1), (256, 1, 1), [x.ctypes.data] * 3 + [9])
    assert kernel.metadata["arch"] == "sm_80"
    assert probe.probe().can_launch


def test_probe_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "driver_present", lambda: False)
    monkeypatch.setattr(probe, "device_provider", _missing)
    found = probe.probe()
    assert (found.can_lower, found.can_launch) == (True, False)
    assert "libcuda" in found.reason
    assert "cuda12" in found.hint


def test_probe_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "driver_present", lambda: True)
    monkeypatch.setattr(probe, "device_provider", _missing)
    monkeypatch.setattr(probe.importlib.util, "find_spec", lambda name: None)
    assert probe.probe().reason == "CuPy is not installed"


def _missing(kind: str) -> Any:
    raise DeviceError("nothing provides device kind 'cuda'")


def test_missing_compiler_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYTRITON_NVRTC", "/nowhere/libnvrtc.so")
    nvrtc.load.cache_clear()
    try:
        with pytest.raises(nvrtc.NvrtcError, match="pip install nvidia-cuda-nvrtc-cu12"):
            nvrtc.load()
        assert not nvrtc.available()
    finally:
        nvrtc.load.cache_clear()


def test_arrays_of_numpy_are_arguments_of_the_text() -> None:
    assert "double* x" in lowered(k.add_kernel, *[np.ones(4)] * 3, 4, BLOCK=4).text
