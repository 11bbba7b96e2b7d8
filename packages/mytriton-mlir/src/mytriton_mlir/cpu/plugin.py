"""The hooks of backend ``mlir-cpu``."""

from __future__ import annotations

import importlib.util
import platform
from dataclasses import replace

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
    from .ones import strides, with_ones

    scales = strides(function)
    ones = frozenset(a.name for a in launch.arguments if a.equals_one)
    source = lower(with_ones(function, ones & scales), target())
    # What no stride is may be 1 or not: the code is the same.
    return replace(source, resources={**source.resources, "specialised": bool(scales)})


@mt.hookimpl
def mytriton_compile(source: mt.Source, launch: mt.LaunchSpec) -> mt.Artifact:
    from .artifact import CompiledKernel

    return CompiledKernel(source, launch, target())
