"""Kernels given as SSA text, run on the PTX emulator and by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

from mytriton.interpreter.machine import run as interpret
from mytriton.interpreter.plan import make_plan
from mytriton.ir.parser import parse
from mytriton.plugin_api import PointerType, Source, SSAFunction
from mytriton.runtime.arguments import launch_value
from mytriton.verify import verify
from mytriton_cuda.emit import emit, emit_blocked
from mytriton_cuda.launch import CudaKernel

MAPPINGS = ("element", 1, 4)
Grid = tuple[int, int, int]


def function(text: str) -> SSAFunction:
    """The kernel that SSA text is, verified."""
    found = parse(text)
    verify(found)
    return found


def source(fn: SSAFunction, mapping: Any, divisible_by: Any = None) -> Source:
    """What the backend would lower to, in a mapping of the test's choice."""
    found = emit(fn) if mapping == "element" else emit_blocked(fn, mapping, divisible_by)
    resources = {
        "threads": found.threads,
        "shared_bytes": found.shared_bytes,
        "parameters": tuple(p.ty for p in fn.params),
        "spans": found.spans,
    }
    return Source(found.text, "CUDA C++", found.entry, resources)


def _values(fn: SSAFunction, args: dict[str, Any]) -> list[Any]:
    """Arguments as a launcher takes them; bit patterns count as the parameter's element type."""
    values = [launch_value(args[p.name]) for p in fn.params]
    for value, param in zip(values, fn.params, strict=True):
        if isinstance(param.ty, PointerType):
            value.dtype = param.ty.element
    return values


def copied(args: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}


def emulated(
    fn: SSAFunction, mapping: Any, args: dict[str, Any], grid: Grid = (1, 1, 1), divisible_by: Any = None
) -> dict[str, Any]:
    """The arguments after a launch on the emulator."""
    from mytriton_testkit.emulator_device import use_emulator

    found = copied(args)
    with use_emulator():
        CudaKernel(source(fn, mapping, divisible_by)).launch(grid, _values(fn, found))
    return found


def interpreted(fn: SSAFunction, args: dict[str, Any], grid: Grid = (1, 1, 1)) -> dict[str, Any]:
    """The arguments after the interpreter ran the kernel."""
    found = copied(args)
    interpret(make_plan(fn), _values(fn, found), grid)
    return found
