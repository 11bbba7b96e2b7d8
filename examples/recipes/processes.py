"""Kernels in other processes. A kernel is pickled as a function is, by its name: the other process
imports the module and compiles (or finds the code on disk) itself.

python examples/recipes/processes.py
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def square_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x_values = tl.load(x + offsets, mask=mask)
    tl.store(out + offsets, x_values * x_values, mask=mask)


def apply(kernel: Any, values: np.ndarray) -> np.ndarray:
    """Run an elementwise kernel over an array."""
    out = np.empty_like(values)
    kernel[(triton.cdiv(values.size, 256),)](values, out, values.size, BLOCK=256)
    return out


def in_processes(parts: list[np.ndarray], workers: int = 2) -> list[np.ndarray]:
    """Every part in a process of a pool. ``spawn`` works everywhere; ``fork`` would copy a process
    whose threads (of ``mlir-cpu``, of NumPy) do not come along."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(apply, [square_kernel] * len(parts), parts))


if __name__ == "__main__":
    squares = in_processes([np.arange(1000.0), np.arange(10.0)])
    print(squares[1])
