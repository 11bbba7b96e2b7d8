"""Blocks whose lanes change places: what is read is as it was before anything of it was written."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl


@triton.jit
def turn_kernel(x, N: tl.constexpr):
    r = tl.arange(0, N)
    p = x + r[:, None] * N + r[None, :]
    tl.store(p, tl.trans(tl.load(p)))


@triton.jit
def symmetric_kernel(x, N: tl.constexpr):
    r = tl.arange(0, N)
    p = x + r[:, None] * N + r[None, :]
    a = tl.load(p)
    tl.store(p, (a + tl.trans(a)) * 0.5)


@triton.jit
def permute_kernel(x, N: tl.constexpr):
    r = tl.arange(0, N)
    p = x + r[:, None, None] * (N * N) + r[None, :, None] * N + r[None, None, :]
    tl.store(p, tl.permute(tl.load(p), 1, 2, 0))


@triton.jit
def two_arrays_kernel(x, y, N: tl.constexpr):
    r = tl.arange(0, N)
    p = r[:, None] * N + r[None, :]
    at = tl.trans(tl.load(x + p))
    tl.store(y + p, at)
    tl.store(x + p, tl.load(y + p) * 2 - at)


@triton.jit
def masked_kernel(x, N: tl.constexpr):
    r = tl.arange(0, N)
    p = x + r[:, None] * N + r[None, :]
    m = (r[:, None] < N - 1) & (r[None, :] < N - 1)
    tl.store(p, tl.trans(tl.load(p, mask=m, other=0)), mask=m)


@triton.jit
def loop_kernel(x, n, N: tl.constexpr):
    r = tl.arange(0, N)
    p = r[:, None] * N + r[None, :]
    for _ in range(n):
        a = tl.load(x + p)
        tl.store(x + p, tl.trans(a) + 1)


@triton.jit
def given_twice_kernel(x, y, N: tl.constexpr):
    r = tl.arange(0, N)
    p = r[:, None] * N + r[None, :]
    tl.store(y + p, tl.trans(tl.load(x + p)))


@triton.jit
def changed_kernel(x, o, n):
    i = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    a = tl.load(x + i)
    acc = tl.zeros((4, 4), tl.float32)
    for _ in range(n):
        acc = tl.dot(a, a, acc)
        acc = acc + 1.0
    tl.store(o + i, acc)


@triton.jit
def bytes_kernel(x, y, o):
    i = tl.arange(0, 32)
    a = tl.load(x + i[:, None] * 32 + i[None, :])
    b = tl.load(y + i[:, None] * 32 + i[None, :])
    tl.store(o + i[:, None] * 32 + i[None, :], tl.dot(a, tl.trans(b)))


@triton.jit
def column_kernel(x, o, u, n, M: tl.constexpr, K: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    for _ in range(n):
        v = v * 2.0
    t = tl.trans(v)
    r = tl.dot(v, t)
    tl.store(u + tl.arange(0, K)[:, None] * M + tl.arange(0, M)[None, :], t)
    tl.store(o + tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :], r)


SIZES = [2, 4, 8, 16, 32]


def launch(kernel, *arguments, **constants):
    kernel.with_backend("mlir-cpu")[(1,)](*arguments, **constants)


def square(size):
    return np.arange(size * size, dtype=np.float32).reshape(size, size)


@pytest.mark.parametrize("size", SIZES)
def test_a_square_is_turned_where_it_is(size):
    x = square(size)
    launch(turn_kernel, x, N=size)
    np.testing.assert_array_equal(x, square(size).T)


@pytest.mark.parametrize("size", SIZES)
def test_a_square_is_made_symmetric_where_it_is(size):
    x = square(size)
    launch(symmetric_kernel, x, N=size)
    np.testing.assert_array_equal(x, (square(size) + square(size).T) / 2)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_a_cube_is_permuted_where_it_is(size):
    x = np.arange(size**3, dtype=np.float32).reshape(size, size, size)
    wanted = x.transpose(1, 2, 0).copy()
    launch(permute_kernel, x, N=size)
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("size", SIZES)
def test_a_store_between_changes_nothing_of_what_was_read(size):
    x, y = square(size), np.zeros((size, size), np.float32)
    launch(two_arrays_kernel, x, y, N=size)
    np.testing.assert_array_equal(y, square(size).T)
    np.testing.assert_array_equal(x, square(size).T)


@pytest.mark.parametrize("size", SIZES)
def test_a_masked_square_is_turned_where_it_is(size):
    x = square(size)
    launch(masked_kernel, x, N=size)
    wanted = square(size)
    wanted[:-1, :-1] = wanted[:-1, :-1].T.copy()
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("size", SIZES)
def test_in_a_loop_and_through_two_arguments(size):
    x = square(size)
    launch(loop_kernel, x, 3, N=size)
    np.testing.assert_array_equal(x, square(size).T + 3)
    x = square(size)
    launch(given_twice_kernel, x, x, N=size)
    np.testing.assert_array_equal(x, square(size).T)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_an_accumulator_that_is_changed_after_the_product(trips):
    x, out = np.eye(4, dtype=np.float32), np.zeros((4, 4), np.float32)
    launch(changed_kernel, x, out, trips)
    np.testing.assert_array_equal(out, trips * (np.eye(4) + 1))


@pytest.mark.parametrize("dtype", ["i1", "u1", "f2", "f4"])
def test_a_turned_right_factor(dtype):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 5, (32, 32)).astype(dtype) for _ in range(2))
    out = np.zeros((32, 32), np.float32 if dtype[0] == "f" else np.int32)
    launch(bytes_kernel, x, y, out)
    np.testing.assert_array_equal(out, x.astype(np.int64) @ y.astype(np.int64).T)


@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (1, 2), (16, 1), (1, 16), (2, 2)])
def test_a_column_from_a_loop_is_stored_turned_and_multiplied(rows, columns):
    x = np.ones((rows, columns), np.float32)
    out, turned = np.zeros((rows, rows), np.float32), np.zeros((columns, rows), np.float32)
    launch(column_kernel, x, out, turned, 3, M=rows, K=columns)
    np.testing.assert_array_equal(turned, np.full((columns, rows), 8))
    np.testing.assert_array_equal(out, np.full((rows, rows), 64 * columns))
