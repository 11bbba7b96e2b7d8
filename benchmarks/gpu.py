"""Kernels on a GPU: bandwidth and launch cost, against CuPy, and PyTorch and Triton where they are.

    python benchmarks/gpu.py [--json FILE]

Every result is checked before it is timed. Times are the best of several rounds, by CUDA events.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy

import mytriton as mt
import mytriton.language as tl
from mytriton.plugin_api import device_provider

ROUNDS, REPEATS = 7, 20
ADD, ROWS, COLUMNS = 1 << 24, 4096, 1024


@mt.jit(backend="cuda")
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@mt.jit(backend="cuda")
def softmax(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * cols + c, e / tl.sum(e, axis=0), mask=c < cols)


def microseconds(run: Callable[[], Any]) -> float:
    """Best time of one call on the device."""
    run()
    best = float("inf")
    for _ in range(ROUNDS):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(REPEATS):
            run()
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(begin, end) / REPEATS * 1e3)
    return best


def launch_cost(run: Callable[[], Any]) -> float:
    """Best host time of one launch, in microseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        for _ in range(200):
            run()
        best = min(best, (time.perf_counter() - start) / 200 * 1e6)
    cupy.cuda.Device().synchronize()
    return best


def check(found: Any, wanted: Any) -> None:
    cupy.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def add_runs() -> dict[str, Callable[[], Any]]:
    x, y = (cupy.random.standard_normal(ADD, dtype=cupy.float32) for _ in "xy")
    out = cupy.zeros_like(x)
    grid = (ADD // 1024,)
    runs: dict[str, Callable[[], Any]] = {
        "mytriton": lambda: add[grid](x, y, out, ADD, BLOCK=1024, num_warps=4),
        "mytriton, one element": lambda: add[grid](x, y, out, ADD, BLOCK=1024),
        "cupy": lambda: cupy.add(x, y, out=out),
        "copy": lambda: cupy.copyto(out, x),
    }
    for name, run in runs.items():
        if name != "copy":
            out.fill(0)
            run()
            check(out, x + y)
    if importlib.util.find_spec("torch"):
        import torch

        tx, ty, to = (torch.from_dlpack(a) for a in (x, y, out))
        runs["torch"] = lambda: torch.add(tx, ty, out=to)
    return runs


def softmax_runs() -> dict[str, Callable[[], Any]]:
    x = cupy.random.standard_normal((ROWS, COLUMNS), dtype=cupy.float32)
    out = cupy.zeros_like(x)

    def plain() -> Any:
        e = cupy.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    runs: dict[str, Callable[[], Any]] = {
        "mytriton": lambda: softmax[(ROWS,)](x, out, COLUMNS, BLOCK=COLUMNS, num_warps=4),
        "mytriton, one element": lambda: softmax[(ROWS,)](x, out, COLUMNS, BLOCK=COLUMNS),
        "cupy": plain,
    }
    for name in list(runs)[:2]:
        out.fill(0)
        runs[name]()
        check(out, plain())
    if importlib.util.find_spec("torch"):
        import torch

        tensor = torch.from_dlpack(x)
        runs["torch"] = lambda: torch.softmax(tensor, dim=1)
    return runs


def with_triton(runs: dict[str, dict[str, Callable[[], Any]]]) -> None:
    """Triton's own, from the same source."""
    if not (importlib.util.find_spec("triton") and importlib.util.find_spec("torch")):
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "packages/mytriton-testkit/tests/ptx"))
    import torch
    import triton_kernels as theirs

    x, y, out = (torch.randn(ADD, device="cuda") for _ in range(3))
    runs["add 2^24"]["triton"] = lambda: theirs.vadd[(ADD // 1024,)](x, y, out, ADD, BLOCK=1024)
    rows, result = (torch.randn(ROWS, COLUMNS, device="cuda") for _ in range(2))
    runs["softmax 4096x1024"]["triton"] = lambda: theirs.softmax[(ROWS,)](
        rows, result, COLUMNS, BLOCK=COLUMNS
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    runs = {"add 2^24": add_runs(), "softmax 4096x1024": softmax_runs()}
    try:
        with_triton(runs)
    except Exception as e:
        print(f"triton is left out: {type(e).__name__}: {e}", file=sys.stderr)
    device = device_provider("cuda").current_device()
    report: dict[str, Any] = {"device": device.name, "arch": device.arch, "microseconds": {}}
    for name, each in runs.items():
        report["microseconds"][name] = {who: microseconds(run) for who, run in each.items()}
        for who, value in report["microseconds"][name].items():
            print(f"{name:20} {who:24} {value:10.1f} us")
    small = [cupy.ones(16, cupy.float32) for _ in range(3)]
    report["launch_us"] = launch_cost(lambda: add[(1,)](*small, 16, BLOCK=256))
    print(f"{'launch':20} {'mytriton':24} {report['launch_us']:10.1f} us")
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
