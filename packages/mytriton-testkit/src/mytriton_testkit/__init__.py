"""The conformance suite of mytriton: what the author of a backend proves it with.

Importing this package loads neither NumPy nor the compiler.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Case", "__version__", "check_backend"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "check_backend":
        from .check import check_backend

        return check_backend
    if name == "Case":
        from .case import Case

        return Case
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
