"""Branches and loops with runtime conditions."""

from __future__ import annotations

import numpy as np
import pytest

BRANCH = """kernel k(x: ptr<f32>, y: ptr<f32>, out: ptr<f32>, n: i32) {
  %0 = program_id {axis=0} : i32
  %1 = arange {start=0, end=64} : vector<64 x i32>
  %2 = cmp_lt %0, n : bool
  %3, %4, %5 = if %2 : ptr<f32>, vector<64 x ptr<f32>>, vector<64 x f32> {
    %6 = addptr x, %1 : vector<64 x ptr<f32>>
    %7 = load %6, none, none : vector<64 x f32>
    yield x, %6, %7
  } else {
    %8 = addptr y, %1 : vector<64 x ptr<f32>>
    %9 = load %8, none, none : vector<64 x f32>
    %10 = mul %9, 2.0 : vector<64 x f32>
    store %8, %10, none
    yield y, %8, %9
  }
  %11 = addptr %3, %1 : vector<64 x ptr<f32>>
  %12 = load %11, none, none : vector<64 x f32>
  %13 = load %4, none, none : vector<64 x f32>
  %14 = add %12, %13 : vector<64 x f32>
  %15 = sub %14, %5 : vector<64 x f32>
  %16 = mul %0, 64 : i32
  %17 = addptr out, %16 : ptr<f32>
  %18 = addptr %17, %1 : vector<64 x ptr<f32>>
  store %18, %15, none
}"""


@pytest.mark.parametrize("n, doubled", [(2, 0), (1, 1), (0, 2)])
def test_a_branch_gives_pointers_and_blocks_and_stores_only_when_taken(run_ssa, n, doubled):
    x, y, out = np.arange(64, dtype="f"), np.arange(64, dtype="f") + 100, np.zeros(128, "f")
    first = y.copy()
    run_ssa(BRANCH, [x, y, out, n], (2, 1, 1))
    np.testing.assert_array_equal(y, first * 2**doubled)
    for program in range(2):
        # Of y: the doubled block twice, less what it was before.
        times = 2 ** (program + 1 - n)
        want = x if program < n else 2 * times * first - times / 2 * first
        np.testing.assert_array_equal(out[64 * program : 64 * (program + 1)], want)


HALVE = """kernel k(x: ptr<f32>, out: ptr<f32>, trips: ptr<i32>, limit: f32) {
  %0 = arange {start=0, end=100} : vector<100 x i32>
  %1 = addptr x, %0 : vector<100 x ptr<f32>>
  %2 = load %1, none, none : vector<100 x f32>
  %3, %4 = while 0:i32, %2 : i32, vector<100 x f32> {
    args(%5: i32, %6: vector<100 x f32>)
    %7 = sum %6 : f32
    %8 = cmp_gt %7, limit : bool
    yield %8
  } {
    args(%9: i32, %10: vector<100 x f32>)
    %11 = add %9, 1 : i32
    %12 = mul %10, 0.5 : vector<100 x f32>
    yield %11, %12
  }
  %13 = addptr out, %0 : vector<100 x ptr<f32>>
  store %13, %4, none
  store trips, %3, none
}"""


@pytest.mark.parametrize("limit, trips", [(1000.0, 0), (50.0, 2), (1.0, 7), (0.09375, 11)])
def test_a_while_loop_carries_blocks_and_looks_at_them(run_ssa, limit, trips):
    x, out, count = np.ones(128, "f"), np.zeros(128, "f"), np.zeros(1, "i4")
    run_ssa(HALVE.replace("100", "128"), [x, out, count, limit])
    assert count[0] == trips
    np.testing.assert_array_equal(out, np.full(128, 0.5**trips, "f"))


