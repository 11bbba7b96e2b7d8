"""Files a command writes. A place that cannot be is told in one line, and where work would be lost,
before it begins."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import UsageError


def write(path: str | Path, text: str) -> None:
    """Write a file, and the folders it is in. Raises ``UsageError``."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as e:
        raise UsageError(f"cannot write {path}: {reason(path, e)}") from e


def check_file(path: str | Path) -> None:
    """Whether a file could be written; nothing that exists is changed. Raises ``UsageError``."""
    file = Path(path)
    try:
        if os.path.lexists(file) and not file.is_dir() and not file.is_file():
            return  # a pipe or a terminal: opened once, when there is something to say
        file.parent.mkdir(parents=True, exist_ok=True)
        new = not os.path.lexists(file)
        file.open("a").close()
        if new:
            file.unlink()
    except OSError as e:
        raise UsageError(f"cannot write {path}: {reason(path, e)}") from e


def check_folder(path: str | Path) -> None:
    """Whether a folder, which need not exist yet, takes files. Raises ``UsageError``."""
    place = Path(path)
    try:
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        if not place.is_dir():
            raise NotADirectoryError(f"{place} is no folder")
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(f"{place} takes no files from you")
    except OSError as e:
        raise UsageError(f"cannot write into {path}: {reason(path, e)}") from e


def reason(path: str | Path, error: OSError) -> str:
    """Why a file cannot be written; the system's own words can mislead where a folder is a file."""
    try:
        for folder in Path(path).parents:
            if os.path.lexists(folder) and not folder.is_dir():
                return f"{folder} is no folder"
    except OSError:
        pass
    return error.strerror or str(error)
