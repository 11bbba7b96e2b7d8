"""Triton's own PTX for sm_80. Runs where Triton 3.9 is: in this Python, or in $TRITON_PYTHON."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mytriton_testkit.ptx import Counters, launch, load_module

PYTHON = os.environ.get("TRITON_PYTHON") or (
    sys.executable if importlib.util.find_spec("triton") else ""
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="needs triton 3.9 here, or TRITON_PYTHON"),
]
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("triton")
    environment = {**os.environ, "TRITON_CACHE_DIR": str(path / "cache")}
    script = Path(__file__).with_name("triton_kernels.py")
    subprocess.run([PYTHON, str(script), str(path)], check=True, env=environment)
    return path


def go(folder: Path, name: str, grid: object, args: list) -> Counters:
    entry = json.loads((folder / "index.json").read_text())[name]
    module = load_module((folder / f"{name}.ptx").read_text())
    # Triton adds two pointers to scratch memory, which these kernels do not use.
    return launch((module, entry["entry"]), grid, entry["threads"], [*args, 0, 0], entry["shared"])


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("f4")


def test_vadd(folder: Path) -> None:
    for name, dtype in (("vadd", "f4"), ("vadd_f16", "f2")):
        x, y = normal(2, 3000).astype(dtype)
        out = np.zeros_like(x)
        counters = go(folder, name, 3, [x, y, out, 3000])
        np.testing.assert_array_equal(out, x + y)
        if name == "vadd":
            # The anchor: 46 instructions a warp.
            assert counters.warp_instructions == 12 * 46
    x, y = (bf16(normal(3000)) for _ in "xy")
    out = np.zeros_like(x)
    go(folder, "vadd_bf16", 3, [x, y, out, 3000])
    total = (wide(x) + wide(y)).view("u4")
    np.testing.assert_array_equal(out, (total + 0x7FFF + (total >> 16 & 1)) >> 16)


def bf16(x: np.ndarray) -> np.ndarray:
    return (x.view("u4") >> 16).astype("u2")


def wide(bits: np.ndarray) -> np.ndarray:
    return (bits.astype("u4") << 16).view("f4")


@pytest.mark.parametrize(("name", "cols"), [("softmax", 1000), ("softmax_4096", 4000)])
def test_softmax(folder: Path, name: str, cols: int) -> None:
    x = normal(4, cols) * 5
    out = np.zeros_like(x)
    go(folder, name, 4, [x, out, cols])
    e = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=2e-6, atol=1e-12)


def test_layernorm(folder: Path) -> None:
    x, w, b = normal(5, 2000).astype("f2"), *normal(2, 2000).astype("f2")
    out, mean, rstd = np.zeros_like(x), np.zeros(5, "f4"), np.zeros(5, "f4")
    go(folder, "layernorm", 5, [x, w, b, out, mean, rstd, 2000, 1e-5])
    wide = x.astype("f8")
    center = wide - wide.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((center**2).mean(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(mean, wide.mean(axis=1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rstd, scale[:, 0], rtol=1e-5)
    np.testing.assert_allclose(out, center * scale * w + b, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("size", [(128, 128, 96), (112, 112, 144), (64, 64, 32)])
@pytest.mark.parametrize("name", ["matmul", "matmul_bf16", "matmul_tf32"])
def test_matmul(folder: Path, name: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    a, b = (RNG.integers(-4, 5, shape).astype("f4") for shape in ((m, k), (k, n)))
    convert, result, tile = {
        "matmul": (lambda x: x.astype("f2"), "f2", (64, 64)),
        "matmul_bf16": (bf16, "f4", (32, 64)),
        "matmul_tf32": (lambda x: x, "f4", (32, 32)),
    }[name]
    c = np.zeros((m, n), result)
    grid = (-(-m // tile[0]), -(-n // tile[1]))
    counters = go(folder, name, grid, [convert(a), convert(b), c, m, n, k])
    np.testing.assert_array_equal(c, (a @ b).astype(result))
    assert counters.matrix_instructions > 0


def test_atomics_and_scan(folder: Path) -> None:
    x = RNG.integers(0, 100, 1000).astype("i4")
    bins, scan, counts = np.zeros(16, "i4"), np.zeros(1000, "i4"), np.zeros(2, "i4")
    go(folder, "mixed", 4, [x, bins, scan, counts, 1000])
    np.testing.assert_array_equal(bins, np.bincount(x & 15, minlength=16))
    wanted = np.concatenate([np.cumsum(x[at : at + 256]) for at in range(0, 1000, 256)])
    np.testing.assert_array_equal(scan, wanted)
    assert counts[0] == x.max()


def test_elementwise(folder: Path) -> None:
    x = normal(1000) * 3
    out, half, brain = np.zeros(1000, "f4"), np.zeros(1000, "f2"), np.zeros(1000, "u2")
    go(folder, "elementwise", 2, [x, out, half, brain, 1000])
    v = x.astype("f8")
    wanted = (
        np.exp(v) + np.log(abs(v) + 1) + np.sin(v) * np.cos(v) + np.sqrt(abs(v))
        + 1 / np.sqrt(abs(v) + 1) + np.floor(v) + np.where(v > 0, v / 3, v * 2) + 1 / (1 + np.exp(-v))
    )  # fmt: skip
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(half, out.astype("f2"))
