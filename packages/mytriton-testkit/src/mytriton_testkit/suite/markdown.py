"""The matrix: rows are features, columns are backends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def matrix(reports: Sequence[Mapping[str, Any]]) -> str:
    """Markdown from reports in their JSON form. A cell has the declared state and how many cases
    pass, never a bare percentage; footnotes give the reasons for gaps."""
    lines = ["# Conformance", "", *_summary(reports), "", *_table(reports)]
    problems = [line for r in reports for line in _failures(r)]
    if problems:
        lines += ["", "## What fails", "", *problems]
    return "\n".join(lines) + "\n"


def _label(report: Mapping[str, Any]) -> str:
    return f"{report['backend']['name']} {report['backend']['version']}".strip()


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _summary(reports: Sequence[Mapping[str, Any]]) -> list[str]:
    head = ["Backend", "Certified", "Level", "Stage", "Edition", "Cases", "Verdicts"]
    lines = [_row(head), _row(["---"] * len(head))]
    for r in reports:
        totals = ", ".join(f"{n} {v}" for v, n in r["totals"].items())
        certified = "yes" if r["certified"] else f"no ({r['why_not'][0].split(':')[0]})"
        cells = [
            _label(r), certified, r["level"], r["stage"], r["edition"], str(len(r["cases"])), totals
        ]  # fmt: skip
        lines.append(_row(cells))
    return lines


def _table(reports: Sequence[Mapping[str, Any]]) -> list[str]:
    features = sorted({name for r in reports for name in r["features"]})
    notes: dict[str, int] = {}
    lines = [_row(["Feature", *map(_label, reports)]), _row(["---"] * (len(reports) + 1))]
    for name in features:
        cells = []
        for r in reports:
            row = r["features"].get(name)
            if row is None:
                cells.append("not asked")
                continue
            cell = f"{row['declared']} {row['passed']}/{row['cases']}"
            why = "; ".join(filter(None, (row["reason"], row["issue"])))
            if why:
                cell += f" [^{notes.setdefault(why, len(notes) + 1)}]"
            cells.append(cell)
        lines.append(_row([f"`{name}`", *cells]))
    if notes:
        lines += ["", *(f"[^{number}]: {why}" for why, number in notes.items())]
    return lines


def _failures(report: Mapping[str, Any]) -> list[str]:
    good = ("PASS", "XFAIL", "DECLINED", "NEW")
    return [
        f"- {_label(report)}: **{c['verdict']}** `{c['id']}`: {c['message'].splitlines()[0]}"
        if c["message"]
        else f"- {_label(report)}: **{c['verdict']}** `{c['id']}`"
        for c in report["cases"]
        if c["verdict"] not in good
    ]
