"""``triton.set_allocator``: who gives kernels extra memory."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_ALLOCATOR: ContextVar[Callable[..., Any] | None] = ContextVar("mytriton_allocator", default=None)


def set_allocator(allocator: Callable[..., Any] | None) -> None:
    """Remember a function ``(size, alignment, stream)`` that gives memory. No kernel asks for it: our
    backends need no extra memory."""
    _ALLOCATOR.set(allocator)


def allocator() -> Callable[..., Any] | None:
    """The function in force, if any."""
    return _ALLOCATOR.get()
