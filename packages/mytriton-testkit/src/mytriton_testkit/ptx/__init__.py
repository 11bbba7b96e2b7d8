"""A PTX emulator: run GPU kernels on a machine without a GPU, and see what they do wrong.

    from mytriton_testkit.ptx import load_module, launch

    module = load_module(open("vadd.ptx").read())
    counters = launch(module, grid=4, block=256, args=[x, y, out, 1000])

Needs NumPy only and knows nothing of the compiler that wrote the PTX.
"""

from .counters import Counters
from .errors import (
    LaunchError,
    PtxCheckError,
    PtxError,
    PtxSyntaxError,
    PtxUnsupported,
    Site,
    Thread,
)
from .launch import Device, Loaded, launch, load_module
from .memory import Buffer, Memory
from .state import Checks
from .syntax import Function, Module, Param

__all__ = [
    "Buffer",
    "Checks",
    "Counters",
    "Device",
    "Function",
    "LaunchError",
    "Loaded",
    "Memory",
    "Module",
    "Param",
    "PtxCheckError",
    "PtxError",
    "PtxSyntaxError",
    "PtxUnsupported",
    "Site",
    "Thread",
    "launch",
    "load_module",
]
