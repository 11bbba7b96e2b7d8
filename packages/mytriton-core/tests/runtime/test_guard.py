"""First launches are looked at: what would certainly leave its memory is refused before it runs."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import OutOfBoundsError
from mytriton.plugin_api import Availability, BackendInfo, Capability, Source, hookimpl
from mytriton.plugins import selection
from mytriton.runtime.guard import LOOKS, allocation


class Everything(dict):
    def get(self, key: str, default: Any = None) -> Any:
        return Capability("yes")


class Blind:
    """A backend that looks at nothing; it only counts launches."""

    def __init__(self) -> None:
        self.launches = 0
        self.metadata: dict[str, Any] = {}

    @hookimpl
    def mytriton_backend_info(self) -> BackendInfo:
        return BackendInfo("blind", "", capabilities=Everything())

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability()

    @hookimpl
    def mytriton_lower(self, function: Any, launch: Any) -> Source:
        return Source("text", "text", "kernel", {})

    @hookimpl
    def mytriton_compile(self, source: Source, launch: Any) -> Any:
        return self

    def launch(self, grid: Any, args: Any) -> None:
        self.launches += 1


@pytest.fixture
def blind():
    made = Blind()
    selection.register_backend("blind", made)
    yield made
    selection.unregister_backend("blind")


def scale_kernel() -> Any:
    def kernel(x, out, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n) * 2)

    return triton.jit(kernel).with_backend("blind")


def test_a_forgotten_mask(blind):
    kernel = scale_kernel()
    x, out = np.zeros(100, np.float32), np.zeros(100, np.float32)
    for _ in range(2):  # and again
        with pytest.raises(OutOfBoundsError) as caught:
            kernel[(4,)](x, out, 100, BLOCK=32)
        error = caught.value
        assert error.message == (
            "store of out[127] in program (3, 0, 0) is out of bounds (valid: 0 to 99); pass a mask, "
            "such as mask=offsets < n"
        )
        assert (error.argument, error.index, error.program) == ("out", 127, (3, 0, 0))
        assert "tl.store(out + offsets" in str(error)
        assert [entry.path.name for entry in caught.traceback] == ["test_guard.py", "jit.py"]
    assert blind.launches == 0


def test_a_bound_that_is_too_large_is_no_forgotten_mask(blind):
    x, out = np.zeros(100, np.float32), np.zeros(128, np.float32)
    with pytest.raises(OutOfBoundsError, match=r"load of x\[119\]") as caught:
        scale_kernel()[(4,)](x, out, 120, BLOCK=32)
    assert caught.value.message.endswith("(valid: 0 to 99)")


def test_unsigned_offsets_wrap(blind):
    def kernel(x, out):
        at = tl.arange(0, 8) + (tl.zeros((8,), tl.uint8) - 5)
        tl.store(out + tl.arange(0, 8), tl.load(x + at))

    triton.jit(kernel).with_backend("blind")[(1,)](
        np.zeros(259, np.float32), np.zeros(8, np.float32)
    )
    assert blind.launches == 1


@pytest.mark.parametrize("programs", [4, 5, 6, 10_000])
def test_programs_beyond_the_bound_hide_nothing(blind, programs):
    x, out = np.zeros(100, np.float32), np.zeros(32 * programs, np.float32)
    with pytest.raises(OutOfBoundsError, match=r"load of x\[127\]"):
        scale_kernel()[(programs,)](x, out, 128, BLOCK=32)


def test_memory_beyond_a_view_is_the_programs_own(blind):
    whole = np.zeros(128, np.float32)
    scale_kernel()[(3,)](whole[:90], whole[32:100], 90, BLOCK=32)
    with pytest.raises(OutOfBoundsError, match=r"out\[95\]"):
        scale_kernel()[(3,)](whole[:90], whole[33:100], 90, BLOCK=32)
    assert blind.launches == 1


def test_later_launches_are_not_looked_at(blind):
    kernel = scale_kernel()
    x, out = np.zeros(128, np.float32), np.zeros(128, np.float32)
    for _ in range(LOOKS):
        kernel[(4,)](x, out, 128, BLOCK=32)
    kernel[(5,)](x, out, 128, BLOCK=32)
    assert blind.launches == LOOKS + 1


def test_an_empty_grid_touches_nothing(blind):
    none = np.zeros(0, np.float32)
    scale_kernel()[(0,)](none, none, 0, BLOCK=32)
    with pytest.raises(OutOfBoundsError, match="it has no elements"):
        scale_kernel()[(1,)](none, none, 0, BLOCK=32)


def test_absent_arguments_and_numpy_numbers(blind):
    @triton.jit
    def kernel(x, bias, out, n):
        at = tl.arange(0, 8) + n
        value = tl.load(x + at)
        if bias is not None:
            value += tl.load(bias + at)
        tl.store(out + at, value)

    x, out = np.zeros(16, np.float32), np.zeros(16, np.float32)
    kernel.with_backend("blind")[(1,)](x, None, out, np.int32(8))
    with pytest.raises(OutOfBoundsError, match=r"x\[16\]"):
        kernel.with_backend("blind")[(1,)](x, None, out, np.int32(9))


def test_backends_that_check_say_it_themselves():
    x, out = np.zeros(100, np.float32), np.zeros(100, np.float32)
    kernel = scale_kernel().kernel.with_backend("interpreter")
    with pytest.raises(OutOfBoundsError, match=r"store of out\[100\]"):
        kernel[(4,)](x, out, 100, BLOCK=32)


def test_allocations():
    whole = np.zeros((4, 8), np.float32)
    start = whole.__array_interface__["data"][0]
    for view in (whole, whole[1:, ::2], whole.T[::-1], whole.reshape(-1).view(np.int8)[5:]):
        assert allocation(view) == (start, start + 128)
    assert allocation(np.frombuffer(bytes(8), np.int8)) is None
    assert allocation(np.frombuffer(mmap.mmap(-1, 64), np.float32)[2:]) is None
    assert allocation(np.lib.stride_tricks.as_strided(whole, (3,), (4,))) is None
    assert allocation(object()) is None
