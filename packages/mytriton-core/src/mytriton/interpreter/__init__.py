"""The reference backend: what verified SSA means, on NumPy arrays. The oracle of the project."""

from __future__ import annotations

__all__ = ["run"]


def __getattr__(name: str) -> object:
    # Lazy, so that describing the backend does not load the machine.
    if name == "run":
        from .machine import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
