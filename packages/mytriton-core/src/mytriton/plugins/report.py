"""What a selection looked at and why it ended as it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .types import LaunchSpec


@dataclass(frozen=True)
class Considered:
    """One backend in a selection. ``verdict`` is a word: ``chosen``, ``claims``, ``compiles only``,
    ``declined``, ``not asked``, ``not installed``, or the state that rules it out."""

    label: str
    name: str
    verdict: str
    reason: str = ""
    hint: str = ""
    score: int | None = None
    missing: frozenset[str] = frozenset()
    code: str = ""

    def __str__(self) -> str:
        text = f"{self.label} {self.verdict}"
        if self.score is not None:
            text += f" (score {self.score})"
        if self.reason:
            text += f": {self.reason}"
        if self.hint and self.hint not in text:
            text += f". {self.hint}"
        return text


@dataclass(frozen=True)
class SelectionReport:
    """The trace of one selection; ``str()`` is for people, ``as_dict()`` for programs."""

    kernel: str
    #: Who decided: ``"auto"``, ``"MYTRITON_BACKEND"``, ``"use_backend at train.py:41"``.
    source: str
    #: Names asked for, in order; empty for automatic selection.
    requested: tuple[str, ...]
    needs: tuple[str, ...]
    launch: LaunchSpec = field(repr=False)
    candidates: tuple[Considered, ...] = ()
    #: The backend, or ``""`` when there is none.
    chosen: str = ""
    #: Whether it will launch; ``False`` for text only.
    launches: bool = False
    #: The error that ``choose`` raises, as text.
    error: str = ""

    def lines(self) -> Iterator[str]:
        asked = f"{','.join(self.requested)}, asked for by {self.source}"
        yield f"kernel {self.kernel}: backend {asked if self.requested else self.source}"
        yield f"  needs {', '.join(self.needs) or 'nothing'}; {arguments_text(self.launch)}"
        for candidate in self.candidates:
            yield f"  {candidate}"
        if self.chosen:
            what = "runs on" if self.launches else "is compiled, not launched, by"
            yield f"  {self.kernel} {what} {self.chosen}"
        else:
            yield f"  {self.error}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_dict(self) -> dict[str, Any]:
        """The same as plain data, fit for JSON."""
        return {
            "kernel": self.kernel,
            "source": self.source,
            "requested": list(self.requested),
            "needs": list(self.needs),
            "arguments": [
                {"name": a.name, "type": str(a.type), "device": a.device_kind}
                for a in self.launch.arguments
            ],
            "grid": list(self.launch.grid) if self.launch.grid is not None else None,
            "candidates": [
                {
                    "name": c.name,
                    "label": c.label,
                    "verdict": c.verdict,
                    "score": c.score,
                    "reason": c.reason,
                    "hint": c.hint,
                    "missing": sorted(c.missing),
                    "code": c.code,
                }
                for c in self.candidates
            ],
            "chosen": self.chosen or None,
            "launches": self.launches,
            "error": self.error or None,
        }


def arguments_text(launch: LaunchSpec) -> str:
    """``"x: f32 on cuda, n: i32; grid (64,)"``."""
    parts = []
    for argument in launch.arguments:
        if argument.device_kind:
            element = getattr(argument.type, "element", argument.type)
            parts.append(f"{argument.name}: {element} on {argument.device_kind}")
        else:
            parts.append(f"{argument.name}: {argument.type}")
    text = ", ".join(parts) or "no arguments"
    if launch.grid is not None:
        text += f"; grid {launch.grid}"
    return text
