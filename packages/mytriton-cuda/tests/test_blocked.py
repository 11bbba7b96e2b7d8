"""The blocked mapping on the emulator: what it must not get wrong, and how it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cuda_kernels as k
import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.plugin_api import LaunchSpec, MytritonError
from mytriton_cuda import backend
from mytriton_cuda.emit import emit_blocked

pytestmark = pytest.mark.nvrtc
device = pytest.importorskip("mytriton_testkit.emulator_device")
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def emulator() -> Iterator[None]:
    with device.use_emulator():
        yield


def run(kernel: Any, grid: Any, *args: Any, **constants: Any) -> Any:
    result = kernel.with_backend("cuda")[grid](*args, **constants)
    assert result.launched
    return result


def aligned(shape: Any, dtype: Any = np.float32, offset: int = 0) -> np.ndarray:
    """Random numbers at an address that is a multiple of 256, plus ``offset`` elements."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape)) + offset
    raw = np.zeros(count * kind.itemsize + 256, np.uint8)
    start = -raw.ctypes.data % 256
    found = raw[start : start + count * kind.itemsize].view(kind)[offset:].reshape(shape)
    found[...] = (RNG.standard_normal(shape) * 50).astype(kind)
    return found


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@pytest.mark.parametrize("n", [992, 1000, 1007])
@pytest.mark.parametrize("offset", [0, 1, 4])
@pytest.mark.parametrize("warps", [1, 4])
def test_alignment_and_masks_that_split_a_vector(n: int, offset: int, warps: int) -> None:
    x, y = aligned(1024, offset=offset), aligned(1024)
    out = aligned(1024)
    before = out.copy()
    result = run(add, (1,), x, y, out, n, BLOCK=1024, num_warps=warps)
    np.testing.assert_array_equal(out[:n], (x + y)[:n])
    np.testing.assert_array_equal(out[n:], before[n:])
    wide = "read_pack<float, 4>" in result.src
    assert wide is (n % 16 == 0)
    # x alone is misaligned: it is loaded element by element.
    assert result.src.count("read_pack<float, 4>(&") == (0 if n % 16 else 2 if offset != 1 else 1)


def test_alignment_is_looked_at_in_every_launch() -> None:
    x, y, out = aligned(1024), aligned(1024), aligned(1024)
    first = run(add, (1,), x, y, out, 1024, BLOCK=1024, num_warps=4)
    again = run(add, (1,), y, x, out, 512, BLOCK=1024, num_warps=4)
    assert again.artifact is first.artifact
    odd = run(add, (1,), x[1:], y, out, 1008, BLOCK=1024, num_warps=4)
    assert odd.artifact is not first.artifact
    np.testing.assert_array_equal(out[:1008], x[1:1009] + y[:1008])


@pytest.mark.parametrize("dtype", ["float16", "int8", "bool", "int64", "float64", "uint16"])
def test_vectors_of_every_width(dtype: str) -> None:
    @triton.jit
    def copy(x, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i))

    x, out = aligned(2048, dtype), aligned(2048, dtype)
    src = run(copy, (1,), x, out, BLOCK=2048, num_warps=2).src
    assert out.tobytes() == x.tobytes()
    assert "read_pack<" in src


@triton.jit
def statistics(x, top, low, total, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=0)
    tl.store(top + row, tl.max(v))
    tl.store(low + row, tl.min(v))
    tl.store(total + row, tl.sum(v))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.int8, np.uint8, np.float64])
@pytest.mark.parametrize(("block", "warps"), [(1024, 4), (16, 4), (4096, 8), (64, 1), (2, 2)])
def test_reductions(dtype: Any, block: int, warps: int) -> None:
    n = block - block // 3
    x = aligned((3, n), dtype)
    top, low, total = (np.zeros(3, dtype) for _ in range(3))
    run(statistics, (3,), x, top, low, total, n, BLOCK=block, num_warps=warps)
    padded = np.concatenate([x, np.zeros((3, block - n), dtype)], axis=1)
    np.testing.assert_array_equal(top, padded.max(axis=1))
    np.testing.assert_array_equal(low, padded.min(axis=1))
    if np.dtype(dtype).kind == "f":
        np.testing.assert_allclose(total, x.sum(axis=1, dtype="f8"), rtol=1e-5, atol=1e-3)


