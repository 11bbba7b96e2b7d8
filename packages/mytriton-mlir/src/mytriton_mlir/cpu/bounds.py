"""The bounds-checked build: native code that looks at every offset, then the kernel itself.

The check has no data and no stores (``mytriton.transforms.bounds``). When it finds an access outside
an argument nothing has been written yet: the interpreter runs the launch instead, skips those lanes
and tells where and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import mytriton.plugin_api as mt
from mytriton.transforms.bounds import bounds_check

from .artifact import CompiledKernel, lower
from .target import Target

MODE = "bounds"


def asked(launch: mt.LaunchSpec) -> bool:
    """Whether a launch is to be checked."""
    return bool(launch.options.get("sanitize") == MODE)


def claim(function: mt.SSAFunction, launch: mt.LaunchSpec) -> mt.Decline | None:
    """Declines what only running the kernel would tell."""
    if asked(launch) and bounds_check(function) is None:
        reason = (
            "its accesses cannot be checked beforehand (sanitize: bounds): the offsets depend on what the "
            "kernel stores, or on which array a pointer is into"
        )
        return mt.Decline(reason, frozenset({"sanitize.bounds"}))
    return None


class BoundsCheckedKernel:
    """An artifact that looks before each launch."""

    def __init__(self, source: mt.Source, launch: mt.LaunchSpec, target: Target) -> None:
        function: mt.SSAFunction = source.resources["function"]
        check = bounds_check(function)
        assert check is not None
        self._function = function
        self._kernel = CompiledKernel(source, launch, target)
        self._check = CompiledKernel(lower(check, target), launch, target)
        self.metadata: Mapping[str, Any] = MappingProxyType({**self._kernel.metadata})

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Run the grid. Raises ``SanitizerError`` when an access lies outside its argument."""
        ends: list[int] = []
        for param, arg in zip(self._function.params, args, strict=True):
            if mt.is_pointer(param.ty):
                ends += arg.element_range
        flag = np.zeros(1, np.int32)
        self._check.launch(grid, [*args, *ends, mt.launch_value(flag)])
        if flag[0]:
            from mytriton.interpreter.machine import run

            run(self._function, args, grid, sanitize=MODE)
            return
        self._kernel.launch(grid, args)
