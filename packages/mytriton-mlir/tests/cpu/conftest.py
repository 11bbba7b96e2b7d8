from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

mlir = pytest.importorskip("mlir.ir", reason="MLIR's bindings are not installed")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Nothing is taken from, or left in, the user's cache."""
    monkeypatch.setenv("MYTRITON_CACHE_DIR", os.fspath(tmp_path / "cache"))


@pytest.fixture
def run_ssa() -> Callable[..., None]:
    """``run_ssa(text, args, grid)``: compile a kernel's SSA text and launch it. Arrays are of the
    storage type of their parameter."""
    import mytriton.plugin_api as mt
    from mytriton.ir.parser import parse
    from mytriton.verify import verify
    from mytriton_mlir.cpu import plugin

    def run(text: str, args: list[Any], grid: tuple[int, int, int] = (1, 1, 1)) -> None:
        function = parse(text)
        verify(function)
        specs = [
            mt.ArgSpec(p.name, p.ty, "cpu" if mt.is_pointer(p.ty) else "") for p in function.params
        ]
        launch = mt.LaunchSpec(tuple(specs))
        artifact = plugin.mytriton_compile(plugin.mytriton_lower(function, launch), launch)
        views = []
        for param, arg in zip(function.params, args, strict=True):
            if isinstance(arg, np.ndarray):
                address = arg.__array_interface__["data"][0]
                arg = mt.ArgView(address, param.ty.element, arg.shape, arg.strides, owner=arg)
            views.append(arg)
        artifact.launch(grid, views)

    return run
