"""The hooks: what core calls."""

from __future__ import annotations

import ctypes
import platform
import re
from collections.abc import Mapping, Sequence
from typing import Any

import mytriton.plugin_api as mt

from .emitter import Emitter
from .lowerings import LOWERINGS
from .toolchain import compiler, load_library, version
from .values import passed


@mt.hookimpl
def mytriton_probe() -> mt.Availability:
    if command := compiler():
        return mt.Availability(devices=(mt.Device("cpu", version(command), platform.machine()),))
    return mt.Availability(
        can_lower=False,
        can_launch=False,
        reason="no C compiler: CC is not set to one and there is no cc on PATH",
        hint="apt install gcc (Debian, Ubuntu), xcode-select --install (macOS), or set CC",
    )


@mt.hookimpl
def mytriton_cache_key(launch: mt.LaunchSpec) -> str:
    return version(compiler())


@mt.hookimpl
def mytriton_lower(function: mt.SSAFunction, launch: mt.LaunchSpec) -> mt.Source:
    entry = "kernel_" + re.sub(r"[^0-9A-Za-z_]", "_", function.name)
    text = Emitter(function, LOWERINGS).kernel(entry)
    # value_names: the text calls SSA value 12 v12, by which an inspection finds its lines.
    resources = {"parameters": tuple(p.ty for p in function.params), "value_names": True}
    return mt.Source(text, "C", entry, resources)


@mt.hookimpl
def mytriton_compile(source: mt.Source, launch: mt.LaunchSpec) -> mt.Artifact:
    return CompiledKernel(source)


class CompiledKernel:
    """A function of a loaded library. Threads may launch it at once; it holds no state."""

    def __init__(self, source: mt.Source) -> None:
        parameters: Sequence[mt.Type] = source.resources["parameters"]
        self._function = load_library(source.text)[source.entry]
        self._function.restype = ctypes.c_int
        self._function.argtypes = [ctypes.c_int32] * 3 + [_passed(ty) for ty in parameters]
        self._pointers = [mt.is_pointer(ty) for ty in parameters]
        self.metadata: Mapping[str, Any] = {"entry": source.entry, "compiler": version(compiler())}

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Run every program of the grid."""
        values = [a.pointer if p else a for a, p in zip(args, self._pointers, strict=True)]
        if self._function(*grid, *values):
            raise MemoryError("no memory for the blocks of the kernel")


def _passed(ty: mt.Type) -> Any:
    """The ctypes name of what the C function takes."""
    return (
        ctypes.c_void_p
        if mt.is_pointer(ty)
        else getattr(ctypes, f"c_{passed(ty)}".removesuffix("_t"))
    )
