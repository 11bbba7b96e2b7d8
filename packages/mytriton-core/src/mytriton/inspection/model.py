"""What an inspection is: stages of lines, each line with the source line it came from."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line of a stage."""

    text: str
    #: Number of the line of the kernel's file it came from; ``None`` where there is no single one.
    source: int | None = None
    #: In a diff: ``"+"``, ``"-"`` or ``" "``.
    mark: str = " "


@dataclass(frozen=True)
class Stage:
    """One form of the kernel."""

    #: Stable name: ``source``, ``tree``, ``ssa``, ``1-fold``, ``optimised``, ``facts``; those of
    #: a backend are the first word of its language and what it calls its compiled stages.
    name: str
    title: str
    #: Language of the text.
    language: str
    lines: tuple[Line, ...]
    #: ``"text"``, or ``"diff"`` for what a pass changed.
    kind: str = "text"
    #: Ending of a file that holds it.
    suffix: str = ".txt"

    @property
    def text(self) -> str:
        """The stage as one string."""
        return "".join(f"{line.text}\n" for line in self.lines)


@dataclass(frozen=True)
class Inspection:
    """Every stage of one kernel for one set of arguments. Shows itself in a notebook; ``str`` is all
    of its text; ``inspection["ssa"]`` is a stage's text; ``save`` writes one HTML file."""

    kernel: str
    filename: str
    backend: str
    stages: tuple[Stage, ...]
    #: What the backend says about its code: registers, shared memory, ...
    resources: Mapping[str, Any] = field(default_factory=dict)
    #: Why stages are missing that the backend could have given elsewhere.
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> str:
        for stage in self.stages:
            if stage.name == name:
                return stage.text
        raise KeyError(f"no stage {name!r}; stages: {', '.join(s.name for s in self.stages)}")

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)

    def marked(self, source: int) -> dict[str, list[int]]:
        """For each stage the numbers (from 1) of the lines that came from a source line."""
        found = {
            stage.name: [k for k, line in enumerate(stage.lines, 1) if line.source == source]
            for stage in self.stages
        }
        return {name: lines for name, lines in found.items() if lines}

    def __str__(self) -> str:
        parts = [f"{self.kernel} on {self.backend}"]
        parts += [f"{k}: {v}" for k, v in self.resources.items()]
        parts += [f"note: {note}" for note in self.notes]
        for stage in self.stages:
            parts.append(f"\n== {stage.title} ({stage.name}) ==")
            marks = stage.kind == "diff"
            parts += [f"{line.mark} {line.text}" if marks else line.text for line in stage.lines]
        return "\n".join(parts) + "\n"

    __repr__ = __str__

    def data(self) -> dict[str, Any]:
        """Plain data: what the HTML page is made of."""
        return {
            "kernel": self.kernel,
            "file": Path(self.filename).name,
            "backend": self.backend,
            "resources": {k: str(v) for k, v in self.resources.items()},
            "notes": list(self.notes),
            "stages": [
                {
                    "name": stage.name,
                    "title": stage.title,
                    "language": stage.language,
                    "kind": stage.kind,
                    "lines": [_row(line, stage.kind) for line in stage.lines],
                }
                for stage in self.stages
            ],
        }

    def html(self) -> str:
        """One self-contained page: no network, light and dark, usable from the keyboard."""
        here = Path(__file__).parent
        page = (here / "viewer.html").read_text(encoding="utf-8")
        # ``</script`` would end the script that holds the data, ``<!-- <script`` keep it from ending.
        data = json.dumps(self.data(), separators=(",", ":")).replace("<", "\\u003c")
        title = html.escape(f"{self.kernel} on {self.backend}")
        return page.replace("__TITLE__", title).replace("__DATA__", data)

    def save(self, path: str | Path) -> Path:
        """Write the page to ``path`` and return it."""
        target = Path(path)
        target.write_text(self.html(), encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        page = html.escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" style="width:100%;height:36em;border:1px solid #8884" '
            f'title="{html.escape(self.kernel)}"></iframe>'
        )

    def page(self) -> None:
        """Show in the terminal, with colours and a pager where there is one."""
        from .terminal import show

        show(self)


def _row(line: Line, kind: str) -> Sequence[Any]:
    row = [line.text, line.source or 0]
    return [*row, line.mark] if kind == "diff" else row
