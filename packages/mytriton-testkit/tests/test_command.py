"""``mytriton-conformance``: reports, exit codes, other commands; and the pytest front end."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import types
from xml.etree import ElementTree

import pytest

LIAR = ("liar", "--plugin", "mytriton_testkit.meta.liar")


def test_reports(command, tmp_path):
    found = command(
        "interpreter",
        "-k",
        "binary.add[f32,block=8",
        "--json",
        "out/r.json",
        "--md",
        "r.md",
        "--junit",
        "r.xml",
    )
    assert found.returncode == 0, found.stderr
    assert "not certified\n  PARTIAL" in found.stdout
    data = json.loads((tmp_path / "out" / "r.json").read_text())
    assert data["schema"] == "mytriton.conformance/1"
    assert data["certified"] is False
    assert data["totals"] == {"PASS": len(data["cases"])}
    case = data["cases"][0]
    assert {"id", "edition", "level", "features", "verdict", "max_ulp", "seconds"} <= case.keys()
    assert data["versions"].keys() >= {"mytriton-core", "mytriton-testkit", "numpy", "python"}
    assert "| `op.add` | yes " in (tmp_path / "r.md").read_text()
    suite = ElementTree.parse(tmp_path / "r.xml").getroot()[0]
    assert int(suite.get("tests")) == len(data["cases"])
    assert suite.get("failures") == "0"


def test_failures_are_shown_and_merged(command, tmp_path):
    found = command(
        *LIAR, "-k", "binary.add[f32,block=8", "--json", "liar.json", "--junit", "liar.xml"
    )
    assert found.returncode == 1
    assert "FAIL" in found.stdout
    assert "ulp, 1 ulp allowed" in found.stdout
    failed = json.loads((tmp_path / "liar.json").read_text())["cases"][0]
    assert failed["repro"].startswith("mytriton-conformance liar --in-process -k 'binary.add[f32")
    suite = ElementTree.parse(tmp_path / "liar.xml").getroot()[0]
    assert suite.get("failures") == suite.get("tests")
    assert (
        command("interpreter", "-k", "binary.add[f32,block=8", "--json", "i.json").returncode == 0
    )
    merged = command("merge", "i.json", "liar.json", "--md", "m.md", "--json", "m.json")
    assert merged.returncode == 1
    matrix = (tmp_path / "m.md").read_text()
    assert "| Feature | interpreter " in matrix
    assert "**FAIL** `binary.add[f32" in matrix
    assert len(json.loads((tmp_path / "m.json").read_text())) == 2
    assert command("merge", "m.md").returncode == 4


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("nosuch",), 3, "MT-B01"),
        (("cuda",), 3, "MT-B02"),
        (("interpreter", "--level", "cor"), 4, "invalid choice"),
        (("interpreter", "--stage", "emulated"), 3, "possible: emit, compile, execute"),
        (("interpreter", "-k", "no.such.case"), 4, "no case matches"),
        (("interpreter", "--pdb"), 4, "--pdb needs --in-process"),
        (("interpreter", "--profile", "no.toml"), 4, "cannot read the profile"),
        (("x", "--plugin", "no_such_module"), 4, "--plugin no_such_module"),
        ((), 4, "required: NAME"),
    ],
)
def test_exit_codes(command, arguments, code, text):
    if arguments[:1] == ("cuda",):
        from importlib.metadata import entry_points

        if "cuda" in {e.name for e in entry_points(group="mytriton.backends")}:
            pytest.skip("mytriton-cuda is installed")
    found = command(*arguments)
    assert (found.returncode, text in found.stderr) == (code, True), found.stderr


def test_declaration_problems_are_exit_code_2(command, tmp_path):
    bug = "[[known_bug]]\ncase='binary.add[f32*'\noutcome='mismatch'\nreason='gone'\n"
    (tmp_path / "p.toml").write_text(bug)
    found = command("interpreter", "-k", "binary.add[f32,block=8", "--profile", "p.toml")
    assert found.returncode == 2
    assert "XPASS" in found.stdout
    assert (
        command(
            "interpreter", "-k", "binary.add[f32,block=8", "--profile", "p.toml", "--lenient"
        ).returncode
        == 0
    )
    liar = command(*LIAR, "-k", "binary.add[f32,block=8", "--profile", "p.toml")
    assert (liar.returncode, "XFAIL" in liar.stdout) == (0, True)
    (tmp_path / "p.toml").write_text(bug.replace("binary.add", "binary.adq"))
    stale = command("interpreter", "--profile", "p.toml")
    assert (stale.returncode, "matches no case" in stale.stderr) == (2, True)


@pytest.mark.parametrize("option", ["--json", "--md", "--junit"])
@pytest.mark.parametrize("place", ["file/report", "."])
def test_reports_that_cannot_be_written_are_refused_before_the_run(
    command, tmp_path, option, place
):
    (tmp_path / "file").write_text("kept")
    found = command("interpreter", "-k", "binary.add[", option, place)
    assert (found.returncode, found.stdout) == (4, "")
    assert found.stderr.startswith(f"mytriton-conformance: cannot write {place}: ")
    assert found.stderr.count("\n") == 1
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize(
    "arguments",
    [
        ("init", "acme-foo", "file"), ("init", "acme-foo", "file/deeper"),
        ("interpreter", "-k", "binary.add[", "--fuzz", "2", "--repro", "file"),
        ("merge", "report.json", "--md", "file/m.md"),
        ("merge", "report.json", "--json", "."), ("merge", "half.json"), ("merge", "file"),
        ("replay", "report.json"), ("replay", "half.json"), ("replay", "odd.json"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used_are_told_in_one_line(command, tmp_path, arguments):
    (tmp_path / "file").touch()
    report = {
        "schema": "mytriton.conformance/1", "backend": {"name": "x", "version": "1"},
        "totals": {}, "certified": True, "why_not": [], "level": "core", "stage": "execute",
        "edition": "2026.1", "cases": [], "features": {}, "exit_code": 0,
    }  # fmt: skip
    (tmp_path / "report.json").write_text(json.dumps(report))
    (tmp_path / "half.json").write_text('{"schema": "mytriton.conformance/1"}')
    (tmp_path / "odd.json").write_text('{"schema": "mytriton.fuzz/1", "grid": 1}')
    found = command(*arguments)
    assert found.returncode == 4
    assert found.stderr.startswith("mytriton-conformance: ")
    assert found.stderr.count("\n") == 1


def test_a_failing_program_that_cannot_be_saved_is_reported(tmp_path, monkeypatch):
    from mytriton_testkit.fuzz import runner

    failure = runner.FuzzFailure("mismatch", "wrong", None, "x")
    monkeypatch.setattr(runner.FuzzFailure, "to_json", dict)
    (tmp_path / "file").touch()
    failure = dataclasses.replace(failure, program=types.SimpleNamespace(seed=1))
    found = runner._finished(None, failure, shrink=False, folder=tmp_path / "file")
    assert (found.kind, found.path) == ("mismatch", None)
    assert found.message.startswith("wrong (not saved: ")


def test_emit_stage(command):
    found = command("interpreter", "--stage", "emit", "-k", "binary.add[")
    assert (found.returncode, "stage emit" in found.stdout) == (0, True), found.stdout


def test_variables_do_not_change_the_result(command):
    found = command(
        "interpreter",
        "-k",
        "binary.add[f32,block=8",
        MYTRITON_BACKEND="nosuch",
        MYTRITON_OPT_LEVEL="0",
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_list(command):
    assert "binary.add[f32," in command("list").stdout
    rows = json.loads(
        command("list", "--backend", "interpreter", "--state", "yes", "--json").stdout
    )
    assert {"op.add", "control.for"} <= {row["feature"] for row in rows}
    assert command("list", "--backend", "interpreter", "--state", "maybe").returncode == 4


# ---------------------------------------------------------------------- pytest


def run_pytest(folder, *arguments, **env):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--pyargs", "mytriton_testkit", "-p", "no:cacheprovider", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTEST_ADDOPTS": "", **env},
    )  # fmt: skip


def test_pytest_passes(tmp_path):
    found = run_pytest(tmp_path, "--mytriton-backend", "interpreter", "-k", "binary.add[", "-q")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "passed" in found.stdout


def test_pytest_fails(tmp_path):
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\npython_files = other_*.py\nxfail_strict = false\n"
    )
    found = run_pytest(
        tmp_path, "--mytriton-backend", "liar", "--mytriton-plugin", "mytriton_testkit.meta.liar",
        "-k", "binary.add[", "-q", "--mytriton-json", "r.json", "--junit-xml", "r.xml",
    )  # fmt: skip
    assert found.returncode == 1, found.stdout + found.stderr
    assert "FAIL: out[0] is 0.0" in found.stdout
    assert "liar: not certified" in found.stdout
    assert json.loads((tmp_path / "r.json").read_text())["exit_code"] == 1


def test_pytest_shows_declines(tmp_path):
    found = run_pytest(
        tmp_path, "--mytriton-backend", "null", "--mytriton-plugin", "mytriton_testkit.meta.null",
        "-k", "binary.add[",
    )  # fmt: skip
    assert "declined" in found.stdout.splitlines()[-1]
    assert found.returncode == 0


def test_pytest_without_a_backend_collects_nothing(tmp_path):
    found = run_pytest(tmp_path)
    assert found.returncode == 5, found.stdout


def test_pytest_refuses_a_report_it_cannot_write(tmp_path):
    found = run_pytest(
        tmp_path, "--mytriton-backend", "interpreter", "-k", "binary.add[", "--mytriton-json", "."
    )
    assert found.returncode == 4
    assert "ERROR: --mytriton-json: cannot write .: " in found.stderr


def test_pytest_unknown_backend(tmp_path):
    found = run_pytest(tmp_path, "--mytriton-backend", "nosuch")
    assert found.returncode != 0
    assert "MT-B01" in found.stdout + found.stderr


def test_plugin_module_is_light():
    code = (
        "import sys, mytriton_testkit.pytest_plugin;"
        "sys.exit(bool({'numpy', 'mytriton', 'rich', 'hypothesis'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
