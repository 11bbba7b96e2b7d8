"""From text to something that launches: NVRTC (through the cache on disk), then the device provider
of kind ``cuda``. Without a device a kernel is still compiled; launching it then fails."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mytriton.plugin_api import (
    LINE_INFO,
    Device,
    DeviceError,
    DeviceProvider,
    DiskCache,
    LaunchSpec,
    Source,
    VariableError,
    device_provider,
    pack_arguments,
    refuse_unaligned,
)

from . import nvrtc

#: What is compiled for when no device says: ``MYTRITON_CUDA_ARCH`` changes it.
DEFAULT_ARCH = "sm_80"
#: Asks for registers and spills in the log.
FLAGS = ("--ptxas-options=-v",)
#: For an inspection: which line of the text an instruction came from.
LINES = ("-lineinfo",)
CACHE = DiskCache("cuda", ".image")

_ARCH = re.compile(r"(?:sm_)?(\d+\.?\d[af]?)")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill (stores|loads)")
_SHARED = re.compile(r"(\d+) bytes smem")


def arch_name(arch: str) -> str:
    """``8.0``, ``80`` and ``sm_80`` as ``sm_80``; the default for nothing. Raises ``VariableError``."""
    arch = arch or os.environ.get("MYTRITON_CUDA_ARCH", "") or DEFAULT_ARCH
    found = _ARCH.fullmatch(arch)
    if not found:
        raise VariableError(
            f"MYTRITON_CUDA_ARCH is {arch!r}; write a compute capability, as sm_80, 80 or 8.0"
        )
    return "sm_" + found[1].replace(".", "")


def compile_source(source: Source, arch: str, kind: str, extra: Sequence[str] = ()) -> nvrtc.Image:
    """The image of a kernel, from the cache on disk or from NVRTC. ``extra``: more of its options.
    Raises ``NvrtcError``."""
    compiler = nvrtc.load()
    flags = (*FLAGS, *extra)
    key = CACHE.key("1", str(compiler.version), arch, kind, *flags, source.text)
    if (entry := CACHE.get(key)) is not None:
        log, _, data = entry.partition(b"\0")
        return nvrtc.Image(data, kind, log.decode())
    image = compiler.compile(
        source.text, name=source.entry, arch=arch, kind=kind, options=flags,
        spans=source.resources["spans"],
    )  # fmt: skip
    data = image.data.rstrip(b"\0") if kind == "ptx" else image.data
    CACHE.put(key, image.log.encode() + b"\0" + data)
    return nvrtc.Image(data, kind, image.log)


def usage(log: str) -> dict[str, int]:
    """``registers``, ``spill_bytes`` and ``static_shared`` as ptxas reports them; empty for PTX."""
    found: dict[str, int] = {}
    if match := _REGISTERS.search(log):
        found["registers"] = int(match[1])
        found["spill_bytes"] = sum(int(m[1]) for m in _SPILLS.finditer(log))
        shared = _SHARED.search(log)
        found["static_shared"] = int(shared[1]) if shared else 0
    return found


class Stages(Mapping[str, Any]):
    """``"ptx"`` (text) and ``"cubin"`` (bytes) of a kernel. The one that was not loaded is compiled
    when it is asked for."""

    def __init__(
        self, source: Source, arch: str, image: nvrtc.Image, extra: Sequence[str] = ()
    ) -> None:
        self._source, self._arch, self._image, self._extra = source, arch, image, extra

    def __getitem__(self, stage: str) -> Any:
        if stage not in ("ptx", "cubin"):
            raise KeyError(stage)
        image = self._image
        if image.kind != stage:
            image = compile_source(self._source, self._arch, stage, self._extra)
        return image.data.decode() if stage == "ptx" else image.data

    def __iter__(self) -> Iterator[str]:
        return iter(("ptx", "cubin"))

    def __len__(self) -> int:
        return 2


class CudaKernel:
    """A kernel compiled for the device of its arguments, and loaded there."""

    def __init__(self, source: Source, launch: LaunchSpec | None = None) -> None:
        """Compile and load. Raises ``NvrtcError`` and ``DeviceError``."""
        self._provider, device, self._why_not = _device(launch)
        arch = arch_name(device.arch if device is not None else "")
        # A provider that takes something else says so: the emulator reads PTX.
        kind = getattr(self._provider, "image_kinds", ("cubin", "ptx"))[0]
        extra = LINES if launch is not None and launch.options.get(LINE_INFO) else ()
        image = compile_source(source, arch, kind, extra)
        self._function: Any = None
        if self._provider is not None:
            module = self._provider.load(image.data, kind=image.kind, device=device)
            self._function = self._provider.function(module, source.entry)
        self._types = source.resources["parameters"]
        self._names = tuple(a.name for a in launch.arguments) if launch else ()
        self._block = (int(source.resources["threads"]), 1, 1)
        self._dynamic = int(source.resources.get("dynamic_shared", 0))
        self.metadata: Mapping[str, Any] = MappingProxyType(
            {
                "name": source.entry,
                "arch": arch,
                "image": image,
                "asm": Stages(source, arch, image, extra),
                "nvrtc": nvrtc.load().version,
                "threads": self._block[0],
                "shared_bytes": source.resources["shared_bytes"],
                "mapping": source.resources.get("mapping", ""),
                **usage(image.log),
            }
        )

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Start the grid on the current stream of the library whose arrays the arguments are."""
        if self._provider is None:
            raise DeviceError(
                f"kernel {self.metadata['name']!r} was only compiled: {self._why_not}"
            )
        refuse_unaligned(self._names, args)
        packed = pack_arguments(self._types, args)
        self._provider.launch(self._function, grid, self._block, packed, shared_bytes=self._dynamic)


def _device(launch: LaunchSpec | None) -> tuple[DeviceProvider | None, Device | None, str]:
    """Who launches, and the device the arguments are on; or why nobody does.

    Raises ``DeviceError`` for arguments on different devices.
    """
    try:
        provider = device_provider("cuda")
        answer = provider.availability()
        if not answer.can_launch:
            return None, None, answer.reason
        device = provider.current_device()
    except DeviceError as e:
        return None, None, str(e)
    ids = (
        {a.device_id: a.name for a in launch.arguments if a.device_kind == "cuda"} if launch else {}
    )
    if len(ids) > 1:
        listed = ", ".join(f"{name!r} is on cuda:{n}" for n, name in sorted(ids.items()))
        raise DeviceError(f"arguments are on different devices: {listed}")
    for index in ids:
        if index != device.index:
            found = {d.index: d for d in answer.devices}
            device = found.get(index) or Device("cuda", arch=device.arch, index=index)
    return provider, device, ""


__all__ = ["CACHE", "DEFAULT_ARCH", "CudaKernel", "arch_name", "compile_source", "usage"]
