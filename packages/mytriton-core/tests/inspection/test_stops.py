"""Inspecting a kernel that a backend cannot compile: the stages before, and why it stops."""

from types import SimpleNamespace

import pytest

import mytriton
import mytriton.plugin_api as mt
from mytriton.plugins import selection


def backend(name, lower=None, compile=None):
    """A backend that claims every kernel, and lowers and compiles as told."""
    info = mt.BackendInfo(
        name, "for a test", capabilities=mt.capability_table(mt.features()), language="text"
    )
    hooks = {
        "mytriton_backend_info": lambda: info,
        "mytriton_probe": lambda: mt.Availability(devices=(mt.Device("cpu"),)),
        "mytriton_lower": lambda function, launch: lower(launch),
        "mytriton_compile": lambda source, launch: compile(),
    }
    return SimpleNamespace(**{k: mt.hookimpl(v) for k, v in hooks.items()})
