"""``driver.active``: the device in force, and what it says of itself."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import mytriton as triton
from mytriton.plugin_api import Availability, BackendInfo, Capability, Device, Source, hookimpl
from mytriton.plugins import selection
from mytriton.plugins.devices import register_device, unregister_device
from mytriton.runtime.driver import GPUTarget, HostEvent, driver

active = driver.active


class Provider:
    """A device of kind ``acme``."""

    kind = "acme"
    launches = True

    def availability(self) -> Availability:
        return Availability(can_launch=self.launches, reason="" if self.launches else "unplugged")

    def current_device(self) -> Device:
        return Device("acme", "Acme 9000", "acme_90", 2)

    def limits(self, device: Device) -> dict[str, int]:
        return {"shared_bytes": 1000 + device.index, "warp_size": 64, "multiprocessors": 7}

    def owns(self, value: object) -> bool:
        return False

    def view(self, value: Any) -> Any: ...
    def load(self, image: bytes, *, kind: str, device: Any = None) -> Any: ...
    def function(self, module: Any, name: str) -> Any: ...
    def launch(self, function: Any, grid: Any, block: Any, args: Any, **_: Any) -> None: ...
    def synchronize(self, stream: Any = None) -> None: ...
    def to_device(self, array: Any) -> Any: ...
    def to_host(self, value: Any) -> Any: ...


class Backend:
    @hookimpl
    def mytriton_backend_info(self) -> BackendInfo:
        return BackendInfo(
            "acme", "", capabilities={"op.load": Capability("yes")}, device_kinds=("acme",)
        )

    @hookimpl
    def mytriton_lower(self, function: Any, launch: Any) -> Source:
        return Source("", "text", "kernel", {})

    @hookimpl
    def mytriton_compile(self, source: Source, launch: Any) -> Any: ...

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability()


@pytest.fixture
def acme() -> Iterator[Provider]:
    provider = Provider()
    register_device(provider)  # type: ignore[arg-type]
    triton.register_backend("acme", Backend(), replace=True)
    yield provider
    selection.unregister_backend("acme")
    unregister_device("acme")


class TestHost:
    def test_target(self) -> None:
        target = active.get_current_target()
        assert (target.backend, target.warp_size) == ("cpu", 1)
        assert isinstance(target.arch, str)

    def test_device_and_stream(self) -> None:
        assert (active.get_current_device(), active.get_current_stream(0)) == (0, 0)
        assert active.get_device_capability() == (0, 0)

    def test_properties(self) -> None:
        found = active.utils.get_device_properties(None)
        assert found.keys() == {
            "max_shared_mem",
            "max_num_regs",
            "multiprocessor_count",
            "warpSize",
        }
        assert all(value >= 1 for value in found.values())

    @pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is here")
    def test_the_torch_device_is_text_without_torch(self) -> None:
        assert active.get_active_torch_device() == "cpu"

    def test_events_measure_wall_time(self) -> None:
        interface = active.get_device_interface()
        start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
        start.record()
        end.record()
        interface.synchronize()
        assert 0 <= start.elapsed_time(end) < 1000
        assert isinstance(start, HostEvent)

    def test_no_cache_to_clear(self) -> None:
        assert active.get_empty_cache_for_benchmark() is None
        active.clear_cache(None)

    def test_the_benchmarker(self) -> None:
        assert active.get_benchmarker() is triton.testing.do_bench


class TestDevice:
    def test_a_device_with_a_backend_comes_before_the_host(self, acme: Provider) -> None:
        assert active.get_current_target() == GPUTarget("acme", 90, 64)
        assert active.get_current_device() == 2
        assert active.get_device_capability() == (9, 0)

    def test_its_properties(self, acme: Provider) -> None:
        assert active.utils.get_device_properties(0) == {
            "max_shared_mem": 1000, "multiprocessor_count": 7, "warpSize": 64,
        }  # fmt: skip
        assert active.utils.get_device_properties(None)["max_shared_mem"] == 1002

    def test_a_device_that_is_not_there_is_not_active(self, acme: Provider) -> None:
        acme.launches = False
        assert active.get_current_target().backend == "cpu"

    def test_a_named_backend_decides(self, acme: Provider) -> None:
        with triton.use_backend("interpreter"):
            assert active.get_current_target().backend == "cpu"
        with triton.use_backend("acme"):
            assert active.get_current_target().backend == "acme"

    def test_the_emulator_takes_host_arrays(
        self, acme: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MYTRITON_EMULATE", "1")
        assert active.get_current_target().backend == "cpu"

    def test_changing_the_device_needs_its_library(self, acme: Provider) -> None:
        with pytest.raises(RuntimeError, match="import torch to change the current device"):
            active.set_current_device(1)


class TestNames:
    def test_module_and_object_answer_alike(self) -> None:
        module = importlib.import_module("mytriton.runtime.driver")
        assert module.active is driver.active
        assert triton.runtime.driver.active is driver.active
        with pytest.raises(AttributeError, match="no attribute 'passive'"):
            module.passive

    def test_another_object_can_answer(self) -> None:
        other = object()
        driver.set_active(other)
        try:
            assert driver.active is other
        finally:
            driver.reset_active()
        assert driver.active is driver.default

    def test_runtime_has_tritons_names(self) -> None:
        runtime = sys.modules["mytriton.runtime"]
        for name in runtime.__all__:
            assert getattr(runtime, name) is not None
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            runtime.nonsense
