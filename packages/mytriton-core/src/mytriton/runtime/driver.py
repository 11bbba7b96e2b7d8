"""``triton.runtime.driver``: the device that kernels run on when nobody says otherwise.

``driver.active`` looks at selection and device providers each time it is asked: it is the host when a
CPU backend is named, when the emulator stands in for a device, or when no installed backend can
launch on a device; else the best such device.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..plugins import sources, variables
from ..plugins.errors import DeviceError
from ..plugins.types import Device

HOST = "cpu"
#: Registers of the host as device properties give them: there is no such limit.
_HOST_REGISTERS = 1 << 16
#: Bytes of a core's own cache where the system does not say.
_HOST_CACHE = 1 << 20


@dataclass(frozen=True)
class GPUTarget:
    """What is compiled for: ``("cuda", 90, 32)``, ``("cpu", "x86_64", 1)``."""

    backend: str
    arch: int | str
    warp_size: int


class HostEvent:
    """A point in time on the host, with the methods of the events of PyTorch's devices."""

    def __init__(self, enable_timing: bool = True, **_: Any) -> None:
        self._at = 0.0

    def record(self, stream: Any = None) -> None:
        self._at = time.perf_counter()

    def elapsed_time(self, end: HostEvent) -> float:
        """Milliseconds from here to ``end``."""
        return (end._at - self._at) * 1e3

    def synchronize(self) -> None:
        """Launches on the host are complete when they return."""

    def query(self) -> bool:
        return True


class HostInterface:
    """The host with the functions of PyTorch's device modules that benchmarks use."""

    Event = HostEvent

    def synchronize(self, device: Any = None) -> None:
        """Launches on the host are complete when they return."""

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def set_device(self, device: Any) -> None:
        """There is one host."""

    def is_available(self) -> bool:
        return True


class Utils:
    """``driver.active.utils``."""

    def get_device_properties(self, device: int | None = None) -> dict[str, Any]:
        """``multiprocessor_count``, ``max_shared_mem``, ``max_num_regs`` and ``warpSize``, and clocks
        where the provider knows them.

        Of the host: the CPUs this process may use, the bytes of a core's own cache, and figures for
        warps and registers with which occupancy formulas have no limit.
        """
        kind, provider = _active()
        if provider is None:
            return {
                "max_shared_mem": _own_cache(), "max_num_regs": _HOST_REGISTERS,
                "multiprocessor_count": _cpus(), "warpSize": 1,
            }  # fmt: skip
        found = provider.current_device()
        if device is not None and device != found.index:
            found = Device(found.kind, found.name, found.arch, device)
        return _properties(provider.limits(found), _torch_properties(kind, found.index))


#: Names of Triton, of limits a provider reports, and of torch's device properties.
_PROPERTIES = (
    ("max_shared_mem", ("shared_bytes_optin", "shared_bytes"), "shared_memory_per_block_optin"),
    ("max_num_regs", ("registers",), "regs_per_multiprocessor"),
    ("multiprocessor_count", ("multiprocessors",), "multi_processor_count"),
    ("warpSize", ("warp_size",), "warp_size"),
    ("sm_clock_rate", ("clock_khz",), "clock_rate"),
    ("mem_clock_rate", ("memory_clock_khz",), "memory_clock_rate"),
    ("mem_bus_width", ("memory_bus_bits",), "memory_bus_width"),
)


def _properties(limits: dict[str, int], torch: Any) -> dict[str, Any]:
    found = {}
    for name, ours, theirs in _PROPERTIES:
        value = next((limits[n] for n in ours if n in limits), getattr(torch, theirs, None))
        if value is not None:
            found[name] = value
    return found


def _torch_properties(kind: str, index: int) -> Any:
    module = torch_module(kind)
    return module.get_device_properties(index) if module is not None else None