NESTED = """kernel k(out: ptr<i32>, n: i32) {
  %0 = program_id {axis=0} : i32
  %1 = for %2 in range(0, n, 1) iter_args(%3 = 0:i32) : i32 {
    %4 = rem %2, 2:i32 : i32
    %5 = cmp_eq %4, 0:i32 : bool
    %6 = if %5 : i32 {
      %7 = while %3 : i32 {
        args(%8: i32)
        %9 = mul %2, %0 : i32
        %10 = cmp_lt %8, %9 : bool
        yield %10
      } {
        args(%11: i32)
        %12 = add %11, 3 : i32
        yield %12
      }
      yield %7
    } else {
      %13 = add %3, 1 : i32
      yield %13
    }
    yield %6
  }
  %14 = addptr out, %0 : ptr<i32>
  store %14, %1, none
}"""


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_loops_and_branches_nest(run_ssa, n):
    out = np.zeros(5, "i4")
    run_ssa(NESTED, [out, n], (5, 1, 1))
    for program in range(5):
        total = 0
        for k in range(n):
            if k % 2:
                total += 1
            else:
                while total < k * program:
                    total += 3
        assert out[program] == total


FIBONACCI = """kernel k(x: ptr<i32>, out: ptr<i32>, n: i32) {
  %0 = arange {start=0, end=32} : vector<32 x i32>
  %1 = addptr x, %0 : vector<32 x ptr<i32>>
  %2 = load %1, none, none : vector<32 x i32>
  %3, %4, %5 = while 0:i32, %2, %2 : i32, vector<32 x i32>, vector<32 x i32> {
    args(%6: i32, %7: vector<32 x i32>, %8: vector<32 x i32>)
    %9 = cmp_lt %6, n : bool
    yield %9
  } {
    args(%10: i32, %11: vector<32 x i32>, %12: vector<32 x i32>)
    %13 = add %10, 1 : i32
    %14 = add %11, %12 : vector<32 x i32>
    yield %13, %12, %14
  }
  %15 = addptr out, %0 : vector<32 x ptr<i32>>
  store %15, %4, none
}"""


def test_blocks_exchanged_by_a_while_loop(run_ssa):
    x, out = np.arange(32, dtype="i4"), np.zeros(32, "i4")
    run_ssa(FIBONACCI, [x, out, 6])
    a, b = x, x
    for _ in range(6):
        a, b = b, a + b
    np.testing.assert_array_equal(out, a)


ASSERT = """kernel k(x: ptr<f32>, y: ptr<f32>, n: f32) {
  %0 = arange {start=0, end=4} : vector<4 x i32>
  %1 = addptr x, %0 : vector<4 x ptr<f32>>
  %2 = load %1, none, none : vector<4 x f32>
  store y, 1.0, none
  %3 = cmp_lt %2, n : vector<4 x bool>
  %4 = cmp_gt %2, 0.5 : vector<4 x bool>
  device_assert %3, %4 {message='too "large"'}
  %5 = addptr y, 1:i32 : ptr<f32>
  store %5, 2.0, none
}"""


def test_a_failed_assertion_ends_the_launch(run_ssa):
    from mytriton.errors import DeviceAssertionError

    x, y = np.arange(4, dtype="f"), np.zeros(2, "f")
    with pytest.raises(DeviceAssertionError) as caught:
        run_ssa(ASSERT, [x, y, 2.0])
    wanted = 'device_assert failed in program (0, 0, 0) at index (2,): too "large"'
    assert caught.value.message == wanted
    assert y.tolist() == [1, 0]
    run_ssa(ASSERT, [x, y, 4.0])
    assert y.tolist() == [1, 2]


PRINT = """kernel k(x: ptr<f16>, n: i32) {
  %0 = program_id {axis=0} : i32
  %1 = arange {start=0, end=2} : vector<2 x i32>
  %2 = addptr x, %1 : vector<2 x ptr<f16>>
  %3 = load %2, none, none : vector<2 x f16>
  device_print %3, n {prefix=' v:'}
}"""


def test_printing(run_ssa, capsys):
    run_ssa(PRINT, [np.array([1.5, -2.0], "f2"), 7])
    assert capsys.readouterr().out.splitlines() == [
        "pid (0, 0, 0) idx (0) v: (operand 0) 1.5", "pid (0, 0, 0) idx (1) v: (operand 0) -2.0",
        "pid (0, 0, 0) idx () v: (operand 1) 7",
    ]  # fmt: skip
