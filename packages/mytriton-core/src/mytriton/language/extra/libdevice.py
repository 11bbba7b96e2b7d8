"""``tl.extra.libdevice``: mathematical functions by the names of NVIDIA's library, on every backend."""

from __future__ import annotations

from typing import Any

from .. import math as _math
from ..math import *  # noqa: F403
from ..pending import missing as _missing

__all__ = list(_math.__all__)


def __getattr__(name: str) -> Any:
    raise AttributeError(_missing("libdevice", name))
