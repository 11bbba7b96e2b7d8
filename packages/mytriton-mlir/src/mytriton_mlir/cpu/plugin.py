"""The hooks of backend ``mlir-cpu``."""

from __future__ import annotations

import importlib.util
import platform

import mytriton.plugin_api as mt

from .target import host, target

_INSTALL = 'pip install "mytriton-mlir[bindings]"'


@mt.hookimpl
def mytriton_probe() -> mt.Availability:
    missing = [name for name in ("mlir", "llvm") if importlib.util.find_spec(name) is None]
    if missing:
        what = {"mlir": "MLIR's Python bindings (mlir.ir)", "llvm": "libLLVM (package llvm)"}
        return mt.Availability(
            can_lower=False,
            can_launch=False,
            reason="not installed: " + ", ".join(what[name] for name in missing),
            hint=_INSTALL,
        )
    from .llvm import LLVMError, llvm

    try:
        library = llvm()
    except (LLVMError, OSError, AttributeError) as error:
        return mt.Availability(can_lower=False, can_launch=False, reason=str(error), hint=_INSTALL)
    return mt.Availability(devices=(mt.Device("cpu", library.cpu, platform.machine()),))


@mt.hookimpl
def mytriton_cache_key(launch: mt.LaunchSpec) -> str:
    from .llvm import llvm

    return f"{llvm().version} {host().name} {target().name}"


@mt.hookimpl
def mytriton_lower(function: mt.SSAFunction, launch: mt.LaunchSpec) -> mt.Source:
    from .artifact import lower

    return lower(function, target())


@mt.hookimpl
def mytriton_compile(source: mt.Source, launch: mt.LaunchSpec) -> mt.Artifact:
    from .artifact import CompiledKernel

    return CompiledKernel(source, launch, target())
