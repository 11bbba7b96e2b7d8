"""Right: prints the kernel, parses the text, and runs it on the interpreter. Needs the guard
against fallback switched off (``check_backend(..., allow_interpreter=True)``)."""

from __future__ import annotations

from mytriton.ir.parser import parse
from mytriton.plugin_api import Artifact, LaunchSpec, Source, hookimpl

from . import info
from .base import Kernel, mytriton_lower, mytriton_probe

__all__ = ["INFO", "mytriton_compile", "mytriton_lower", "mytriton_probe"]

INFO = info("loopback", "the interpreter behind the text form")


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    from mytriton.interpreter.machine import run
    from mytriton.interpreter.plan import make_plan

    plan = make_plan(parse(source.text))
    return Kernel(lambda grid, args: run(plan, args, grid))
