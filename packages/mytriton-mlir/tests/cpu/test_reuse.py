"""Packed factors that later programs find again. Whole numbers: exact in any order of summation."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton_mlir.cpu import reuse


def whole(rng, *shape, low=-3, high=4):
    return rng.integers(low, high, shape).astype("f")


@pytest.fixture(autouse=True)
def one_thread():
    """One call of the function for all programs, so that they share its tables."""
    from mytriton_mlir.cpu.pool import pool

    before = pool().threads
    pool().resize(1)
    yield
    pool().resize(before)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, B: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    rows, columns = tl.cdiv(M, B), tl.cdiv(N, B)
    pid = tl.program_id(0)
    first = pid // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    m = (first + pid % (GROUP * columns) % height) * B + tl.arange(0, B)
    n = pid % (GROUP * columns) // height * B + tl.arange(0, B)
    k = tl.arange(0, BK)
    a_ptrs = a + m[:, None] * K + k[None, :]
    b_ptrs = b + k[:, None] * N + n[None, :]
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, BK):
        left = K - start
        x = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        y = tl.load(b_ptrs, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        a_ptrs += BK
        b_ptrs += BK * N
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def check_matmul(m, n, k, block, group):
    rng = np.random.default_rng(0)
    a, b = whole(rng, m, k), whole(rng, k, n)
    c = np.full((m, n), 99.0, "f")
    grid = (triton.cdiv(m, block) * triton.cdiv(n, block),)
    matmul_kernel.with_backend("mlir-cpu")[grid](a, b, c, m, n, k, B=block, BK=64, GROUP=group)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("group", [1, 3, 8, 1000])
def test_programs_in_any_order(group):
    check_matmul(150, 170, 300, 16, group)


def test_more_panels_than_a_table_has_entries():
    rows = reuse.ENTRIES + 9
    check_matmul(16 * rows, 48, 70, 16, 1000)


def test_panels_of_which_few_fit(monkeypatch):
    # Room for three panels: the last is replaced, and freed ones are found. (Sizes of groups that no
    # other test has, so that the kernel is compiled with it.)
    monkeypatch.setattr(reuse, "AREA", 3 * 2 * 256 * 16 * 4)
    check_matmul(16 * 7, 16 * 6, 300, 16, 1001)
    check_matmul(16 * 7, 16 * 40, 301, 16, 2)


def test_a_panel_that_does_not_fit():
    check_matmul(20, 18, reuse.AREA // 4 // 16 + 300, 16, 1)


@triton.jit
def ragged_kernel(a, b, c, lengths, N, K, B: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    i, k = tl.arange(0, B), tl.arange(0, BK)
    length = tl.load(lengths + pid)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, length, BK):
        at = start + k
        x = tl.load(a + i[:, None] * K + at[None, :], mask=at[None, :] < length, other=0.0)
        y = tl.load(b + at[:, None] * B + i[None, :], mask=at[:, None] < length, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + pid * B * B + i[:, None] * B + i[None, :], acc)


def test_loops_of_different_lengths():
    rng, lengths = np.random.default_rng(1), [700, 700, 0, 30, 700, 256, 257, 30, 1]
    a, b = whole(rng, 16, 700), whole(rng, 700, 16)
    c = np.full((len(lengths), 16, 16), 99.0, "f")
    ragged_kernel.with_backend("mlir-cpu")[(len(lengths),)](
        a, b, c, np.array(lengths, "i4"), 16, 700, B=16, BK=64
    )
    np.testing.assert_array_equal(c, [a[:, :n] @ b[:n] for n in lengths])


@triton.jit
def scaled_kernel(a, b, c, scales, K, B: tl.constexpr):
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    scale = tl.load(scales + pid)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        x = tl.load(a + i[:, None] * K + start + i[None, :]) * scale
        acc = tl.dot(x, tl.load(b + (start + i)[:, None] * B + i[None, :]), acc)
    tl.store(c + pid * B * B + i[:, None] * B + i[None, :], acc)


def test_a_factor_that_depends_on_a_number_of_the_program():
    rng = np.random.default_rng(2)
    a, b = whole(rng, 32, 96), whole(rng, 96, 32)
    scales = np.array([1, 2, 1, -1, 2, 0], "f")
    c = np.full((6, 32, 32), 99.0, "f")
    scaled_kernel.with_backend("mlir-cpu")[(6,)](a, b, c, scales, 96, B=32)
    np.testing.assert_array_equal(c, scales[:, None, None] * (a @ b))


@triton.jit
def powers_kernel(a, b, trips, K, B: tl.constexpr, BK: tl.constexpr):
    i, k = tl.arange(0, B), tl.arange(0, BK)
    for _ in range(trips):
        acc = tl.zeros((B, B), tl.float32)
        for start in range(0, K, BK):
            x = tl.load(a + i[:, None] * K + start + k[None, :])
            y = tl.load(b + (start + k)[:, None] * B + i[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(b + i[:, None] * B + i[None, :], acc)


def test_a_factor_that_the_kernel_writes():
    rng = np.random.default_rng(3)
    a, b = whole(rng, 64, 64, low=-1, high=2), whole(rng, 64, 64, low=-1, high=2)
    want = a @ (a @ (a @ b))
    powers_kernel.with_backend("mlir-cpu")[(1,)](a, b, 3, 64, B=64, BK=16)
    np.testing.assert_array_equal(b, want)


@triton.jit
def chain_kernel(a, b, c, K, B: tl.constexpr):
    # Every program writes rows of c; the next reads them if c is a.
    pid = tl.program_id(0)
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        x = tl.load(a + i[:, None] * K + start + i[None, :])
        acc = tl.dot(x, tl.load(b + (start + i)[:, None] * B + i[None, :]), acc)
    tl.store(c + i[:, None] * K + pid * B + i[None, :], acc)


def test_a_factor_that_is_the_output():
    rng, n = np.random.default_rng(4), 16
    a, b = whole(rng, n, 4 * n, low=-1, high=2), whole(rng, 4 * n, n, low=-1, high=2)
    want = a.copy()
    for p in range(4):
        want[:, p * n : (p + 1) * n] = want @ b
    # Views that overlap without being the same run program after program, in order.
    store = np.zeros(n * 4 * n + 1, "f")
    store[:-1] = a.ravel()
    chain_kernel.with_backend("mlir-cpu")[(4,)](store[:-1], b, store[:], 4 * n, B=n)
    np.testing.assert_array_equal(store[:-1].reshape(n, -1), want)


@triton.jit
def two_products_kernel(a, b, c, d, K, B: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    m, n, i = row * B + tl.arange(0, B), column * B + tl.arange(0, B), tl.arange(0, B)
    first = tl.zeros((B, B), tl.float32)
    second = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        x = tl.load(a + m[:, None] * K + k + i[None, :])
        first = tl.dot(x, tl.load(b + (k + i)[:, None] * 4 * B + n[None, :]), first)
    for k in range(0, K, B):
        x = tl.load(a + m[:, None] * K + k + i[None, :])
        second = tl.dot(x, tl.load(c + (k + i)[:, None] * 4 * B + n[None, :]), second)
    tl.store(d + m[:, None] * 4 * B + n[None, :], first * second)


def test_two_products_have_tables_of_their_own():
    rng, size, depth = np.random.default_rng(5), 16, 304
    a, b, c = whole(rng, 3 * size, depth), whole(rng, depth, 64), whole(rng, depth, 64)
    d = np.full((3 * size, 64), 99.0, "f")
    two_products_kernel.with_backend("mlir-cpu")[(3, 4)](a, b, c, d, depth, B=size)
    np.testing.assert_array_equal(d, (a @ b) * (a @ c))
