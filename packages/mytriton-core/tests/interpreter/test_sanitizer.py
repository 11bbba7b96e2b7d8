"""Strict mode collects every problem of a launch and raises once."""

from __future__ import annotations

import numpy as np
import pytest

from mytriton.errors import SanitizerError


def findings(execute, text, *args, grid=(1,)):
    with pytest.raises(SanitizerError) as caught:
        execute(text, *args, grid=grid, sanitize=True)
    return caught.value


SHIFTED = """
kernel shifted(x: ptr<f32>, o: ptr<f32>, by: i32) {
  %0 = program_id {axis=0} : i32
  %1 = mul %0, 4 : i32
  %2 = arange {start=0, end=4} : vector<4 x i32>
  %3 = add %1, %2 : vector<4 x i32>
  %4 = add %3, by : vector<4 x i32>
  %5 = addptr x, %4 : vector<4 x ptr<f32>>
  %6 = load %5, none, none : vector<4 x f32>
  %7 = addptr o, %3 : vector<4 x ptr<f32>>
  store %7, %6, none
}
"""


def test_a_correct_launch_finds_nothing_and_computes_the_same(execute):
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    execute(SHIFTED, x, out, 0, grid=(2,), sanitize=True)
    np.testing.assert_array_equal(out, x)


def test_every_access_out_of_bounds_is_counted_and_the_grid_completes(execute):
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    error = findings(execute, SHIFTED, x, out, 3, grid=(2,))
    (found,) = error.findings
    assert (found.kind, found.argument, found.program, found.index, found.count) == (
        "out-of-bounds", "x", (1, 0, 0), 8, 3,
    )  # fmt: skip
    np.testing.assert_array_equal(out, [3, 4, 5, 6, 7, 0, 0, 0])


def test_loads_and_stores_out_of_bounds_are_told_apart(execute):
    error = findings(execute, SHIFTED, np.zeros(6, "f4"), np.zeros(7, "f4"), 0, grid=(2,))
    assert [(f.argument, f.count) for f in error.findings] == [("x", 2), ("o", 1)]
    assert "2 problems in kernel 'shifted'" in str(error)
    assert "load of x[6] in program (1, 0, 0) is out of bounds (valid: 0 to 5) (and 1 more" in str(
        error
    )
    assert "kernel.ssa:9:" in str(error)


SAME_ELEMENT = (
    "kernel f(o: ptr<i32>) {{\n %0 = program_id {{axis=0}} : i32\n store o, {v}, none\n}}\n"
)


def test_programs_that_store_different_values_to_one_element(execute):
    error = findings(execute, SAME_ELEMENT.format(v="%0"), np.zeros(1, "i4"), grid=(3,))
    (found,) = error.findings
    assert (found.kind, found.argument, found.index, found.count) == ("conflict", "o", 0, 2)
    assert (
        "store of o[0] in program (1, 0, 0) overwrites what was stored by program (0, 0, 0)"
        in str(found)
    )


def test_programs_that_store_the_same_value_are_fine(execute):
    execute(SAME_ELEMENT.format(v="7"), np.zeros(1, "i4"), grid=(3,), sanitize=True)


def test_a_program_that_stores_what_another_loads(execute):
    memory = np.arange(12, dtype=np.float32)
    error = findings(execute, SHIFTED, memory[:8], memory[4:], 0, grid=(2,))
    assert [f.kind for f in error.findings] == ["conflict"]
    assert "store of o[0] in program (0, 0, 0) overwrites what was loaded by program (1, 0, 0)" in (
        str(error)
    )


def test_a_program_that_overwrites_what_another_loaded(execute):
    memory = np.arange(12, dtype=np.float32)
    error = findings(execute, SHIFTED, memory[4:], memory[:8], 0, grid=(2,))
    assert (
        "store of o[4] in program (1, 0, 0) overwrites what was loaded by program (0, 0, 0)"
        in str(error)
    )


def test_storing_what_is_there_already_surprises_no_reader(execute):
    memory = np.zeros(12, np.float32)
    execute(SHIFTED, memory[:8], memory[4:], 0, grid=(2,), sanitize=True)


def test_an_update_in_place_is_no_conflict(execute):
    x = np.zeros(8, np.float32)
    execute(SHIFTED, x, x, 0, grid=(2,), sanitize=True)


EMPTY = """
kernel f(o: ptr<f32>, n: i32) {{
  %0 = empty {{shape=(4,), dtype=f32}} : vector<4 x f32>
  %1 = arange {{start=0, end=4}} : vector<4 x i32>
  %2 = cmp_lt %1, n : vector<4 x bool>
  %3 = select %2, 1.0, %0 : vector<4 x f32>
  {line}
  %9 = addptr o, %1 : vector<4 x ptr<f32>>
  store %9, %3, {mask}
}}
"""


def test_storing_undefined_contents(execute):
    error = findings(execute, EMPTY.format(line="", mask="none"), np.zeros(4, "f4"), 3)
    (found,) = error.findings
    assert (found.kind, found.count) == ("undefined", 1)
    assert "the value of this store is undefined (tl.empty) in program (0, 0, 0)" in str(found)


def test_undefined_contents_that_are_replaced_or_masked_off_are_fine(execute):
    execute(EMPTY.format(line="", mask="none"), np.zeros(4, "f4"), 4, sanitize=True)
    execute(EMPTY.format(line="", mask="%2"), np.zeros(4, "f4"), 2, sanitize=True)


@pytest.mark.parametrize(
    "line", ["%4 = add %3, 1.0 : vector<4 x f32>", "%4 = sub %3, %0 : vector<4 x f32>"]
)
def test_undefined_contents_spread_through_arithmetic(execute, line):
    text = EMPTY.format(line=line, mask="none").replace("store %9, %3", "store %9, %4")
    assert findings(execute, text, np.zeros(4, "f4"), 3).findings[0].kind == "undefined"


def test_undefined_contents_spread_through_reductions_and_loops(execute):
    text = """
    kernel f(o: ptr<f32>) {
      %0 = empty {shape=(4,), dtype=f32} : vector<4 x f32>
      %1 = for %2 in range(0, 2, 1) iter_args(%3 = %0) : vector<4 x f32> {
        %4 = add %3, 1.0 : vector<4 x f32>
        yield %4
      }
      %5 = sum %1 : f32
      store o, %5, none
    }
    """
    assert findings(execute, text, np.zeros(1, "f4")).findings[0].kind == "undefined"


def test_an_undefined_address_and_an_undefined_bound(execute):
    text = """
    kernel f(o: ptr<i32>) {
      %0 = empty {shape=(1,), dtype=i32} : vector<1 x i32>
      %1 = addptr o, %0 : vector<1 x ptr<i32>>
      store %1, 1, none
      %2 = sum %0 : i32
      for %3 in range(0, %2, 1) {
        store o, %3, none
      }
    }
    """
    error = findings(execute, text, np.zeros(1, "i4"))
    assert [f.message.split(" is ")[0] for f in error.findings] == [
        "the ptr of this store", "the stop of this for",
    ]  # fmt: skip
