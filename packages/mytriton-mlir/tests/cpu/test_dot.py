"""``tl.dot``: whole numbers small enough to be exact in any order of summation."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl


@triton.jit
def one_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y, out_dtype=OUT))


@pytest.mark.parametrize("shape", [(16, 16, 16), (64, 64, 64), (128, 32, 16), (16, 256, 64)])
@pytest.mark.parametrize(
    "dtype, out", [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i1", "i4"), ("u1", "i4")]
)
def test_of_every_type(shape, dtype, out):
    (m, n, k), rng = shape, np.random.default_rng(0)
    low = 0 if dtype == "u1" else -9
    a = rng.integers(low, 9, (m, k)).astype(dtype)
    b = rng.integers(low, 9, (k, n)).astype(dtype)
    c = np.zeros((m, n), out)
    wanted = {"f4": tl.float32, "f8": tl.float64, "i4": tl.int32}[out]
    one_kernel.with_backend("mlir-cpu")[(1,)](a, b, c, M=m, N=n, K=k, OUT=wanted)
    np.testing.assert_array_equal(c, a.astype(out) @ b.astype(out))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 8), (16, 1, 64), (1, 16, 2), (8, 2, 1)])
@pytest.mark.parametrize("dtype, out", [("f4", "f4"), ("f2", "f4"), ("f8", "f8"), ("i1", "i4")])
def test_of_narrow_factors(shape, dtype, out):
    # A right factor of one column is stored as rows, which are its elements.
    test_of_every_type(shape, dtype, out)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, WRAP: tl.constexpr,
):  # fmt: skip
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    ok = tl.arange(0, BK)
    rm, rn = om, on
    if WRAP:
        rm, rn = om % M, on % N
    ap = a_ptr + rm[:, None] * sam + ok[None, :] * sak
    bp = b_ptr + ok[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        rest = K - k * BK
        if WRAP:
            a = tl.load(ap, mask=ok[None, :] < rest, other=0.0)
            b = tl.load(bp, mask=ok[:, None] < rest, other=0.0)
        else:
            a = tl.load(ap, mask=(om[:, None] < M) & (ok[None, :] < rest), other=0.0)
            b = tl.load(bp, mask=(ok[:, None] < rest) & (on[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
        ap += BK * sak
        bp += BK * sbk
    tl.store(c_ptr + om[:, None] * N + on[None, :], acc, mask=(om[:, None] < M) & (on[None, :] < N))


@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 70, 5), (64, 64, 64), (100, 30, 700), (5, 7, 0)])
@pytest.mark.parametrize("tile", [(16, 16, 16), (64, 32, 64), (32, 64, 256), (128, 128, 64)])
@pytest.mark.parametrize("layout", ["rows", "a transposed", "b transposed"])
@pytest.mark.parametrize("wrap", [False, True])
def test_a_loop_over_tiles(shape, tile, layout, wrap):
    (m, n, k), rng = shape, np.random.default_rng(1)
    a = rng.integers(-8, 8, (m, k)).astype("f")
    b = rng.integers(-8, 8, (k, n)).astype("f")
    c = np.full((m, n), 99.0, "f")
    want = a @ b
    if layout == "a transposed":
        a = np.ascontiguousarray(a.T).T
    elif layout == "b transposed":
        b = np.ascontiguousarray(b.T).T
    strides = [s // 4 for s in (*a.strides, *b.strides)]
    grid = (triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1]))
    bm, bn, bk = tile
    matmul_kernel.with_backend("mlir-cpu")[grid](
        a, b, c, m, n, k, *strides, BM=bm, BN=bn, BK=bk, WRAP=wrap
    )
    np.testing.assert_array_equal(c, want)


@pytest.mark.parametrize("tile", [(4, 8, 1), (16, 1, 16), (2, 1, 1), (1, 8, 2), (1, 1, 4)])
@pytest.mark.parametrize("layout", ["rows", "a transposed", "b transposed"])
def test_a_loop_over_narrow_tiles(tile, layout):
    test_a_loop_over_tiles((5, 7, 33), tile, layout, False)


@triton.jit
def rescaled_kernel(a, b, scale, out, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    acc = tl.full((N, N), 1.0, tl.float32)
    for k in range(trips):
        x = tl.load(a + at)
        y = tl.load(b + at)
        factor = tl.load(scale + i)
        acc = acc * factor[:, None]
        acc = tl.dot(x, tl.trans(y), acc)
    tl.store(out + at, acc)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_an_accumulator_that_is_rescaled_in_every_trip(trips):
    rng, n = np.random.default_rng(2), 32
    a, b = (rng.integers(-3, 4, (n, n)).astype("f") for _ in range(2))
    scale = rng.integers(-2, 3, n).astype("f")
    out = np.zeros((n, n), "f")
    rescaled_kernel.with_backend("mlir-cpu")[(1,)](a, b, scale, out, trips, N=n)
    want = np.ones((n, n), "f")
    for _ in range(trips):
        want = want * scale[:, None] + a @ b.T
    np.testing.assert_array_equal(out, want)


@triton.jit
def old_and_new_kernel(a, out, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at)
    acc = tl.zeros((N, N), tl.float32)
    for k in range(trips):
        new = tl.dot(x, x, acc)
        acc = new - acc * 2.0
    tl.store(out + at, acc)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_the_old_accumulator_is_needed_after_the_product(trips):
    n = 16
    a = np.random.default_rng(3).integers(-2, 3, (n, n)).astype("f")
    out, want = np.zeros((n, n), "f"), np.zeros((n, n), "f")
    old_and_new_kernel.with_backend("mlir-cpu")[(1,)](a, out, trips, N=n)
    for _ in range(trips):
        want = (want + a @ a) - want * 2
    np.testing.assert_array_equal(out, want)


@triton.jit
def power_kernel(a, out, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at)
    acc = x
    for k in range(trips):
        acc = tl.dot(acc, tl.trans(acc), acc)
    tl.store(out + at, acc)


@pytest.mark.parametrize("trips", [0, 1, 2])
def test_the_accumulator_is_a_factor_too(trips):
    n = 16
    a = (np.random.default_rng(4).integers(0, 2, (n, n))).astype("f")
    out, want = np.zeros((n, n), "f"), a
    power_kernel.with_backend("mlir-cpu")[(1,)](a, out, trips, N=n)
    for _ in range(trips):
        want = want @ want.T + want
    np.testing.assert_array_equal(out, want)


@triton.jit
def branch_kernel(a, out, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for k in range(trips):
        if k % 2 == 0:
            x = tl.load(a + at)
            acc = tl.dot(x, x, acc)
    tl.store(out + at, acc)


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_a_product_under_a_condition(trips):
    n = 32
    a = np.random.default_rng(5).integers(-3, 4, (n, n)).astype("f")
    out = np.zeros((n, n), "f")
    branch_kernel.with_backend("mlir-cpu")[(1,)](a, out, trips, N=n)
    np.testing.assert_array_equal(out, ((trips + 1) // 2) * (a @ a))


@triton.jit
def attention_kernel(Q, K, V, O, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    om, on, od = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(Q + om[:, None] * D + od[None, :], mask=om[:, None] < n, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        inside = (start + on) < n
        k = tl.load(K + (start + on)[:, None] * D + od[None, :], mask=inside[:, None], other=0.0)
        s = tl.where(inside[None, :], tl.dot(q, tl.trans(k)), float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(V + (start + on)[:, None] * D + od[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p, v, acc * shrink[:, None])
        top = new
    tl.store(O + om[:, None] * D + od[None, :], acc / total[:, None], mask=om[:, None] < n)


@pytest.mark.parametrize("n", [1, 64, 100])
def test_attention(n):
    rng, d = np.random.default_rng(6), 32
    q, k, v = (rng.standard_normal((n, d)).astype("f") for _ in range(3))
    out = np.zeros_like(q)
    attention_kernel.with_backend("mlir-cpu")[(triton.cdiv(n, 32),)](
        q, k, v, out, n, BM=32, BN=16, D=d
    )
    scores = q.astype("f8") @ k.astype("f8").T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    want = weights / weights.sum(1, keepdims=True) @ v.astype("f8")
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-5)


@triton.jit
def turned_kernel(a, b, out, trips, rows, N: tl.constexpr, MASKED: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N, N), tl.float32)
    for k in range(trips):
        at = (k * N + i)[:, None] * N + i[None, :]
        if MASKED:
            x = tl.load(a + at, mask=(k * N + i)[:, None] < rows, other=0.0)
        else:
            x = tl.load(a + at)
        acc = tl.dot(tl.trans(x), tl.load(b + at), acc)
    tl.store(out + i[:, None] * N + i[None, :], acc)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("n", [16, 32, 64])
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_the_left_factor_is_turned_in_every_trip(trips, n, masked):
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-3, 4, (3 * n, n)).astype("f") for _ in range(2))
    out = np.zeros((n, n), "f")
    rows = trips * n - 5 if masked else trips * n
    turned_kernel.with_backend("mlir-cpu")[(1,)](a, b, out, trips, rows, N=n, MASKED=masked)
    rows = max(rows, 0)
    np.testing.assert_array_equal(out, a[:rows].T @ b[:rows])


@triton.jit
def turned_before_kernel(a, b, out, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at) * 2.0
    acc = tl.zeros((N, N), tl.float32)
    for k in range(trips):
        acc = tl.dot(tl.trans(x), tl.load(b + k * N * N + at), acc)
    tl.store(out + at, acc)


def test_a_block_from_before_the_loop_is_turned_in_it():
    rng, n = np.random.default_rng(7), 16
    a, b = rng.integers(-3, 4, (n, n)).astype("f"), rng.integers(-3, 4, (2, n, n)).astype("f")
    out = np.zeros((n, n), "f")
    turned_before_kernel.with_backend("mlir-cpu")[(1,)](a, b, out, 2, N=n)
    np.testing.assert_array_equal(out, 2 * a.T @ (b[0] + b[1]))
