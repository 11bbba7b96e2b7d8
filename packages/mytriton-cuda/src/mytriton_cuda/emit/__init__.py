"""SSA to CUDA C++. ``emit`` is all a caller needs; ``RENDERERS`` is the table of operations."""

from __future__ import annotations

from .kernel import Emitted, emit
from .renderers import RENDERERS

__all__ = ["RENDERERS", "Emitted", "emit"]
