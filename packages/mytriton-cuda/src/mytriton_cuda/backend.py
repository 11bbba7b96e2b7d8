"""The ``cuda`` backend: its hooks. Imports neither CuPy nor NVRTC; text needs neither."""

from __future__ import annotations

from mytriton.plugin_api import (
    Artifact,
    Availability,
    BackendInfo,
    Decline,
    LaunchSpec,
    Source,
    SSAFunction,
    hookimpl,
)
from mytriton_cuda_info import INFO


@hookimpl
def mytriton_backend_info() -> BackendInfo:
    return INFO


@hookimpl
def mytriton_probe() -> Availability:
    from .probe import probe

    return probe()


@hookimpl
def mytriton_claim(function: SSAFunction, launch: LaunchSpec) -> Decline | None:
    from .mapping import declined

    return declined(function, launch)


@hookimpl
def mytriton_lower(function: SSAFunction, launch: LaunchSpec) -> Source:
    from .mapping import lowered

    return lowered(function, launch)


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    from .launch import CudaKernel

    return CudaKernel(source, launch)


@hookimpl
def mytriton_cache_key(launch: LaunchSpec) -> str:
    from . import nvrtc

    return f"nvrtc {nvrtc.load().version}" if nvrtc.available() else "text"
