"""Optimisation of SSA: a pass manager and region-aware passes."""

from .passes import DEFAULT_PASSES, Pass, optimise

__all__ = ["DEFAULT_PASSES", "Pass", "optimise"]
