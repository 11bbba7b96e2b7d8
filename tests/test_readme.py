"""The README's two set-up commands: there are two, they work, and CI runs the second."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)\n```$", README, re.M | re.S)
#: Systems for which PyPI has the bindings of MLIR.
_BINDINGS = sys.platform.startswith("linux") or (
    sys.platform == "darwin" and platform.machine() == "arm64"
)


def test_exactly_two_commands_of_one_line() -> None:
    assert len(COMMANDS) == 2
    assert not any("\n" in command for command in COMMANDS)


def test_the_commands_create_what_they_need() -> None:
    for command in COMMANDS:
        assert command.startswith("python3 -m venv .venv && ")
    assert " -e packages/mytriton-core " in COMMANDS[0]
    assert ' -e "packages/mytriton-mlir[bindings]" ' in COMMANDS[0]
    assert COMMANDS[0].endswith(" examples/quickstart.py")
    assert COMMANDS[1].endswith(" -m ci")


def test_ci_runs_the_second_command() -> None:
    script = ROOT / ".ci" / "run"
    lines = script.read_text(encoding="utf-8").splitlines()
    assert lines[-1] == COMMANDS[1]
    assert "set -euo pipefail" in lines
    assert os.access(script, os.X_OK)


def test_links_of_the_readme_lead_somewhere() -> None:
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.M | re.S)
    targets = re.findall(r"\]\(([^)#:]+)\)", prose)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.mark.slow
@pytest.mark.skipif(not _BINDINGS, reason="PyPI has no bindings of MLIR for this system")
def test_the_first_command_works_in_a_fresh_clone(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    left_out = shutil.ignore_patterns(
        ".git", ".tox", ".venv", ".hypothesis", "__pycache__", ".*_cache", "*.egg-info"
    )
    shutil.copytree(ROOT, clone, ignore=left_out)
    # As in a new terminal: nothing of the environment that runs this test.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTEST_ADDOPTS"}
        and not name.startswith(("TOX_", "MYTRITON_", "COV_CORE_"))
    }
    done = subprocess.run(
        COMMANDS[0],
        shell=True,
        cwd=clone,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ran = re.findall(r"^(.+?) +ran on ([\w-]+): matches NumPy$", done.stdout, re.M)
    assert [name.partition(",")[0] for name, _ in ran] == ["vector add", "softmax", "matmul"]
    assert {backend for _, backend in ran} == {"mlir-cpu"}
