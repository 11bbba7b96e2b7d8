"""The real thing: distributions built and installed by pip, used from another process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NAMES = ("acme-good", "acme-broken", "acme-exit", "acme-typo", "acme-oldcore")
PROGRAM = """
import json, sys
import mytriton
from mytriton.plugins import selection
from mytriton.plugins.manager import MANAGER
listed = {r.origin: MANAGER.state(r).value for r in MANAGER.records()}
imported = [m for m in sys.modules if m.startswith("acme_") and not m.endswith("_info")]
errors = {}
for name in ("broken", "exit", "typo", "oldcore"):
    try:
        selection.named(name)
    except Exception as e:
        errors[name] = str(e)[:6]
print(json.dumps([listed, imported, errors, selection.named("good").state.value]))
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="this environment has no pip")
def test_pip_installed(tools: Any, tmp_path: Path) -> None:
    site = tools.site(tmp_path)
    projects = []
    for name in NAMES:
        project = tmp_path / "src" / name
        shutil.copytree(tools.dists / name, project)
        shutil.copy(tools.here / "tiny_build.py", project)
        projects.append(str(project))
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-build-isolation"]
    command += ["--no-deps", "--quiet", "--disable-pip-version-check", "--target", str(site)]
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([*command, *projects], capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stderr
    assert (site / "acme_good-2.1.0.dist-info" / "RECORD").is_file()
    listed, imported, errors, state = tools.json(PROGRAM, site)
    assert listed == {
        "broken 2.1.0 [acme-broken]": "discovered",
        "exit 2.1.0 [acme-exit]": "discovered",
        "good 2.1.0 [acme-good]": "discovered",
        "interpreter [built in]": "discovered",
        "oldcore 2.1.0 [acme-oldcore]": "incompatible",
        "typo 2.1.0 [acme-typo]": "discovered",
    }
    assert imported == []
    assert errors == {"broken": "MT-B03", "exit": "MT-B03", "typo": "MT-B09", "oldcore": "MT-B04"}
    assert state == "ready"
