"""``tl.extra``: names people import from Triton for one vendor's hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import cuda, hip, libdevice

__all__ = ["cuda", "hip", "libdevice"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'mytriton.language.extra' has no attribute {name!r}")
    from importlib import import_module

    return import_module(f".{name}", __name__)
