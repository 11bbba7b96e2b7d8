"""Declares everything, and never returns from a launch."""

from __future__ import annotations

import time

from mytriton.plugin_api import Artifact, LaunchSpec, Source, hookimpl

from . import info
from .base import Kernel, mytriton_lower, mytriton_probe

__all__ = ["INFO", "mytriton_compile", "mytriton_lower", "mytriton_probe"]

INFO = info("hanger", "never returns")


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    return Kernel(lambda grid, args: time.sleep(3600))
