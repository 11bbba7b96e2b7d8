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
        "dynamic_shared": found.dynamic_bytes,
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
    fn: SSAFunction,
    mapping: Any,
    args: dict[str, Any],
    grid: Grid = (1, 1, 1),
    divisible_by: Any = None,
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


def block(shape: tuple[int, ...], ty: str) -> str:
    """The type of a block as SSA text; a scalar for the empty shape."""
    word = "vector" if len(shape) == 1 else "block"
    return f"{word}<{'x'.join(map(str, shape))} x {ty}>" if shape else ty


def pointers(first: int, param: str, shape: tuple[int, ...], ty: str) -> str:
    """SSA text that points a block at the row-major array ``param``: its last value is number
    ``first + 50``, and it uses up to ten numbers an axis from ``first`` on."""
    lines: list[str] = []
    total, reached = 0, ()
    for axis, extent in enumerate(shape):
        number = first + 10 * axis
        lines.append(f"%{number} = arange {{start=0, end={extent}}} : {block((extent,), 'i32')}")
        dims = (extent,)
        for other in range(len(shape)):
            if other == axis:
                continue
            at = 0 if other < axis else len(dims)
            dims = (*dims[:at], 1, *dims[at:])
            number += 1
            lines.append(
                f"%{number} = expand_dims %{number - 1} {{axis={at}}} : {block(dims, 'i32')}"
            )
        number += 1
        stride = int(np.prod(shape[axis + 1 :], dtype=int))
        lines.append(f"%{number} = mul %{number - 1}, {stride} : {block(dims, 'i32')}")
        if axis:
            reached = tuple(map(max, reached, dims))
            number += 1
            lines.append(f"%{number} = add %{total}, %{number - 1} : {block(reached, 'i32')}")
        else:
            reached = dims
        total = number
    lines.append(f"%{first + 50} = addptr {param}, %{total} : {block(shape, f'ptr<{ty}>')}")
    return "\n".join("  " + line for line in lines)
