"""The traps of native execution, each against the interpreter or NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
import mytriton.plugin_api as mt
from mytriton.errors import StridesWarning
from mytriton.interpreter import run
from mytriton.ir.parser import parse
from mytriton_mlir.cpu import plugin


def both(kernel, grid, make, *constants, **meta):
    """Launch on mlir-cpu and on the interpreter with equal arguments; the arrays of each."""
    results = []
    for backend in ("mlir-cpu", "interpreter"):
        args = make()
        kernel.with_backend(backend)[grid](*args, *constants, **meta)
        results.append([a for a in args if isinstance(a, np.ndarray)])
    return results


def same(kernel, grid, make, *constants, **meta):
    native, reference = both(kernel, grid, make, *constants, **meta)
    for got, want in zip(native, reference):
        np.testing.assert_array_equal(got, want)


@triton.jit
def shift_kernel(x, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    v = tl.load(x + offs, mask=offs < n)
    tl.store(x + offs + 1, v, mask=offs < n)


@pytest.mark.parametrize("n", [0, 1, 5, 31, 32, 63, 64])
def test_a_load_is_complete_before_an_overlapping_store(n):
    same(shift_kernel, (1,), lambda: (np.arange(70, dtype=np.float32), n), BLOCK=64)


@triton.jit
def swap_kernel(x, y, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    tl.store(x + offs, tl.load(y + offs))
    tl.store(y + offs, a)


def test_a_load_before_a_store_sees_the_old_value():
    same(
        swap_kernel, (1,),
        lambda: (np.arange(100, dtype=np.float32), np.arange(100, 200, dtype=np.float32)), BLOCK=100,
    )  # fmt: skip


@triton.jit
def read_back_kernel(x, y, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x + offs, tl.load(y + offs) + 1.0)
    tl.store(out + offs, tl.load(x + (BLOCK - 1) - offs))


def test_a_load_after_a_store_sees_the_new_value():
    same(
        read_back_kernel, (1,),
        lambda: (np.zeros(64, "f"), np.arange(64, dtype="f"), np.zeros(64, "f")), BLOCK=64,
    )  # fmt: skip


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=m) + 1.0, mask=m)


@pytest.mark.parametrize("shift", [-40, -3, -1, 0, 1, 7, 40])
def test_arguments_that_overlap_are_honoured(shift):
    def make():
        memory = np.arange(1000, dtype=np.float32)
        return memory[100:900], memory[100 + shift : 900 + shift], 800

    same(copy_kernel, (13,), make, BLOCK=64)


def test_the_same_array_twice_and_in_place():
    x = np.arange(1000, dtype=np.float32)
    copy_kernel.with_backend("mlir-cpu")[(16,)](x, x, 1000, BLOCK=64)
    np.testing.assert_array_equal(x, np.arange(1000) + 1)


def test_unaligned_reversed_and_empty_arrays():
    base = np.arange(4000, dtype=np.uint8)[1:2401]
    x = base.view(np.float32)
    x[:] = np.arange(600)
    out = np.zeros(601, "f")[1:]
    copy_kernel.with_backend("mlir-cpu")[(10,)](x, out, 600, BLOCK=64)
    np.testing.assert_array_equal(out, np.arange(600) + 1)
    empty = np.empty(0, "f")
    copy_kernel.with_backend("mlir-cpu")[(1,)](empty, empty.copy(), 0, BLOCK=64)


@triton.jit
def negative_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x - offs))


def test_negative_offsets():
    x = np.arange(100, dtype="f")[::-1]
    out = np.zeros(100, "f")
    with pytest.warns(StridesWarning):
        negative_kernel.with_backend("mlir-cpu")[(1,)](x, out, BLOCK=100)
    np.testing.assert_array_equal(out, np.arange(99, -1, -1))


@triton.jit
def multiply_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    m = offs < n
    a = tl.load(x + offs, mask=m)
    b = tl.load(y + offs, mask=m, other=0)
    tl.store(out + offs, a * b, mask=m)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_an_integer_division_by_zero_does_not_trap(dtype):
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    x = rng.integers(info.min, info.max, 64, dtype=dtype, endpoint=True)
    y = rng.integers(info.min, info.max, 64, dtype=dtype, endpoint=True)
    x[:2], y[:2] = info.min, info.max if info.min == 0 else -1
    y[2:4] = 0
    y[4:40] = y[4:40] % 5
    out, want = np.zeros(64, dtype), np.zeros(64, dtype)
    # The seed language has no integer division; its SSA has.
    function, spec = multiply_kernel.specialise({"x": x, "y": y, "out": out, "n": 50, "BLOCK": 64})
    function = parse(str(function).replace(" = mul ", " = div "))
    views = [mt.launch_value(v) for v in (x, y, out, 50)]
    plugin.mytriton_compile(plugin.mytriton_lower(function, spec), spec).launch((1, 1, 1), views)
    run(function, [mt.launch_value(v) for v in (x, y, want, 50)], (1, 1, 1))
    np.testing.assert_array_equal(out, want)


@triton.jit
def two_reductions_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = 0.0
    for k in range(n):
        v = tl.load(x + k * BLOCK + offs)
        total += tl.sum(v) - tl.max(v)
        tl.store(out + k * BLOCK + offs, v - tl.max(v), mask=offs < BLOCK - 3)
    tl.store(out, total)


def test_two_reductions_in_a_loop_and_one_broadcast_back():
    same(
        two_reductions_kernel, (1,),
        lambda: (np.arange(320, dtype="f") % 17, np.zeros(320, "f"), 5), BLOCK=64,
    )  # fmt: skip


@triton.jit
def scalar_and_block_mask_kernel(x, out, flag, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=(offs < n) & (flag < 3), other=7.0), mask=offs < 60)


@pytest.mark.parametrize("flag", [0, 5])
def test_a_mask_that_is_a_block_and_a_scalar(flag):
    same(
        scalar_and_block_mask_kernel, (1,),
        lambda: (np.arange(64, dtype="f"), np.zeros(64, "f"), flag, 33), BLOCK=64,
    )  # fmt: skip


def test_a_count_near_the_largest_int_does_not_wrap():
    x, out = np.arange(64, dtype="f"), np.zeros(64, "f")
    copy_kernel.with_backend("mlir-cpu")[(1,)](x, out, 2**31 - 1, BLOCK=64)
    np.testing.assert_array_equal(out, x + 1)


@triton.jit
def far_kernel(x, out, n, step, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    p = x + offs
    for k in range(n):
        p = p + step
    tl.store(out + offs, tl.load(p))


@pytest.mark.slow
def test_offsets_beyond_two_gigabytes():
    x = np.zeros(2**31 + 2**20, np.int8)  # the pages in between are never touched
    x[2**31 : 2**31 + 16] = 5
    out = np.zeros(16, np.int8)
    far_kernel.with_backend("mlir-cpu")[(1,)](x, out, 2, 2**30, BLOCK=16)
    assert (out == 5).all()


@triton.jit
def carried_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(x + offs)
    b = tl.load(y + offs)
    p = x
    q = y
    for k in range(n):
        old = a
        a = b
        b = old + tl.load(p + offs)
        r = p
        p = q
        q = r
    tl.store(out + offs, a)
    tl.store(out + BLOCK + offs, b)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("block", [1, 16, 100, 1024])
def test_exchanged_blocks_and_pointers(n, block):
    same(
        carried_kernel, (1,),
        lambda: (np.arange(block, dtype="i4"), np.arange(block, dtype="i4") * 3, np.zeros(2 * block, "i4"), n),
        BLOCK=block,
    )  # fmt: skip


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


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (33, 17, 5), (64, 64, 300), (70, 130, 129), (5, 200, 0)]
)
@pytest.mark.parametrize("tile", [(4, 4), (6, 20), (64, 64), (16, 128), (3, 5)])
def test_the_tiled_matmul(shape, tile):
    (m, n, k), rng = shape, np.random.default_rng(1)
    a = rng.integers(-8, 8, (m, k)).astype("f")
    b = rng.integers(-8, 8, (k, n)).astype("f")
    c = np.full((m, n), 99.0, "f")
    grid = (triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1]))
    matmul_kernel.with_backend("mlir-cpu")[grid](a, b, c, m, n, k, BM=tile[0], BN=tile[1])
    np.testing.assert_array_equal(c, a @ b)


@triton.jit
def one_element_kernel(x, out, n):
    offs = tl.arange(0, 1)
    v = tl.load(x + offs)
    for k in range(n):
        v = v + 2.0
    tl.store(out, tl.max(v) + tl.sum(tl.load(x + offs)))


@pytest.mark.parametrize("n", [0, 3])
def test_reductions_of_one_element(n):
    same(one_element_kernel, (1,), lambda: (np.full(1, 3.0, "f"), np.zeros(1, "f"), n))
