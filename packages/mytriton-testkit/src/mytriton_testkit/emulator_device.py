"""The emulator as a device of kind ``cuda``: GPU backends launch on it through their real launcher.

Used when ``MYTRITON_EMULATE=1`` (entry point ``cuda.emulator`` of ``mytriton.devices``). Its arrays
are host arrays. Each launch copies the bytes that the array arguments span to the emulated device
and what changed back; arguments that share bytes on the host share them there, and addresses keep
their alignment. Arguments are packed as for the driver and checked against the PTX ``.param`` list.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mytriton.plugin_api import ArgView, Availability, Device, DeviceError, PackedArguments

from .ptx import Buffer, Checks, Counters, LaunchError, Module, PtxSyntaxError, load_module
from .ptx import Device as Machine

#: What an address of the host is kept aligned to on the device.
ALIGNMENT = 256
#: Room for a module's own variables.
_ROOM = 1 << 20


class EmulatorProvider:
    """Launches PTX on the emulator, with all of its checks."""

    kind = "cuda"
    #: Images it loads, the best first.
    image_kinds = ("ptx",)

    def __init__(self, arch: str = "sm_80", checks: Checks | bool = True) -> None:
        self.arch = arch
        self.checks = checks
        #: What the last launch cost.
        self.counters: Counters | None = None

    def availability(self) -> Availability:
        return Availability(devices=(self.current_device(),))

    def current_device(self) -> Device:
        return Device("cuda", "PTX emulator", self.arch)

    def limits(self, device: Device) -> dict[str, int]:
        return {
            "max_threads": 1024, "warp_size": 32, "shared_bytes": 48 * 1024,
            "shared_bytes_optin": 163 * 1024, "grid_x": 2**31 - 1, "grid_y": 65535, "grid_z": 65535,
        }  # fmt: skip

    def owns(self, value: object) -> bool:
        """Arrays are the host's."""
        return False

    def view(self, value: Any) -> ArgView:
        from mytriton.runtime.arguments import array_view

        return array_view(value)

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        return array.copy()

    def to_host(self, value: Any) -> np.ndarray[Any, Any]:
        return np.array(value)

    def load(self, image: bytes, *, kind: str = "ptx", device: Device | None = None) -> Module:
        """Parse PTX. Raises ``DeviceError`` for other images and for PTX that is none."""
        if kind not in self.image_kinds:
            raise DeviceError(f"the emulator loads images of kind 'ptx', not {kind!r}")
        try:
            return load_module(image.rstrip(b"\0"))
        except PtxSyntaxError as e:
            raise DeviceError(f"the emulator cannot read the PTX: {e}") from e

    def function(self, module: Module, name: str) -> tuple[Module, str]:
        """Raises ``DeviceError`` when the module has no such kernel."""
        if name not in module.kernels:
            raise DeviceError(f"the image has no function {name!r}")
        return module, name

    def launch(
        self,
        function: tuple[Module, str],
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: PackedArguments,
        *,
        shared_bytes: int = 0,
        stream: Any = None,
    ) -> None:
        """Run and copy back. Raises ``PtxCheckError`` for what a kernel must not do, and
        ``DeviceError`` for arguments or sizes the driver would refuse."""
        limits = self.limits(self.current_device())
        for axis, extent in zip("xyz", grid, strict=True):
            if not 0 < extent <= limits[f"grid_{axis}"]:
                raise DeviceError(f"a grid of {grid} is beyond the limits of the device")
        views = [v for v in args.owners if isinstance(v, ArgView)]
        spans = merged([v.span for v in views])
        machine = Machine(_ROOM + sum(2 * (high - low) + 8192 for low, high in spans))
        placed = [_upload(machine, low, high, views) for low, high in spans]
        packed = [_translated(v, o, placed) for v, o in zip(args.values, args.owners, strict=True)]
        module, name = function
        try:
            self.counters = machine.launch_packed(
                module, name, grid, block, packed, shared_bytes, self.checks
            )
        except LaunchError as e:
            raise DeviceError(f"the launch of {name!r} is refused: {e}") from e
        for low, before, buffer in placed:
            _write_back(low, before, machine.download(buffer, np.uint8))

    def synchronize(self, stream: Any = None) -> None:
        """Launches are complete when they return."""


Placed = tuple[int, "np.ndarray[Any, Any]", Buffer]


def merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of addresses, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(span for span in spans if span[0] < span[1]):
        if found and low < found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _host(address: int, size: int) -> np.ndarray[Any, Any]:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def _upload(machine: Machine, low: int, high: int, views: Sequence[ArgView]) -> Placed:
    before = _host(low, high - low).copy()
    buffer = machine.memory.allocate(high - low, shift=low % ALIGNMENT)
    machine.memory.write(buffer.address, before)
    return low, before, buffer


def _translated(value: Any, owner: Any, placed: Sequence[Placed]) -> Any:
    """An address of the host as one of the device; anything else as it is."""
    if not isinstance(owner, ArgView) or not isinstance(value, ctypes.c_void_p):
        return value
    address = value.value or 0
    for low, before, buffer in placed:
        if low <= address < low + len(before):
            return ctypes.c_void_p(buffer.address + address - low)
    # An array without elements: nothing may be read through it.
    return ctypes.c_void_p(address % ALIGNMENT)


def _write_back(low: int, before: np.ndarray[Any, Any], after: np.ndarray[Any, Any]) -> None:
    """Store the bytes that changed: the others may belong to read-only memory."""
    (changed,) = np.nonzero(before != after)
    if len(changed):
        _host(low, len(before))[changed] = after[changed]


@contextmanager
def use_emulator() -> Iterator[None]:
    """Inside, GPU backends that are named launch host arrays on the emulator."""
    before = os.environ.get("MYTRITON_EMULATE")
    os.environ["MYTRITON_EMULATE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["MYTRITON_EMULATE"]
        else:
            os.environ["MYTRITON_EMULATE"] = before


__all__ = ["EmulatorProvider", "use_emulator"]
