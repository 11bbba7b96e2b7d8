"""Declares everything, and fills every array it may write to with zeros."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from mytriton.plugin_api import ArgView, Artifact, LaunchSpec, Source, hookimpl

from . import info
from .base import Kernel, mytriton_lower, mytriton_probe

__all__ = ["INFO", "mytriton_compile", "mytriton_lower", "mytriton_probe"]

INFO = info("liar", "claims all, gives zeros")


@hookimpl
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:
    from mytriton.analysis.pointers import accessed_params

    function = source.resources["function"]
    stored = accessed_params(function)[1]
    written = [param.name in stored for param in function.params]

    def zero(grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        for arg, wanted in zip(args, written, strict=True):
            if wanted and isinstance(arg, ArgView) and arg.contiguous:
                low, high = arg.span
                ctypes.memset(low, 0, high - low)

    return Kernel(zero)
