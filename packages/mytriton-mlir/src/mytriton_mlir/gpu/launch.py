"""From text to a kernel that launches on whichever provider has the CUDA device."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from mytriton.plugin_api import (
    I64,
    LINE_INFO,
    ArgView,
    Device,
    DeviceError,
    DeviceProvider,
    LaunchSpec,
    PackedArguments,
    PointerType,
    Source,
    Type,
    VariableError,
    device_provider,
    pack_arguments,
    refuse_unaligned,
)

from ..versions import distribution
from . import images, ptxas, toolchain
from .stages import DEFAULT_CHIP, chip_name, chip_number, gpu_to_cubin_stages
from .texts import Texts

KIND = "cuda"
#: Chips LLVM 22 knows. PTX for one of them runs on every later one.
_KNOWN = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121)


def compile_source(
    source: Source, *, chip: str = DEFAULT_CHIP, output: str = "isa", lines: bool = False
) -> bytes:
    """The image of a kernel: PTX (without the NUL at its end), or with ``output="bin"`` a cubin.
    ``lines`` keeps the lines of the text in it.

    Needs no device. Raises ``StageError`` (a ``RuntimeError``), ``ImportError`` without bindings.
    """
    stages = gpu_to_cubin_stages(chip=chip, output=output, lines=lines)
    threads, spans = source.resources.get("threads", 0), source.resources.get("spans")
    image = toolchain.compile_image(source.text, stages, threads=threads, spans=spans)
    return image.rstrip(b"\0") if output == "isa" else image


def nearest_chip(arch: str) -> str:
    """The newest chip that LLVM knows and whose PTX runs on ``arch``."""
    if not arch:
        return DEFAULT_CHIP
    number = chip_number(arch)
    return chip_name(str(max((n for n in _KNOWN if n <= number), default=_KNOWN[0])))


def memref_arguments(types: Sequence[Type], args: Sequence[Any]) -> PackedArguments:
    """Arguments as the image takes them: five values for an array (allocated and aligned pointer,
    offset, size, stride, in elements), one for a scalar."""
    flat_types: list[Type] = []
    flat: list[Any] = []
    for ty, arg in zip(types, args, strict=True):
        if isinstance(ty, PointerType):
            flat_types += [ty, ty, I64, I64, I64]
            flat += [arg, arg, 0, _size(arg), 1]
        else:
            flat_types.append(ty)
            flat.append(arg)
    return pack_arguments(flat_types, flat)


def _size(view: ArgView) -> int:
    """Elements between the base and the end of a view."""
    return max(0, view.span[1] - view.pointer) // view.dtype.itemsize


def image_of(source: Source, chip: str, lines: bool = False) -> tuple[bytes, str, bool]:
    """The PTX of a kernel for ``chip``, the chip it was compiled for (without bindings an earlier
    one), and whether it was carried here. Raises like ``compile_source``."""
    if toolchain.missing():
        return *images.carried(source, _chips(chip)), True
    image = compile_source(source, chip=chip, lines=lines)
    if lines:  # for somebody to look at, not to be kept
        return image, chip, False
    images.keep(source, chip, image)
    return image, chip, False


def _chips(chip: str) -> list[str]:
    """Chips whose PTX runs on ``chip``, the newest first."""
    if not chip[-1].isdigit() or os.environ.get("MYTRITON_MLIR_CHIP"):
        return [chip]
    earlier = sorted((n for n in _KNOWN if n < chip_number(chip)), reverse=True)
    return [chip, *(chip_name(str(n)) for n in earlier)]


class GPUKernel:
    """The image of a kernel, loaded on a device, if there is one."""

    def __init__(
        self, source: Source, chip: str, device: Device | None, why_not: str = "", *,
        lines: bool = False,
    ) -> None:  # fmt: skip
        """Compile and load. ``why_not``: why there is no device to load it on."""
        image, chip, carried = image_of(source, chip, lines)
        self._why_not = why_not
        self._types: tuple[Type, ...] = source.resources["parameters"]
        self._names: tuple[str, ...] = source.resources["names"]
        self._block = (int(source.resources["threads"]), 1, 1)
        facts: dict[str, Any] = {
            "name": source.entry,
            "threads": self._block[0],
            "chip": chip,
            "shared_bytes": source.resources["shared_bytes"],
            "image_kind": "ptx",
            "image": image,
            "carried": carried,
        }
        if device is not None:
            self._provider = device_provider(KIND)
            module = self._provider.load(image, kind="ptx", device=device)
            self._function = self._provider.function(module, source.entry)
        elif (program := ptxas.find_ptxas()) is not None:
            # No driver will look at the PTX.
            facts["cubin"], facts["ptxas"] = ptxas.assemble(image, chip, program)
            facts |= ptxas.usage(facts["ptxas"])
        made: dict[str, str | bytes] = {"ptx": image.decode()}
        if "cubin" in facts:
            made["cubin"] = facts["cubin"]
        facts["asm"] = Texts(source, chip, lines, made)
        self.metadata: Mapping[str, Any] = MappingProxyType(facts)

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Run every program of the grid. Raises ``DeviceError`` when nothing is there to run it."""
        if self._why_not:
            raise DeviceError(f"compiled, but there is nothing to run it: {self._why_not}")
        refuse_unaligned(self._names, args)
        packed = memref_arguments(self._types, args)
        # Workgroup memory is part of the image.
        self._provider.launch(self._function, grid, self._block, packed)


def compile_kernel(source: Source, launch: LaunchSpec) -> GPUKernel:
    """Compile for the device the arguments are on, and load; without one, only compile."""
    lines = bool(launch.options.get(LINE_INFO))
    try:
        provider = device_provider(KIND)
        here = provider.availability()
    except DeviceError as error:
        return GPUKernel(source, _chip(""), None, str(error), lines=lines)
    if not here.can_launch:
        why_not = here.reason or "no CUDA device"
        return GPUKernel(source, _chip(""), None, why_not, lines=lines)
    device = _device(provider, launch)
    return GPUKernel(source, _chip(device.arch), device, lines=lines)


def _chip(arch: str) -> str:
    """What is compiled for: ``MYTRITON_MLIR_CHIP``, or what runs on a device of ``arch``.
    Raises ``VariableError``."""
    asked = os.environ.get("MYTRITON_MLIR_CHIP", "")
    if not asked:
        return nearest_chip(arch)
    try:
        return chip_name(asked)
    except ValueError as error:
        raise VariableError(f"MYTRITON_MLIR_CHIP: {error}") from None


def _device(provider: DeviceProvider, launch: LaunchSpec) -> Device:
    ids = {a.device_id: a.name for a in launch.arguments if a.device_kind == KIND}
    if len(ids) > 1:
        listed = ", ".join(f"{name!r} is on {KIND}:{n}" for n, name in sorted(ids.items()))
        raise DeviceError(f"arguments are on different devices: {listed}")
    device = provider.current_device()
    for index in ids:
        if index != device.index:
            found = {d.index: d for d in provider.availability().devices}
            return found.get(index, Device(KIND, arch=device.arch, index=index))
    return device


def cache_key(launch: LaunchSpec) -> str:
    """Versions and target: what changes the image beside the text."""
    try:
        arch = device_provider(KIND).current_device().arch
    except DeviceError:
        arch = ""
    return f"{distribution()}|{_chip(arch)}|O3|isa"
