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
from .runtime.jit import JITFunction, jit

if TYPE_CHECKING:
    from . import language
    from .plugins.selection import config, explain, refresh_backends, register_backend, use_backend

__version__ = "0.1.0"

#: Public names that live where importing them is not free, and where.
_LAZY = {
    "config": "plugins.selection",
    "explain": "plugins.selection",
    "refresh_backends": "plugins.selection",
    "register_backend": "plugins.selection",
    "use_backend": "plugins.selection",
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
    if name in _LAZY:
        from importlib import import_module

        value = getattr(import_module(f".{_LAZY[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ASTFrontendError", "ArgumentError", "CompilationError", "CompiledOnlyWarning", "GridError",
    "JITFunction", "KernelTypeError", "MytritonError", "VerificationError", "__version__", "cdiv",
    "config", "explain", "jit", "language", "next_power_of_2", "refresh_backends",
    "register_backend", "use_backend",
]  # fmt: skip
