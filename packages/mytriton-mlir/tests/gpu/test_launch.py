"""The launch, as a recording device sees it."""

import ctypes

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.plugin_api import (
    BF16,
    F16,
    F32,
    ArgSpec,
    ArgView,
    Availability,
    BackendInfo,
    Device,
    DeviceError,
    LaunchSpec,
    PointerType,
    VariableError,
)  # fmt: skip
from mytriton.plugins.devices import register_device, unregister_device
from mytriton.plugins.selection import refresh_backends
from mytriton_mlir.gpu import backend, launch, ptxas
from mytriton_mlir.gpu.probe import probe


class FakeArray:
    """An array on the recording device."""

    def __init__(self, address, shape, dtype=F32, strides=None, index=0):
        size = dtype.itemsize
        self.view = ArgView(
            address, dtype, shape, strides or _contiguous(shape, size), "cuda", index
        )


def _contiguous(shape, size):
    strides = []
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))


class Recorder:
    """A device provider that only writes down what it is told."""

    kind = "cuda"

    def __init__(self, arch="sm_86", devices=1):
        self.devices = tuple(Device("cuda", "recorder", arch, k) for k in range(devices))
        self.loads, self.launches = [], []

    def availability(self):
        return Availability(devices=self.devices)

    def current_device(self):
        return self.devices[0]

    def limits(self, device):
        return {"max_threads": 1024}

    def owns(self, value):
        return isinstance(value, FakeArray)

    def view(self, value):
        return value.view

    def load(self, image, *, kind, device=None):
        self.loads.append((image, kind, device))
        return len(self.loads) - 1

    def function(self, module, name):
        return module, name

    def launch(self, function, grid, block, args, *, shared_bytes=0, stream=None):
        values = [(type(v), v.value) for v in args.values]
        read = [
            type(v).from_address(address).value
            for v, address in zip(args.values, args.addresses[: args.count])
        ]
        assert read == [v for _, v in values]
        self.launches.append((function, grid, block, values, shared_bytes, stream))

    def synchronize(self, stream=None):
        pass

    def to_device(self, array):
        return array

    def to_host(self, value):
        return value


@pytest.fixture
def recorder():
    provider = Recorder()
    register_device(provider)
    refresh_backends()  # probes are remembered
    yield provider
    unregister_device("cuda")
    refresh_backends()


@triton.jit
def scale_kernel(x, out, n, factor, flag, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + offs, mask=offs < n)
    tl.store(out + offs, tl.where(flag, v * factor, v), mask=offs < n)


def memref(address, size):
    pointer = (ctypes.c_void_p, address)
    return [pointer, pointer, (ctypes.c_int64, 0), (ctypes.c_int64, size), (ctypes.c_int64, 1)]


def test_what_the_device_is_told(bindings, recorder):
    x, out = FakeArray(0x7000, (1000,)), FakeArray(0x9000, (10, 100))
    result = scale_kernel.with_backend("mlir")[(4, 1, 1)](x, out, 1000, 2.5, True, B=256)
    assert result.launched
    ((image, kind, device),) = recorder.loads
    assert kind == "ptx"
    assert device.arch == "sm_86"
    assert b".target sm_86" in image
    assert b".entry scale_kernel(" in image
    assert not image.endswith(b"\0")
    ((function, grid, block, values, shared, stream),) = recorder.launches
    assert function == (0, "scale_kernel")
    assert (grid, block, shared, stream) == ((4, 1, 1), (256, 1, 1), 0, None)
    assert values == [
        *memref(0x7000, 1000), *memref(0x9000, 1000),
        (ctypes.c_int32, 1000), (ctypes.c_float, 2.5), (ctypes.c_bool, True),
    ]  # fmt: skip
    assert result.artifact.metadata["chip"] == "sm_86"
    assert result.artifact.metadata["threads"] == 256
    scale_kernel.with_backend("mlir")[(7,)](x, out, 5, 1.0, False, B=256)
    assert len(recorder.loads) == 1
    assert recorder.launches[1][1:3] == ((7, 1, 1), (256, 1, 1))


def test_device_arrays_choose_the_backend(bindings, recorder, monkeypatch):
    monkeypatch.delenv("MYTRITON_BACKEND", raising=False)
    monkeypatch.setenv("MYTRITON_DISABLE_BACKENDS", "cuda")
    x = FakeArray(0x7000, (1000,))
    result = scale_kernel[(1,)](x, x, 10, 2.5, True, B=32)
    assert result.backend == "mlir"
    assert result.launched


def test_parameters_of_the_image(bindings, recorder):
    """As many parameters as values, each as wide."""
    x = FakeArray(0x7000, (1000,), F16)
    scale_kernel.with_backend("mlir")[(1,)](x, x, 10, 2.5, True, B=32)
    image = recorder.loads[0][0].decode()
    header = image[image.index(".entry") : image.index("{")]
    values = recorder.launches[0][3]
    assert header.count(".param") == len(values)
    widths = {".u64": 8, ".u32": 4, ".b32": 4, ".f32": 4, ".u8": 1, ".b8": 1}
    declared = [
        widths[word] for line in header.splitlines() if ".param" in line
        for word in line.split() if word in widths
    ]  # fmt: skip
    assert declared == [ctypes.sizeof(kind) for kind, _ in values]


