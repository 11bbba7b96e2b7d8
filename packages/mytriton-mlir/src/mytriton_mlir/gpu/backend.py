"""The ``mlir`` backend: its hooks. Imports neither MLIR nor a device library; text needs neither."""

from __future__ import annotations

from types import MappingProxyType

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
from mytriton_mlir_gpu_info import INFO

#: How to launch an exported image.
CALLING = (
    "one block of `threads` threads (axis x) a program of the grid; an array is five parameters: its "
    "address twice, 0, its elements, 1 (each 8 bytes); a scalar is one"
)


@hookimpl
def mytriton_backend_info() -> BackendInfo:
    return INFO


@hookimpl
def mytriton_probe() -> Availability:
    from .probe import probe

    return probe()


@hookimpl
def mytriton_claim(function: SSAFunction, launch: LaunchSpec) -> Decline | None:
    from .limits import declined

    return declined(function)


@hookimpl
def mytriton_lower(function: SSAFunction, launch: LaunchSpec) -> Source:
    from .kernel import emit

    emitted = emit(function)
    resources = {
        "threads": emitted.threads,
        "shared_bytes": emitted.shared_bytes,
        "parameters": tuple(param.ty for param in function.params),
        "names": tuple(param.name for param in function.params),
        "spans": MappingProxyType(emitted.spans),
        "calling": CALLING,
    }
    return Source(emitted.text, INFO.language, emitted.entry, MappingProxyType(resources))


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    from .launch import compile_kernel

    return compile_kernel(source, launch)


@hookimpl
def mytriton_cache_key(launch: LaunchSpec) -> str:
    from .launch import cache_key

    return cache_key(launch)
