"""Compiled code on disk: where it is, and entries named by everything that changes them.

Below the root each backend has a folder of its own, named after it, with a ``CACHEDIR.TAG`` in it
(https://bford.info/cachedir/): ``mytriton cache`` and backup programs know it by that. What begins
with ``.new-`` is still being written. Writes are atomic. An entry of a ``DiskCache`` begins with its
digest: one that was damaged is a miss.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

#: What marks a folder as a cache, and the first line of that file.
TAG = "CACHEDIR.TAG"
SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55"
#: How the names of unfinished files and folders begin.
UNFINISHED = ".new-"

_DIGEST = 32


def cache_root() -> Path | None:
    """The folder of all caches: ``MYTRITON_CACHE_DIR``, else the user's cache folder. ``None``: the
    variable is empty, which switches caches off, or there is no such folder."""
    named = os.environ.get("MYTRITON_CACHE_DIR")
    if named is not None:
        return Path(named) if named else None
    import platformdirs

    found = platformdirs.user_cache_dir("mytriton", appauthor=False)
    return Path(found) if not found.startswith("~") else None


def cache_folder(name: str, create: bool = False) -> Path | None:
    """The folder for what backend ``name`` keeps on disk, or ``None`` when caches are off.

    With ``create`` it is there afterwards, marked as a cache. Raises ``OSError`` when the disk
    refuses. Give what is not finished yet a name that begins with ``.new-``.
    """
    root = cache_root()
    if root is None:
        return None
    folder = root / name
    if create:
        tag = folder / TAG
        if not tag.exists():
            folder.mkdir(parents=True, exist_ok=True)
            tag.write_text(f"{SIGNATURE}\n# Compiled kernels of mytriton. `mytriton cache clear`\n")
    return folder


class DiskCache:
    """The entries of one backend, in its ``cache_folder``."""

    def __init__(self, name: str, suffix: str = ".bin") -> None:
        self.name, self.suffix = name, suffix

    def key(self, *parts: str) -> str:
        """The name of an entry: text, flags, versions."""
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def path(self, key: str) -> Path | None:
        """Where an entry is kept."""
        folder = cache_folder(self.name)
        return folder / key[:2] / (key + self.suffix) if folder is not None else None

    def get(self, key: str) -> bytes | None:
        """The contents of an entry, or ``None``."""
        found = self._read(key)
        if os.environ.get("MYTRITON_LOG"):
            from ..plugins.log import note
            from ..plugins.types import Event

            note(Event("cache", "", self.name, {"key": key, "hit": found is not None}))
        return found

    def _read(self, key: str) -> bytes | None:
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
            cache_folder(self.name, create=True)
            try:
                self._write(path, contents)
            except FileNotFoundError:
                # `mytriton cache clear` has just removed the folder, which was empty.
                self._write(path, contents)
        except OSError:
            pass

    def _write(self, path: Path, contents: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(contents).digest() + contents)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    def drop(self, key: str) -> None:
        """Forget an entry."""
        path = self.path(key)
        if path is not None:
            try:
                path.unlink()
            except OSError:
                pass