class Driver:
    """The device of the moment: ``driver.active``."""

    utils = Utils()

    def get_current_target(self) -> GPUTarget:
        kind, provider = _active()
        return _target(kind, provider)

    def get_active_torch_device(self) -> Any:
        """``torch.device`` of the active device; its name as text where there is no PyTorch."""
        kind, provider = _active()
        try:
            import torch
        except ImportError:
            return kind
        return torch.device(kind) if provider is None else torch.device(kind, self._index(provider))

    def get_current_device(self) -> int:
        """Index of the active device among its kind."""
        _, provider = _active()
        return 0 if provider is None else self._index(provider)

    def _index(self, provider: Any) -> int:
        module = torch_module(provider.kind)
        found = module.current_device() if module is not None else provider.current_device().index
        return int(found)

    def set_current_device(self, device: int) -> None:
        """Make another device of the active kind current, in PyTorch."""
        kind, provider = _active()
        module = torch_module(kind)
        if provider is not None and module is None:
            raise DeviceError(f"import torch to change the current device of kind {kind!r}")
        if module is not None and provider is not None:
            module.set_device(device)

    def get_current_stream(self, device: int | None = None) -> int:
        """The handle of the current stream; 0 is the default stream, and the host."""
        kind, provider = _active()
        module = torch_module(kind) if provider is not None else None
        if module is None:
            return 0
        stream = module.current_stream(device)
        return int(getattr(stream, f"{kind}_stream", 0))

    def get_device_interface(self) -> Any:
        """PyTorch's module for the device; on the host an object with the same functions."""
        kind, provider = _active()
        module = torch_module(kind) if provider is not None else None
        return HostInterface() if module is None else module

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """Major and minor number of the architecture; (0, 0) where it has none."""
        arch = self.get_current_target().arch
        return divmod(arch, 10) if isinstance(arch, int) else (0, 0)

    def get_benchmarker(self) -> Callable[..., Any]:
        """What autotuners time with."""
        from ..testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer larger than the device's cache; ``None`` on the host, whose caches stay warm."""
        kind, provider = _active()
        if provider is None or torch_module(kind) is None:
            return None
        import torch

        return torch.empty(1 << 26, dtype=torch.int32, device=kind)

    def clear_cache(self, cache: Any) -> None:
        """Push what was used before out of the device's cache."""
        if cache is not None:
            cache.zero_()

    def synchronize(self) -> None:
        """Wait until the active device has done what was launched."""
        kind, provider = _active()
        module = torch_module(kind) if provider is not None else None
        if module is not None:
            module.synchronize()
        elif provider is not None:
            provider.synchronize()

    @classmethod
    def is_active(cls) -> bool:
        return True


class DriverConfig:
    """``triton.runtime.driver``."""

    def __init__(self) -> None:
        self.default = Driver()
        self.active: Any = self.default

    def set_active(self, driver: Any) -> None:
        """Let another object answer."""
        self.active = driver

    def reset_active(self) -> None:
        self.active = self.default


driver = DriverConfig()


def __getattr__(name: str) -> Any:
    # `import triton.runtime.driver as driver` may give this module where Triton's gives the object.
    if name in ("active", "default", "set_active", "reset_active"):
        return getattr(driver, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---------------------------------------------------------------------- the active device

_found: tuple[Any, tuple[str, Any]] | None = None


def _active() -> tuple[str, Any]:
    """Kind of the active device and its provider; ``("cpu", None)``: the host."""
    global _found
    key = sources.selection_key()
    if _found is None or _found[0] != key:
        _found = key, _look()
    return _found[1]


def _look() -> tuple[str, Any]:
    if variables.flag("MYTRITON_EMULATE"):
        return HOST, None
    for kind in _wanted_kinds():
        if kind == HOST:
            return HOST, None
        provider = _launching(kind)
        if provider is not None:
            return kind, provider
    return HOST, None


def _wanted_kinds() -> Iterable[str]:
    """Kinds of device the backends in force run on, the best backend first."""
    from ..plugins.manager import MANAGER

    names, _ = sources.requested(None, None)
    records = [r for r in MANAGER.records() if not MANAGER.blocked(r)]
    infos = {r.name: info for r in records if (info := r.info()) is not None}
    if names:
        chosen = [infos[n] for n in names if n in infos]
    else:
        # Devices before the host: programs ask in order to put their arrays there.
        chosen = sorted(infos.values(), key=lambda i: (HOST in i.device_kinds, -i.priority))
    for info in chosen:
        yield from info.device_kinds


def _launching(kind: str) -> Any:
    """The provider of a kind, if there is such a device and a backend that loads."""
    from ..plugins.devices import device_provider

    try:
        provider = device_provider(kind)
        return provider if provider.availability().can_launch else None
    except DeviceError:
        return None


def target_of(kinds: Iterable[str]) -> GPUTarget:
    """The target of a backend for these kinds of device."""
    for kind in kinds:
        if kind != HOST:
            return _target(kind, _launching(kind))
    return _target(HOST, None)


def _target(kind: str, provider: Any) -> GPUTarget:
    if kind == HOST:
        import platform

        return GPUTarget(HOST, platform.machine(), 1)
    if provider is None:
        return GPUTarget(kind, "", 32)
    device = provider.current_device()
    warp = provider.limits(device).get("warp_size", 32)
    return GPUTarget(kind, arch_of(device.arch), warp)


def arch_of(text: str) -> int | str:
    """An architecture as targets have it: the number of a numbered one (``90``), else its name."""
    number = re.fullmatch(r"[a-z]+_(\d+)[a-z]?", text)
    return int(number[1]) if number else text


def torch_module(kind: str) -> Any:
    """PyTorch's module for a kind of device, if PyTorch is loaded and has such a device here."""
    torch = sys.modules.get("torch")
    module = getattr(torch, kind, None) if torch is not None and kind != HOST else None
    if module is None or not getattr(module, "is_available", lambda: False)():
        return None
    return module


def _cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _own_cache() -> int:
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index2/size") as file:
            text = file.read().strip()
        return int(text.rstrip("KM")) << {"K": 10, "M": 20}.get(text[-1], 0)
    except (OSError, ValueError, IndexError):
        return _HOST_CACHE


__all__ = ["Driver", "DriverConfig", "GPUTarget", "HostEvent", "HostInterface", "driver"]
