"""Programmatic dependent launch: no backend overlaps launches, so there is nothing to wait for."""

from __future__ import annotations

from ...marks import builtin


@builtin
def gdc_wait() -> None:
    """Nothing: a launch starts when the launches before it are complete."""


@builtin
def gdc_launch_dependents() -> None:
    """Nothing: the next launch starts when this one is complete."""
