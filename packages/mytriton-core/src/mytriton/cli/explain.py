"""``mytriton explain FILE:KERNEL``: which backend would run a kernel, and why not the others."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from . import NO, OK, USAGE, output


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What says which kernel is meant, and for which launch."""
    parser.add_argument("kernel", metavar="FILE:KERNEL", help="file.py:name of the kernel")
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=WHAT",
        help="a runtime argument: x=f32[1000], x=f32[64,64]@cuda, n=i32, n=1000, s=0.5",
    )  # fmt: skip
    parser.add_argument(
        "--constexpr", action="append", default=[], metavar="NAME=VALUE",
        help="a compile-time argument: BLOCK=256",
    )  # fmt: skip
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE",
        help="a launch option: num_warps=4",
    )  # fmt: skip
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", help="the grid, where limits matter")
    parser.add_argument("--backend", metavar="NAME", help="as kernel.with_backend(NAME) would")


class UsageError(Exception):
    """The command line asks for what cannot be."""


def run(options: argparse.Namespace) -> int:
    from ..errors import MytritonError
    from ..plugins.selection import explain

    try:
        # The answer alone goes to standard output, whatever the file and the plugins print.
        with contextlib.redirect_stdout(sys.stderr):
            kernel = load_kernel(options.kernel)
            arguments = _arguments(options, kernel)
            report = explain(kernel, _grid(options.grid), backend=options.backend, **arguments)
    except (UsageError, MytritonError, TypeError) as e:
        output.error(str(e))
        return USAGE
    if options.json:
        import json

        print(json.dumps({"schema": "mytriton.explain/1", **report.as_dict()}, indent=2))
    else:
        _print(report)
    return OK if report.chosen else NO


def load_kernel(text: str) -> Any:
    """The kernel that ``file.py:name`` means. Raises ``UsageError``."""
    import importlib.util
    from pathlib import Path

    file, colon, name = text.rpartition(":")
    if not colon or not file or not name:
        raise UsageError(f"{text!r} names no kernel; write file.py:kernel")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"no file {file}")
    spec = importlib.util.spec_from_file_location(f"_explained_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as e:
        raise UsageError(f"{file} fails to import: {type(e).__name__}: {e}") from e
    kernels = sorted(n for n, v in vars(module).items() if _is_kernel(v))
    found = getattr(module, name, None)
    if not _is_kernel(found):
        raise UsageError(f"{file} has no kernel {name!r}; kernels: {', '.join(kernels) or 'none'}")
    return found


def _is_kernel(value: object) -> bool:
    return hasattr(value, "specialise") and not isinstance(value, type)


def _arguments(options: argparse.Namespace, kernel: Any) -> dict[str, Any]:
    from ..runtime.argspec_text import parse_value

    compile_time = set(getattr(getattr(kernel, "binder", None), "constexprs", ()))
    found: dict[str, Any] = {}
    given = ((options.arg, False), (options.constexpr, True), (options.option, True))
    for texts, is_value in given:
        for text in texts:
            name, equals, value = text.partition("=")
            name = name.strip()
            if not equals or not name.isidentifier():
                raise UsageError(f"{text!r} is not NAME=VALUE")
            if name in found:
                raise UsageError(f"{name!r} is given twice")
            found[name] = parse_value(value) if is_value or name in compile_time else value
    return found


def _grid(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        grid = tuple(int(part) for part in text.split(","))
    except ValueError:
        grid = ()
    if not 1 <= len(grid) <= 3 or min(grid) < 0:
        raise UsageError(f"--grid takes one to three non-negative integers, got {text!r}")
    return grid


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