@triton.jit
def normalised(x, out, side, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    at = i[:, None] * N + j[None, :]
    v = tl.load(x + at)
    top = tl.max(v, axis=1)
    w = v - top[:, None]
    t = tl.sum(w, axis=0)
    tl.store(out + at, w + t[None, :])
    tl.store(side + i, top)


@pytest.mark.parametrize(("m", "n"), [(16, 64), (64, 16), (4, 1024), (128, 1), (1, 128), (32, 32)])
@pytest.mark.parametrize("warps", [1, 4])
def test_rows_and_columns_of_a_tile(m: int, n: int, warps: int) -> None:
    x = aligned((m, n), np.int32).astype(np.float32)
    out, side = aligned((m, n)), aligned(m)
    run(normalised, (1,), x, out, side, M=m, N=n, num_warps=warps)
    w = x - x.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(out, w + w.sum(axis=0, keepdims=True))
    np.testing.assert_array_equal(side, x.max(axis=1))


@triton.jit
def by_column(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] + tl.arange(0, N)[None, :] * M
    tl.store(out + at, tl.load(x + at) * 2.0)


def test_memory_that_runs_along_the_first_axis_is_accessed_along_it() -> None:
    x, out = aligned(4096), aligned(4096)
    src = run(by_column, (1,), x, out, M=64, N=64, num_warps=4).src
    np.testing.assert_array_equal(out, x * 2)
    assert "read_pack<float, 4>" in src


@triton.jit
def outer_and_same(x, out, N: tl.constexpr):
    r = tl.arange(0, N)
    tl.store(out + r[:, None] * N + r[None, :], tl.load(x + r)[:, None] * tl.load(x + r)[None, :])


@pytest.mark.parametrize("n", [8, 24, 64])
def test_one_range_as_row_and_column(n: int) -> None:
    x, out = aligned(n), aligned((n, n))
    run(outer_and_same, (1,), x, out, N=n, num_warps=4)
    np.testing.assert_array_equal(out, np.outer(x, x))


@triton.jit
def running(x, out, trips, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    best = tl.zeros((BLOCK,), tl.float32)
    p = x + c
    a = 0.0
    b = 1.0
    for t in range(trips):
        v = tl.load(p)
        best = tl.maximum(best, v - tl.max(v) + tl.sum(v))
        p += BLOCK
        s = a
        a = b + tl.min(v)
        b = s
    tl.store(out + c, best + a - b)


@pytest.mark.parametrize("trips", [0, 1, 5])
@pytest.mark.parametrize("warps", [1, 4])
def test_reductions_in_a_loop_and_exchanged_values(trips: int, warps: int) -> None:
    x = aligned((max(trips, 1), 256), np.int32).astype(np.float32)
    out = aligned(256)
    run(running, (1,), x, out, trips, BLOCK=256, num_warps=warps)
    best, a, b = np.zeros(256, np.float32), 0.0, 1.0
    for v in x[:trips]:
        best = np.maximum(best, v - v.max() + v.sum())
        a, b = b + v.min(), a
    np.testing.assert_allclose(out, best + a - b, rtol=1e-6)


@triton.jit
def scalars_only(x, out, n):
    total = 0
    for i in range(n):
        total += tl.load(x + i)
    tl.store(out, total)
    tl.store(out + 1, tl.load(out) + 1)


def test_a_kernel_without_blocks() -> None:
    x, out = np.arange(7, dtype=np.int32), np.zeros(2, np.int32)
    result = run(scalars_only, (1,), x, out, 7, num_warps=2)
    assert out.tolist() == [21, 22]
    assert result.artifact.metadata["threads"] == 64
    assert "if (threadIdx.x == 0)" in result.src


@triton.jit
def two_sizes(x, out, small, A: tl.constexpr, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, A))
    tl.store(out + tl.arange(0, A), v + tl.sum(v))
    tl.store(small + tl.arange(0, B), tl.load(out + tl.arange(0, B)))


def test_what_another_thread_stored_is_read_after_a_barrier() -> None:
    x, out, small = aligned(1024, np.int32), aligned(1024, np.int32), aligned(32, np.int32)
    run(two_sizes, (1,), x, out, small, A=1024, B=32, num_warps=4)
    np.testing.assert_array_equal(out, x + x.sum(dtype=np.int32))
    np.testing.assert_array_equal(small, out[:32])


def test_blocks_larger_than_a_thread_block_need_no_option() -> None:
    x, out = aligned((2, 5000)), aligned((2, 5000))
    result = run(k.softmax_kernel, (2,), x, out, 5000, BLOCK=8192)
    e = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=2e-5, atol=1e-20)
    assert result.artifact.metadata["threads"] == 256


