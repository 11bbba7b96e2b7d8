"""Runtime loops: trip counts, carried values, bounds that differ between programs."""

from __future__ import annotations

import numpy as np
import pytest

COUNT = """
kernel f(o: ptr<{t}>, trips: ptr<i32>, start: {t}, stop: {t}) {{
  %0, %1 = for %2 in range(start, stop, {step}) iter_args(%3 = -1, %4 = 0) : {t}, i32 {{
    %5 = add %4, 1 : i32
    yield %2, %5
  }}
  store o, %0, none
  store trips, %1, none
}}
"""
M32, M64 = 2**31 - 1, 2**63 - 1


@pytest.mark.parametrize(
    ("ty", "start", "stop", "step"),
    [
        ("i32", 0, 5, 1), ("i32", 0, 5, 2), ("i32", 3, 3, 1), ("i32", 5, 0, 1), ("i32", -4, 3, 3),
        ("i32", M32 - 3, M32, 2), ("i32", -M32 - 1, -M32 + 1, 1), ("i32", M32, -M32, 1),
        ("i64", M64 - 3, M64, 2), ("i64", M64, -M64 - 1, 1), ("i64", 2**40, 2**40 + 3, 1),
        ("i32", -M32, M32, M32),
    ],
)  # fmt: skip
def test_trips_are_those_of_range(execute, ty, start, stop, step):
    out, trips = np.zeros(1, f"i{int(ty[1:]) // 8}"), np.zeros(1, np.int32)
    execute(COUNT.format(t=ty, step=step), out, trips, start, stop)
    wanted = range(start, stop, step)
    assert (int(out[0]), int(trips[0])) == (wanted[-1] if wanted else -1, len(wanted))


CARRY = """
kernel f(o: ptr<i32>, n: i32) {{
  %0, %1, %2 = for %3 in range(0, n, 1) iter_args(%4 = 1, %5 = 2, %6 = 3) : i32, i32, i32 {{
    yield {yields}
  }}
  %7 = arange {{start=0, end=1}} : vector<1 x i32>
  store o, %0, none
  %8 = addptr o, 1 : ptr<i32>
  store %8, %1, none
  %9 = addptr o, 2 : ptr<i32>
  store %9, %2, none
}}
"""


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("yields", "step"),
    [
        ("%5, %4, %6", lambda a, b, c: (b, a, c)),
        ("%5, %6, %4", lambda a, b, c: (b, c, a)),
        ("%5, %5, %6", lambda a, b, c: (b, b, c)),
    ],
    ids=["exchange", "rotate", "copy"],
)
def test_carried_values_move_all_at_once(execute, yields, step, n):
    out = np.zeros(3, np.int32)
    execute(CARRY.format(yields=yields), out, n)
    wanted = (1, 2, 3)
    for _ in range(n):
        wanted = step(*wanted)
    assert tuple(out) == wanted


def test_each_program_has_its_own_trip_count_and_index(execute):
    # o[p] = sum of range(p, 2p)
    text = """
    kernel f(o: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = mul %0, 2 : i32
      %2 = for %3 in range(%0, %1, 1) iter_args(%4 = 0) : i32 {
        %5 = add %4, %3 : i32
        yield %5
      }
      %6 = addptr o, %0 : ptr<i32>
      store %6, %2, none
    }
    """
    out = np.zeros(9, np.int32)
    execute(text, out, grid=(9,))
    assert out.tolist() == [sum(range(p, 2 * p)) for p in range(9)]


def test_nested_loops_with_the_outer_index_as_inner_bound(execute):
    text = """
    kernel f(o: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = for %2 in range(0, %0, 1) iter_args(%3 = 0) : i32 {
        %4 = for %5 in range(0, %2, 1) iter_args(%6 = %3) : i32 {
          %7 = mul %2, 10 : i32
          %8 = add %7, %5 : i32
          %9 = add %6, %8 : i32
          yield %9
        }
        yield %4
      }
      %10 = addptr o, %0 : ptr<i32>
      store %10, %1, none
    }
    """
    out = np.zeros(7, np.int32)
    execute(text, out, grid=(7,))
    assert out.tolist() == [sum(10 * i + j for i in range(p) for j in range(i)) for p in range(7)]


