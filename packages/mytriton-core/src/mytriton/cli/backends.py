"""``mytriton backends``: every backend, in which state, and how to better it. Imports no plugin."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from . import OK, output


def add(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "backends",
        help="list the backends and their states",
        description="List every backend that is installed or known. No plugin is imported, so a"
        " backend that metadata finds nothing wrong with is 'discovered'; --probe tries each one"
        " in a process of its own.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--probe", action="store_true", help="import and probe each backend")
    return parser


def rows(probe: bool) -> list[dict[str, Any]]:
    """One dictionary for each backend, installed or known."""
    from ..plugins.known import KNOWN, is_first_party
    from ..plugins.manager import MANAGER
    from ..plugins.types import State

    found = []
    records = MANAGER.records()
    for record in records:
        info = record.info()
        state = MANAGER.state(record).value
        reason, fix = MANAGER.blocked(record) or record.reason, record.hint
        if record.state is State.CONFLICT:
            fix = fix or f"pip uninstall {record.dist}"
        devices = list(info.device_kinds) if info is not None else []
        if record.in_process:
            state = State.READY.value
        elif probe and record.state is State.DISCOVERED and state != State.BLOCKED.value:
            from .doctor import examine

            report = examine(record.name)
            state, reason, fix = report["state"], report["reason"], report["hint"]
            devices = report.get("devices") or devices
        found.append(
            {
                "name": record.name,
                "version": record.version,
                "dist": record.dist,
                "state": state,
                "devices": devices,
                "reason": reason,
                "fix": fix,
                "summary": info.summary if info is not None else "",
                "url": info.url if info is not None else "",
                "priority": info.priority if info is not None else None,
                "first_party": is_first_party(record.name, record.dist),
                "notes": list(record.notes),
            }
        )
    present = {record.name for record in records}
    for known in KNOWN.values():
        if known.name not in present:
            found.append(
                {
                    "name": known.name, "version": "", "dist": known.dist, "state": "not installed",
                    "devices": list(known.device_kinds), "reason": "", "fix": known.advice,
                    "summary": known.summary, "url": "", "priority": None, "first_party": True,
                    "notes": [],
                }
            )  # fmt: skip
    return found


def run(options: argparse.Namespace) -> int:
    # The answer alone goes to standard output, whatever a plugin's info module prints.
    with contextlib.redirect_stdout(sys.stderr):
        found = rows(options.probe)
    if options.json:
        import json

        print(json.dumps({"schema": "mytriton.backends/1", "backends": found}, indent=2))
        return OK
    headers = ("BACKEND", "VERSION", "STATE", "DEVICES", "REASON", "HOW TO FIX")
    lines = [
        (
            row["name"],
            row["version"],
            row["state"],
            ", ".join(row["devices"]),
            "; ".join([*filter(None, [row["reason"]]), *row["notes"]]),
            row["fix"],
        )
        for row in found
    ]
    output.table(headers, lines, styled=2)
    return OK
