"""Checked launches take at most 15 times as long as plain ones on the interpreter."""

from __future__ import annotations

import time

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def add(x, y, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(o + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)


def test_a_vector_addition_of_a_million_elements():
    n = 1 << 20
    x, y, out = np.ones(n, np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
    best = {}
    for _ in range(3):
        for name, kernel in (
            ("plain", add.with_backend("interpreter")),
            ("checked", add.sanitize()),
        ):
            start = time.perf_counter()
            kernel[(1024,)](x, y, out, n, BLOCK=1024)
            best[name] = min(best.get(name, 1e9), time.perf_counter() - start)
    assert best["checked"] < 15 * best["plain"]
