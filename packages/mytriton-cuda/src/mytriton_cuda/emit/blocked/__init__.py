"""The blocked mapping: ``num_warps`` warps run a program, each thread holds several elements of every
block in registers."""

from __future__ import annotations

from .kernel import BlockedKernel, default_warps

__all__ = ["BlockedKernel", "default_warps"]
