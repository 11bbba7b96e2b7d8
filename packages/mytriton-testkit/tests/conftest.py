"""Shared by the tests of the suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def command(tmp_path: Path):
    """Run ``mytriton-conformance`` in an empty directory, as a shell would."""

    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        code = "import sys; from mytriton_testkit.cli import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, **env},
        )  # fmt: skip

    return run
