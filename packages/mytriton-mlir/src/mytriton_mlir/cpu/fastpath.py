"""The launch of NumPy arrays, written out for each kernel.

Where a NumPy array keeps its address is no documented fact, but it has been the same since NumPy 1.0
and reading it there costs a tenth of what ``array.ctypes`` costs. It is tested when the module is
loaded, on arrays of several kinds; if the test fails, or on an interpreter without it, launches read
``__array_interface__``.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .artifact import CompiledKernel

#: Offset of the data pointer in an array object: after the object header.
_DATA = object.__basicsize__


def _self_test() -> bool:
    if sys.implementation.name != "cpython":
        return False
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    for array in (
        base,
        base[1:],
        base.T,
        base[:, ::-1],
        np.empty(0),
        np.array(1.0),
        np.zeros(3, "?"),
    ):
        found = ctypes.c_size_t.from_address(id(array) + _DATA).value
        if found != array.__array_interface__["data"][0]:
            return False
    return True


FAST = _self_test()


def make(kernel: CompiledKernel) -> Callable[[Any, Any], None] | None:
    """``launch_values`` of a kernel whose arrays are contiguous: for NumPy arrays that do not
    overlap and fit the caches; everything else takes the long way."""
    if not FAST:
        return None
    params = range(len(kernel.parameters))
    arrays = kernel.pointers
    names = [f"a{k}" for k in params]
    slow = "return slow(grid, values)"
    lines = [f"{''.join(f'{n}, ' for n in names)} = values"] if names else []
    if arrays:
        kinds = " or ".join(f"type(a{k}) is not ndarray" for k in arrays)
        lines.append(f"if {kinds}: {slow}")
        lines += [f"p{k} = at(id(a{k}) + {_DATA}).value" for k in arrays]
    lines += [f"e{k} = p{k} + a{k}.nbytes" for k in kernel.accessed]
    if kernel.pairs:
        overlap = " or ".join(f"(p{a} < e{b} and p{b} < e{a})" for a, b in kernel.pairs)
        lines.append(f"if {overlap}: {slow}")
    lines += ["g0, g1, g2 = grid", "total = g0 * g1 * g2"]
    if kernel.streamed:
        lines.append(f"if total > {kernel.streaming_from}: {slow}")
    packed = "".join(f"p{k}, " if k in arrays else f"a{k}, " for k in params)
    lines += [
        f"descriptor = pack(function, workers.state, cost, total, 0, {packed}g0, g1, g2)",
        "status = run(descriptor)",
        "if status: finish(status, descriptor)",
    ]
    body = "".join(f"    {line}\n" for line in lines)
    namespace: dict[str, Any] = {
        "ndarray": np.ndarray, "at": ctypes.c_size_t.from_address, "slow": kernel.launch_slowly,
        "run": kernel.workers.run, "pack": kernel.pack, "workers": kernel.workers,
        "function": kernel.first.function, "cost": kernel.first.cost_address,
        "finish": kernel.workers.finish,
    }  # fmt: skip
    exec(compile(f"def launch_values(grid, values):\n{body}", "<launch>", "exec"), namespace)
    made: Callable[[Any, Any], None] = namespace["launch_values"]
    return made
