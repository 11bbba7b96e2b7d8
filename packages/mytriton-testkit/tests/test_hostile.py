"""Backends that misbehave in ways an author might, by accident or for convenience."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mytriton_testkit import check_backend
from mytriton_testkit.suite.errors import UsageError
from mytriton_testkit.suite.poison import FallbackError, poisoned

FEW = ("copy[f32,block=8,n=5]", "binary.add[f32,block=8,n=5]")

#: The interpreter under another name; ``act`` is what else a launch does.
MODULE = """
import mytriton.plugin_api as mt
from mytriton_testkit.meta import info
from mytriton_testkit.meta.base import Kernel, mytriton_lower, mytriton_probe
from mytriton.interpreter import machine, plan
RUN = machine.run
INFO = info("hostile", "misbehaves")

{act}

@mt.hookimpl
def mytriton_compile(source, launch):
    function = source.resources["function"]
    return Kernel(lambda grid, args: act(function, grid, args))
"""


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Check a backend whose launch is the function ``act`` of a text."""
    monkeypatch.syspath_prepend(tmp_path)

    def check(act, **options):
        name = f"hostile_{abs(hash(act))}"
        (tmp_path / f"{name}.py").write_text(MODULE.format(act=act))
        try:
            return check_backend("hostile", plugin=name, select=FEW, timeout=5.0, **options)
        finally:
            sys.modules.pop(name, None)

    return check


FALLBACKS = {
    "a function taken at import": "RUN(function, args, grid)",
    "modules loaded again": (
        "import importlib; importlib.reload(plan); importlib.reload(machine).run("
        "function, args, grid)"
    ),
    "a second copy of the modules": (
        "import importlib, sys\n"
        "    kept = {k: v for k, v in sys.modules.items() if k.startswith('mytriton.interpreter')}\n"
        "    for k in kept: del sys.modules[k]\n"
        "    try: importlib.import_module('mytriton.interpreter.machine').run(function, args, grid)\n"
        "    finally: sys.modules.update(kept)"
    ),
    "hidden in a bare except": (
        "try: RUN(function, args, grid)\n    except BaseException: pass"
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", FALLBACKS)
def test_ways_into_the_interpreter(hostile, how):
    report = hostile(f"def act(function, grid, args):\n    {FALLBACKS[how]}")
    assert set(report.totals) == {"ERROR"}, report.cases
    assert all("entered the interpreter" in c.message for c in report.cases)


def test_the_guard_puts_the_interpreter_back():
    from mytriton.interpreter import machine

    code = machine.run.__code__
    with poisoned() as tried:
        with pytest.raises(FallbackError):
            machine.run(None, [], (1, 1, 1))
        assert tried == ["mytriton.interpreter.machine.run"]
    assert machine.run.__code__ is code


STATE = {
    "import os, tempfile; os.chdir(tempfile.mkdtemp())": "the working directory",
    "import os, tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)": "working directory",
    "import numpy; numpy.seterr(all='raise')": "error state",
}


@pytest.mark.parametrize("what", STATE)
def test_state_of_the_process(hostile, what):
    act = f"def act(function, grid, args):\n    RUN(function, args, grid)\n    {what}"
    report = hostile(act, allow_interpreter=True)
    assert set(report.totals) == {"FAIL"}, report.cases
    assert all(STATE[what] in c.message for c in report.cases)


def test_garbage_on_the_streams_and_threads_do_no_harm(hostile):
    act = (
        "def act(function, grid, args):\n"
        "    import os, threading, time\n"
        "    print('garbage\\0' * 99, flush=True); os.write(1, b'more')\n"
        "    threading.Thread(target=time.sleep, args=(1e6,)).start()\n"
        "    RUN(function, args, grid)\n"
    )
    report = hostile(act, allow_interpreter=True)
    assert set(report.totals) == {"PASS"}


def test_an_exception_that_cannot_be_shown(hostile):
    act = (
        "class Odd(Exception):\n    def __str__(self): raise ValueError\n"
        "def act(function, grid, args): raise Odd\n"
    )
    report = hostile(act)
    assert set(report.totals) == {"ERROR"}
    assert report.cases[0].message.startswith("Odd: (its text cannot be made")


def test_an_error_says_where(hostile):
    report = hostile("def act(function, grid, args):\n    {}['axis']\n")
    message = report.cases[0].message
    assert message.startswith("KeyError: 'axis' [")
    assert ".py:" in message


def test_an_overclaim_says_where_it_declined(hostile):
    report = hostile("def act(function, grid, args):\n    raise mt.UnsupportedFeature('op.add')\n")
    assert set(report.totals) == {"OVERCLAIM"}
    assert report.cases[0].message.startswith("unsupported: op.add [")
    assert "cases/" not in report.cases[0].message


def test_a_misspelt_feature(hostile):
    act = (
        "import dataclasses\n"
        "TABLE = mt.capability_table(yes=[*INFO.capabilities, 'dtype.i32', 'dtype.bool', 'op.lode',"
        " 'dtype.ff32'])\n"
        "del TABLE['op.load']\n"
        "INFO = dataclasses.replace(INFO, capabilities=TABLE)\n"
        "def act(function, grid, args): pass\n"
    )
    report = hostile(act)
    assert set(report.totals) == {"UNDECLARED"}
    said = report.cases[0].message
    assert "says nothing about dtype.f32 (closest: dtype.ff32), op.load" in said


def test_results_that_are_too_late(hostile):
    act = (
        "import threading, time\n"
        "def act(function, grid, args):\n"
        "    threading.Timer(0.2, RUN, (function, args, grid)).start()\n"
    )
    assert set(hostile(act, allow_interpreter=True).totals) <= {"FAIL", "CRASH"}


@pytest.mark.parametrize("text", ["raise SystemExit(0)", "1 / 0", "def ("])
def test_plugin_modules_that_do_not_import(tmp_path, monkeypatch, text):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hostile_import.py").write_text(text)
    with pytest.raises(UsageError, match="--plugin hostile_import: "):
        check_backend("hostile", plugin="hostile_import")


@pytest.mark.parametrize(
    ("text", "said"),
    [("import os; os._exit(0)", "the process ended with status 0"),
     ("import os; os.abort()", "SIGABRT")],
)  # fmt: skip
def test_installed_plugins_that_end_the_process(tmp_path, text, said):
    """Not this one: the command says what happened, and at which step."""
    meta = tmp_path / "hostile-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\nRequires-Dist: mytriton-core\n"
    )
    (meta / "entry_points.txt").write_text(
        "[mytriton.backends]\nhostile = hostile_plugin\n"
        "[mytriton.backend_info]\nhostile = hostile_info:INFO\n"
    )
    (tmp_path / "hostile_plugin.py").write_text(text)
    (tmp_path / "hostile_info.py").write_text(
        "from mytriton.plugin_api import BackendInfo\nINFO = BackendInfo('hostile', 'misbehaves')\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        "from mytriton_testkit.cli import main; sys.exit(main(['hostile', '-q']))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert found.returncode == 3, found.stdout + found.stderr
    assert "while importing hostile_plugin" in found.stderr
    assert said in found.stderr
    assert "mytriton doctor hostile" in found.stderr
