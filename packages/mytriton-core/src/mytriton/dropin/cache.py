"""``triton.runtime.cache``: where compiled kernels are."""

from __future__ import annotations

from . import knobs
from .compiler import triton_key


def default_cache_dir() -> str:
    """The folder of all caches; ``""`` when they are switched off."""
    return str(knobs.cache.dir)


__all__ = ["default_cache_dir", "knobs", "triton_key"]
