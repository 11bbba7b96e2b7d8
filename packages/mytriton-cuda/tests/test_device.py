"""The provider of CUDA devices, against a CuPy that only writes down what it is asked."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mytriton.plugin_api import (
    BF16,
    BOOL,
    F16,
    F32,
    I8,
    I32,
    I64,
    ArgView,
    Device,
    DeviceError,
    PointerType,
    pack_arguments,
)
from mytriton.plugins.devices import DeviceProvider
from mytriton_cuda import device
from mytriton_cuda.device import CudaProvider

LOG: list[Any] = []


class FakeStream:
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        LOG.append(("stream", self.name))

    def __exit__(self, *exc: object) -> None: ...

    def synchronize(self) -> None:
        LOG.append(("wait", self.name))


class FakeDevice:
    current = 0

    def __init__(self, index: int | None = None) -> None:
        self.id = FakeDevice.current if index is None else index
        self.compute_capability = "90"
        self.attributes = {
            "MaxThreadsPerBlock": 1024, "WarpSize": 32, "MaxSharedMemoryPerBlock": 49152,
            "MaxSharedMemoryPerBlockOptin": 232448, "MaxGridDimX": 2**31 - 1,
            "MaxGridDimY": 65535, "MaxGridDimZ": 65535,
        }  # fmt: skip

    def __enter__(self) -> None:
        LOG.append(("device", self.id))

    def __exit__(self, *exc: object) -> None: ...

    def synchronize(self) -> None:
        LOG.append(("wait", f"device {self.id}"))


class FakeKernel:
    num_regs = 8
    max_dynamic_shared_size_bytes = 49152

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0) -> None:
        LOG.append(("launch", grid, block, args, shared_mem, self.max_dynamic_shared_size_bytes))


class FakeModule:
    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self.image = file.read()

    def compile(self) -> None:
        if self.image == b"bad":
            raise RuntimeError("CUDA_ERROR_INVALID_IMAGE")

    def get_function(self, name: str) -> FakeKernel:
        if name == "missing":
            raise RuntimeError("CUDA_ERROR_NOT_FOUND")
        return FakeKernel()


class Array:
    """An array on a device, as far as anybody looks."""

    def __init__(
        self, dtype: str = "<f4", shape: Any = (4, 8), strides: Any = None, index: int = 0
    ):
        self.__cuda_array_interface__ = {
            "data": (4096, False), "typestr": dtype, "shape": shape, "strides": strides, "version": 3,
        }  # fmt: skip
        self.device = types.SimpleNamespace(id=index)

    @property
    def __cuda_array_interface__(self) -> Any:
        return self._interface

    @__cuda_array_interface__.setter
    def __cuda_array_interface__(self, value: Any) -> None:
        self._interface = value


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[CudaProvider]:
    fake = types.ModuleType("cupy")
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: 2, getDeviceProperties=lambda n: {"name": b"Fake GPU"}
    )
    fake.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        runtime=runtime, Device=FakeDevice,
        get_current_stream=lambda index=None: FakeStream("cupy"),
        ExternalStream=lambda pointer, index=None: FakeStream(f"external {pointer}"),
    )  # fmt: skip
    fake.RawModule = FakeModule  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", fake)
    device._cupy.cache_clear()
    device._limits.cache_clear()
    LOG.clear()
    yield CudaProvider()
    device._cupy.cache_clear()
    device._limits.cache_clear()


def view(kind: str = "cuda", index: int = 0, owner: Any = None) -> ArgView:
    return ArgView(4096, F32, (8,), (4,), kind, index, owner=owner)


def ready(provider: CudaProvider, index: int = 0) -> Any:
    module = provider.load(b"image", kind="cubin", device=Device("cuda", index=index))
    LOG.clear()
    return provider.function(module, "k")


def test_keeps_to_the_protocol() -> None:
    assert isinstance(CudaProvider(), DeviceProvider)


def test_devices(provider: CudaProvider) -> None:
    answer = provider.availability()
    assert [d.index for d in answer.devices] == [0, 1]
    assert provider.current_device() == Device("cuda", "Fake GPU", "sm_90", 0)
    assert provider.limits(Device("cuda"))["shared_bytes_optin"] == 232448


def test_a_missing_cupy_and_a_missing_driver_are_reasons(
    provider: CudaProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> int:
        raise RuntimeError("cudaErrorInsufficientDriver")

    monkeypatch.setattr(sys.modules["cupy"].cuda.runtime, "getDeviceCount", fails)
    answer = provider.availability()
    assert not answer.can_launch
    assert "cudaErrorInsufficientDriver" in answer.reason
    monkeypatch.setitem(sys.modules, "cupy", None)
    device._cupy.cache_clear()
    answer = provider.availability()
    assert not answer.can_launch
    assert "CuPy is not installed" in answer.reason
    assert "cuda12" in answer.hint


def test_arguments_are_passed_with_their_exact_types(provider: CudaProvider) -> None:
    function = ready(provider)
    types_ = [PointerType(F32), I32, I64, F32, BOOL, F16, BF16, I8]
    provider.launch(
        function, (3, 2, 1), (128, 1, 1),
        pack_arguments(types_, [view(), -5, 2**40, 0.5, True, 1.5, 1.0, -1]),
    )  # fmt: skip
    (found,) = [e for e in LOG if e[0] == "launch"]
    assert found[1:3] == ((3, 2, 1), (128, 1, 1))
    kinds = [np.asarray(v).dtype.str for v in found[3]]
    assert kinds == ["<u8", "<i4", "<i8", "<f4", "|b1", "<u2", "<u2", "|i1"]
    assert [int(v) for v in found[3][:3]] == [4096, -5, 2**40]
    assert int(found[3][5]) == 0x3E00
    assert int(found[3][6]) == 0x3F80


def test_runs_on_the_device_and_stream_of_the_arrays(provider: CudaProvider) -> None:
    function = ready(provider, index=1)
    provider.launch(
        function, (1, 1, 1), (32, 1, 1), pack_arguments([PointerType(F32)], [view(index=1)])
    )
    assert [e[:2] for e in LOG if e[0] in ("device", "stream")][-2:] == [
        ("device", 1),
        ("stream", "cupy"),
    ]


def test_pytorchs_stream(provider: CudaProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        current_stream=lambda index: types.SimpleNamespace(cuda_stream=777)
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    tensor = type("Tensor", (), {"__module__": "torch"})()
    args = pack_arguments([PointerType(F32)], [view(owner=tensor)])
    provider.launch(ready(provider), (1, 1, 1), (32, 1, 1), args)
    assert ("stream", "external 777") in LOG


@pytest.mark.parametrize(
    ("where", "message"), [(view("cpu"), "on 'cpu'"), (view(index=1), "on cuda:1")]
)
def test_arrays_elsewhere_are_refused(provider: CudaProvider, where: Any, message: str) -> None:
    args = pack_arguments([PointerType(F32), PointerType(F32)], [view(), where])
    with pytest.raises(DeviceError, match=message):
        provider.launch(ready(provider), (1, 1, 1), (32, 1, 1), args)
    assert not [e for e in LOG if e[0] == "launch"]


@pytest.mark.parametrize(
    ("grid", "block", "shared", "message"),
    [
        ((1, 65536, 1), (32, 1, 1), 0, "65536 programs along y, the device takes 65535"),
        ((1, 1, 1), (2048, 1, 1), 0, "2048 threads, the device takes 1024"),
        ((1, 1, 1), (32, 1, 1), 232449, "232449 bytes of shared memory, the device has 232448"),
    ],
)
def test_limits(provider: CudaProvider, grid: Any, block: Any, shared: int, message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        provider.launch(ready(provider), grid, block, pack_arguments([], []), shared_bytes=shared)


def test_much_shared_memory_is_asked_for(provider: CudaProvider) -> None:
    function = ready(provider)
    provider.launch(function, (1, 1, 1), (32, 1, 1), pack_arguments([], []), shared_bytes=100_000)
    assert LOG[-1][4:] == (100_000, 100_000)


def test_views(provider: CudaProvider) -> None:
    assert provider.owns(Array())
    assert not provider.owns(np.zeros(3))
    found = provider.view(Array(index=1))
    assert (found.pointer, found.dtype, found.shape, found.strides) == (4096, F32, (4, 8), (32, 4))
    assert (found.device_kind, found.device_id, found.contiguous) == ("cuda", 1, True)
    assert provider.view(Array("|b1", (4,))).dtype == BOOL
    assert provider.view(Array("<i8", (4,), (16,))).strides == (16,)
    for dtype in ("<c8", ">f4"):
        with pytest.raises(DeviceError):
            provider.view(Array(dtype))


def test_images_the_driver_refuses(provider: CudaProvider) -> None:
    with pytest.raises(DeviceError, match="INVALID_IMAGE"):
        provider.load(b"bad", kind="cubin")
    with pytest.raises(DeviceError, match="not 'elf'"):
        provider.load(b"image", kind="elf")
    with pytest.raises(DeviceError, match="no function 'missing'"):
        provider.function(provider.load(b"image", kind="ptx"), "missing")


def test_waiting(provider: CudaProvider) -> None:
    provider.synchronize()
    with contextlib.nullcontext(FakeStream("mine")) as stream:
        provider.synchronize(stream)
    assert LOG == [("wait", "device 0"), ("wait", "mine")]
