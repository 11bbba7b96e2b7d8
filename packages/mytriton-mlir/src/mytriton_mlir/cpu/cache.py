"""Object code on disk, by content: the text it was compiled from, processor, LLVM and our version.

``get``, ``put`` and ``drop`` are those of core's ``DiskCache``.
"""

from __future__ import annotations

from mytriton.plugin_api import DiskCache

from ..llvm import llvm
from .target import Target

_VERSION = "1"
_CACHE = DiskCache("mlir-cpu", ".o")

get, put, drop = _CACHE.get, _CACHE.put, _CACHE.drop


def key(text: str, target: Target) -> str:
    """The name of an entry."""
    library = llvm()
    return _CACHE.key(
        _VERSION, library.version, library.triple, library.cpu, library.features,
        target.features, text,
    )  # fmt: skip
