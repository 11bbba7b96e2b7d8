"""The blocked mapping of ``cuda`` against Triton, without a GPU.

    python benchmarks/gpu_static.py --triton-python PYTHON [--json FILE]

Both compile the same kernels ahead of time for sm_80; registers, spills and shared memory come from
ptxas 12.9 (``nvidia-cuda-nvcc-cu12``), dynamic figures from executing the PTX on the emulator of
the testkit, checks on. PYTHON has triton 3.9 (this one, if none is named). Exit code 1 when a figure
is above 1.15 times Triton's.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import mytriton as triton
import mytriton.language as tl
from mytriton_testkit.ptx import Counters, launch, load_module

LIMIT = 1.15
ROOT = Path(__file__).resolve().parents[1]
TRITON_SCRIPT = ROOT / "packages/mytriton-testkit/tests/ptx/triton_kernels.py"
#: What is held to the limit. (Wavefronts are shown only: the emulator counts a 16-byte access of one
#: address by a whole warp as four, which hardware does in one.)
HELD = ("registers", "spills", "shared", "wide accesses", "barriers", "instructions", "sectors")
FIGURES = (*HELD, "wavefronts")


@triton.jit
def vadd(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * cols + c, e / tl.sum(e, axis=0), mask=c < cols)


def aligned(*shape: int, random: bool = True) -> np.ndarray:
    """An array at a multiple of 256 bytes, as device memory is."""
    count = int(np.prod(shape))
    raw = np.zeros(4 * count + 256, np.uint8)
    start = -raw.ctypes.data % 256
    found = raw[start : start + 4 * count].view(np.float32).reshape(shape)
    if random:
        found[...] = np.random.default_rng(0).standard_normal(shape)
    return found


def add_problem() -> tuple[list[Any], int, np.ndarray, np.ndarray]:
    n = 1 << 16
    x, y, out = aligned(n), aligned(n), aligned(n, random=False)
    return [x, y, out, n], n // 1024, out, x + y


def softmax_problem(columns: int) -> tuple[list[Any], int, np.ndarray, np.ndarray]:
    rows = 16
    x, out = aligned(rows, columns), aligned(rows, columns, random=False)
    e = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    return [x, out, columns], rows, out, e / e.sum(axis=1, keepdims=True)


#: Name in the script of Triton's kernels -> kernel, block, warps, problem.
KERNELS: dict[str, tuple[Any, int, int, Any]] = {
    "vadd": (vadd, 1024, 4, add_problem),
    "softmax": (softmax, 1024, 4, lambda: softmax_problem(1024)),
    "softmax_4096": (softmax, 4096, 8, lambda: softmax_problem(4096)),
}


def ptxas() -> str:
    import nvidia

    for folder in nvidia.__path__:
        if (path := Path(folder) / "cuda_nvcc/bin/ptxas").is_file():
            return str(path)
    raise SystemExit("ptxas is missing: pip install nvidia-cuda-nvcc-cu12==12.9.86")


def static(text: str, folder: Path) -> dict[str, int]:
    """What ptxas says."""
    path = folder / "k.ptx"
    path.write_text(text)
    command = [ptxas(), "-v", "-arch=sm_80", str(path), "-o", str(folder / "k.cubin")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr

    def number(pattern: str) -> int:
        return sum(map(int, re.findall(pattern, said)))

    return {
        "registers": number(r"Used (\d+) registers"),
        "spills": number(r"(\d+) bytes spill"),
        "wide accesses": len(re.findall(r"(?:ld|st)\.global[\w.:]*\.v4\.(?:b|f|u)32", text)),
    }


def dynamic(counters: Counters) -> dict[str, int]:
    return {
        "barriers": counters.barriers,
        "instructions": counters.warp_instructions_without_moves,
        "sectors": counters.global_sectors,
        "wavefronts": counters.shared_wavefronts,
    }


def check(out: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(out, expected, rtol=2e-6, atol=1e-12)


def ours(name: str, folder: Path) -> dict[str, Any]:
    from mytriton_cuda.launch import compile_source

    kernel, block, warps, problem = KERNELS[name]
    args, grid, out, expected = problem()
    values = dict(zip(kernel.arg_names, args)) | {"BLOCK": block, "num_warps": warps}
    source = kernel.lower_for("cuda", values)
    os.environ["MYTRITON_CACHE_DIR"] = ""
    started = time.perf_counter()
    image = compile_source(source, "sm_80", "ptx")
    seconds = time.perf_counter() - started
    text = image.data.decode()
    counters = launch(load_module(text), grid, source.resources["threads"], args)
    check(out, expected)
    shared = source.resources["shared_bytes"]
    return {**static(text, folder), "shared": shared, **dynamic(counters), "seconds": seconds}


def theirs(folder: Path, name: str) -> dict[str, Any]:
    _, _, _, problem = KERNELS[name]
    args, grid, out, expected = problem()
    entry = json.loads((folder / "index.json").read_text())[name]
    text = (folder / f"{name}.ptx").read_text()
    module = load_module(text), entry["entry"]
    # Triton adds two pointers to scratch memory, which these kernels do not use.
    counters = launch(module, grid, entry["threads"], [*args, 0, 0], entry["shared"])
    check(out, expected)
    return {**static(text, folder), "shared": entry["shared"], **dynamic(counters)}


def compare(python: str) -> dict[str, Any]:
    """Figures of both for every kernel, and those that are above the limit."""
    report: dict[str, Any] = {"kernels": {}, "above": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
        subprocess.run([python, str(TRITON_SCRIPT), name], check=True, env=environment)
        for kernel in KERNELS:
            mine, other = ours(kernel, folder), theirs(folder, kernel)
            report["kernels"][kernel] = {"mytriton": mine, "triton": other}
            for figure in HELD:
                # Wide accesses are wanted: fewer of them would be the loss.
                a, b = mine[figure], other[figure]
                bad = a < b / LIMIT if figure == "wide accesses" else a > b * LIMIT
                if bad:
                    report["above"].append(f"{kernel}: {figure} {a} against {b}")
    return report


def table(report: dict[str, Any]) -> str:
    lines = ["| kernel | figure | mytriton | triton | ratio |", "|---|---|---|---|---|"]
    for kernel, both in report["kernels"].items():
        for figure in FIGURES:
            a, b = both["mytriton"][figure], both["triton"][figure]
            ratio = f"{a / b:.2f}" if b else "-"
            lines.append(f"| {kernel} | {figure} | {a} | {b} | {ratio} |")
        lines.append(f"| {kernel} | compile | {both['mytriton']['seconds'] * 1e3:.0f} ms | | |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--triton-python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    report = compare(options.triton_python)
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    print(table(report))
    for line in report["above"]:
        print(f"above {LIMIT} x: {line}")
    return 1 if report["above"] else 0


if __name__ == "__main__":
    sys.exit(main())
