"""From text to something that launches: NVRTC, then the device provider of kind ``cuda``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mytriton.plugin_api import Source, device_provider, pack_arguments

from . import nvrtc

#: What is compiled for when the device does not say.
DEFAULT_ARCH = "sm_80"


class CudaKernel:
    """A kernel loaded on the current device."""

    def __init__(self, source: Source) -> None:
        """Compile and load. Raises ``NvrtcError`` and ``DeviceError``."""
        provider = device_provider("cuda")
        device = provider.current_device()
        arch = device.arch or DEFAULT_ARCH
        arch = arch if arch.startswith("sm_") else f"sm_{arch.replace('.', '')}"
        # A provider that takes something else says so: the emulator reads PTX.
        kind = getattr(provider, "image_kinds", ("cubin", "ptx"))[0]
        compiler = nvrtc.load()
        image = compiler.compile(
            source.text,
            name=source.entry,
            arch=arch,
            kind=kind,
            spans=source.resources["spans"],
        )
        module = provider.load(image.data.rstrip(b"\0"), kind=image.kind, device=device)
        self._provider = provider
        self._function = provider.function(module, source.entry)
        self._types = source.resources["parameters"]
        self._block = (int(source.resources["threads"]), 1, 1)
        self.metadata: Mapping[str, Any] = MappingProxyType(
            {
                "name": source.entry,
                "arch": arch,
                "image": image,
                "nvrtc": compiler.version,
                "threads": self._block[0],
                "shared_bytes": source.resources["shared_bytes"],
            }
        )

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Start the grid on the current stream."""
        packed = pack_arguments(self._types, args)
        self._provider.launch(self._function, grid, self._block, packed)


__all__ = ["DEFAULT_ARCH", "CudaKernel"]
