"""Plots of the tutorials: ``python benchmarks/tutorials.py [folder]`` (default ``docs/images``).

Needs matplotlib, the ``mlir-cpu`` backend, and PyTorch as a peer where it is installed. Best of what
``triton.testing.do_bench`` measures, all providers of a size in turn, each on one thread: with more of them a busy
machine says more about schedulers than about kernels.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MYTRITON_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before anything reads them

import numpy as np

import mytriton as triton
import mytriton.language as tl

KERNELS = Path(__file__).parents[1] / "examples" / "kernels"
try:
    import torch
except ImportError:  # a peer less
    torch = None  # type: ignore[assignment]
PEERS = ["mytriton", "NumPy", *(["PyTorch"] if torch else [])]


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, KERNELS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(
        out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask
    )


@triton.jit
def softmax_kernel(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    values = tl.load(x + row * stride + lanes, mask=mask, other=float("-inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + lanes, values / tl.sum(values, axis=0), mask=mask)


def numpy_softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def numpy_norm(x: Any) -> Any:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def measure(run: Any) -> float:
    return float(triton.testing.do_bench(run, warmup=20, rep=100, return_mode="min"))


def report(name: str, axis: str, sizes: list[int], unit: str) -> Any:
    return triton.testing.perf_report(
        triton.testing.Benchmark(
            x_names=[axis], x_vals=sizes, line_arg="provider", line_vals=PEERS, line_names=PEERS,
            plot_name=name, args={}, ylabel=unit, x_log=True,
        )
    )  # fmt: skip


@report("vector-add", "n", [2**k for k in range(12, 25, 2)], "GB/s")
def vector_add(n: int, provider: str) -> float:
    x, y = np.random.default_rng(0).random((2, n), dtype=np.float32)
    out = np.empty_like(x)
    runs = {
        "mytriton": lambda: add_kernel[(triton.cdiv(n, 4096),)](x, y, out, n, BLOCK=4096),
        "NumPy": lambda: np.add(x, y, out=out),
    }
    if torch:
        tx, ty, to = map(torch.from_numpy, (x, y, out))
        runs["PyTorch"] = lambda: torch.add(tx, ty, out=to)
    return 12 * n / measure(runs[provider]) * 1e-6


@report("softmax", "columns", [2**k for k in range(7, 14)], "GB/s")
def softmax(columns: int, provider: str) -> float:
    x = np.random.default_rng(0).standard_normal((2048, columns)).astype(np.float32)
    out = np.empty_like(x)
    runs = {
        "mytriton": lambda: softmax_kernel[(2048,)](x, out, columns, columns, BLOCK=columns),
        "NumPy": lambda: numpy_softmax(x),
    }
    if torch:
        tx, to = map(torch.from_numpy, (x, out))
        runs["PyTorch"] = lambda: torch.softmax(tx, 1, out=to)
    return 8 * x.size / measure(runs[provider]) * 1e-6


@report("matmul", "size", [128, 256, 512, 1024], "GFLOP/s")
def matmul(size: int, provider: str) -> float:
    a, b = np.random.default_rng(0).standard_normal((2, size, size)).astype(np.float32)
    kernels = example("matmul")
    runs = {
        "mytriton": lambda: kernels.matmul(a, b, block=(64, 64, 64)),
        "NumPy": lambda: a @ b,
    }
    if torch:
        ta, tb = map(torch.from_numpy, (a, b))
        runs["PyTorch"] = lambda: ta @ tb
    return 2 * size**3 / measure(runs[provider]) * 1e-6


@report("layer-norm", "columns", [2**k for k in range(7, 14)], "GB/s")
def layer_norm(columns: int, provider: str) -> float:
    x = np.random.default_rng(0).standard_normal((2048, columns)).astype(np.float32)
    w, b = np.ones(columns, np.float32), np.zeros(columns, np.float32)
    kernels = example("layer_norm")
    runs = {"mytriton": lambda: kernels.forward(x, w, b), "NumPy": lambda: numpy_norm(x)}
    if torch:
        tx, tw, tb = map(torch.from_numpy, (x, w, b))
        runs["PyTorch"] = lambda: torch.nn.functional.layer_norm(tx, (columns,), tw, tb)
    return 8 * x.size / measure(runs[provider]) * 1e-6


def plot(name: str, frame: list[dict[str, float]], axis: str, unit: str, folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for provider in PEERS:
        axes.plot(
            [r[axis] for r in frame], [r[provider] for r in frame], marker="o", label=provider
        )
    axes.set_xscale("log", base=2)
    axes.set_xlabel(axis)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else KERNELS.parents[1] / "docs" / "images")
    folder.mkdir(parents=True, exist_ok=True)
    for mark in (vector_add, softmax, matmul, layer_norm):
        bench = mark.benchmarks
        axis = bench.x_names[0]
        rows = [
            {axis: size, **{p: mark.fn(size, provider=p) for p in PEERS}} for size in bench.x_vals
        ]
        print(bench.plot_name)
        for row in rows:
            shown = "  ".join(f"{p} {row[p]:8.2f}" for p in PEERS)
            print(
                f"  {row[axis]:>9}  {shown}  ratio {row['mytriton'] / max(row[p] for p in PEERS[1:]):.2f}"
            )
        plot(bench.plot_name, rows, axis, bench.ylabel, folder)


if __name__ == "__main__":
    main()
