"""Where the arrays of a case live: on the host, or on the backend's device and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .memory import Guarded, guard

Array = npt.NDArray[Any]


class HostArrays:
    """Guarded arrays in this process."""

    def __init__(self) -> None:
        self._guards: list[Guarded] = []

    def place(self, arguments: dict[str, Any], fence: bool) -> dict[str, Any]:
        """The arguments, with arrays where the backend wants them."""
        placed, self._guards = guard(arguments, fence=fence)
        return placed

    def wait(self) -> None:
        """Until every launch is complete."""

    def fetch(self) -> dict[str, Array]:
        """The arrays as they are now."""
        return {name: view.copy() for g in self._guards for name, view in g.views.items()}

    def damage(self) -> list[str]:
        """What was written outside the arrays."""
        return [text for g in self._guards for text in g.damage()]


class DeviceArrays(HostArrays):
    """Copies on a device. Contiguous arrays have marks around them, if its arrays can be sliced."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        from mytriton.plugin_api import device_provider

        self._provider = device_provider(kind)
        self._placed: dict[str, tuple[Any, int, Array]] = {}
        self._fetched: dict[str, Array] = {}

    def place(self, arguments: dict[str, Any], fence: bool) -> dict[str, Any]:
        self._placed = {}
        return {
            name: self._put(name, value) if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()
        }

    def _put(self, name: str, array: Array) -> Any:
        pad = 64
        if array.flags.c_contiguous and array.__array_interface__["data"][0] % array.dtype.itemsize:
            return self._put_odd(name, array)
        if array.flags.c_contiguous and array.size:
            mark = np.frombuffer(bytes([0x7B] * 8 + [0xFB] * 8) * 64, array.dtype)[:pad]
            if array.dtype == np.bool_:
                mark = np.ones(pad, np.bool_)
            whole = self._provider.to_device(np.concatenate([mark, array.reshape(-1), mark]))
            try:
                inner = whole[pad : pad + array.size].reshape(array.shape)
            except (TypeError, AttributeError):
                inner = None
            if inner is not None and self._provider.owns(inner):
                self._placed[name] = whole, pad, array
                return inner
        whole = self._provider.to_device(array)
        self._placed[name] = whole, 0, array
        return whole

    def _put_odd(self, name: str, array: Array) -> Any:
        """An array at an address that is no multiple of its element size, as the case has it."""
        raw = np.zeros(array.nbytes + array.dtype.itemsize, np.uint8)
        raw[1 : 1 + array.nbytes] = array.reshape(-1).view(np.uint8)
        whole = self._provider.to_device(raw)
        self._placed[name] = whole, 0, array
        return whole[1 : 1 + array.nbytes].view(array.dtype).reshape(array.shape)

    def wait(self) -> None:
        self._provider.synchronize()

    def fetch(self) -> dict[str, Array]:
        self._fetched = {n: self._provider.to_host(w) for n, (w, _, _) in self._placed.items()}
        found = {}
        for name, (_, pad, array) in self._placed.items():
            flat = self._fetched[name]
            if flat.dtype != array.dtype:  # bytes: see _put_odd
                flat = flat[1 : 1 + array.nbytes].view(array.dtype).reshape(array.shape)
            found[name] = flat[pad : pad + array.size].reshape(array.shape) if pad else flat
        return found

    def damage(self) -> list[str]:
        found = []
        for name, (_, pad, array) in self._placed.items():
            flat = self._fetched[name]
            if not pad:
                continue
            mark = np.frombuffer(bytes([0x7B] * 8 + [0xFB] * 8) * 64, array.dtype)[:pad]
            if array.dtype == np.bool_:
                mark = np.ones(pad, np.bool_)
            for where, part in (("before", flat[:pad]), ("after", flat[-pad:])):
                if part.tobytes() != mark.tobytes():
                    found.append(f"stored out of bounds {where} {name}")
        return found


def arrays_for(backend: str, stage: str) -> HostArrays:
    """Where a backend wants its arguments. The emulator takes host arrays."""
    if stage == "emulated":
        return HostArrays()
    from mytriton.plugins import selection

    kinds = selection.named(backend).info.device_kinds
    return HostArrays() if "cpu" in kinds else DeviceArrays(kinds[0])
