"""The mark the frontend knows functions of the language by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def builtin(fn: F) -> F:
    """Mark a function of the language: the frontend calls it with symbolic values."""
    fn.__mytriton_builtin__ = True  # type: ignore[attr-defined]
    return fn
