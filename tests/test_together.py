"""Every backend installed at once: who is chosen, what is listed, what is only compiled.

Runs in `tox -e all`, where all distributions are; elsewhere it is skipped, and says so."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ALL = {"cuda", "mlir", "mlir-cpu", "c"}
INSTALLED = {entry.name for entry in entry_points(group="mytriton.backends")}

if os.environ.get("MYTRITON_REQUIRE_ALL"):
    assert INSTALLED >= ALL, f"missing: {ALL - INSTALLED}"
pytestmark = pytest.mark.skipif(not INSTALLED >= ALL, reason="needs every backend: tox -e all")

SCRIPT = """
import json, sys, warnings
import numpy as np
import mytriton as triton
import mytriton.language as tl

warnings.simplefilter("ignore")

@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)

x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
result = kernel[(4,)](x, out, 100, BLOCK=32)
shown = kernel.inspect(x, out, 100, BLOCK=32)
right = bool((out == x + 1).all())
print(json.dumps([result.backend, result.launched, right, result.src[:40], shown.backend]))
"""


def run(tmp_path, **environment):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, **environment}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("asked", "backend", "launched"),
    [
        ("", "mlir-cpu", True),
        ("interpreter", "interpreter", True),
        ("c", "c", True),
        ("mlir-cpu", "mlir-cpu", True),
        ("cuda", "cuda", False),
        ("mlir", "mlir", False),
        ("cuda,mlir-cpu", "mlir-cpu", True),
        ("cuda,mlir,interpreter", "interpreter", True),
    ],
)
def test_what_happens_on_host_arrays(tmp_path, asked, backend, launched):
    got, ran, right, _, inspected = run(tmp_path, MYTRITON_BACKEND=asked)
    assert (got, ran, right) == (backend, launched, launched)
    # What is shown is what would launch.
    assert inspected == backend


@pytest.mark.parametrize(
    ("backend", "text"),
    [("cuda", 'extern "C" __global__'), ("mlir", "module attributes {gpu.container_module}")],
)
def test_a_gpu_backend_gives_its_text(tmp_path, backend, text):
    assert run(tmp_path, MYTRITON_BACKEND=backend)[3].startswith(text[:40])


def test_a_misspelt_backend_is_an_error_that_names_the_closest(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "MYTRITON_BACKEND": "cudda"}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=env)
    assert done.returncode == 1
    assert "MT-B01: no backend is called 'cudda'" in done.stderr
    assert "Closest: cuda" in done.stderr


def test_all_are_listed():
    command = [sys.executable, "-m", "mytriton.cli", "backends", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    rows = listed["backends"] if isinstance(listed, dict) else listed
    assert {row["name"] for row in rows} >= ALL | {"interpreter"}


@pytest.mark.parametrize(
    "command",
    [["scripts/readme_tables.py", "--check"], ["scripts/language_reference.py"]],
    ids=["capability matrix of the README", "reference of tl"],
)
def test_generated_pages_are_up_to_date(command):
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, *command], cwd=root, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    if "--check" not in command:
        assert done.stdout == (root / "docs" / "language.md").read_text()
