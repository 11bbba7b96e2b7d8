"""``mytriton-conformance``: prove what a backend can do.

    mytriton-conformance NAME             run the suite against a backend
    mytriton-conformance list             cases, or features a backend lacks
    mytriton-conformance merge A B ...    several JSON reports into one matrix
    mytriton-conformance replay FILE      run a saved failing program again
    mytriton-conformance init DIST [DIR]  a new plugin, ready to be certified

Exit codes: 0 certified (with -k: every selected case is right); 1 the backend does something
wrong; 2 only its declarations are wrong; 3 it is not installed or not available, or nothing was
executed; 4 usage; 5 the suite itself failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from .case import EDITIONS, LEVELS

STAGES = ("emit", "compile", "emulated", "execute")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(4, f"{self.prog}: error: {message}\n")


def _parser() -> argparse.ArgumentParser:
    doc = __doc__ or ""
    p = _Parser(
        "mytriton-conformance", description=doc, formatter_class=argparse.RawTextHelpFormatter
    )
    p.add_argument("name", metavar="NAME", help="backend, or one of the commands above")
    add_run_options(p)
    p.add_argument(
        "--json", metavar="FILE", help="write the report (schema mytriton.conformance/1)"
    )
    p.add_argument("--md", metavar="FILE", help="write the report as a Markdown matrix")
    p.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML")
    p.add_argument(
        "--fuzz", metavar="N", type=int, default=0, help="random programs to run as well"
    )
    p.add_argument("--seed", metavar="K", type=int, default=0, help="seed of the random programs")
    p.add_argument(
        "--repro", metavar="DIR", default="mytriton-repro",
        help="folder for programs that fail (default: mytriton-repro)",
    )  # fmt: skip
    p.add_argument("--pdb", action="store_true", help="debugger at what goes wrong (--in-process)")
    p.add_argument("-v", "--verbose", action="store_true", help="show every case")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    p.add_argument("--version", action="version", version=_version())
    return p


def add_run_options(p: argparse.ArgumentParser) -> None:
    """Options that choose what is run."""
    p.add_argument(
        "--level", choices=LEVELS, default="", help="default: the profile's, or standard"
    )
    p.add_argument("--stage", choices=STAGES, default="", help="default: the highest possible here")
    p.add_argument(
        "--edition", choices=EDITIONS, default="", help="default: the profile's, or newest"
    )
    p.add_argument("--profile", metavar="FILE", default="", help="instead of the plugin's own")
    p.add_argument(
        "-k", dest="select", metavar="ID", action="append", default=[],
        help="only cases whose id contains ID or matches it (* and ?); may be repeated",
    )  # fmt: skip
    p.add_argument("-j", dest="workers", metavar="N", type=int, default=0, help="worker processes")
    p.add_argument("--timeout", metavar="S", type=float, default=30.0, help="seconds per launch")
    p.add_argument("--in-process", action="store_true", help="no isolation, for debugging")
    p.add_argument("--lenient", action="store_true", help="stale declarations do not fail the run")
    p.add_argument(
        "--plugin",
        metavar="MODULE",
        default="",
        help="register MODULE as NAME instead of installing",
    )
    p.add_argument(
        "--cases", metavar="MODULE", action="append", default=[],
        help="run the cases of MODULE (its function cases()) instead; may be repeated",
    )  # fmt: skip


def _version() -> str:
    from .suite.versions import version_of

    return f"mytriton-testkit {version_of('mytriton-testkit')}, editions {', '.join(EDITIONS)}"


def main(argv: Sequence[str] | None = None) -> int:
    """The command; gives the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments[0] if arguments else ""
    from .suite.errors import ConformanceError

    try:
        if command in _COMMANDS:
            return _COMMANDS[command](arguments[1:])
        return _run(_parser().parse_args(arguments))
    except ConformanceError as e:
        print(f"mytriton-conformance: {e}", file=sys.stderr)
        return e.exit_code
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else 4
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except Exception:
        traceback.print_exc()
        print("mytriton-conformance: the suite itself failed", file=sys.stderr)
        return 5


def settings_of(options: argparse.Namespace, name: str) -> Any:
    """Settings of a run from parsed options."""
    from .suite.runner import Settings

    return Settings(
        name, options.level, options.stage, options.edition, options.profile,
        tuple(options.select), options.workers, options.timeout, options.in_process,
        options.lenient, options.plugin, tuple(options.cases),
    )  # fmt: skip


