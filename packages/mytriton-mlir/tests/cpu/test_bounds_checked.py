"""Native launches whose offsets are checked first: ``MYTRITON_SANITIZE=bounds``."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import SanitizerError
from mytriton.plugins.errors import BackendDeclinedError, BackendSkippedWarning


@triton.jit
def double(x, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, tl.load(x + offs, mask=offs < n) * 2, mask=offs < n)


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


def f32(*shape):
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def launch(kernel, n, size=1000):
    x, out = f32(size), np.zeros(size, np.float32)
    return kernel[(4,)](x, out, n, BLOCK=256), x, out


def test_a_correct_launch_runs_natively(monkeypatch):
    monkeypatch.setenv("MYTRITON_SANITIZE", "bounds")
    monkeypatch.delenv("MYTRITON_BACKEND", raising=False)
    result, x, out = launch(double, 1000)
    assert (result.backend, result.launched) == ("mlir-cpu", True)
    np.testing.assert_array_equal(out, x * 2)


def test_what_is_wrong_is_told_with_argument_line_and_program():
    with pytest.raises(SanitizerError) as caught:
        launch(double.sanitize(bounds=True), 1003)
    line = inspect.getsourcelines(double.fn)[1] + 3
    found = [(f.kind, f.argument, f.program, f.indices, f.span.line) for f in caught.value.findings]
    assert found == [
        ("out-of-bounds", "x", (3, 0, 0), (1000, 1001, 1002), line),
        ("out-of-bounds", "o", (3, 0, 0), (1000, 1001, 1002), line),
    ]
    said = {link.expression: link.value for link in caught.value.findings[0].chain}
    assert said["offs < n"] == "True"


def test_the_launch_after_a_wrong_one_runs_again():
    kernel = double.with_backend("mlir-cpu").sanitize(bounds=True)
    with pytest.raises(SanitizerError):
        launch(kernel, 1001)
    _, x, out = launch(kernel, 999)
    np.testing.assert_array_equal(out[:999], x[:999] * 2)
    assert out[999] == 0


@pytest.mark.parametrize("short", ["a", "b", "c", None])
def test_matrix_product_with_pointers_that_move(short):
    shapes = {"a": (50, 40), "b": (40, 60), "c": (50, 60)}
    arrays = {name: f32(*shape) for name, shape in shapes.items()}
    wanted = arrays["a"].astype(np.float64) @ arrays["b"].astype(np.float64)
    kernel = matmul.with_backend("mlir-cpu").sanitize(bounds=True)
    if short is None:
        kernel[(2, 2)](*arrays.values(), 50, 60, 40, BLOCK=32)
        np.testing.assert_allclose(arrays["c"], wanted, rtol=1e-5)
        return
    arrays[short] = np.ascontiguousarray(arrays[short][:-1])
    with pytest.raises(SanitizerError) as caught:
        kernel[(2, 2)](*arrays.values(), 50, 60, 40, BLOCK=32)
    assert {f.argument for f in caught.value.findings} == {short}


@triton.jit
def stores_its_index(x, places):
    tl.store(places, 3)
    tl.store(x + tl.load(places), 1.0)


def test_offsets_that_the_kernel_stores_are_declined_and_go_to_the_interpreter():
    x, places = np.zeros(4, np.float32), np.zeros(1, np.int32)
    with pytest.warns(BackendSkippedWarning, match="offsets depend on what the kernel stores"):
        result = stores_its_index.sanitize(bounds=True)[(1,)](x, places)
    assert (result.backend, x.tolist()) == ("interpreter", [0, 0, 0, 1])
    with pytest.raises(BackendDeclinedError, match="offsets depend on what the kernel stores"):
        stores_its_index.with_backend("mlir-cpu").sanitize(bounds=True)[(1,)](x, places)
