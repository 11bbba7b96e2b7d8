"""What the pytest plugin gives authors of kernels: checked launches and a test on each backend."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

KERNELS = """
import numpy as np
import mytriton as triton
import mytriton.language as tl

@triton.jit
def double(x, o, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + offs, mask=offs <= n) * 2, mask=offs < n)

def launch(n):
    x, o = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    result = double[(1,)](x, o, n, BLOCK=16)
    np.testing.assert_array_equal(o, 2 * x)
    return result.backend
"""

Pytest = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def tests(tmp_path: Path) -> Pytest:
    """Run pytest on a file of tests, with options and variables."""

    def run(text: str, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text(KERNELS + text)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MYTRITON_", "PYTEST_"))}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *options],
            cwd=tmp_path, capture_output=True, text=True, check=False, env=clean | env,
        )  # fmt: skip

    return run


#: Reads one element past its argument, but only where n is 4.
TWO = """
def test_a_full_block(): launch(16)
def test_a_part_of_one(): launch(4)
"""


def test_sanitize_fails_the_tests_whose_launches_are_wrong(tests: Pytest) -> None:
    done = tests(TWO, "--mytriton-sanitize")
    assert "every launch is sanitized" in done.stdout
    assert "test_a_full_block PASSED" in done.stdout
    assert "test_a_part_of_one FAILED" in done.stdout
    assert "load of x[4] in program (0, 0, 0) is out of bounds (valid: 0 to 3)" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


def test_sanitize_reaches_processes_that_tests_start_and_ends_with_the_session(
    tests: Pytest,
) -> None:
    text = """
import os, subprocess, sys
def test_child():
    code = "import os; print(os.environ['MYTRITON_SANITIZE'])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "bounds"
"""
    done = tests(text, "--mytriton-sanitize", MYTRITON_SANITIZE="bounds")
    assert done.returncode == 0, done.stdout


BACKENDS = """
def test_double(mytriton_backend):
    assert launch(16) == mytriton_backend
"""


def test_the_fixture_runs_a_test_on_every_backend_that_is_ready(tests: Pytest) -> None:
    done = tests(BACKENDS)
    assert "test_double[interpreter] PASSED" in done.stdout
    assert done.returncode == 0, done.stdout


def test_the_fixture_takes_the_backends_that_are_named(tests: Pytest) -> None:
    done = tests(BACKENDS, "--mytriton-backend", "interpreter")
    assert done.stdout.count("PASSED") == 1
    assert "test_double[interpreter] PASSED" in done.stdout


def test_the_fixture_leaves_a_list_of_its_own_to_the_test(tests: Pytest) -> None:
    done = tests(
        "import pytest\n"
        "@pytest.mark.parametrize('mytriton_backend', ['interpreter'], indirect=True)" + BACKENDS
    )
    assert done.stdout.count("PASSED") == 1, done.stdout


def test_a_sanitized_session_tests_no_backend_twice(tests: Pytest) -> None:
    done = tests(BACKENDS, "--mytriton-sanitize")
    assert done.stdout.count("PASSED") == 1, done.stdout
