"""Programs that run together leave memory as if they had run one after another."""

from __future__ import annotations

import numpy as np
import pytest

from mytriton.interpreter import machine

INPLACE = """
kernel f(x: ptr<f32>, o: ptr<f32>) {
  %0 = program_id {axis=0} : i32
  %1 = mul %0, 4 : i32
  %2 = arange {start=0, end=4} : vector<4 x i32>
  %3 = add %1, %2 : vector<4 x i32>
  %4 = addptr x, %3 : vector<4 x ptr<f32>>
  %5 = load %4, none, none : vector<4 x f32>
  %6 = add %5, 1.0 : vector<4 x f32>
  %7 = addptr o, %3 : vector<4 x ptr<f32>>
  store %7, %6, none
}
"""
ACCUMULATE = """
kernel f(o: ptr<i32>) {
  %0 = program_id {axis=0} : i32
  %1 = load o, none, none : i32
  %2 = mul %1, 3 : i32
  %3 = add %2, %0 : i32
  store o, %3, none
}
"""


@pytest.fixture
def chunks(monkeypatch):
    """The sizes of the groups of programs that ran, in order."""
    sizes = []
    original = machine.Machine.run_range

    def spy(self, first, last):
        sizes.append(last - first)
        original(self, first, last)

    monkeypatch.setattr(machine.Machine, "run_range", spy)
    return sizes


def test_an_update_in_place_runs_vectorised(execute, chunks):
    x = np.arange(64, dtype=np.float32)
    execute(INPLACE, x, x, grid=(16,))
    np.testing.assert_array_equal(x, np.arange(64) + 1)
    assert chunks == [16]


def test_programs_that_accumulate_run_one_by_one(execute, chunks):
    out = np.array([1], np.int32)
    execute(ACCUMULATE, out, grid=(6,))
    wanted = 1
    for p in range(6):
        wanted = 3 * wanted + p
    assert out[0] == wanted
    assert chunks == [6, 1, 1, 1, 1, 1, 1]


def test_the_last_program_wins_without_falling_back(execute, chunks):
    text = "kernel f(o: ptr<i32>) {\n %0 = program_id {axis=0} : i32\n store o, %0, none\n}\n"
    out = np.zeros(1, np.int32)
    execute(text, out, grid=(50,))
    assert out[0] == 49
    assert chunks == [50]


def test_a_window_shifted_by_part_of_an_element_is_noticed(execute, chunks):
    raw = np.zeros(64 + 2, np.uint8)
    x, o = np.frombuffer(raw, np.float32, 16, 0), np.frombuffer(raw, np.float32, 16, 2)
    reference = raw.copy()
    rx, ro = (
        np.frombuffer(reference, np.float32, 16, 0),
        np.frombuffer(reference, np.float32, 16, 2),
    )
    for p in range(4):
        ro[4 * p : 4 * p + 4] = rx[4 * p : 4 * p + 4] + np.float32(1)
    execute(INPLACE, x, o, grid=(4,))
    assert raw.tobytes() == reference.tobytes()
    assert chunks == [4, 1, 1, 1, 1]


def test_reading_ahead_of_a_later_program_needs_no_fallback(execute, chunks):
    # Program p stores where only earlier programs have read.
    memory = np.arange(20, dtype=np.float32)
    execute(INPLACE, memory[4:], memory[:16], grid=(4,))
    np.testing.assert_array_equal(memory[:16], np.arange(4, 20) + 1)
    assert chunks == [4]


def test_reading_what_an_earlier_program_stores_falls_back(execute, chunks):
    memory = np.zeros(20, np.float32)
    execute(INPLACE, memory[:16], memory[4:], grid=(4,))
    np.testing.assert_array_equal(memory, np.repeat(np.arange(5), 4))
    assert chunks == [4, 1, 1, 1, 1]


@pytest.mark.parametrize("again", ["", "store %3, 77, none"], ids=["one store", "two stores"])
def test_a_conflict_restores_stores_made_on_wrong_values(execute, chunks, again):
    # q[x[0] + p] = p with x[0] read too early by all but the first program.
    text = """
    kernel f(x: ptr<i32>, q: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = load x, none, none : i32
      %2 = add %1, %0 : i32
      %3 = addptr q, %2 : ptr<i32>
      AGAIN
      store %3, %0, none
      %4 = add %1, 2 : i32
      store x, %4, none
    }
    """.replace("AGAIN", again)
    x, q = np.zeros(1, np.int32), np.full(10, -1, np.int32)
    execute(text, x, q, grid=(4,))
    assert q.tolist() == [0, -1, -1, 1, -1, -1, 2, -1, -1, 3]
    assert chunks == [4, 1, 1, 1, 1]


