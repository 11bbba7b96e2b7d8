"""``kernel.cache_key``: equal for equal programs, in every process; different when one changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_HELPER = "import mytriton as triton\nimport mytriton.language as tl\n\n@triton.jit\ndef twice(x):\n    return x * {factor}\n"
_KERNEL = """
import {helper} as helper
SCALE = {scale}
TABLE = tl.constexpr((1, {entry}))

def plain(v):
    return v + {plain}

@triton.jit
def kernel(x, n, BLOCK: tl.constexpr = {default}):
    # {comment}
    i = tl.arange(0, BLOCK)
    tl.store(x + i, helper.twice(tl.load(x + i)) * SCALE + plain(TABLE[1]), mask=i < n)
"""
_DEFAULTS: dict[str, Any] = {
    "scale": 2,
    "entry": 3,
    "plain": 4,
    "default": 8,
    "comment": "",
    "factor": 2,
}


@pytest.fixture
def key_of(module_from: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))
    # Two versions of a file may be the same length and as new as a file system can tell.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(**changes: Any) -> str:
        values = {**_DEFAULTS, **changes}
        (tmp_path / "helper_under_test.py").write_text(_HELPER.format(**values))
        sys.modules.pop("helper_under_test", None)
        module = module_from(_KERNEL.format(**values, helper="helper_under_test"))
        # Modules of one name, as in two runs of one program.
        for value in (module.kernel.fn, module.plain):
            value.__module__ = "program"
        return str(module.kernel.cache_key)

    return make


def test_the_same_program_has_the_same_key(key_of: Any) -> None:
    assert key_of() == key_of()


@pytest.mark.parametrize(
    "change",
    [{"scale": 3}, {"entry": 5}, {"plain": 5}, {"default": 16}, {"factor": 3}, {"comment": "text"}],
    ids=lambda c: next(iter(c)),
)
def test_what_it_reads_changes_it(change: dict[str, Any], key_of: Any) -> None:
    assert key_of() != key_of(**change)


def test_processes_agree(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(
        "import mytriton as triton, mytriton.language as tl\n"
        "NAMES = frozenset({'a', 'b', 'c'})\n"
        "def helper(x): return (lambda v: v + 1)(x)\n"
        "@triton.jit\n"
        "def kernel(x, B: tl.constexpr):\n"
        "    tl.store(x, helper(B))\n"
        "print(kernel.cache_key)\n"
    )
    keys = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "prog.py"], cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        keys.add(done.stdout)
    assert len(keys) == 1
