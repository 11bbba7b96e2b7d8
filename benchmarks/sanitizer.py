"""What sanitized launches cost: full checks beside the plain interpreter (bar: 15x), bounds beside
native code (bar: 3x). ``python benchmarks/sanitizer.py``; both sides take turns, the fastest counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(o + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)


@triton.jit
def softmax(x, o, n, BLOCK: tl.constexpr):
    at, cols = tl.program_id(0) * n, tl.arange(0, BLOCK)
    a = tl.load(x + at + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(a - tl.max(a, axis=0))
    tl.store(o + at + cols, e / tl.sum(e, axis=0), mask=cols < n)


@triton.jit
def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    r = tl.arange(0, BLOCK)
    p, q = a + i[:, None] * K + r[None, :], b + r[:, None] * N + j[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        x = tl.load(p, mask=(i[:, None] < M) & (r[None, :] < K - k), other=0.0)
        y = tl.load(q, mask=(r[:, None] < K - k) & (j[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        p += BLOCK
        q += BLOCK * N
    tl.store(c + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))


def cases() -> list[tuple[str, Any, tuple[int, ...], tuple[Any, ...], int]]:
    """Name, kernel, grid, arguments, block."""
    random = np.random.default_rng(0)
    n = 1 << 20
    x, y, o = (random.random(n, dtype=np.float32) for _ in range(3))
    rows, out = random.random((512, 1024), dtype=np.float32), np.empty((512, 1024), np.float32)
    a, b, c = (random.random((128, 128), dtype=np.float32) for _ in range(3))
    return [
        ("vector add 2^20", add, (n // 1024,), (x, y, o, n), 1024),
        ("softmax 512x1024", softmax, (512,), (rows, out, 1024), 1024),
        ("matmul 128^3", matmul, (4, 4), (a, b, c, 128, 128, 128), 32),
    ]


def fastest(runs: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The shortest time of each in milliseconds."""
    best = [float("inf")] * len(runs)
    for _ in range(rounds):
        for k, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[k] = min(best[k], time.perf_counter() - start)
    return [1e3 * seconds for seconds in best]


def main() -> None:
    for backend, bounds in (("interpreter", False), ("mlir-cpu", True)):
        for name, kernel, grid, args, block in cases():
            plain = kernel.with_backend(backend)
            checked = plain.sanitize(bounds=bounds)
            runs = [lambda k=k: k[grid](*args, BLOCK=block) for k in (plain, checked)]
            a, b = fastest(runs, 100 if bounds else 5)
            print(f"{backend:12} {name:18} {a:8.3f} ms, sanitized {b:8.3f} ms: {b / a:.2f}x")


if __name__ == "__main__":
    main()