def test_without_num_warps_the_text_is_the_articles() -> None:
    function = k.add_kernel.compile(*[np.ones(9, np.float32)] * 3, 9, BLOCK=256).function
    plain = backend.mytriton_lower(function, LaunchSpec(()))
    warps = backend.mytriton_lower(function, LaunchSpec((), options={"num_warps": 4}))
    assert plain.resources["mapping"] == "element"
    assert warps.resources["mapping"] == "blocked"
    assert (plain.resources["threads"], warps.resources["threads"]) == (256, 128)


@pytest.mark.parametrize("warps", [3, 64])
def test_impossible_numbers_of_warps(warps: int) -> None:
    function = k.add_kernel.compile(*[np.ones(9, np.float32)] * 3, 9, BLOCK=256).function
    with pytest.raises(MytritonError, match="power of two"):
        emit_blocked(function, warps)


@triton.jit
def between(x, out, low, high, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i), mask=(low < i) & (i < high))


def test_a_lower_bound_splits_vectors() -> None:
    x, out = aligned(512), aligned(512)
    before = out.copy()
    run(between, (1,), x, out, 32, 480, BLOCK=512, num_warps=4)
    np.testing.assert_array_equal(out[33:480], x[33:480])
    np.testing.assert_array_equal(out[:33], before[:33])
    np.testing.assert_array_equal(out[480:], before[480:])


@triton.jit
def spread_rows(x, out, n):
    rows, columns = tl.arange(0, 8), tl.arange(0, 16)[None, :]
    total = tl.zeros((8, 16), tl.float32)
    for _trip in range(n):
        total += tl.load(x + (rows[:, None] + columns))
        rows = rows * 8
    tl.store(out + tl.arange(0, 8)[:, None] * 16 + columns, total)


def test_a_carried_block_that_is_aligned_after_the_first_trip_only() -> None:
    x, out = aligned(128), aligned((8, 16))
    run(spread_rows, (1,), x, out, 2, num_warps=1)
    row, column = np.arange(8)[:, None], np.arange(16)
    wanted = x.astype(np.float64)[row + column] + x[row * 8 + column]
    np.testing.assert_allclose(out, wanted, rtol=1e-6)


@triton.jit
def bounded_product(a, b, out):
    k, i = tl.arange(0, 32)[:, None], tl.arange(0, 16)[None, :]
    x = tl.minimum(tl.load(a + k * 16 + i) + 1, 7).to(tl.int8)
    y = tl.load(b + k * 16 + i)
    tl.store(out + tl.arange(0, 16)[:, None] * 16 + i, tl.dot(tl.trans(x), y))


def test_the_first_byte_of_a_word_keeps_its_sign() -> None:
    """What NVRTC makes of 8-bit numbers that are loaded together and computed with."""
    a, b = (aligned((32, 16), np.int8) for _ in range(2))
    a[...], b[...] = RNG.integers(-9, 20, (2, 32, 16))
    out = aligned((16, 16), np.int32)
    run(bounded_product, (1,), a, b, out, num_warps=1)
    wanted = np.minimum(a.astype(np.int64) + 1, 7).T @ b.astype(np.int64)
    np.testing.assert_array_equal(out, wanted)
