"""Launching kernels: decorator, argument adapters, specialisation, caches, tuning.

The names that ``triton.runtime`` has are fetched when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
    from .driver import driver
    from .errors import InterpreterError, OutOfResources
    from .interface import KernelInterface
    from .jit import JITFunction
    from .standins import MockTensor, TensorWrapper, reinterpret

_LAZY = {
    name: module
    for module, names in {
        "autotuner": "Autotuner Config Heuristics autotune heuristics",
        "driver": "driver",
        "errors": "InterpreterError OutOfResources",
        "interface": "KernelInterface",
        "jit": "JITFunction",
        "standins": "MockTensor TensorWrapper reinterpret",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value


__all__ = [
    "Autotuner", "Config", "Heuristics", "InterpreterError", "JITFunction", "KernelInterface",
    "MockTensor", "OutOfResources", "TensorWrapper", "autotune", "driver", "heuristics",
    "reinterpret",
]  # fmt: skip
