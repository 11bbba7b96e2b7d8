"""Every event of mytriton, one line of JSON each, in the file that ``OBSERVER_FILE`` names.

A plugin is a module with hooks. This one has a single hook; core finds the module by its entry point
(see pyproject.toml) and calls the hook in the thread where the event happens.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import mytriton.plugin_api as mt

_lock = threading.Lock()


@mt.hookimpl
def mytriton_event(event: mt.Event) -> None:
    """Append the event to the file. An exception here would only warn, never break a launch."""
    path = os.environ.get("OBSERVER_FILE")
    if path:
        with _lock, open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row(event)) + "\n")


def row(event: mt.Event) -> dict[str, Any]:
    """What is kept of an event."""
    kept: dict[str, Any] = {"kind": event.kind, "kernel": event.kernel, "backend": event.backend}
    data = event.data
    if event.kind == "selection":
        kept["verdicts"] = {c.name: c.verdict for c in data["report"].candidates}
    elif event.kind == "compile":
        kept["seconds"] = data["seconds"]
        kept["lines"] = data["source"].text.count("\n")
    elif event.kind == "cache":
        kept["hit"] = bool(data.get("hit"))
    elif event.kind == "launch":
        kept["grid"] = list(data["grid"])
    return kept
