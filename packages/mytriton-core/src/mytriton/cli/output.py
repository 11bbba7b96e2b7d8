"""Tables and labelled lines: through rich on a terminal, aligned plain text elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

#: Colours of the words that say how something is.
STYLES = {
    "ready": "bold green",
    "chosen": "bold green",
    "lower-only": "yellow",
    "compiles only": "yellow",
    "claims": "green",
    "discovered": "cyan",
    "not installed": "dim",
    "not asked": "dim",
    "blocked": "dim",
}


def style_of(word: str) -> str:
    return STYLES.get(word, "red")


def error(text: str) -> None:
    """One message to standard error."""
    print(f"mytriton: {text}", file=sys.stderr)


def _is_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], styled: int) -> None:
    """Print ``rows``; column ``styled`` holds the word that is coloured. Empty columns go."""
    keep = [i for i in range(len(headers)) if any(row[i] for row in rows)]
    if not _is_terminal():
        _plain([headers, *rows], keep)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i in keep:
        made.add_column(headers[i], overflow="fold", no_wrap=i < styled + 1)
    for row in rows:
        style = style_of(row[styled])
        made.add_row(*(Text(row[i], style if i == styled else "") for i in keep))
    Console().print(made)


def _plain(rows: Sequence[Sequence[str]], keep: Sequence[int]) -> None:
    widths = {i: max(len(row[i]) for row in rows) for i in keep}
    for row in rows:
        print("  ".join(row[i].ljust(widths[i]) for i in keep).rstrip())


def facts(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print a heading and labelled values; a value may have several lines."""
    width = max((len(label) for label, _ in rows), default=0)
    if _is_terminal():
        from rich.console import Console
        from rich.text import Text

        console = Console()
        console.print(Text(title, "bold"))
        for label, value in rows:
            line = Text(f"  {label.ljust(width)}  ", "dim")
            line.append(_indent(value, width), style_of(value) if value in STYLES else "")
            console.print(line, soft_wrap=True)
        return
    print(title)
    for label, value in rows:
        print(f"  {label.ljust(width)}  {_indent(value, width)}".rstrip())


def _indent(value: str, width: int) -> str:
    return value.rstrip().replace("\n", "\n" + " " * (width + 4))
