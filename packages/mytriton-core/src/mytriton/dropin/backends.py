"""``triton.backends``: Triton's own backends, of which there are none here (see `mytriton backends`)."""

from __future__ import annotations

from ..runtime.driver import GPUTarget

#: Programs look here for the backends of Triton.
backends: dict[str, object] = {}

__all__ = ["GPUTarget", "backends"]
