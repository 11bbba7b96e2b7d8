"""Compiling and launching: still to come (text emission is complete)."""

from __future__ import annotations

from mytriton.plugin_api import Artifact, DeviceError, Source

from .probe import LATER


def compile_kernel(source: Source) -> Artifact:
    """Raises ``DeviceError``: this release stops at the text."""
    raise DeviceError(f"kernel {source.entry!r} was not compiled: {LATER}")
