from __future__ import annotations

import os

import pytest

mlir = pytest.importorskip("mlir.ir", reason="MLIR's bindings are not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Nothing is taken from, or left in, the user's cache."""
    monkeypatch.setenv("MYTRITON_CACHE_DIR", os.fspath(tmp_path / "cache"))
