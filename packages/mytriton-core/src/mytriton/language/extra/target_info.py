"""``tl.target_info``: what a kernel may ask of the machine at compile time.

A kernel is traced before a backend is chosen, so it is told of no vendor's hardware and takes its
portable path.
"""

from __future__ import annotations

from ..marks import builtin


@builtin
def current_target() -> None:
    """``None``: no hardware is known while a kernel is traced."""


@builtin
def is_cuda() -> bool:
    """``False``."""
    return False


@builtin
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """``False``."""
    return False


@builtin
def is_hip() -> bool:
    """``False``."""
    return False


@builtin
def is_hip_cdna3() -> bool:
    """``False``."""
    return False


@builtin
def is_hip_cdna4() -> bool:
    """``False``."""
    return False
