"""Launches in machine code: the same results and the same errors as through Python, only sooner."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ArgumentError, GridError
from mytriton.plugin_api import ABSENT, DirectLaunch, DirectParameter
from mytriton.runtime import direct
from mytriton_mlir.cpu import native, native_ir, pool

# Where it is possible it must be there: a launcher that fails its own test fails these.
pytestmark = pytest.mark.skipif(
    not native._possible(), reason="no native launcher for this interpreter"
)
SCALE = 2.0


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)


@triton.jit
def scaled_kernel(x, out, n, factor, negate, shift=0, *, BLOCK: tl.constexpr = 64):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs + shift, mask=offs < n) * factor * SCALE
    tl.store(out + offs, tl.where(negate, -v, v), mask=offs < n)


@triton.jit
def copy_kernel(x, /, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n), mask=offs < n)


@triton.jit
def grid_kernel(out, A: tl.constexpr, B: tl.constexpr):
    a = tl.program_id(0)
    b = tl.program_id(1)
    c = tl.program_id(2)
    tl.store(out + (c * B + b) * A + a, a + 100 * b + 10000 * c)


@pytest.fixture(autouse=True)
def fresh():
    kernels = (
        add_kernel, scaled_kernel, copy_kernel, grid_kernel, checked_kernel, biased_kernel,
        strided_kernel,
    )  # fmt: skip
    yield
    for kernel in kernels:
        kernel.clear_cache()


class Counted:
    """How often a launch goes through Python."""

    def __init__(self, monkeypatch):
        self.count = 0
        from mytriton.runtime import jit, launch

        def counted(*args):
            self.count += 1
            return launch.launch(*args)

        monkeypatch.setattr(jit, "_launch", counted)

    def during(self, launch):
        before = self.count
        launch()
        return self.count - before


@pytest.fixture
def python(monkeypatch):
    return Counted(monkeypatch)


def data(n, dtype="f4", seed=0):
    return np.random.default_rng(seed).integers(-50, 50, n).astype(dtype)


def warm(launch):
    for _ in range(direct.AFTER + 1):
        launch()


def test_a_kernel_that_is_launched_often(python):
    x, y, out = data(1000), data(1000, seed=1), np.zeros(1000, "f4")

    def launch():
        return add_kernel[(4,)](x, y, out, 1000, BLOCK=256)

    warm(launch)
    out[:] = 0
    assert python.during(launch) == 0
    np.testing.assert_array_equal(out, x + y)
    result = launch()
    assert result.backend == "mlir-cpu"
    assert result.launched
    assert len(result) == 3
    assert add_kernel.with_backend("mlir-cpu")[(4,)](x, y, out, 1000, BLOCK=256).launched


def test_other_arrays_of_the_same_kind_stay_native(python):
    first = [data(64, seed=k) for k in range(3)]
    warm(lambda: add_kernel[(1,)](*first, 64, BLOCK=64))
    for shape in ((64,), (8, 8), (1, 64, 1), (100,)):
        x, y = data(shape), data(shape, seed=3)
        out = np.zeros(shape, "f4")
        n = min(64, x.size)
        assert python.during(lambda: add_kernel[(1,)](x, y, out, n, BLOCK=64)) == 0
        np.testing.assert_array_equal(out.reshape(-1)[:n], (x + y).reshape(-1)[:n])


@pytest.mark.parametrize("dtype", ["f8", "i4", "f2", ">f4"])
def test_another_dtype_is_another_variant(dtype, python):
    a = [data(64, seed=k) for k in range(3)]
    warm(lambda: add_kernel[(1,)](*a, 64, BLOCK=64))
    x, y, out = data(64, dtype), data(64, dtype, 1), np.zeros(64, dtype)
    if dtype == ">f4":
        with pytest.raises(ArgumentError, match="non-native byte order"):
            add_kernel[(1,)](x, y, out, 64, BLOCK=64)
        return
    assert python.during(lambda: add_kernel[(1,)](x, y, out, 64, BLOCK=64)) == 1
    np.testing.assert_array_equal(out, x + y)


def test_arrays_with_gaps_and_at_odd_addresses(python):
    a = [data(64, seed=k) for k in range(3)]
    warm(lambda: add_kernel[(1,)](*a, 64, BLOCK=64))
    raw = np.zeros(65 * 4, np.uint8)
    odd = raw[1 : 1 + 256].view("f4")
    odd[:] = a[0]
    assert python.during(lambda: add_kernel[(1,)](odd, a[1], a[2], 64, BLOCK=64)) == 1
    np.testing.assert_array_equal(a[2], a[0] + a[1])
    shifted = data(65)[1:]
    assert python.during(lambda: add_kernel[(1,)](shifted, a[1], a[2], 64, BLOCK=64)) == 0
    np.testing.assert_array_equal(a[2], shifted + a[1])


def test_read_only_arrays():
    x, y, out = (data(64, seed=k) for k in range(3))
    warm(lambda: add_kernel[(1,)](x, y, out, 64, BLOCK=64))
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="argument 'out' is read-only"):
        add_kernel[(1,)](x, y, out, 64, BLOCK=64)


def test_arrays_that_overlap(python):
    x, y, out = (data(64, seed=k) for k in range(3))
    warm(lambda: add_kernel[(1,)](x, y, out, 64, BLOCK=64))
    want = x + y
    assert python.during(lambda: add_kernel[(1,)](x, y, x, 64, BLOCK=64)) == 1
    np.testing.assert_array_equal(x, want)
    z = data(300)
    expected = z.copy()
    for start in range(0, 256, 64):  # programs in order, each whole before the next
        expected[1 + start : 65 + start] = expected[start : start + 64] * 2
    add_kernel[(4,)](z[:256], z[:256], z[1:257], 256, BLOCK=64)
    np.testing.assert_array_equal(z, expected)


def test_scalars_of_every_kind(python):
    x, out = data(64), np.zeros(64, "f4")
    for factor, negate in ((1.5, False), (-0.25, True), (3, False), (2**40, True)):
        sign = -1 if negate else 1

        def launch():
            scaled_kernel[(1,)](x, out, 64, factor, negate)

        warm(launch)
        out[:] = 0
        assert python.during(launch) == 0
        np.testing.assert_array_equal(out, sign * np.float32(factor) * x * 2)
    # A value of another kind in the same place.
    scaled_kernel[(1,)](x, out, 64, 0.5, False)
    np.testing.assert_array_equal(out, x)
    scaled_kernel[(1,)](x, out, 64, -1, False)
    np.testing.assert_array_equal(out, -2 * x)


def test_values_of_the_same_kind_are_no_other_variant(python):
    x, out = data(200), np.zeros(64, "f4")
    warm(lambda: scaled_kernel[(1,)](x, out, 64, 1.0, False, 1))
    for n, factor, shift in ((10, 2.5, 0), (64, -1.0, 100), (0, 0.0, -(2**31)), (1, 0.5, 136)):
        out[:] = 7
        count = python.during(
            lambda: scaled_kernel[(1,)](x, out, n, factor, shift=shift, negate=False)
        )
        assert count == 0
        np.testing.assert_array_equal(out[:n], x[shift : shift + n] * np.float32(2 * factor))
        assert (out[n:] == 7).all()


@triton.jit
def strided_kernel(x, out, rows, sx, so, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(out + row * BLOCK + offs * so, tl.load(x + row * BLOCK * sx + offs * sx))


def test_code_for_a_stride_of_one_is_for_no_other(python):
    """The backend compiles for strides that are 1: such code must not run with others."""
    x, out = data(8 * 64 * 4), np.zeros(8 * 64, "f4")

    def launch(sx, so=1):
        strided_kernel[(8,)](x, out, 8, sx, so, BLOCK=64)

    for sx in (1, 3, 1, 2, 4, 1):
        warm(lambda: launch(sx))
        out[:] = 0
        assert python.during(lambda: launch(sx)) == 0
        np.testing.assert_array_equal(out, x[: 8 * 64 * sx : sx])
    other = np.zeros(8 * 64 * 2, "f4")
    strided_kernel[(1,)](x, other, 8, 1, 2, BLOCK=64)
    np.testing.assert_array_equal(other[:128:2], x[:64])
    assert not other[1::2].any()


def test_numbers_of_numpy_and_beyond_64_bits(python):
    x, out = data(64), np.zeros(64, "f4")
    warm(lambda: scaled_kernel[(1,)](x, out, 64, 1.0, False))
    assert python.during(lambda: scaled_kernel[(1,)](x, out, np.int64(64), 1.0, False)) == 1
    np.testing.assert_array_equal(out, 2 * x)
    with pytest.raises(ArgumentError, match="does not fit in i64"):
        scaled_kernel[(1,)](x, out, 2**70, 1.0, False)


def test_defaults_keywords_and_positions(python):
    x, out = data(64), np.zeros(64, "f4")
    warm(lambda: scaled_kernel[(1,)](x, out, 64, 1.0, False))

    def calls():
        scaled_kernel[(1,)](x, out, 64, 1.0, False, 0, BLOCK=64)
        scaled_kernel[(1,)](BLOCK=64, negate=False, factor=1.0, n=64, out=out, x=x)
        scaled_kernel[(1,)](x, out, negate=False, n=64, factor=1.0, num_warps=None)

    assert python.during(calls) == 0
    a, b = data(8), np.zeros(8, "f4")
    warm(lambda: copy_kernel[(1,)](a, b, 8, 8))
    assert python.during(lambda: copy_kernel[(1,)](a, n=8, out=b, BLOCK=8)) == 0
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((), {}),
        ((1,), {}),
        ((), {"unknown": 3}),
        ((8, 8, 8), {}),
        ((8,), {"n": 8}),
        ((8,), {"x": 3}),
        (("8",), {}),
        ((8,), {"num_warps": -1}),
        ((8,), {"BLOCK": [8]}),
    ],
)
def test_mistakes_are_reported_as_ever(args, kwargs):
    x, out = data(8), np.zeros(8, "f4")

    def mistake():
        try:
            copy_kernel[(1,)](x, out, *args, **kwargs)
        except Exception as error:
            return type(error), str(error)
        return None

    before = mistake()
    warm(lambda: copy_kernel[(1,)](x, out, 8, BLOCK=8))
    assert before is not None
    assert mistake() == before


def test_constants(python):
    x, out = data(600), np.zeros(600, "f4")
    warm(lambda: copy_kernel[(2,)](x, out, 600, BLOCK=300))
    assert python.during(lambda: copy_kernel[(2,)](x, out, 600, BLOCK=int("300"))) == 0
    np.testing.assert_array_equal(out, x)
    out[:] = 0
    assert python.during(lambda: copy_kernel[(4,)](x, out, 600, BLOCK=150)) == 1
    np.testing.assert_array_equal(out, x)
    warm(lambda: copy_kernel[(3,)](x, out, 3, BLOCK=1))
    for wrong in (1.0, True, "1"):
        with pytest.raises(triton.CompilationError):
            copy_kernel[(3,)](x, out, 3, BLOCK=wrong)


def test_grids(python):
    out = np.zeros(24, np.int32)

    def want(a, b, c):
        i = np.arange(a * b * c)
        return i % a + 100 * (i // a % b) + 10000 * (i // a // b)

    warm(lambda: grid_kernel[(2, 3, 4)](out, 2, 3))
    for a, b, c in ((2, 3, 4), (2, 3, 1), (2, 1, 1)):
        sizes = (a, b, c)
        short = sizes[: 3 - (c == 1) - (b == c == 1)]
        grids = [sizes, short, list(short), lambda meta, g=short: g, lambda meta, g=sizes: list(g)]
        grids += [tuple(map(np.int64, short))]
        for grid in grids:
            out[:] = -1
            count = python.during(lambda: grid_kernel[grid](out, 2, 3))
            assert count == int(type(grid) is tuple and type(grid[0]) is not int)
            np.testing.assert_array_equal(out[: a * b * c], want(a, b, c))
            assert (out[a * b * c :] == -1).all()
    out[:] = -1
    for empty in ((0,), (3, 0), (1, 1, 0), lambda meta: (0,)):
        assert python.during(lambda: grid_kernel[empty](out, 2, 3)) == 0
    assert (out == -1).all()


def test_grid_functions_see_the_call(python):
    x, out = data(1000), np.zeros(1000, "f4")
    calls = []

    def grid(meta):
        calls.append((meta["n"], meta["x"] is x, dict(meta)))
        return (triton.cdiv(meta["n"], meta["BLOCK"]),)

    warm(lambda: copy_kernel[grid](x, out, 1000, BLOCK=64))
    out[:] = 0
    calls.clear()
    assert python.during(lambda: copy_kernel[grid](x, out, 900, BLOCK=64)) == 0
    assert calls == [(900, True, {"BLOCK": 64})]
    np.testing.assert_array_equal(out[:900], x[:900])
    assert not out[900:].any()


@pytest.mark.parametrize("grid", [(-1,), (1, 2, 3, 4), (), 1.5, (1.0,), (True,), lambda m: (-2,)])
def test_impossible_grids(grid):
    out = np.zeros(24, np.int32)
    warm(lambda: grid_kernel[(2, 3, 4)](out, 2, 3))
    with pytest.raises(GridError):
        grid_kernel[grid](out, 2, 3)


def test_what_a_grid_function_raises():
    out = np.zeros(24, np.int32)
    warm(lambda: grid_kernel[(2, 3, 4)](out, 2, 3))
    with pytest.raises(ZeroDivisionError):
        grid_kernel[lambda meta: (1 // 0,)](out, 2, 3)
    with pytest.raises(KeyError, match="no argument of the kernel"):
        grid_kernel[lambda meta: (meta["what"],)](out, 2, 3)


def test_another_backend_chosen_meanwhile(monkeypatch):
    x, out = data(8), np.zeros(8, "f4")

    def launch():
        return copy_kernel[(1,)](x, out, 8, BLOCK=8).backend

    warm(launch)
    assert launch() == "mlir-cpu"
    with triton.use_backend("interpreter"):
        assert launch() == "interpreter"
    monkeypatch.setenv("MYTRITON_BACKEND", "interpreter")
    assert launch() == "interpreter"
    monkeypatch.delenv("MYTRITON_BACKEND")
    assert launch() == "mlir-cpu"
    triton.config.backend = "interpreter"
    try:
        assert launch() == "interpreter"
    finally:
        triton.config.backend = None
    assert (
        copy_kernel.with_backend("interpreter")[(1,)](x, out, 8, BLOCK=8).backend == "interpreter"
    )
    assert launch() == "mlir-cpu"


def test_a_global_that_changes(monkeypatch):
    x, out = data(64), np.zeros(64, "f4")

    def launch():
        scaled_kernel[(1,)](x, out, 64, 1.0, False)

    warm(launch)
    monkeypatch.setitem(globals(), "SCALE", 10.0)
    launch()
    np.testing.assert_array_equal(out, 10 * x)
    monkeypatch.undo()
    launch()
    np.testing.assert_array_equal(out, 2 * x)


def test_nothing_is_kept_of_a_launch():
    x, y, out = (data(64, seed=k) for k in range(3))
    grid, n = (int("1"),), int("1064") - 1000
    warm(lambda: add_kernel[grid](x, y, out, n, BLOCK=64))
    result = add_kernel[grid](x, y, out, n, BLOCK=64)
    watched = (x, y, out, grid, n, result, None, add_kernel.direct[None])
    gc.collect()  # garbage of other tests holds None, too
    before = [sys.getrefcount(each) for each in watched]
    for k in range(2000):
        add_kernel[grid](x, y, out, n, BLOCK=64)
        add_kernel[lambda meta: grid](x, y, out, n, BLOCK=64)
        add_kernel[(0,)](x, y, out, n=n, BLOCK=64)
        if k % 20 == 0:
            add_kernel[grid](x, y, x, n, BLOCK=64)  # goes the slow way
    after = [sys.getrefcount(each) for each in watched]
    # What launches kept would be thousands (of the arrays, hundreds at least); None comes and goes.
    assert all(
        abs(a - b) < (1000 if each is None else 50)
        for each, a, b in zip(watched, before, after, strict=True)
    ), (before, after)


def test_other_threads_run_meanwhile():
    x = np.ones(256, "f4")
    out = np.zeros(256, "f4")

    @triton.jit
    def slow_kernel(x, out, trips, BLOCK: tl.constexpr):
        v = tl.load(x + tl.arange(0, BLOCK))
        for _ in range(trips):
            v = v * 0.5 + 1.0
        tl.store(out + tl.arange(0, BLOCK), v)

    warm(lambda: slow_kernel[(1,)](x, out, 1, BLOCK=256))
    seen = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            seen.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    slow_kernel[(1,)](x, out, 20_000_000, BLOCK=256)
    end = time.perf_counter()
    stop.set()
    thread.join()
    during = [t for t in seen if start < t < end]
    assert len(during) > (end - start) / 0.001 * 0.05, f"{len(during)} steps in {end - start} s"
    np.testing.assert_allclose(out, 2.0)


def test_launches_from_many_threads():
    wrong = []

    def loop(seed):
        x, y = data(5000, seed=seed), data(5000, seed=seed + 100)
        out = np.zeros(5000, "f4")
        for _ in range(300):
            out[:] = 0
            add_kernel[(20,)](x, y, out, 5000, BLOCK=256)
            if not np.array_equal(out, x + y):
                wrong.append(seed)

    threads = [threading.Thread(target=loop, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert None in add_kernel.direct


def test_large_launches_share_the_workers(python):
    n = 1 << 20
    x, y, out = data(n), data(n, seed=1), np.zeros(n, "f4")
    before = pool.pool().threads
    pool.set_num_threads(3)
    try:
        for _ in range(10):
            out[:] = 0
            add_kernel[(n // 1024,)](x, y, out, n, BLOCK=1024)
            np.testing.assert_array_equal(out, x + y)
        assert python.during(lambda: add_kernel[(n // 1024,)](x, y, out, n, BLOCK=1024)) == 0
        assert pool.pool().started == 2
    finally:
        pool.set_num_threads(before)


@triton.jit(debug=True)
def checked_kernel(x, out, limit, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs)
    tl.device_assert(v < limit, "too large")
    tl.store(out + offs, v)


@triton.jit
def biased_kernel(x, bias, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    v = tl.load(x + offs)
    if bias is not None:
        v += tl.load(bias + offs)
    tl.store(out + offs, v)


def test_assertions_that_fail(python):
    x, out = np.arange(64, dtype="f4"), np.zeros(64, "f4")

    def failing():
        with pytest.raises(triton.MytritonError, match="too large") as error:
            checked_kernel[(2,)](x, out, 40.0, BLOCK=32)
        return type(error.value), str(error.value)

    before = failing()
    warm(lambda: checked_kernel[(2,)](x, out, 100.0, BLOCK=32))
    assert python.during(lambda: checked_kernel[(2,)](x, out, 64.0, BLOCK=32)) == 0
    count = python.count
    assert failing() == before
    assert python.count == count
    out[:] = 0
    checked_kernel[(2,)](x, out, 64.0, BLOCK=32)
    np.testing.assert_array_equal(out, x)


def test_arguments_that_are_left_out(python):
    x, bias, out = data(16), data(16, seed=1), np.zeros(16, "f4")
    warm(lambda: biased_kernel[(1,)](x, None, out, BLOCK=16))
    assert python.during(lambda: biased_kernel[(1,)](x, None, out, BLOCK=16)) == 0
    np.testing.assert_array_equal(out, x)
    biased_kernel[(1,)](x, bias, out, BLOCK=16)
    np.testing.assert_array_equal(out, x + bias)
    biased_kernel[(1,)](x, None, out, BLOCK=16)
    np.testing.assert_array_equal(out, x)


def test_a_kernel_that_finds_no_memory():
    """A kernel answers 1 when a block of it does not fit; here one that always does."""
    found = native.native()
    assert found is not None
    ran = []
    kernel = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        lambda slots, start, stop: ran.append((start, stop)) or 1
    )
    plan = DirectLaunch(
        (DirectParameter("n", "i32", default=ABSENT),), (), (), lambda *a: "slow", lambda *a: a, 0
    )
    workers = pool.pool()
    head = {
        native_ir.FUNCTION: ctypes.cast(kernel, ctypes.c_void_p).value or 0, native_ir.COST: 0,
        native_ir.STATE: workers.state_cell, native_ir.RUN: workers.run_address,
        native_ir.MOST: 1 << 62,
    }  # fmt: skip
    launch = found.function(plan, {0: 5}, 9, head, [], workers.go_on, kernel)
    with pytest.raises(MemoryError, match="no memory for the blocks"):
        launch((5,), 3)
    assert ran == [(0, 1)]  # the others would find none either


def test_programs_beyond_counting():
    out = np.zeros(24, np.int32)
    warm(lambda: grid_kernel[(2, 3, 4)](out, 2, 3))
    most = 2**31 - 1
    calls = []
    found = native.native()
    assert found is not None
    plan = DirectLaunch((), (), (), lambda *a: calls.append(a), lambda *a: a, 0)
    head = dict.fromkeys((native_ir.FUNCTION, native_ir.COST), 0) | {
        native_ir.STATE: pool.pool().state_cell, native_ir.RUN: pool.pool().run_address,
        native_ir.MOST: 1 << 62,
    }  # fmt: skip
    launch = found.function(plan, {}, 8, head, [], pool.pool().go_on, None)
    for grid in ((most, most, most), (2**31,), (2**64,), (most, most, 3)):
        launch(grid)
    assert len(calls) == 4
