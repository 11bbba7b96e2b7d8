"""``tl.extra.cuda``: what kernels for NVIDIA hardware call. Dependent launches mean nothing here."""

from __future__ import annotations

from . import libdevice
from .gdc import gdc_launch_dependents, gdc_wait

__all__ = ["gdc_launch_dependents", "gdc_wait", "libdevice"]
