"""What files and plugins print does not end up in the answers of the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mytriton.cli import OK, main

KERNEL = """
import mytriton as triton
import mytriton.language as tl
print("noise of the file")

@triton.jit
def copy(x, out):
    tl.store(out, tl.load(x))
"""


def test_explain_of_a_file_that_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "noisy.py").write_text(KERNEL)
    words = ["explain", f"{tmp_path / 'noisy.py'}:copy", "--arg", "x=f32[4]", "--arg", "out=f32[4]"]
    assert main([*words, "--json"]) == OK
    said = capsys.readouterr()
    assert json.loads(said.out)["schema"] == "mytriton.explain/1"
    assert "noise of the file" in said.err


def test_backends_with_an_info_module_that_prints(
    tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = {
        "mytriton.backends": {"noisy": "fake_noisy"},
        "mytriton.backend_info": {"noisy": "fake_noisy_info:INFO"},
    }
    tools.write_dist(tmp_path, "fake-noisy", groups, requires=("mytriton-core",))
    (tmp_path / "fake_noisy_info.py").write_text(
        "from mytriton.plugin_api import BackendInfo\n"
        "print('noise of the info')\nINFO = BackendInfo('noisy', 'prints')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from mytriton.plugins import selection

    selection.refresh_backends()
    assert main(["backends", "--json"]) == OK
    said = capsys.readouterr()
    rows: list[dict[str, Any]] = json.loads(said.out)["backends"]
    assert "noisy" in {row["name"] for row in rows}
    assert "noise of the info" in said.err
