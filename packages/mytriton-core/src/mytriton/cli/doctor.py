"""``mytriton doctor [NAME]``: import and probe backends in child processes, and report."""

from __future__ import annotations

import argparse
from typing import Any

from . import NO, OK, USAGE, output

#: Seconds a backend may take to import and probe.
TIMEOUT = 60.0


def add(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="import each backend, or one, in a process of its own and report",
        description="Import and probe a backend in a child process, so that a crash, an exit or a"
        " hang is reported, and show the whole traceback. Exit code 0 when the backend is ready;"
        " without NAME, when nothing is wrong with any: one that is switched off is as its user wants"
        " it, and one that has no device here still gives the text of kernels.",
    )
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="the backend (default: every installed one)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=TIMEOUT,
        metavar="S",
        help="seconds to wait for each (default 60)",
    )
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"a positive number of seconds, not {text}")
    return value


def examine(name: str, timeout: float = TIMEOUT) -> dict[str, Any]:
    """What a child process finds out about an installed backend: ``state``, ``reason``, ``hint``,
    ``step``, ``stderr`` and, as far as it gets, more."""
    import json
    import os
    import subprocess
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        # A strict child would raise where this one reports; what is not a switch, the caller told.
        environ = {k: v for k, v in os.environ.items() if k != "MYTRITON_STRICT_PLUGINS"}
        command = [sys.executable, "-m", "mytriton.cli.child", name, path]
        environ["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        ended = ""
        try:
            done = subprocess.run(
                command, env=environ, timeout=timeout, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
            stderr = done.stderr.decode(errors="replace")
            if done.returncode:
                ended = how_it_ended(done.returncode)
        except subprocess.TimeoutExpired as e:
            stderr = (e.stderr or b"").decode(errors="replace")
            ended = f"it took more than {timeout:g} s"
        try:
            with open(path, encoding="utf-8") as file:
                report: dict[str, Any] = json.load(file)
        except (OSError, ValueError):
            report = {"step": "starting Python", "state": "unknown", "reason": "", "hint": ""}
    if report["step"] != "done":
        report["state"] = "broken"
        report["reason"] = f"while {report['step']}, {ended or 'the process ended with status 0'}"
        report["hint"] = f"to work without it: MYTRITON_DISABLE_BACKENDS={name}"
    report["stderr"] = stderr
    return report


def how_it_ended(status: int) -> str:
    """A return code of ``subprocess`` in words."""
    import signal

    if status >= 0:
        return f"the process ended with status {status}"
    try:
        what = signal.Signals(-status)
    except ValueError:
        return f"the process was ended by signal {-status}"
    return f"the process was ended by {what.name} ({signal.strsignal(what)})"


def run(options: argparse.Namespace) -> int:
    from ..plugins.manager import MANAGER
    from ..plugins.variables import normalise_name

    by_name: dict[str, list[Any]] = {}
    for record in MANAGER.records():
        by_name.setdefault(record.name, []).append(record)
    if options.name is None:
        return _every(by_name, options)
    name = normalise_name(options.name)
    if name not in by_name:
        return _absent(name)
    report = _report(by_name[name], options.timeout)
    if options.json:
        _print_json({"schema": "mytriton.doctor/1", **report})
    else:
        _print(report, by_name[name][0])
    return OK if report["state"] == "ready" else NO


def _every(by_name: dict[str, list[Any]], options: argparse.Namespace) -> int:
    """All installed backends, one after another: what one says is shown before the next is tried."""
    reports: list[dict[str, Any]] = []
    for records in by_name.values():
        if reports and not options.json:
            print()
        reports.append(_report(records, options.timeout))
        if not options.json:
            _print(reports[-1], records[0])
    if options.json:
        _print_json({"schema": "mytriton.doctor.all/1", "backends": reports})
    # One that is switched off is as its user wants it, and one without a device does what it can.
    return OK if all(r["state"] in ("ready", "blocked", "lower-only") for r in reports) else NO


def _absent(name: str) -> int:
    """Of a backend that could be installed the answer is no; any other name is a mistake."""
    from ..plugins import messages
    from ..plugins.errors import UnknownBackendError
    from ..plugins.known import KNOWN
    from ..plugins.manager import MANAGER

    if name in KNOWN:
        output.error(f"MT-B02: {messages.not_installed(name, '')}")
        return NO
    output.error(str(UnknownBackendError(messages.unknown(name, "", MANAGER.records()))))
    return USAGE


def _report(records: list[Any], timeout: float) -> dict[str, Any]:
    """What there is to say of one backend: of the first record of its name, and of its rivals."""
    from ..plugins.manager import MANAGER
    from ..plugins.types import State

    record, *rivals = records
    if MANAGER.blocked(record) or record.state is not State.DISCOVERED:
        report: dict[str, Any] = {
            "state": MANAGER.state(record).value,
            "reason": MANAGER.blocked(record) or str(record.error or ""),
            "hint": record.hint,
        }
    else:
        report = examine(record.name, timeout)
    about = {"name": record.name, "dist": record.dist, "version": record.version}
    return report | about | {"rivals": [r.origin for r in rivals]}


def _print_json(data: dict[str, Any]) -> None:
    import json

    print(json.dumps(data, indent=2))


def _print(report: dict[str, Any], record: Any) -> None:
    info_module = f", info {record.info_entry.value}" if record.info_entry else ""
    rows = [("state", report["state"]), ("module", f"{record.entry.value}{info_module}")]
    if report.get("summary"):
        rows.append(("summary", report["summary"]))
    if "seconds" in report:
        rows.append(("import", f"{report['seconds'] * 1e3:.0f} ms"))
    if counts := report.get("capabilities"):
        rows.append(("features", ", ".join(f"{n} {word}" for word, n in sorted(counts.items()))))
    for key, label in (("can_lower", "lowers"), ("can_launch", "launches")):
        if key in report:
            rows.append((label, "yes" if report[key] else "no"))
    if report.get("devices"):
        rows.append(("devices", "\n".join(report["devices"])))
    if report.get("hooks"):
        rows.append(("hooks", ", ".join(h.removeprefix("mytriton_") for h in report["hooks"])))
    rows += [(label, report[key]) for key, label in _TEXTS if report.get(key)]
    rows += [("note", note) for note in report.get("notes", ())]
    rows += [("also", rival) for rival in report["rivals"]]
    output.facts(f"backend {record.origin}", rows)


_TEXTS = (("reason", "reason"), ("hint", "fix"), ("traceback", "traceback"), ("stderr", "stderr"))
