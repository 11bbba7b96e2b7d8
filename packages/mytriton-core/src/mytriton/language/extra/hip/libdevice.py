"""``tl.extra.hip.libdevice``: the same functions as ``tl.extra.libdevice``."""

from __future__ import annotations

from ..libdevice import *  # noqa: F403
from ..libdevice import __all__ as __all__
from ..libdevice import __getattr__ as __getattr__
