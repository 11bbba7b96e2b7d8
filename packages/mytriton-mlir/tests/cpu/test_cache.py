"""The disk cache: hits without MLIR, corruption, a folder that cannot be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mytriton.plugin_api import cache_folder
from mytriton_mlir.cpu import cache
from mytriton_mlir.cpu.target import host

SCRIPT = """
import sys
import numpy as np
import mytriton as triton
import mytriton.language as tl

@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x + offs, tl.load(x + offs, mask=offs < n) + 1.0, mask=offs < n)

x = np.zeros(100, "f")
k.with_backend("mlir-cpu")[(1,)](x, 100, BLOCK=128)
assert (x == 1).all()
print("mlir" if "mlir.ir" in sys.modules else "cached")
"""


def run(folder: Path) -> str:
    script = folder.parent / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True,
        env=os.environ | {"MYTRITON_CACHE_DIR": str(folder)},
    )  # fmt: skip
    return done.stdout.strip()


def test_a_second_process_needs_no_mlir(tmp_path):
    folder = tmp_path / "c"
    assert run(folder) == "mlir"
    assert run(folder) == "cached"
    assert [path.name for path in folder.iterdir()] == ["mlir-cpu"]
    for entry in folder.rglob("*.o"):
        entry.write_bytes(entry.read_bytes()[:-7])
    assert run(folder) == "mlir"
    assert run(folder) == "cached"
    assert not list(folder.rglob(".new-*"))


def test_entries(tmp_path, monkeypatch):
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path))
    key = cache.key("text", host())
    assert key != cache.key("text ", host())
    assert cache.get(key) is None
    cache.put(key, b"code")
    assert cache.get(key) == b"code"
    cache.drop(key)
    cache.drop(key)
    assert cache.get(key) is None


def test_a_folder_that_cannot_be_used_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path / "file"))
    cache.put(cache.key("text", host()), b"code")
    assert cache.get(cache.key("text", host())) is None


@pytest.mark.parametrize("value", [""])
def test_the_cache_can_be_switched_off(monkeypatch, value):
    monkeypatch.setenv("MYTRITON_CACHE_DIR", value)
    assert cache_folder("mlir-cpu") is None
    cache.put("ab" * 32, b"code")
    assert cache.get("ab" * 32) is None


def test_specialisations_are_freed_and_made_again(tmp_path):
    import gc

    import numpy as np

    from mytriton_mlir.llvm import llvm

    def linked():
        return sum(entry.startswith("scale_kernel") for entry in llvm()._linked)

    scale_kernel = _scale_kernel()

    x, out = np.arange(40, dtype="f"), np.zeros(40, "f")
    for _ in range(30):
        scale_kernel.with_backend("mlir-cpu")[(1,)](x, out, 40, 3.0, BLOCK=48)
        np.testing.assert_array_equal(out, x * 3)
        assert linked() == 1
        scale_kernel.clear_cache()
        gc.collect()
    assert linked() == 0


def _scale_kernel():
    import mytriton as triton
    import mytriton.language as tl

    @triton.jit
    def scale_kernel(x, out, n, s, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        tl.store(out + offs, tl.load(x + offs, mask=offs < n) * s, mask=offs < n)

    return scale_kernel
