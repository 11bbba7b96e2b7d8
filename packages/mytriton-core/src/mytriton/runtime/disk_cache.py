"""Compiled code on disk, by the text it was made from and everything else that changes it.

The folder is ``MYTRITON_CACHE_DIR`` (an empty value switches the cache off), else the user's cache
folder. Writes are atomic. An entry begins with its digest: one that was damaged is a miss.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

_DIGEST = 32


def cache_root() -> Path | None:
    """The folder of all caches, or ``None`` when there is none."""
    named = os.environ.get("MYTRITON_CACHE_DIR")
    if named is not None:
        return Path(named) if named else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "mytriton") if base and not base.startswith("~") else None


class DiskCache:
    """The entries of one backend, in a folder of their own called ``name``."""

    def __init__(self, name: str, suffix: str = ".bin") -> None:
        self.name, self.suffix = name, suffix

    def key(self, *parts: str) -> str:
        """The name of an entry: text, flags, versions."""
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def path(self, key: str) -> Path | None:
        """Where an entry is kept."""
        root = cache_root()
        return root / self.name / key[:2] / (key + self.suffix) if root is not None else None

    def get(self, key: str) -> bytes | None:
        """The contents of an entry, or ``None``."""
        path = self.path(key)
        if path is None:
            return None
        try:
            data = path.read_bytes()
        except OSError:
            return None
        digest, contents = data[:_DIGEST], data[_DIGEST:]
        return contents if hashlib.sha256(contents).digest() == digest else None

    def put(self, key: str, contents: bytes) -> None:
        """Write an entry. A disk that refuses is no error."""
        path = self.path(key)
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(contents).digest() + contents)
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError:
            pass
