"""The hooks of backend ``mlir-cpu``."""

from __future__ import annotations

import importlib.util
import os
import platform
from dataclasses import replace

import mytriton.plugin_api as mt

from ..versions import found
from .target import host, target

_INSTALL = 'pip install "mytriton-mlir[bindings]"'


@mt.hookimpl
def mytriton_probe() -> mt.Availability:
    from .. import llvm
    from . import engine

    if importlib.util.find_spec("mlir") is None:
        return _unavailable("not installed: MLIR's Python bindings (mlir.ir)")
    machine = platform.machine()
    reason = llvm.missing()
    if not reason:
        return mt.Availability(devices=(mt.Device("cpu", llvm.llvm().cpu, machine),))
    if os.environ.get("MYTRITON_LIBLLVM", llvm.NONE) != llvm.NONE:
        # Somebody means that file: another way would not be what was asked for.
        return _unavailable(f"{reason} (MYTRITON_LIBLLVM)")
    if why := engine.importable():
        return _unavailable(f"{reason}, and {why}")
    return mt.Availability(devices=(mt.Device("cpu", "", machine),), reason=engine.NOTE)


def _unavailable(reason: str) -> mt.Availability:
    return mt.Availability(can_lower=False, can_launch=False, reason=reason, hint=_INSTALL)


@mt.hookimpl
def mytriton_cache_key(launch: mt.LaunchSpec) -> str:
    from ..llvm import llvm, missing

    version = f"engine {found()}" if missing() else llvm().version
    return f"{version} {host().name} {target().name}"


@mt.hookimpl
def mytriton_claim(function: mt.SSAFunction, launch: mt.LaunchSpec) -> mt.Decline | None:
    if "sanitize" not in launch.options:
        return None
    from .bounds import claim

    return claim(function, launch)


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
    from .bounds import BoundsCheckedKernel, asked

    return (BoundsCheckedKernel if asked(launch) else CompiledKernel)(source, launch, target())
