"""An inspection in a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Inspection, Stage

_MARKS = {"+": "green", "-": "red", " ": ""}


def show(inspection: Inspection) -> None:
    """Print every stage: through a pager with colours on a terminal, as plain text elsewhere."""
    if not sys.stdout.isatty():
        print(inspection, end="")
        return
    from rich.console import Console
    from rich.rule import Rule

    console = Console()
    with console.pager(styles=True):
        console.print(f"[bold]{inspection.kernel}[/bold] on {inspection.backend}")
        for name, value in inspection.resources.items():
            console.print(f"  {name}: {value}", highlight=False)
        for stage in inspection.stages:
            console.print(Rule(stage.title, align="left"))
            _stage(console, stage)


def _stage(console: object, stage: Stage) -> None:
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    assert isinstance(console, Console)
    if stage.kind == "text" and stage.suffix != ".txt":
        # By the ending of its files; a language rich does not know stays plain.
        lexer = Syntax.guess_lexer(f"stage{stage.suffix}")
        console.print(Syntax(stage.text, lexer, background_color="default"))
        return
    for line in stage.lines:
        prefix = f"{line.mark} " if stage.kind == "diff" else ""
        console.print(Text(prefix + line.text, _MARKS[line.mark]), soft_wrap=True)
