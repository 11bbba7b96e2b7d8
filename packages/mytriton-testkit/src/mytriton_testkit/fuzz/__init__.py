"""Random programs: generate, compare, shrink, replay.

``run_fuzz(backend, n, seed)`` makes well-typed, defined SSA programs of what the backend declares
and compares it with the interpreter and with ``reference``, an evaluator of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runner import FuzzFailure, FuzzReport, replay, run_fuzz

__all__ = ["FuzzFailure", "FuzzReport", "replay", "run_fuzz"]


def __getattr__(name: str) -> object:
    # Lazy: importing the package must not import the compiler.
    if name in __all__:
        from . import runner

        return getattr(runner, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
