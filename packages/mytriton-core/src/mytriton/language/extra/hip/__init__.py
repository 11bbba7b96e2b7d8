"""``tl.extra.hip``."""

from __future__ import annotations

from . import libdevice

__all__ = ["libdevice"]
