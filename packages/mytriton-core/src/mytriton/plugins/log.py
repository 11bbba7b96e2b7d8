"""``MYTRITON_LOG``: one line to standard error for each event of the chosen kinds."""

from __future__ import annotations

import os
import sys

from ..errors import VariableError
from .types import Event

KINDS = ("selection", "cache", "compile", "launch")


def wanted() -> frozenset[str]:
    """The kinds of event to print. Raises ``VariableError`` for a word that is none of them."""
    text = os.environ.get("MYTRITON_LOG", "")
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words == ["1"] or words == ["all"]:
        return frozenset(KINDS)
    for word in words:
        if word not in KINDS:
            raise VariableError(f"MYTRITON_LOG takes {', '.join(KINDS)} or all, got {word!r}")
    return frozenset(words)


def note(event: Event) -> None:
    """Print ``event`` when its kind is wanted."""
    if os.environ.get("MYTRITON_LOG") and event.kind in wanted():
        print(f"mytriton {event.kind}: {describe(event)}", file=sys.stderr)


def describe(event: Event) -> str:
    """An event as one line."""
    data = event.data
    if event.kind == "selection":
        others = [c for c in getattr(data.get("report"), "candidates", ()) if c.verdict != "chosen"]
        why = "; ".join(f"{c.label} {c.verdict}" for c in others)
        return f"{event.kernel} runs on {event.backend}" + (f" ({why})" if why else "")
    if event.kind == "compile":
        seconds = data.get("seconds")
        took = f" in {seconds * 1e3:.1f} ms" if seconds is not None else ""
        return f"{event.kernel} for {event.backend}{took}"
    if event.kind == "cache":
        return f"{'hit' if data.get('hit') else 'miss'} {event.backend} {data.get('key', '')[:16]}"
    grid = data.get("grid", ())
    return f"{event.kernel} on {event.backend}, grid {tuple(grid)}"
