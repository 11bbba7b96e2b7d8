"""The emulated device: arguments as the driver takes them, host arrays in and out, its limits."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from mytriton.plugin_api import (
    F32,
    I32,
    I64,
    Device,
    DeviceError,
    DeviceProvider,
    PointerType,
    device_provider,
    launch_value,
    pack_arguments,
)
from mytriton_testkit.emulator_device import EmulatorProvider, merged, use_emulator
from mytriton_testkit.ptx import PtxCheckError

#: out[i] = x[i] + n, for the threads of one block below `count`.
PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry shift(.param .u64 x, .param .u64 out, .param .u32 n, .param .u32 count)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [x];
    ld.param.u64 %d2, [out];
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [count];
    mov.u32 %r3, %tid.x;
    setp.ge.u32 %p, %r3, %r2;
    @%p bra END;
    mul.wide.u32 %d3, %r3, 4;
    add.s64 %d4, %d1, %d3;
    ld.global.u32 %r4, [%d4];
    add.s32 %r4, %r4, %r1;
    add.s64 %d5, %d2, %d3;
    st.global.u32 [%d5], %r4;
END:
    ret;
}
"""
POINTER = PointerType(I32)
TYPES = [POINTER, POINTER, I32, I32]
ONE = (1, 1, 1)


@pytest.fixture
def provider() -> EmulatorProvider:
    return EmulatorProvider()


def launch(provider: EmulatorProvider, *args: Any, types: Any = TYPES, grid: Any = ONE) -> None:
    function = provider.function(provider.load(PTX, kind="ptx"), "shift")
    provider.launch(
        function, grid, (32, 1, 1), pack_arguments(types, list(map(launch_value, args)))
    )


def test_is_the_provider_of_cuda_under_the_variable() -> None:
    assert isinstance(EmulatorProvider(), DeviceProvider)
    with use_emulator():
        assert os.environ["MYTRITON_EMULATE"] == "1"
        found = device_provider("cuda")
        assert isinstance(found, EmulatorProvider)
        assert found.availability().devices == (Device("cuda", "PTX emulator", "sm_80"),)
    assert "MYTRITON_EMULATE" not in os.environ


def test_runs_on_host_arrays(provider: EmulatorProvider) -> None:
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    launch(provider, x, out, 5, 20)
    assert out.tolist() == [*range(5, 25), *[0] * 12]
    assert x.tolist() == list(range(32))
    assert provider.counters is not None
    assert provider.counters.global_requests == 2


def test_views_that_share_bytes_share_them_on_the_device(provider: EmulatorProvider) -> None:
    base = np.arange(64, dtype=np.int32)
    launch(provider, base, base, 100, 32)
    assert base[:33].tolist() == [*range(100, 132), 32]
    # Threads that meet in one element, though through different arguments.
    with pytest.raises(PtxCheckError, match="race"):
        launch(provider, base[3:35], base[20:52], 100, 32)


def test_reversed_and_strided_views_start_at_their_first_element(
    provider: EmulatorProvider,
) -> None:
    x, out = np.arange(64, dtype=np.int32), np.zeros(32, np.int32)
    launch(provider, x[::2], out, 0, 32)
    assert out.tolist() == list(range(32))
    with pytest.raises(PtxCheckError, match="bounds"):
        launch(provider, x[31::-1], out, 0, 2)


def test_out_of_bounds_names_the_argument(provider: EmulatorProvider) -> None:
    x, out = np.arange(20, dtype=np.int32), np.zeros(32, np.int32)
    with pytest.raises(PtxCheckError, match=r"bounds(.|\n)*argument 0 \(x\)"):
        launch(provider, x, out, 0, 32)
    assert not out.any()


def test_read_only_memory_is_not_written(provider: EmulatorProvider) -> None:
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    x.flags.writeable = False
    launch(provider, x, out, 1, 32)
    assert out[31] == 32


def test_addresses_keep_their_alignment(provider: EmulatorProvider) -> None:
    raw = np.zeros(200, np.uint8)
    start = -raw.ctypes.data % 16 + 2
    x, out = raw[start : start + 128].view(np.int32), np.zeros(32, np.int32)
    with pytest.raises(PtxCheckError, match="alignment"):
        launch(provider, x, out, 1, 32)


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ([POINTER, POINTER, I32], "4 parameters, 3 were given"),
        ([POINTER, POINTER, I64, I32], "argument 2 of shift has 8 bytes"),
    ],
)
def test_arguments_are_checked_against_the_parameters(
    provider: EmulatorProvider, types: Any, message: str
) -> None:
    x = np.zeros(32, np.int32)
    with pytest.raises(DeviceError, match=message):
        launch(provider, *[x, x, 1, 1][: len(types)], types=types)


def test_what_a_driver_refuses(provider: EmulatorProvider) -> None:
    x = np.zeros(32, np.int32)
    with pytest.raises(DeviceError, match="limits of the device"):
        launch(provider, x, x, 0, 1, grid=(1, 70000, 1))
    with pytest.raises(DeviceError, match="not 'cubin'"):
        provider.load(b"\x7fELF", kind="cubin")
    with pytest.raises(DeviceError, match="no function 'other'"):
        provider.function(provider.load(PTX), "other")
    with pytest.raises(DeviceError, match="cannot read the PTX"):
        provider.load(b".version 7.0\n.target sm_80\n.entry k( {")


def test_arrays_are_the_hosts(provider: EmulatorProvider) -> None:
    x = np.arange(3, dtype=np.float32)
    assert not provider.owns(x)
    assert provider.view(x).dtype == F32
    copy = provider.to_device(x)
    assert copy is not x
    assert provider.to_host(copy).tolist() == [0, 1, 2]


def test_ranges_that_overlap_become_one() -> None:
    assert merged([(8, 12), (0, 4), (2, 6), (12, 20), (5, 5)]) == [(0, 6), (8, 12), (12, 20)]
