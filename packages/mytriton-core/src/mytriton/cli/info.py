"""``mytriton info``: versions, variables, caches: what a bug report needs."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..plugins.known import ARRAY_PACKAGES
from . import OK, output

_PACKAGES = ("numpy", "pluggy", "packaging", "rich", "mytriton-testkit", "torch", *ARRAY_PACKAGES,
             "pytest", "hypothesis")  # fmt: skip


def add(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "info",
        help="versions, variables and caches, for a bug report",
        description="Print what a bug report needs: versions, every MYTRITON_* variable with its"
        " value, backends, caches. Imports no plugin.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def gather() -> dict[str, Any]:
    """Everything the command shows, as plain data."""
    import platform
    import sys
    from importlib import metadata

    from ..plugins.manager import MANAGER
    from ..plugins.selection import idle_names
    from ..plugins.types import HOOK_API
    from ..plugins.variables import VARIABLES, closest, suspects
    from ..plugins.versions import core_version

    versions = {"mytriton-core": core_version(), "hook API": ".".join(map(str, HOOK_API))}
    versions["Python"] = f"{platform.python_version()} ({platform.python_implementation()})"
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    known = dict(VARIABLES)
    backends = {}
    for record in MANAGER.records():
        info = record.info()
        known.update(info.variables if info is not None else {})
        state = "ready" if record.in_process else MANAGER.state(record).value
        backends[record.origin] = state
    variables = {name: os.environ.get(name) for name in sorted(known)}
    unknown = {n: closest(n, known) for n in suspects() if n not in known}
    idle = list(idle_names().values())
    scanned = MANAGER.scanned()
    return {
        "versions": versions,
        "platform": f"{platform.platform()}, {platform.machine()}, {os.cpu_count()} CPUs",
        "executable": sys.executable,
        "location": os.path.dirname(os.path.dirname(__file__)),
        "backends": backends,
        "plugins": [f"{e.name} [{e.dist.name} {e.dist.version}]" for e in scanned.observers],
        "devices": ["cpu [built in]"]
        + [f"{e.name} [{e.dist.name} {e.dist.version}]" for e in scanned.devices],
        "variables": variables,
        "descriptions": known,
        "unknown_variables": unknown,
        "idle_names": idle,
        "cache": cache_folder(),
    }


def cache_folder() -> dict[str, Any]:
    """Where compiled kernels are kept, how many bytes there are, and why no more can be written."""
    from ..runtime.disk_cache import cache_root
    from .cache import refusal

    root = cache_root()
    if root is None:
        return {"folder": "", "exists": False, "files": 0, "bytes": 0, "refusal": ""}
    folder = str(root)
    files = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.stat(os.path.join(place, name)).st_size
                files += 1
            except OSError:
                continue
    exists = os.path.isdir(folder)
    return {
        "folder": folder, "exists": exists, "files": files, "bytes": size, "refusal": refusal()
    }  # fmt: skip


def run(options: argparse.Namespace) -> int:
    found = gather()
    if options.json:
        import json

        del found["descriptions"]
        print(json.dumps({"schema": "mytriton.info/1", **found}, indent=2))
        return OK
    cache = found["cache"]
    size = f"{cache['files']} files, {cache['bytes'] / 1e6:.1f} MB" if cache["exists"] else "empty"
    output.facts("versions", list(found["versions"].items()))
    system = [("platform", found["platform"]), ("python", found["executable"])]
    output.facts("system", [*system, ("mytriton", found["location"])])
    output.facts("backends", list(found["backends"].items()))
    rest = [("devices", ", ".join(found["devices"]))]
    if found["plugins"]:
        rest.append(("others", ", ".join(found["plugins"])))
    output.facts("plugins", rest)
    output.facts(
        "variables",
        [
            (name, f"{'unset' if value is None else repr(value):<10} {found['descriptions'][name]}")
            for name, value in found["variables"].items()
        ],
    )
    if found["unknown_variables"]:
        rows = [
            (name, f"nothing reads this{f'; closest: {near}' if near else ''}")
            for name, near in found["unknown_variables"].items()
        ]
        output.facts("variables that are set and unknown", rows)
    if found["idle_names"]:
        rows = [("MYTRITON_DISABLE_BACKENDS", "\n".join(found["idle_names"]))]
        output.facts("names in variables that mean nothing", rows)
    output.facts(
        "cache",
        [
            ("folder", cache["folder"] or "none: caches are off"),
            ("content", size),
            *([("refusal", cache["refusal"])] if cache["refusal"] else []),
        ],
    )
    return OK
