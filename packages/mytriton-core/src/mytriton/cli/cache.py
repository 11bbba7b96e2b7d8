"""``mytriton cache info|clear``: what backends keep on disk. Imports no plugin.

A cache is a folder below the root that is marked as one (``runtime.disk_cache``); nothing else is
counted or removed, whatever ``MYTRITON_CACHE_DIR`` points at. Other processes may use the caches
meanwhile: files go one by one, unfinished ones stay unless their writer is long gone, and the folder
of a backend remains.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..runtime.disk_cache import SIGNATURE, TAG, UNFINISHED, cache_root
from . import OK, USAGE, output

#: Seconds after which nobody is writing an unfinished file any more.
ABANDONED = 3600.0


def add(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "cache",
        help="what backends keep on disk: show it, remove it",
        description="Compiled kernels are kept in MYTRITON_CACHE_DIR, or the user's cache folder,"
        " a folder for each backend. An empty MYTRITON_CACHE_DIR switches caches off.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser(
        "info", help="entries, size and age of each cache", description="Show every cache."
    )
    clear = actions.add_parser(
        "clear",
        help="remove compiled kernels",
        description="Remove compiled kernels. Processes that are running lose nothing they have"
        " loaded, and compile what they look for and do not find.",
    )
    clear.add_argument("--backend", metavar="NAME", help="only those of this backend")
    for action in (show, clear):
        action.add_argument("--json", action="store_true", help="print JSON")
    return parser


def folders() -> dict[str, Path]:
    """The caches there are: folder by name of the backend."""
    root = cache_root()
    found = {}
    try:
        for folder in sorted(root.iterdir()) if root is not None else ():
            try:
                text = (folder / TAG).read_text("utf-8", errors="replace")
            except OSError:
                continue
            if text.startswith(SIGNATURE):
                found[folder.name] = folder
    except OSError:
        pass
    return found


def refusal() -> str:
    """Why nothing can be kept on disk, though caches are on; ``""`` when it can. Writes nothing."""
    root = cache_root()
    if root is None:
        return ""
    for folder in (root, *folders().values()):
        if reason := _refusal(folder):
            return f"{folder} cannot be written: {reason}; nothing new is kept"
    return ""


def _refusal(folder: Path) -> str:
    place = folder.absolute()
    while not os.path.lexists(place):  # the first write makes it
        place = place.parent
    if not place.is_dir():
        return f"{place} is no folder"
    return "" if os.access(place, os.W_OK | os.X_OK) else f"no permission to write to {place}"


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """Files of a cache, what ``stat`` says, and whether they are finished. Links are not followed."""
    for place, _, names in os.walk(folder):
        inside = Path(place).relative_to(folder).parts
        for name in names:
            if name == TAG and not inside:
                continue
            try:
                stat = os.stat(os.path.join(place, name), follow_symlinks=False)
            except OSError:
                continue  # another process was faster
            done = not any(part.startswith(UNFINISHED) for part in (*inside, name))
            yield Path(place, name), stat, done


def describe(folder: Path) -> dict[str, Any]:
    """Entries, bytes, and seconds since the oldest and the newest entry were written."""
    entries = size = 0
    times = []
    for _, stat, done in _files(folder):
        size += stat.st_size
        if done:
            entries += 1
            times.append(stat.st_mtime)
    now = time.time()
    ages = [max(0.0, now - t) for t in times]
    return {
        "folder": str(folder), "entries": entries, "bytes": size,
        "oldest": max(ages, default=None), "newest": min(ages, default=None),
    }  # fmt: skip


def clear(folder: Path) -> dict[str, int]:
    """Empty one cache. Gives the number of files removed and of those that stay, and bytes freed."""
    removed = kept = freed = 0
    now = time.time()
    for path, stat, done in _files(folder):
        if not done and now - stat.st_mtime < ABANDONED:
            kept += 1
            continue
        try:
            path.unlink()
        except FileNotFoundError:
            continue  # another process was faster
        except OSError:
            kept += 1
            continue
        removed += 1
        freed += stat.st_size
    for place, _, _ in os.walk(folder, topdown=False):
        name = os.path.basename(place)
        if place == str(folder) or (name.startswith(UNFINISHED) and _younger(place, now)):
            continue
        try:
            os.rmdir(place)
        except OSError:
            pass  # not empty
    return {"removed": removed, "kept": kept, "bytes": freed}


def _younger(place: str, now: float) -> bool:
    try:
        return now - os.stat(place).st_mtime < ABANDONED
    except OSError:
        return True


def run(options: argparse.Namespace) -> int:
    return _show(options.json) if options.action == "info" else _clear(options)


def _show(as_json: bool) -> int:
    root = cache_root()
    found = {name: describe(folder) for name, folder in folders().items()}
    if as_json:
        import json

        place = str(root) if root is not None else None
        data = {"folder": place, "caches": found, "refusal": refusal()}
        print(json.dumps({"schema": "mytriton.cache/1", **data}, indent=2))
        return OK
    if root is None:
        print(f"caches are off: {_why_off()}")
        return OK
    if reason := refusal():
        print(reason)
    if not found:
        if not reason:
            print(f"{root}: no caches")
        return OK
    rows = [
        (name, str(c["entries"]), megabytes(c["bytes"]), age(c["oldest"]), age(c["newest"]))
        for name, c in found.items()
    ]
    print(root)
    output.table(("BACKEND", "ENTRIES", "SIZE", "OLDEST", "NEWEST"), rows, styled=-1)
    return OK


def _why_off() -> str:
    if os.environ.get("MYTRITON_CACHE_DIR") == "":
        return "MYTRITON_CACHE_DIR is empty"
    return "this user has no cache folder, and MYTRITON_CACHE_DIR names none"


def _clear(options: argparse.Namespace) -> int:
    found = folders()
    if options.backend is not None:
        from ..plugins.variables import closest, normalise_name

        name = normalise_name(options.backend)
        if name not in found and name not in (known := _known()):
            near = closest(name, {*known, *found})
            output.error(
                f"there is no cache and no backend named {name!r}{f'; closest: {near}' if near else ''}"
            )
            return USAGE
        found = {name: found[name]} if name in found else {}
    done = {name: clear(folder) for name, folder in found.items()}
    if options.json:
        import json

        print(json.dumps({"schema": "mytriton.cache.clear/1", "caches": done}, indent=2))
    elif not done:
        print("nothing to remove")
    else:
        for name, counts in done.items():
            kept = f"; {counts['kept']} in use stay" if counts["kept"] else ""
            noun = "file" if counts["removed"] == 1 else "files"
            print(f"{name}: removed {counts['removed']} {noun}, {megabytes(counts['bytes'])}{kept}")
    return OK


def _known() -> set[str]:
    """Names of all backends, installed or known."""
    from ..plugins.known import KNOWN
    from ..plugins.manager import MANAGER

    return {*KNOWN, *(record.name for record in MANAGER.records())}


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.1f} kB"


def age(seconds: float | None) -> str:
    """Seconds in words: ``3 h``."""
    if seconds is None:
        return "-"
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
