"""What the generated code computes, run as C++ on the CPU in three orders of threads."""

from __future__ import annotations

from typing import Any

import cuda_kernels as k
import numpy as np
import pytest
from cuda_host import HostKernels
from cuda_support import emitted

from mytriton.runtime.arguments import launch_value
from mytriton.runtime.grid import normalise

pytestmark = [pytest.mark.host, pytest.mark.slow]
INT_MAX = 2**31 - 1


def run(kernel: Any, grid: Any, args: list[Any], level: int = 1, **constants: Any) -> None:
    """Run in place; the result may not depend on the order of threads."""
    got = emitted(kernel, *args, level=level, **constants)
    library = HostKernels(
        [(got, tuple(p.ty for p in kernel.compile(*args, **constants).function.params))]
    )
    results = []
    for order in (1, 2, 0):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        library.run(0, [launch_value(a) for a in copies], normalise(grid), order)
        results.append(copies)
    for position, value in enumerate(args):
        if isinstance(value, np.ndarray):
            for other in results[:-1]:
                assert other[position].tobytes() == results[-1][position].tobytes()
            value[...] = results[-1][position]


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_exchanged_carried_values(trips: int) -> None:
    x = np.zeros(2, np.int32)
    run(k.exchange, 1, [x, trips])
    assert x.tolist() == ([1, 2] if trips % 2 == 0 else [2, 1])


@pytest.mark.parametrize("level", [0, 1])
def test_rotated_carried_values(level: int) -> None:
    x = np.zeros(3, np.int32)
    run(k.rotation, 1, [x, 4], level)
    a, b, c = 1, 2, 3
    for i in range(4):
        a, b, c = b, c, a + i
    assert x.tolist() == [a, b, c]


@pytest.mark.parametrize(
    ("start", "stop", "step", "trips"),
    [
        (INT_MAX - 5, INT_MAX, 1, 5),
        (INT_MAX - 5, INT_MAX, 4, 2),
        (-(2**31), INT_MAX, 2**30, 4),
        (5, 5, 7, 0),
    ],
)
def test_loop_near_the_largest_int(start: int, stop: int, step: int, trips: int) -> None:
    out = np.zeros(1, np.int32)
    run(k.near_the_top, 1, [out, start, stop], STEP=step)
    assert out[0] == trips


def test_carried_pointer() -> None:
    x, out = np.arange(32, dtype=np.float32), np.zeros(8, np.float32)
    run(k.walking_pointer, 1, [x, out, 4], BLOCK=8)
    assert out.tolist() == x.reshape(4, 8).sum(0).tolist()


def test_exchanged_pointers() -> None:
    x, y, out = (np.arange(n, n + 8, dtype=np.float32) for n in (0, 100, 0))
    run(k.exchanged_pointers, 1, [x, y, out, 3])
    assert out[:2].tolist() == [103, 3]


@pytest.mark.parametrize("block", [1, 2, 64, 256])
def test_two_reductions_in_a_loop(block: int) -> None:
    x, out = np.arange(3 * block, dtype=np.float32), np.zeros(1, np.float32)
    run(k.reductions_in_a_loop, 1, [x, out, 3], BLOCK=block)
    rows = x.reshape(3, block)
    assert out[0] == (rows.max(1) + rows.sum(1)).sum()


@pytest.mark.parametrize(("m", "n"), [(8, 16), (16, 8), (1, 16), (16, 1), (1, 1), (4, 4)])
def test_sums_along_both_axes(m: int, n: int) -> None:
    x = np.arange(m * n, dtype=np.float32)
    rows, columns, everything = (
        np.zeros(m, np.float32),
        np.zeros(n, np.float32),
        np.zeros(1, np.float32),
    )
    run(k.sum_of_both_axes, 1, [x, rows, columns, everything], M=m, N=n)
    tile = x.reshape(m, n)
    assert rows.tolist() == tile.sum(1).tolist()
    assert columns.tolist() == tile.sum(0).tolist()
    assert everything[0] == tile.sum()


def test_result_of_a_reduction_broadcasts_back() -> None:
    x, out = (
        np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32),
        np.zeros((8, 16), np.float32),
    )
    run(k.normalise_rows, 1, [x, out], M=8, N=16)
    assert (out == x - x.max(1, keepdims=True)).all()


def test_one_range_as_row_and_as_column() -> None:
    out = np.zeros((8, 8), np.int32)
    run(k.outer, 1, [out], N=8)
    assert (out == np.arange(8)[:, None] * 100 + np.arange(8)).all()


@pytest.mark.parametrize(("a", "b"), [(64, 16), (16, 64), (96, 100), (1, 32)])
def test_stores_of_two_widths(a: int, b: int) -> None:
    wide, narrow = np.full(a + 4, -1, np.int32), np.full(b + 4, -1, np.int32)
    run(k.two_widths, 1, [wide, narrow], A=a, B=b)
    assert wide.tolist() == [*range(a), *[-1] * 4]
    assert narrow.tolist() == [*range(b), *[-1] * 4]


@pytest.mark.parametrize(("wide", "narrow"), [(64, 8), (100, 16), (64, 64), (33, 32)])
def test_reduction_narrower_than_the_thread_block(wide: int, narrow: int) -> None:
    x, out = np.arange(narrow, dtype=np.float32), np.zeros(wide, np.float32)
    run(k.partial_sum, 1, [x, out], WIDE=wide, NARROW=narrow)
    assert (out == x.sum()).all()


def test_store_waits_for_the_loads_of_other_threads() -> None:
    x = np.arange(128, dtype=np.float32)
    run(k.reverse_in_place, 1, [x], BLOCK=128)
    assert x.tolist() == list(range(127, -1, -1))


def test_trip_waits_for_the_trip_before() -> None:
    x = np.arange(70, dtype=np.float32)
    want = x.copy()
    for _ in range(3):
        want[1:65] = want[:64].copy()
    run(k.shift_in_loop, 1, [x, 3], BLOCK=64)
    assert x.tolist() == want.tolist()


def test_scalar_store_in_a_kernel_with_blocks_is_done_once_and_after_the_load() -> None:
    x, out = np.full(1, 5, np.float32), np.zeros(64, np.float32)
    run(k.scalar_in_blocks, 1, [x, out], BLOCK=64)
    assert x[0] == 6
    assert (out == 5).all()


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_wrap(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, info.max // 2, 5, 65535 % info.max, 0, 1, info.min], dtype)
    out = np.zeros_like(x)
    run(k.squares, 1, [x, out], BLOCK=8)
    with np.errstate(all="ignore"):
        assert out.tolist() == (x * x + x - np.array(7, dtype)).tolist()