def test_a_program_does_not_see_the_store_of_a_later_one(execute, chunks):
    text = """
    kernel f(x: ptr<i32>, o: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = addptr x, %0 : ptr<i32>
      store %1, 7, none
      %2 = addptr %1, 1 : ptr<i32>
      %3 = load %2, none, none : i32
      %4 = addptr o, %0 : ptr<i32>
      store %4, %3, none
    }
    """
    x, out = np.arange(5, dtype=np.int32), np.zeros(4, np.int32)
    execute(text, x, out, grid=(4,))
    assert out.tolist() == [1, 2, 3, 4]
    assert chunks == [4, 1, 1, 1, 1]


def test_the_last_reader_is_remembered_when_an_earlier_program_reads_again(execute, chunks):
    # Element 4 is read by program 3, then by program 1, then stored by program 2.
    text = """
    kernel f(x: ptr<i32>, o: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = sub 7, %0 : i32
      %2 = addptr x, %1 : ptr<i32>
      %3 = load %2, none, none : i32
      %4 = add %0, 3 : i32
      %5 = addptr x, %4 : ptr<i32>
      %6 = load %5, none, none : i32
      %7 = addptr %5, -1 : ptr<i32>
      store %7, 100, none
      %8 = add %3, %6 : i32
      %9 = addptr o, %0 : ptr<i32>
      store %9, %8, none
    }
    """
    x, out = np.arange(8, dtype=np.int32), np.zeros(4, np.int32)
    execute(text, x, out, grid=(4,))
    assert out.tolist() == [7 + 3, 6 + 4, 5 + 5, 100 + 6]
    assert chunks == [4, 1, 1, 1, 1]


def test_stores_of_different_trips_are_ordered_by_program(execute):
    text = """
    kernel f(o: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      for %1 in range(0, 3, 1) {
        %2 = add %0, %1 : i32
        %3 = addptr o, %2 : ptr<i32>
        store %3, %0, none
      }
    }
    """
    out = np.full(6, -1, np.int32)
    execute(text, out, grid=(4,))
    assert out.tolist() == [0, 1, 2, 3, 3, 3]


def test_an_index_that_is_only_wrong_when_read_too_early_is_no_error(execute):
    text = """
    kernel f(x: ptr<i32>, q: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = addptr x, %0 : ptr<i32>
      %2 = load %1, none, none : i32
      %3 = addptr q, %2 : ptr<i32>
      store %3, %0, none
      %4 = addptr %1, 1 : ptr<i32>
      store %4, %0, none
    }
    """
    x, q = np.array([0, 999, 999, 999], np.int32), np.zeros(4, np.int32)
    execute(text, x, q, grid=(3,))
    assert x.tolist() == [0, 0, 1, 2]
    assert q.tolist() == [1, 2, 0, 0]


def test_two_stores_of_one_program_are_ordered_against_another(execute):
    # Each program stores its own element, then the next one's: in sequence its own survives.
    text = """
    kernel f(o: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = addptr o, %0 : ptr<i32>
      store %1, %0, none
      %2 = addptr %1, 1 : ptr<i32>
      store %2, -1, none
    }
    """
    out = np.zeros(5, np.int32)
    execute(text, out, grid=(4,))
    assert out.tolist() == [0, 1, 2, 3, -1]


def test_an_operation_that_does_more_than_it_declares_is_caught(execute, chunks):
    from mytriton.ir import registry

    def twice(ev, ptr, value):
        ev.store(ptr, value, None)
        ev.store(ev.advance(ptr, np.ones(1, np.int32)), value * 10, None)

    op = registry.register(
        registry.OpDef(
            "test.twice", ("ptr", "value"), lambda types, attrs: None, twice, "Store twice.",
            effects=registry.Effect.WRITE, constants="pointee",
        )
    )  # fmt: skip
    try:
        text = """
        kernel f(o: ptr<i32>) {
          %0 = program_id {axis=0} : i32
          %1 = addptr o, %0 : ptr<i32>
          test.twice %1, %0
        }
        """
        out = np.zeros(5, np.int32)
        execute(text, out, grid=(4,))
        assert out.tolist() == [0, 1, 2, 3, 30]
        assert chunks == [4, 1, 1, 1, 1]
    finally:
        registry.unregister(op.name)


def test_many_chunks_in_order(execute, monkeypatch):
    monkeypatch.setattr(machine, "CHUNK_ELEMENTS", 16)
    x = np.zeros(4 * 11, np.float32)
    execute(INPLACE, x, x, grid=(11,))
    execute(INPLACE, x[:40], x[4:], grid=(10,))
    np.testing.assert_array_equal(x, np.repeat(np.arange(11), 4) + 1)


def test_an_empty_grid_runs_nothing(execute):
    out = np.zeros(1, np.int32)
    execute(ACCUMULATE, out, grid=(3, 0, 2))
    assert out[0] == 0
