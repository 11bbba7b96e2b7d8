"""Object code on disk, by content: the text it was compiled from, processor, LLVM and our version.

Writes are atomic; a file that is not what was written (its digest is its first line) is a miss.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

from .llvm import llvm
from .target import Target

_VERSION = "1"


def folder() -> Path | None:
    """Where entries are; ``None`` when the cache is switched off (``MYTRITON_CACHE_DIR=""``)."""
    named = os.environ.get("MYTRITON_CACHE_DIR")
    if named is not None:
        return Path(named, "mlir-cpu") if named else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "mytriton", "mlir-cpu") if base and not base.startswith("~") else None


def key(text: str, target: Target) -> str:
    """The name of an entry."""
    library = llvm()
    parts = (
        _VERSION,
        library.version,
        library.triple,
        library.cpu,
        library.features,
        target.features,
        text,
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _path(name: str) -> Path | None:
    where = folder()
    return where / name[:2] / f"{name}.o" if where is not None else None


def get(name: str) -> bytes | None:
    """The object code of an entry, or ``None``."""
    path = _path(name)
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, code = data[:32], data[32:]
    return code if hashlib.sha256(code).digest() == digest else None


def put(name: str, code: bytes) -> None:
    """Write an entry; a disk that refuses is no error."""
    path = _path(name)
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(code).digest() + code)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        pass


def drop(name: str) -> None:
    """Forget an entry."""
    path = _path(name)
    if path is not None:
        try:
            path.unlink()
        except OSError:
            pass