def test_idle_programs_touch_no_memory(execute):
    # Program p walks its own row, which ends where the array of the last program ends.
    text = """
    kernel f(x: ptr<i32>, o: ptr<i32>, starts: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = addptr starts, %0 : ptr<i32>
      %2 = load %1, none, none : i32
      %3 = addptr %1, 1 : ptr<i32>
      %4 = load %3, none, none : i32
      %5 = for %6 in range(%2, %4, 1) iter_args(%7 = 0) : i32 {
        %8 = addptr x, %6 : ptr<i32>
        %9 = load %8, none, none : i32
        store %8, 0, none
        %10 = add %7, %9 : i32
        yield %10
      }
      %11 = addptr o, %0 : ptr<i32>
      store %11, %5, none
    }
    """
    starts = np.array([0, 4, 4, 5, 9], np.int32)
    x, out = np.arange(1, 10, dtype=np.int32), np.zeros(4, np.int32)
    execute(text, x, out, starts, grid=(4,))
    assert out.tolist() == [10, 0, 5, 30]
    assert not x.any()


def test_a_pointer_is_carried_round_a_loop(execute):
    text = """
    kernel f(x: ptr<f32>, o: ptr<f32>, n: i32) {
      %0, %1 = for %2 in range(0, n, 1) iter_args(%3 = x, %4 = 0.0) : ptr<f32>, f32 {
        %5 = load %3, none, none : f32
        %6 = add %4, %5 : f32
        %7 = addptr %3, 2 : ptr<f32>
        yield %7, %6
      }
      store o, %1, none
    }
    """
    x, out = np.arange(8, dtype=np.float32), np.zeros(1, np.float32)
    execute(text, x, out, 4)
    assert out[0] == 0 + 2 + 4 + 6


def test_pointers_to_different_arrays_exchanged_a_different_number_of_times(execute):
    text = """
    kernel f(x: ptr<i32>, y: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1, %2 = for %3 in range(0, %0, 1) iter_args(%4 = x, %5 = y) : ptr<i32>, ptr<i32> {
        yield %5, %4
      }
      %6 = addptr %1, %0 : ptr<i32>
      %7 = load %6, none, none : i32
      %8 = add %7, 1 : i32
      store %6, %8, none
    }
    """
    x, y = np.arange(4, dtype=np.int32), np.arange(10, 14, dtype=np.int32)
    execute(text, x, y, grid=(4,))
    assert x.tolist() == [1, 1, 3, 3]
    assert y.tolist() == [10, 12, 12, 14]


def test_a_load_in_a_loop_sees_the_store_of_the_trip_before(execute):
    text = """
    kernel f(x: ptr<i32>, n: i32) {
      for %0 in range(0, n, 1) {
        %1 = addptr x, %0 : ptr<i32>
        %2 = load %1, none, none : i32
        %3 = mul %2, 2 : i32
        %4 = addptr %1, 1 : ptr<i32>
        store %4, %3, none
      }
    }
    """
    x = np.array([1, 0, 0, 0, 0], np.int32)
    execute(text, x, 4)
    assert x.tolist() == [1, 2, 4, 8, 16]


def test_bounds_read_before_another_program_changes_them_do_not_hang(execute):
    # In sequence each program sets the bound of the next; before that it is enormous.
    text = """
    kernel f(bounds: ptr<i32>, o: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = addptr bounds, %0 : ptr<i32>
      %2 = load %1, none, none : i32
      %3 = for %4 in range(0, %2, 1) iter_args(%5 = 0) : i32 {
        %6 = add %5, 1 : i32
        yield %6
      }
      %7 = addptr %1, 1 : ptr<i32>
      %8 = add %3, 1 : i32
      store %7, %8, none
      %9 = addptr o, %0 : ptr<i32>
      store %9, %3, none
    }
    """
    bounds, out = np.full(6, M32, np.int32), np.zeros(5, np.int32)
    bounds[0] = 2
    execute(text, bounds, out, grid=(5,))
    assert out.tolist() == [2, 3, 4, 5, 6]
