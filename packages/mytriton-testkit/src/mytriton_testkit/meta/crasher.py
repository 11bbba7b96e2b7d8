"""Declares everything, and kills the process at launch."""

from __future__ import annotations

import os
import signal

from mytriton.plugin_api import Artifact, LaunchSpec, Source, hookimpl

from . import info
from .base import Kernel, mytriton_lower, mytriton_probe

__all__ = ["INFO", "mytriton_compile", "mytriton_lower", "mytriton_probe"]

INFO = info("crasher", "dies at launch")


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    return Kernel(lambda grid, args: os.kill(os.getpid(), signal.SIGSEGV))
