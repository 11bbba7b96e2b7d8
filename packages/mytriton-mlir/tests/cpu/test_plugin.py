"""What the backend says of itself, and what artifacts do beside launching."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
import mytriton_mlir_cpu_info
from mytriton_mlir.cpu import fastpath, plugin
from mytriton_mlir.cpu.facts import REDUCTIONS
from mytriton_mlir.cpu.lowerings import ELEMENTWISE
from mytriton_mlir.cpu.rules import RULES


def test_without_bindings_the_probe_gives_the_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = plugin.mytriton_probe()
    assert (found.can_lower, found.can_launch) == (False, False)
    assert "MLIR's Python bindings" in found.reason
    assert found.hint == 'pip install "mytriton-mlir[bindings]"'


def test_with_bindings_both_work():
    found = plugin.mytriton_probe()
    assert found.can_lower
    assert found.can_launch
    assert found.devices[0].kind == "cpu"


def test_the_info_is_data():
    code = "import sys, mytriton_mlir_cpu_info as i; assert i.INFO; print([m for m in ('mlir', 'numpy', 'mytriton_mlir') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_declared_operation_has_a_row():
    declared = {
        f[3:] for f, c in mytriton_mlir_cpu_info.INFO.capabilities.items() if f.startswith("op.")
    }
    steps = {"addptr", "store", "dot", "device_print", "device_assert"}
    assert declared - steps == (set(RULES) | set(ELEMENTWISE)) - REDUCTIONS


@triton.jit
def scale_kernel(x, out, n, s, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n) * s, mask=offs < n)


@pytest.mark.parametrize("fast", [True, False])
def test_both_launch_paths(monkeypatch, fast):
    monkeypatch.setattr(fastpath, "FAST", fast)
    scale_kernel.clear_cache()
    x, out = np.arange(40, dtype="f"), np.zeros(40, "f")
    for n, s in ((40, 2.0), (np.int64(40), np.float32(2.0)), (40, 2)):
        out[:] = 0
        scale_kernel.with_backend("mlir-cpu")[(1,)](x, out, n, s, BLOCK=64)
        np.testing.assert_array_equal(out, x * 2)


def test_automatic_selection_of_host_arrays():
    x, out = np.arange(40, dtype="f"), np.zeros(40, "f")
    assert scale_kernel[(1,)](x, out, 40, 2.0, BLOCK=64).backend == "mlir-cpu"


def test_large_blocks_use_the_heap():
    n = 1 << 18
    x = np.random.default_rng(0).random(n, dtype="f")
    out = np.zeros(n, "f")
    softmax_kernel.with_backend("mlir-cpu")[(1,)](x, out, n, BLOCK=n)
    e = np.exp(x.astype("d") - x.max())
    np.testing.assert_allclose(out, e / e.sum(), rtol=1e-5)


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.load(x + columns, mask=columns < cols, other=float("-inf"))
    numerator = tl.exp(row - tl.max(row))
    tl.store(out + columns, numerator / tl.sum(numerator), mask=columns < cols)


@pytest.mark.slow
def test_stores_past_the_caches():
    from mytriton_mlir.cpu.artifact import last_level_cache

    n = last_level_cache() // 4 + 5000
    x, out = np.random.default_rng(0).random(n, dtype="f"), np.zeros(n, "f")
    result = copy_kernel.with_backend("mlir-cpu")[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    np.testing.assert_array_equal(out, x)
    assert any(assume.streaming for assume in result.artifact._variants)
    out[:] = 0
    copy_kernel.with_backend("mlir-cpu")[(triton.cdiv(n - 1, 1024),)](
        x[1:], out[1:], n - 1, BLOCK=1024
    )
    np.testing.assert_array_equal(out[1:], x[1:])


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n), mask=offs < n)
