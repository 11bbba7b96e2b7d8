"""The mark the frontend knows functions of the language by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def computes(fn: F) -> F:
    """Mark a function that computes on its arguments as an operator does: a number that has a name
    (``language.settled``) then meets them with the type it has on its own."""
    fn.__mytriton_computes__ = True  # type: ignore[attr-defined]
    return builtin(fn)


def builtin(fn: F) -> F:
    """Mark a function of the language: the frontend calls it with symbolic values."""
    fn.__mytriton_builtin__ = True  # type: ignore[attr-defined]
    return fn
