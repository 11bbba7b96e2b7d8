"""The kernels that are measured, written as any Triton user would write them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import mytriton as triton
import mytriton.language as tl

EXAMPLES = Path(__file__).parents[1] / "examples" / "kernels"


def example(name: str) -> ModuleType:
    """A module of ``examples/kernels``."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)


@triton.jit
def silu_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    v = tl.load(x + offs, mask=mask)
    tl.store(out + offs, v / (1.0 + tl.exp(-v)), mask=mask)


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    offsets = tl.program_id(0) * cols + columns
    mask = columns < cols
    row = tl.load(x + offsets, mask=mask, other=float("-inf"))
    numerator = tl.exp(row - tl.max(row))
    tl.store(out + offsets, numerator / tl.sum(numerator), mask=mask)


@triton.jit
def sum_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0), tl.sum(tl.load(x + offs, mask=offs < n, other=0.0)))


@triton.jit
def row_sum_kernel(x, out, cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * cols + columns, mask=columns < cols, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(row))


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(K):
        a_column = tl.load(a + rows * K + k, mask=rows < M, other=0.0)
        b_row = tl.load(b + k * N + cols, mask=cols < N, other=0.0)
        acc += a_column * b_row
    tl.store(c + rows * N + cols, acc, mask=(rows < M) & (cols < N))
