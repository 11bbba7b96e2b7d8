"""What has gone wrong in compilers like this one, on the interpreter."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl


def launch(kernel, *args, grid=(1,), **kwargs):
    kernel.with_backend("interpreter")[grid](*args, **kwargs)


def test_sixteen_bit_floats_stay_or_widen_by_rule():
    @triton.jit
    def kernel(out, x, y):
        lanes = tl.arange(0, 4)
        a = tl.load(x + lanes)
        b = tl.load(y + lanes)
        tl.static_assert(tl.where(lanes < 2, a, 0).dtype == tl.float16)
        tl.static_assert((a * 2.0).dtype == tl.float16)
        tl.static_assert((a + b).dtype == tl.float16)
        tl.static_assert((a / b).dtype == tl.float32)
        tl.static_assert(tl.exp(a).dtype == tl.float16)
        tl.store(out + lanes, tl.where(lanes < 2, a, 0) * 2.0 + a / b)

    x = np.array([1, 2, 3, 4], np.float16)
    y = np.array([3, 3, 3, 3], np.float16)
    out = np.zeros(4, np.float32)
    launch(kernel, out, x, y)
    kept = np.where(np.arange(4) < 2, x, np.float16(0)) * np.float16(2)
    np.testing.assert_array_equal(
        out, kept.astype(np.float32) + x.astype(np.float32) / np.float32(3)
    )


@pytest.mark.parametrize("shape", [(16, 1), (1, 16), (4, 4), (1, 1), (2, 8)])
def test_reductions_along_every_axis(shape):
    @triton.jit
    def kernel(out, x, R: tl.constexpr, C: tl.constexpr):
        v = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
        rows, cols = tl.arange(0, R), tl.arange(0, C)
        tl.store(out + cols, tl.max(v, axis=0))
        tl.store(out + 16 + rows, tl.max(v, axis=1))
        tl.store(out + 32 + rows, tl.sum(v, axis=-1))
        tl.store(out + 48 + cols, tl.min(v, -2))
        tl.store(out + 64, tl.max(v))
        tl.store(out + 65, tl.sum(v, axis=None))
        tl.store(out + 66 + cols[None, :], tl.sum(v, axis=0, keep_dims=True))
        top, where = tl.max(v, axis=1, return_indices=True)
        tl.store(out + 82 + rows, top * 100 + where)

    r, c = shape
    x = np.random.default_rng(r).permutation(r * c).astype(np.int32).reshape(shape) - 3
    out = np.zeros(98, np.int32)
    launch(kernel, out, x, r, c)
    expected = np.zeros(98, np.int32)
    for at, values in (
        (0, x.max(0)), (16, x.max(1)), (32, x.sum(1)), (48, x.min(0)), (64, [x.max()]), (65, [x.sum()]),
        (66, x.sum(0)), (82, x.max(1) * 100 + x.argmax(1)),
    ):  # fmt: skip
        expected[at : at + len(values)] = values
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("which", range(4))
def test_one_lane_of_a_group_is_stored(which):
    @triton.jit
    def kernel(out, which):
        lanes = tl.arange(0, 16)
        tl.store(out + lanes, lanes, mask=lanes % 4 == which)

    out = np.full(16, -1, np.int32)
    launch(kernel, out, which)
    lanes = np.arange(16)
    assert out.tolist() == np.where(lanes % 4 == which, lanes, -1).tolist()


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (10, 7, 16), (16, 5, 48), (3, 16, 0)])
def test_a_product_with_edges_and_a_carried_accumulator(m, n, k):
    @triton.jit
    def kernel(a_ptr, b_ptr, c_ptr, m, n, k, B: tl.constexpr):
        rows = tl.arange(0, B)
        cols = tl.arange(0, B)
        ks = tl.arange(0, B)
        a_ptrs = a_ptr + rows[:, None] * k + ks[None, :]
        b_ptrs = b_ptr + ks[:, None] * n + cols[None, :]
        acc = tl.zeros((B, B), dtype=tl.float32)
        for _ in range(0, k, B):
            a = tl.load(a_ptrs, mask=rows[:, None] < m, other=0.0)
            b = tl.load(b_ptrs, mask=cols[None, :] < n, other=0.0)
            acc = tl.dot(a, b, acc)
            a_ptrs += B
            b_ptrs += B * n
        mask = (rows[:, None] < m) & (cols[None, :] < n)
        tl.store(c_ptr + rows[:, None] * n + cols[None, :], acc.to(tl.float16), mask=mask)

    rng = np.random.default_rng(k)
    a = rng.integers(-4, 5, (m, k)).astype(np.float16)
    b = rng.integers(-4, 5, (k, n)).astype(np.float16)
    c = np.full((m, n), 7, np.float16)
    launch(kernel, a, b, c, m, n, k, 16)
    np.testing.assert_array_equal(
        c, (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
    )


def test_half_precision_products_accumulate_in_single():
    @triton.jit
    def kernel(a_ptr, b_ptr, out, B: tl.constexpr):
        at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
        c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
        tl.static_assert(c.dtype == tl.float32)
        tl.store(out + at, c)

    # 2048 + 1 is 2048 in half precision.
    a = np.ones((16, 16), np.float16)
    b = np.ones((16, 16), np.float16)
    b[0] = 2048
    out = np.zeros((16, 16), np.float32)
    launch(kernel, a, b, out, 16)
    assert (out == 2063).all()


def test_stores_before_an_early_return_happened_and_later_ones_did_not():
    @triton.jit
    def kernel(out, n):
        pid = tl.program_id(0)
        row = out + pid * 8
        for i in range(8):
            tl.store(row + i, 1)
            if pid % 2 == 1:
                if i == pid:
                    return
            tl.store(row + i, 2)
        if pid == n:
            return
        tl.store(row, 3)

    out = np.zeros((5, 8), np.int32)
    launch(kernel, out, 2, grid=(5,))
    expected = np.full((5, 8), 2)
    expected[[0, 4], 0] = 3
    for p in (1, 3):
        expected[p, p] = 1
        expected[p, p + 1 :] = 0
    assert out.tolist() == expected.tolist()
