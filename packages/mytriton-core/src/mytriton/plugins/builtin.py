"""The interpreter as a backend: registered by core through the hooks everyone uses."""

from __future__ import annotations

from ..interpreter import backend
from ..ir.values import SSAFunction
from .builtin_info import INFO
from .hookspecs import hookimpl
from .types import Artifact, Availability, BackendInfo, Device, LaunchSpec, Source


@hookimpl
def mytriton_backend_info() -> BackendInfo:
    return INFO


@hookimpl
def mytriton_probe() -> Availability:
    return Availability(devices=(Device("cpu", "NumPy"),))


@hookimpl
def mytriton_lower(function: SSAFunction, launch: LaunchSpec) -> Source:
    return backend.lower(function, launch)


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    return backend.compile(source, launch)