def _run(options: argparse.Namespace) -> int:
    from .suite.console import Display, console, show_report
    from .suite.errors import UsageError
    from .suite.files import check_folder
    from .suite.runner import Run

    if options.pdb and not options.in_process:
        raise UsageError("--pdb needs --in-process")
    check_reports(options.json, options.md, options.junit)
    if options.fuzz:
        check_folder(options.repro)
    out = console()
    display = Display(out, options.quiet)
    with Run(settings_of(options, options.name)) as engine:
        with display.running(len(engine.cases), options.name):
            for row in engine.results_of(engine.cases):
                display.update(row)
                if options.pdb and not row.good:
                    from .suite.inprocess import debug

                    debug(row)
        report = engine.report()
        if options.fuzz:
            report.fuzz = _fuzz(engine, options)
    data = report.as_dict()
    show_report(out, report, verbose=options.verbose)
    write_reports(data, options.json, options.md, options.junit)
    return report.exit_code


def _fuzz(engine: Any, options: argparse.Namespace) -> dict[str, Any]:
    from .suite.fuzzing import fuzz

    return fuzz(engine.setup(), options.fuzz, options.seed, options.repro, options.timeout)


def write_reports(data: dict[str, Any], to_json: Any, to_md: Any, to_junit: Any) -> None:
    """Write a report wherever a path is given."""
    from .suite.files import write

    if to_json:
        write(to_json, json.dumps(data, indent=1) + "\n")
    if to_md:
        from .suite.markdown import matrix

        write(to_md, matrix([data]))
    if to_junit:
        from .suite.junit import junit

        write(to_junit, junit(data))


def check_reports(*paths: Any) -> None:
    """Whether reports can be written, before a run that would be lost. Raises ``UsageError``."""
    from .suite.files import check_file

    for path in paths:
        if path:
            check_file(path)


# ---------------------------------------------------------------------- other commands


def _merge(arguments: Sequence[str]) -> int:
    p = _Parser("mytriton-conformance merge", description="Several JSON reports into one matrix.")
    p.add_argument("reports", nargs="+", metavar="REPORT.json")
    p.add_argument("--md", metavar="FILE", help="write the matrix as Markdown")
    p.add_argument("--json", metavar="FILE", help="write the reports as one JSON list")
    options = p.parse_args(arguments)
    from .suite.console import console, show_merged
    from .suite.errors import UsageError
    from .suite.files import write
    from .suite.markdown import matrix
    from .suite.report import SCHEMA

    reports = []
    for path in options.reports:
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            raise UsageError(f"cannot read {path}: {e}") from e
        for report in data if isinstance(data, list) else [data]:
            if not isinstance(report, dict) or report.get("schema") != SCHEMA:
                raise UsageError(f"{path} is no report of schema {SCHEMA}")
            reports.append(report)
    try:
        text = matrix(reports)
        show_merged(console(), reports)
        code = max((int(r["exit_code"]) for r in reports), default=3)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as e:
        raise UsageError(f"a report is incomplete: {type(e).__name__}: {e}") from e
    if options.md:
        write(options.md, text)
    if options.json:
        write(options.json, json.dumps(reports, indent=1) + "\n")
    return code


def _list(arguments: Sequence[str]) -> int:
    p = _Parser("mytriton-conformance list", description="The cases, or what a backend declares.")
    p.add_argument("--backend", metavar="NAME", help="list features by what its table says")
    p.add_argument("--plugin", metavar="MODULE", default="", help="register MODULE as NAME")
    p.add_argument("--state", default="", help="yes, no, planned, undeclared; comma-separated")
    p.add_argument("--level", choices=LEVELS, default="extended", help="cases up to this level")
    p.add_argument("--json", action="store_true", help="as JSON")
    options = p.parse_args(arguments)
    from .suite import listing

    return listing.show(options)


def _replay(arguments: Sequence[str]) -> int:
    p = _Parser("mytriton-conformance replay", description="Run a saved failing program again.")
    p.add_argument("file", metavar="REPRO.json")
    p.add_argument("--backend", metavar="NAME", default="", help="instead of the one that failed")
    p.add_argument("--plugin", metavar="MODULE", default="", help="register MODULE as NAME")
    options = p.parse_args(arguments)
    from .suite.fuzzing import replay

    return replay(options.file, options.backend, options.plugin)


def _init(arguments: Sequence[str]) -> int:
    p = _Parser("mytriton-conformance init", description="Write a new backend plugin.")
    p.add_argument("dist", metavar="DIST", help="name of the distribution, like acme-foo")
    p.add_argument("folder", metavar="DIR", nargs="?", default="", help="default: DIST")
    p.add_argument("--backend", default="", help="name of the backend (default: the last word)")
    options = p.parse_args(arguments)
    from .init import create

    return create(options.dist, options.folder, options.backend)


_COMMANDS = {"merge": _merge, "list": _list, "replay": _replay, "init": _init}

if __name__ == "__main__":
    sys.exit(main())