def test_nothing_to_run(bindings, recorder):
    x = FakeArray(0x7000, (1000,))
    scale_kernel.with_backend("mlir")[(0,)](x, x, 10, 2.5, True, B=32)
    assert recorder.launches == []


@pytest.mark.parametrize(
    ("shape", "strides", "size"),
    [
        ((10,), (4,), 10),
        ((10,), (8,), 19),
        ((10,), (-4,), 1),
        ((3, 4), (16, 4), 12),
        ((0,), (4,), 0),
        ((), (), 1),
    ],
)
def test_sizes(shape, strides, size):
    view = ArgView(0x7000, F32, shape, strides, "cuda")
    packed = launch.memref_arguments([PointerType(F32)], [view])
    assert [v.value for v in packed.values] == [0x7000, 0x7000, 0, size, 1]
    assert view in packed.owners


def test_narrow_floats_as_numbers():
    packed = launch.memref_arguments([F16, BF16], [1.5, 1.5])
    assert [v.value for v in packed.values] == [0x3E00, 0x3FC0]


def spec(*ids):
    return LaunchSpec(tuple(ArgSpec(f"a{k}", PointerType(F32), "cuda", k) for k in ids))


def test_the_device_of_the_arguments():
    provider = Recorder(devices=3)
    assert launch._device(provider, spec(2)).index == 2
    assert launch._device(provider, spec()).index == 0
    with pytest.raises(
        DeviceError, match="different devices: 'a0' is on cuda:0, 'a2' is on cuda:2"
    ):
        launch._device(provider, spec(0, 2))


def test_probe(bindings, recorder):
    answer = probe()
    assert answer.can_lower
    assert answer.can_launch
    assert answer.devices == recorder.devices


def test_probe_without_a_device(bindings, monkeypatch):
    from mytriton_mlir.gpu import probe as module

    def none(kind):
        raise DeviceError("nothing provides device kind 'cuda'")

    monkeypatch.setattr(module, "device_provider", none)
    answer = probe()
    assert answer.can_lower
    assert not answer.can_launch
    assert "nothing provides device kind 'cuda'" in answer.reason
    assert "cuda12" in answer.hint


def source_of(kernel):
    x = np.ones(4, np.float32)
    return backend.mytriton_lower(kernel.compile(x, x, 4, 2.5, True, B=32).function, None)


def test_without_a_device_it_only_compiles(bindings, monkeypatch):
    def none(kind):
        raise DeviceError("nothing provides device kind 'cuda'")

    monkeypatch.setattr(launch, "device_provider", none)
    monkeypatch.setenv("MYTRITON_MLIR_CHIP", "sm_90")
    artifact = backend.mytriton_compile(source_of(scale_kernel), spec())
    assert artifact.metadata["chip"] == "sm_90"
    assert b".target sm_90" in artifact.metadata["image"]
    if ptxas.find_ptxas() is not None:
        assert artifact.metadata["cubin"].startswith(b"\x7fELF")
        assert "registers" in artifact.metadata["ptxas"]
        assert artifact.metadata["registers"] > 0
        assert artifact.metadata["asm"]["cubin"] == artifact.metadata["cubin"]
    assert ".target sm_90" in artifact.metadata["asm"]["ptx"]
    with pytest.raises(DeviceError, match="nothing to run it: nothing provides device kind 'cuda'"):
        artifact.launch((1, 1, 1), [])


def test_a_chip_that_is_none(bindings, monkeypatch):
    monkeypatch.setenv("MYTRITON_MLIR_CHIP", "foo")
    with pytest.raises(VariableError, match="MYTRITON_MLIR_CHIP: no chip is called 'foo'"):
        launch.cache_key(spec())


def test_what_ptxas_refuses():
    program = ptxas.find_ptxas()
    if program is None:
        pytest.skip("ptxas is not installed (nvidia-cuda-nvcc-cu12)")
    with pytest.raises(ptxas.PtxasError, match="ptxas refused the PTX for sm_80"):
        ptxas.assemble(b".version 8.0\n.target sm_80\nnonsense\n", "sm_80", program)
    with pytest.raises(ptxas.PtxasError, match="ptxas did not run"):
        ptxas.assemble(b"", "sm_80", program.with_name("no-such-program"))


def test_cache_key(recorder):
    key = backend.mytriton_cache_key(None)
    assert "sm_86" in key


def test_the_table_is_what_can_be_lowered():
    from mytriton.plugin_api import all_ops
    from mytriton_mlir.gpu.kernel import REGIONS
    from mytriton_mlir.gpu.lowerings import LOWERINGS
    from mytriton_mlir_gpu_info import INFO

    declared = {f for f, c in INFO.capabilities.items() if c.state == "yes"}
    names = {*LOWERINGS, *REGIONS, "for"}
    lowered = {op.feature_id for op in all_ops() if op.name in names}
    of_ops = {f for f in declared if f.startswith(("op.", "reduce.", "control."))}
    assert of_ops == lowered
    assert isinstance(INFO, BackendInfo)
