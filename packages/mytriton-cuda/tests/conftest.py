"""Tests marked `nvrtc` compile with NVIDIA's compiler, tests marked `host` run kernels as C++ on the
CPU. Where a tool is missing they are skipped, and the summary says how many were."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cuda_host import COMPILER

from mytriton_cuda import nvrtc

_NEEDS = {
    "nvrtc": ("NVRTC (pip install nvidia-cuda-nvrtc-cu12)", nvrtc.available),
    "host": ("g++", lambda: COMPILER is not None),
}
_skipped: dict[str, int] = {}


def pytest_configure(config: pytest.Config) -> None:
    for name, (what, _) in _NEEDS.items():
        config.addinivalue_line("markers", f"{name}: needs {what}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for name, (what, present) in _NEEDS.items():
        marked = [item for item in items if item.get_closest_marker(name)]
        if marked and not present():
            _skipped[name] = len(marked)
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=f"needs {what}"))


def pytest_terminal_summary(terminalreporter: object) -> None:
    for name, count in _skipped.items():
        terminalreporter.write_line(  # type: ignore[attr-defined]
            f"mytriton-cuda: {count} tests NOT run: they need {_NEEDS[name][0]}"
        )
