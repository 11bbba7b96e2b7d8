"""``triton.compiler``: the names that programs import from it."""

from __future__ import annotations

from typing import Any

from ..errors import CompilationError
from ..runtime.driver import GPUTarget
from ..runtime.result import LaunchResult

#: What a launch and ``kernel.warmup`` return.
CompiledKernel = LaunchResult


def triton_key() -> str:
    """What changes when the compiler does."""
    from .. import __version__

    return f"mytriton {__version__}"


def compile(*args: Any, **kwargs: Any) -> Any:
    """Triton compiles from an ``ASTSource`` here. Raises ``NotImplementedError``: use
    ``kernel.warmup`` or ``kernel.emit``."""
    raise NotImplementedError(
        "triton.compile is not available in mytriton; kernel.warmup(*args, grid=...) compiles a kernel "
        "without launching it, kernel.emit(backend=..., ...) gives a backend's text"
    )


def max_shared_mem(device: int) -> int:
    """Bytes of shared memory a program may have."""
    from ..runtime.driver import driver

    return int(driver.active.utils.get_device_properties(device)["max_shared_mem"])


__all__ = [
    "CompilationError",
    "CompiledKernel",
    "GPUTarget",
    "compile",
    "max_shared_mem",
    "triton_key",
]
