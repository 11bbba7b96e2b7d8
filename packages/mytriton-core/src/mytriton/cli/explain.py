"""``mytriton explain FILE:KERNEL``: which backend would run a kernel, and why not the others."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from . import NO, OK, USAGE, output
from .kernels import UsageError, add_arguments, arguments, grid_of, load_kernel


def add(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "explain",
        help="which backend would run a kernel, and why not the others",
        description="Compile a kernel for described arguments and show what selection makes of it."
        " The file is imported (not as __main__); nothing is launched.",
    )
    add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(options: argparse.Namespace) -> int:
    from ..errors import MytritonError
    from ..plugins.errors import UnknownBackendError
    from ..plugins.selection import explain
    from ..plugins.sources import naming

    try:
        # The answer alone goes to standard output, whatever the file and the plugins print.
        with contextlib.redirect_stdout(sys.stderr), naming("--backend"):
            kernel = load_kernel(options.kernel)
            given = arguments(options, kernel)
            report = explain(kernel, grid_of(options.grid), backend=options.backend, **given)
    except (UsageError, MytritonError, TypeError) as e:
        output.error(str(e))
        return USAGE
    if report.error.startswith(f"{UnknownBackendError.code}: "):  # a mistake, and no answer
        output.error(report.error)
        return USAGE
    if options.json:
        import json

        print(json.dumps({"schema": "mytriton.explain/1", **report.as_dict()}, indent=2))
    else:
        _print(report)
    return OK if report.chosen else NO


def _print(report: Any) -> None:
    from ..plugins.report import arguments_text

    title, *_, answer = report.lines()
    # The table below has the candidates.
    shown = {f"  {c}" for c in report.candidates}
    answer = "\n".join(line for line in answer.strip().split("\n") if line not in shown)
    head = [("needs", ", ".join(report.needs) or "nothing")]
    output.facts(title, [*head, ("launch", arguments_text(report.launch)), ("answer", answer)])
    print()
    rows = [
        (
            c.label, c.verdict, "" if c.score is None else str(c.score), c.reason,
            c.hint if c.hint not in c.reason else "",
        )
        for c in report.candidates
    ]  # fmt: skip
    if rows:
        output.table(("BACKEND", "VERDICT", "SCORE", "REASON", "HOW TO FIX"), rows, styled=1)
