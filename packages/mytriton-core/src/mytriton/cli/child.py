"""What ``mytriton doctor`` runs in a process of its own: import, check and probe one backend.

``python -m mytriton.cli.child NAME FILE`` writes JSON to FILE before each step, so that the parent
knows which one the process did not survive.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from typing import Any


def main(name: str, path: str) -> None:
    """Examine backend ``name``."""
    report: dict[str, Any] = {"step": "reading metadata", "state": "unknown"}
    report |= {"reason": "", "hint": ""}

    def note(**facts: Any) -> None:
        report.update(facts)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)

    note()
    from ..plugins.manager import MANAGER

    record = MANAGER.find(name)
    assert record is not None
    note(step="importing its info module")
    info = record.info()
    note(step=f"importing {record.entry.value}")
    started = time.perf_counter()
    loaded = MANAGER.load(record)
    note(seconds=time.perf_counter() - started, notes=record.notes)
    if loaded:
        note(step="calling mytriton_probe")
        answer = MANAGER.probe(record)
        note(
            can_lower=answer.can_lower,
            can_launch=answer.can_launch,
            devices=[f"{d.kind}: {d.name} {d.arch}".strip(": ") for d in answer.devices],
            hooks=_hooks(record.plugin),
        )
    info = record._info
    if info is not None:
        counts: dict[str, int] = {}
        for capability in info.capabilities.values():
            counts[capability.state] = counts.get(capability.state, 0) + 1
        note(capabilities=counts, summary=info.summary, language=info.language)
    cause = record.cause
    note(
        step="done",
        state=MANAGER.state(record).value,
        reason=str(record.error) if record.error is not None else record.reason,
        hint=record.hint,
        traceback="".join(traceback.format_exception(cause)) if cause is not None else "",
    )


def _hooks(plugin: Any) -> list[str]:
    from ..plugins.interface import HOOKS

    return [hook for hook in HOOKS if hasattr(plugin, hook)]


if __name__ == "__main__":
    import faulthandler

    faulthandler.enable()
    main(sys.argv[1], sys.argv[2])
