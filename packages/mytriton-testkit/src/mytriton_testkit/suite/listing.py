"""``mytriton-conformance list``: the cases by id, or features by what a backend declares."""

from __future__ import annotations

import argparse
import json

from ..case import LEVELS
from .console import console, show_table
from .errors import UsageError
from .oracle import arguments_of, compiled_of, core_needs_of
from .target import find_target, load_cases

STATES = ("yes", "no", "planned", "undeclared", "implied")


def show(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    levels = LEVELS[: LEVELS.index(options.level) + 1]
    cases = [c for c in load_cases() if c.level in levels]
    out = console()
    if not options.backend:
        rows = [(c.id, c.level, c.edition, c.tolerance.name, c.note) for c in cases]
        head = ("case", "level", "edition", "tolerance", "note")
        if options.json:
            print(json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=1))
        else:
            show_table(out, head, rows)
        return 0
    states = [s for s in options.state.split(",") if s] or list(STATES)
    for state in states:
        if state not in STATES:
            raise UsageError(f"no state is called {state!r}; states: {', '.join(STATES)}")
    target = find_target(options.backend, plugin=options.plugin)
    counts: dict[str, int] = {}
    core: set[str] = set()
    for case in cases:
        arguments = arguments_of(case, 0)
        computed = core_needs_of(case, compiled_of(case, arguments), arguments)
        core |= computed
        for feature in computed | case.features:
            counts[feature] = counts.get(feature, 0) + 1
    found = []
    for feature in sorted(counts.keys() | set(target.capabilities)):
        entry = target.capability(feature)
        absent = "undeclared" if feature in core else "implied"
        state = entry.state if entry is not None else absent
        if state in states:
            reason = f"{entry.reason} {entry.issue}".strip() if entry is not None else ""
            found.append((feature, state, str(counts.get(feature, 0)), reason))
    columns = ("feature", "state", "cases", "reason")
    if options.json:
        print(json.dumps([dict(zip(columns, row, strict=True)) for row in found], indent=1))
    else:
        show_table(out, columns, found)
    return 0
