"""What people see: progress, a table of what is wrong, and the result in one line."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .report import CaseResult, Report
from .verdicts import DECLARATION, GOOD, Verdict

#: Failures shown in full; the report has all of them.
SHOWN = 20
#: What a debugger helps with.
_TO_DEBUG = (Verdict.FAIL, Verdict.ERROR, Verdict.SILENT_WRONG, Verdict.BAD_DECLINE)


def style(verdict: Verdict) -> str:
    """Colour of a verdict."""
    if verdict in GOOD:
        return "green" if verdict is Verdict.PASS else "cyan"
    return "yellow" if verdict in DECLARATION else "red"


def console(stream: TextIO | None = None) -> Console:
    """Plain and wide enough when piped."""
    made = Console(file=stream or sys.stdout, highlight=False)
    if not made.is_terminal:
        made = Console(file=stream or sys.stdout, highlight=False, width=160, soft_wrap=True)
    return made


class Display:
    """A progress bar on a terminal, nothing on a pipe."""

    def __init__(self, out: Console, quiet: bool = False) -> None:
        self.out = out
        self.quiet = quiet
        self.seen: Counter[str] = Counter()

    @contextmanager
    def running(self, total: int, name: str) -> Iterator[Display]:
        """Show the bar while cases run."""
        columns = (
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), TextColumn("{task.fields[bad]}"),
        )  # fmt: skip
        shown = self.out.is_terminal and not self.quiet
        with Progress(*columns, console=self.out, transient=True, disable=not shown) as bar:
            self._bar = bar
            self._task = bar.add_task(name, total=total, bad="")
            yield self

    def update(self, row: CaseResult) -> None:
        """One case is done."""
        self.seen[row.verdict.value] += 1
        bad = sum(n for v, n in self.seen.items() if Verdict(v) not in GOOD)
        self._bar.update(self._task, advance=1, bad=f"[red]{bad} wrong" if bad else "")


def show_report(out: Console, report: Report, *, verbose: bool = False) -> None:
    """The table, the reasons, the result."""
    bad = [c for c in report.cases if not c.good]
    rows = report.cases if verbose else bad[:SHOWN]
    if rows:
        table = Table(box=None, pad_edge=False, show_edge=False)
        for name in ("Verdict", "Case", "ulp", "Message"):
            table.add_column(name, overflow="fold", no_wrap=name in ("Verdict",))
        for c in rows:
            text = _short(c.message or c.reason)
            ulp = f"{c.max_ulp:.3g}" if c.max_ulp else ""
            table.add_row(f"[{style(c.verdict)}]{c.verdict.value}", escape(c.id), ulp, escape(text))
        out.print(table)
        if not verbose and len(bad) > SHOWN:
            out.print(f"... and {len(bad) - SHOWN} more; --json FILE has all of them")
        out.print()
    label = f"{report.backend} {report.version}".strip()
    if report.dist:
        label += f" [{report.dist}]"
    out.print(
        f"{escape(label)}, level {report.level}, stage {report.stage}, edition {report.edition}:"
        f" {len(report.cases)} cases in {report.seconds:.1f} s"
    )
    totals = (f"[{style(Verdict(v))}]{n} {v}[/]" for v, n in report.totals.items())
    out.print("  " + ", ".join(totals) if report.cases else "  nothing ran")
    if report.fuzz is not None:
        found = len(report.fuzz.get("failures", ()))
        out.print(f"  {report.fuzz['programs']} programs, seed {report.fuzz['seed']}: {found} fail")
    if report.certified:
        out.print(f"[bold green]certified[/] at level {report.level}, stage {report.stage}")
        return
    if report.partial and not bad:
        # A selection proves nothing about the rest; say that what was selected is right.
        out.print("every selected case is right")
    elif wrong := [c for c in bad if c.verdict in _TO_DEBUG]:
        one = f"mytriton-conformance {report.backend} --in-process --pdb -k '{wrong[0].id}'"
        out.print(f"  debug the first: {escape(one)}", soft_wrap=True)
    out.print("[bold]not certified[/]" if not bad else "[bold red]not certified[/]")
    for reason in report.why_not()[:SHOWN]:
        out.print(f"  {escape(reason)}")


def _short(text: str, limit: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def show_table(out: Console, head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """A plain table; on a pipe, columns and no more: for thousands of rows, Rich takes seconds."""
    head, rows = list(head), [list(row) for row in rows]
    if not out.is_terminal:
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            out.file.write(" ".join(cells).rstrip() + "\n")
        return
    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    out.print(table)


def show_merged(out: Console, reports: Iterable[Mapping[str, Any]]) -> None:
    """One line for each report."""
    rows = []
    for r in reports:
        totals = ", ".join(f"{n} {v}" for v, n in r["totals"].items())
        label = f"{r['backend']['name']} {r['backend']['version']}".strip()
        rows.append((label, "yes" if r["certified"] else "no", r["level"], r["stage"], totals))
    show_table(out, ("Backend", "Certified", "Level", "Stage", "Verdicts"), rows)
