"""The CUDA C++ backend of mytriton. ``emit.emit`` turns SSA into the text of a kernel."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
