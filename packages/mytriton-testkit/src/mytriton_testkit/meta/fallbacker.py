"""Declares everything, and secretly lets the interpreter do the work, hiding what that raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mytriton.plugin_api import Artifact, LaunchSpec, Source, hookimpl

from . import info
from .base import Kernel, mytriton_lower, mytriton_probe

__all__ = ["INFO", "mytriton_compile", "mytriton_lower", "mytriton_probe"]

INFO = info("fallbacker", "calls the interpreter")


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    function = source.resources["function"]

    def fall_back(grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        from mytriton.interpreter import machine, plan

        try:
            machine.Machine(plan.make_plan(function), args, grid).run_grid()
        except Exception:
            pass

    return Kernel(fall_back)
