"""The hooks: what core calls."""

from __future__ import annotations

import ctypes
import platform
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mytriton.plugin_api import (
    Artifact,
    Availability,
    Device,
    LaunchSpec,
    Source,
    SSAFunction,
    Type,
    hookimpl,
    is_pointer,
    scalar_of,
)

from .emitter import Emitter
from .lowerings import LOWERINGS
from .toolchain import compiler, load_library, version


@hookimpl
def mytriton_probe() -> Availability:
    if command := compiler():
        return Availability(devices=(Device("cpu", version(command), platform.machine()),))
    return Availability(
        can_lower=False,
        can_launch=False,
        reason="no C compiler: CC is not set to one and there is no cc on PATH",
        hint="install one (Debian, Ubuntu: apt install gcc; macOS: xcode-select --install) or set CC",
    )


@hookimpl
def mytriton_cache_key(launch: LaunchSpec) -> str:
    return version(compiler())


@hookimpl
def mytriton_lower(function: SSAFunction, launch: LaunchSpec) -> Source:
    entry = "kernel_" + re.sub(r"[^0-9A-Za-z_]", "_", function.name)
    text = Emitter(function, LOWERINGS).kernel(entry)
    return Source(text, "C", entry, {"parameters": tuple(p.ty for p in function.params)})


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    return CompiledKernel(source)


class CompiledKernel:
    """A function of a loaded library. Threads may launch it at once; it holds no state."""

    def __init__(self, source: Source) -> None:
        parameters: Sequence[Type] = source.resources["parameters"]
        self._function = load_library(source.text)[source.entry]
        self._function.restype = ctypes.c_int
        self._function.argtypes = [ctypes.c_int32] * 3 + [_passed(ty) for ty in parameters]
        self._pointers = [is_pointer(ty) for ty in parameters]
        self.metadata: Mapping[str, Any] = {"entry": source.entry, "compiler": version(compiler())}

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Run every program of the grid."""
        values = [a.pointer if p else a for a, p in zip(args, self._pointers, strict=True)]
        if self._function(*grid, *values):
            raise MemoryError("no memory for the blocks of the kernel")


def _passed(ty: Type) -> Any:
    """How ctypes passes a parameter: the counterpart of ``emitter.passed``."""
    if is_pointer(ty):
        return ctypes.c_void_p
    scalar = scalar_of(ty)
    if scalar.is_floating():
        return ctypes.c_double
    if scalar.is_bool():
        return ctypes.c_uint8
    return getattr(ctypes, f"c_{'' if scalar.is_signed() else 'u'}int{scalar.bits}")
