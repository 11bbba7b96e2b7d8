"""Addresses and masks of very many terms: compiled in a moment, and to the same numbers."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import SanitizerError
from mytriton_mlir.cpu.artifact import _pairs
from mytriton_mlir.cpu.emitter import emit
from mytriton_mlir.cpu.facts import Facts
from mytriton_mlir.cpu.target import host


@triton.jit
def doubled_kernel(x, o, s, T: tl.constexpr):
    i = tl.arange(0, 64)
    offsets = i + s
    for _ in tl.static_range(T):
        offsets = offsets + offsets
    tl.store(o + i, tl.load(x + offsets % 1000))
    tl.store(o + 64 + i, tl.load(x + offsets, mask=offsets < 1000))


@triton.jit
def squared_kernel(x, o, s, T: tl.constexpr):
    i = tl.arange(0, 64)
    t = s + 0 * i
    for _ in tl.static_range(T):
        t = t * t
    tl.store(o + i, tl.load(x + i + t))


@triton.jit
def added_kernel(x, o, s, T: tl.constexpr):
    i = tl.arange(0, 64)
    offsets = i + s
    p = x + i
    for _ in tl.static_range(T):
        offsets = offsets + s
        p += s
    tl.store(o + i, tl.load(x + offsets))
    tl.store(o + 64 + i, tl.load(p))


@triton.jit
def remainders_kernel(x, o, s, T: tl.constexpr):
    i = tl.arange(0, 64)
    offsets = i % 3
    p = x + i % 3
    for k in tl.static_range(T):
        offsets = offsets + i % (k % 5 + 2)
        p += i % (k % 5 + 2)
    tl.store(o + i, tl.load(x + offsets))
    tl.store(o + 64 + i, tl.load(p))


@triton.jit
def rows_kernel(x, o, s, T: tl.constexpr):
    i, j = tl.arange(0, 64), tl.arange(0, 4)
    offsets = (i % 3)[:, None] * 4 + j[None, :]
    for k in tl.static_range(T):
        offsets = offsets + (i % (k % 5 + 2))[:, None] * s
    tl.store(o + i[:, None] * 4 + j[None, :], tl.load(x + offsets))


@triton.jit
def doubled_remainders_kernel(x, o, s, T: tl.constexpr):
    i = tl.arange(0, 64)
    offsets = (i % 5).to(tl.int64)
    for _ in tl.static_range(T):
        offsets = offsets + offsets
    tl.store(o + i, tl.load(x + offsets % 1000))
    tl.store(o + 64 + i, tl.load(x + offsets, mask=offsets < 1000))


@triton.jit
def masks_kernel(x, o, s, T: tl.constexpr):
    i = tl.arange(0, 64)
    m, q = i < s * 50, i < s * 60
    for k in tl.static_range(T):
        m, q = m & q, q & m & (i < 64 - k)
    tl.store(o + i, tl.load(x + i, mask=m, other=5.0))


@triton.jit
def scaled_kernel(x, o, s, T: tl.constexpr):
    i = tl.arange(0, 64)
    t = s - 1
    p = x + i * t
    for _ in tl.static_range(T):
        t = t + t
        p = p + i * t
    tl.store(o + i, tl.load(p))


CASES = [
    (doubled_kernel, 24), (squared_kernel, 40), (added_kernel, 500), (remainders_kernel, 300),
    (rows_kernel, 300), (doubled_remainders_kernel, 18), (masks_kernel, 30), (scaled_kernel, 30),
]  # fmt: skip


@triton.jit
def loops_kernel(x, o, n, T: tl.constexpr):
    i = tl.arange(0, 64)
    p = x + i
    v = tl.zeros((64,), tl.float32)
    for _ in tl.static_range(T):
        for _ in range(n):
            v += tl.load(p)
            p += 1
    tl.store(o + i, v)


@pytest.mark.parametrize("level", ["0", "1"])
@pytest.mark.parametrize(("kernel", "trips"), CASES, ids=[k.__name__ for k, _ in CASES])
def test_long_sums_and_products_compile(monkeypatch, kernel, trips, level):
    monkeypatch.setenv("MYTRITON_OPT_LEVEL", level)
    x = np.arange(4000, dtype=np.float32)
    found, wanted = np.zeros((2, 256), np.float32)
    kernel.with_backend("mlir-cpu")[(1,)](x, found, 1, T=trips)
    kernel.with_backend("interpreter")[(1,)](x, wanted, 1, T=trips)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("kernel", "trips"), CASES, ids=[k.__name__ for k, _ in CASES])
def test_long_sums_and_products_are_checked(monkeypatch, kernel, trips):
    monkeypatch.setenv("MYTRITON_SANITIZE", "bounds")
    x, found = np.arange(4000, dtype=np.float32), np.zeros(256, np.float32)
    kernel.with_backend("mlir-cpu")[(1,)](x, found, 1, T=trips)
    with pytest.raises(SanitizerError):
        kernel.with_backend("mlir-cpu")[(1,)](x[:0], found, 1, T=trips)


def test_many_loops_one_after_another():
    x, o = np.arange(400, dtype=np.float32), np.zeros(64, np.float32)
    loops_kernel.with_backend("mlir-cpu")[(1,)](x, o, 2, T=80)
    np.testing.assert_array_equal(o, sum(x[k : k + 64] for k in range(160)))


def test_pairs_of_very_many_arrays():
    found = _pairs(range(200), range(300))
    assert len(found) == len(set(map(frozenset, found))) == 200 * 199 // 2 + 200 * 100


def long_kernel(folder, stores):
    lines = "".join(
        f"    a = a * 1.5 + {k}.0\n    tl.store(x + o, a)\n    b = tl.load(x + 8 + o)\n    a = a + b\n"
        for k in range(stores)
    )
    path = folder / f"long_{stores}.py"
    path.write_text(
        "import mytriton as triton\nimport mytriton.language as tl\n@triton.jit\n"
        f"def kernel(x, B: tl.constexpr):\n    o = tl.arange(0, B)\n    a = tl.load(x + o)\n{lines}"
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def test_roots_computed_from_one_another_are_walked_once(tmp_path, monkeypatch):
    """What is looked at grows with the kernel, not with its square."""
    looked = {}
    for stores in (50, 200):
        function, _ = long_kernel(tmp_path, stores).specialise({"x": "f32[64]", "B": 8})
        count = 0
        plain = Facts.needs

        def needs(self, item, plain=plain):
            nonlocal count
            count += 1
            return plain(self, item)

        with monkeypatch.context() as patch:
            patch.setattr(Facts, "needs", needs)
            emit(function, host())
        looked[stores] = count
    assert looked[200] < 8 * looked[50]


def test_a_long_chain_of_stores_is_right(tmp_path):
    kernel, x = long_kernel(tmp_path, 30), np.linspace(0, 1, 16, dtype="f")
    want = x.copy()
    kernel.with_backend("interpreter")[(1,)](want, B=8)
    kernel.with_backend("mlir-cpu")[(1,)](x, B=8)
    np.testing.assert_allclose(x, want, rtol=1e-5)
