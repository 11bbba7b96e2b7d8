"""mytriton: a Triton-like kernel language whose compiler is a plugin framework.

``import mytriton as triton; import mytriton.language as tl``, then write ``@triton.jit`` kernels and
launch them with ``kernel[grid](...)`` on NumPy arrays, PyTorch tensors or device arrays.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from .errors import (
    ArgumentError,
    ASTFrontendError,
    CompilationError,
    CompiledOnlyWarning,
    GridError,
    KernelTypeError,
    MytritonError,
    VerificationError,
)
from .runtime.interface import KernelInterface
from .runtime.jit import JITFunction, jit

if TYPE_CHECKING:
    from . import language, runtime, testing
    from .dropin import backends, compiler, knobs, tools
    from .dropin.allocation import set_allocator
    from .dropin.install import install_as_triton, uninstall_as_triton
    from .plugins.selection import config, explain, refresh_backends, register_backend, use_backend
    from .runtime.autotuner import Autotuner, Config, Heuristics, autotune, heuristics
    from .runtime.errors import AutotuneError, InterpreterError, OutOfResources
    from .runtime.standins import MockTensor, TensorWrapper, reinterpret

__version__ = "0.1.0"

#: Public names that live where importing them is not free, and where.
_LAZY = {
    "AutotuneError": "runtime.errors",
    "Autotuner": "runtime.autotuner",
    "Config": "runtime.autotuner",
    "Heuristics": "runtime.autotuner",
    "InterpreterError": "runtime.errors",
    "MockTensor": "runtime.standins",
    "OutOfResources": "runtime.errors",
    "TensorWrapper": "runtime.standins",
    "autotune": "runtime.autotuner",
    "constexpr_function": "language",
    "heuristics": "runtime.autotuner",
    "install_as_triton": "dropin.install",
    "must_use_result": "language",
    "reinterpret": "runtime.standins",
    "set_allocator": "dropin.allocation",
    "uninstall_as_triton": "dropin.install",
    "config": "plugins.selection",
    "explain": "plugins.selection",
    "refresh_backends": "plugins.selection",
    "register_backend": "plugins.selection",
    "use_backend": "plugins.selection",
}

#: Modules that are attributes, as Triton's are, and where they are.
_MODULES = {
    "backends": "dropin.backends",
    "compiler": "dropin.compiler",
    "knobs": "dropin.knobs",
    "language": "language",
    "runtime": "runtime",
    "testing": "testing",
    "tools": "dropin.tools",
}


def cdiv(x: int, y: int) -> int:
    """Quotient of two ints, rounded up. Raises ``TypeError`` for anything else."""
    try:
        return -(-operator.index(x) // operator.index(y))
    except TypeError:
        if isinstance(x, float) or isinstance(y, float):
            raise TypeError(f"cdiv takes ints, got {x!r} and {y!r}") from None
        return (x + y - 1) // y  # runtime values of a kernel


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least ``n`` (1 for ``n`` up to 1). Raises ``TypeError``
    for anything but an int."""
    return 1 << max(0, operator.index(n) - 1).bit_length()


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LAZY:
        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        value = import_module(f".{_MODULES[name]}", __name__)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ASTFrontendError", "ArgumentError", "AutotuneError", "Autotuner", "CompilationError",
    "CompiledOnlyWarning", "Config", "GridError", "Heuristics", "InterpreterError", "JITFunction",
    "KernelInterface", "KernelTypeError", "MockTensor", "MytritonError", "OutOfResources",
    "TensorWrapper", "VerificationError", "__version__", "autotune", "backends", "cdiv", "compiler",
    "config", "explain", "heuristics", "install_as_triton", "jit", "knobs", "language",
    "next_power_of_2", "refresh_backends", "register_backend", "reinterpret", "runtime",
    "set_allocator", "testing", "tools", "uninstall_as_triton", "use_backend",
]  # fmt: skip
