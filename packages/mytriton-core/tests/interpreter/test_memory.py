"""Loads and stores: windows, masks, bounds, order."""

from __future__ import annotations

import numpy as np
import pytest

COPY = """
kernel copy(x: ptr<f32>, o: ptr<f32>, n: i32) {
  %0 = program_id {axis=0} : i32
  %1 = mul %0, 8 : i32
  %2 = arange {start=0, end=8} : vector<8 x i32>
  %3 = add %1, %2 : vector<8 x i32>
  %4 = cmp_lt %3, n : vector<8 x bool>
  %5 = addptr x, %3 : vector<8 x ptr<f32>>
  %6 = load %5, %4, none : vector<8 x f32>
  %7 = addptr o, %3 : vector<8 x ptr<f32>>
  store %7, %6, %4
}
"""
# One lane; the offsets are parameters.
MOVE = """
kernel move(x: ptr<f32>, o: ptr<f32>, i: i32, j: i32) {
  %0 = addptr x, i : ptr<f32>
  %1 = load %0, none, none : f32
  %2 = addptr o, j : ptr<f32>
  store %2, %1, none
}
"""


@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 100])
def test_masked_copy_touches_n_elements(execute, n):
    x = np.arange(1, n + 1, dtype=np.float32)
    out = np.full(n + 8, -1, np.float32)
    execute(COPY, x, out, n, grid=(-(-n // 8),))
    np.testing.assert_array_equal(out, [*x, *[-1] * 8])


TYPED = """
kernel typed(x: ptr<{t}>, o: ptr<{t}>) {{
  %0 = arange {{start=0, end=4}} : vector<4 x i32>
  %1 = addptr x, %0 : vector<4 x ptr<{t}>>
  %2 = load %1, none, none : vector<4 x {t}>
  %3 = addptr o, %0 : vector<4 x ptr<{t}>>
  store %3, %2, none
}}
"""
VALUES = {
    "bool": np.array([True, False, True, True]),
    **{f"i{b}": np.array([1, -1, 2 ** (b - 1) - 1, -(2 ** (b - 1))], f"i{b // 8}") for b in (8, 16, 32, 64)},
    **{f"u{b}": np.array([1, 0, 2**b - 1, 2 ** (b - 1)], f"u{b // 8}") for b in (8, 16, 32, 64)},
    **{f"f{b}": np.array([1.5, -0.0, np.inf, np.nan], f"f{b // 8}") for b in (16, 32, 64)},
    "bf16": np.array([0x3FC0, 0x8000, 0x7F80, 0x7FC1], np.uint16),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_every_dtype_is_copied_bit_for_bit(execute, name):
    x = VALUES[name]
    out = np.zeros_like(x)
    execute(TYPED.format(t=name), x, out)
    assert out.tobytes() == x.tobytes()


def test_bfloat16_computes_on_values_and_rounds_to_nearest_even(execute):
    text = """
    kernel f(x: ptr<bf16>, o: ptr<bf16>) {
      %0 = load x, none, none : bf16
      %1 = add %0, %0 : bf16
      %2 = mul %1, 1.0078125 : bf16
      store o, %2, none
    }
    """
    x, out = np.array([0x3FC0], np.uint16), np.zeros(1, np.uint16)  # 1.5
    execute(text, x, out)
    assert out[0] == 0x4042  # 3.0234375 lies midway between 0x4041 and 0x4042


def test_masked_lanes_at_wild_addresses_touch_nothing(execute):
    text = """
    kernel f(x: ptr<f32>, o: ptr<f32>, far: i64) {
      %0 = arange {start=0, end=4} : vector<4 x i32>
      %1 = cmp_lt %0, 2 : vector<4 x bool>
      %2 = select %1, 0:i64, far : vector<4 x i64>
      %3 = add %0, %2 : vector<4 x i64>
      %4 = addptr x, %3 : vector<4 x ptr<f32>>
      %5 = load %4, %1, 7.0 : vector<4 x f32>
      %6 = addptr o, %0 : vector<4 x ptr<f32>>
      store %6, %5, none
      store %4, %5, %1
    }
    """
    x, out = np.array([1, 2], np.float32), np.zeros(4, np.float32)
    execute(text, x, out, 2**62)
    np.testing.assert_array_equal(out, [1, 2, 7, 7])


def test_masked_load_without_other_gives_zero(execute):
    out = np.full(8, 9, np.float32)
    text = COPY.replace("store %7, %6, %4", "store %7, %6, none")
    execute(text, np.arange(1, 4, dtype=np.float32), out, 3)
    np.testing.assert_array_equal(out, [1, 2, 3, 0, 0, 0, 0, 0])


def test_a_load_before_a_store_sees_the_old_value(execute):
    text = """
    kernel f(p: ptr<f32>, q: ptr<f32>) {
      %0 = load p, none, none : f32
      store p, 0.0, none
      store q, %0, none
    }
    """
    p, q = np.array([5], np.float32), np.zeros(1, np.float32)
    execute(text, p, q)
    assert (p[0], q[0]) == (0, 5)


def test_a_vector_load_is_not_changed_by_a_later_store(execute):
    text = """
    kernel f(p: ptr<f32>, q: ptr<f32>) {
      %0 = arange {start=0, end=4} : vector<4 x i32>
      %1 = addptr p, %0 : vector<4 x ptr<f32>>
      %2 = load %1, none, none : vector<4 x f32>
      store %1, 0.0, none
      %3 = addptr q, %0 : vector<4 x ptr<f32>>
      store %3, %2, none
    }
    """
    p, q = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    execute(text, p, q)
    np.testing.assert_array_equal(q, [0, 1, 2, 3])


def test_a_load_after_a_store_through_an_overlapping_argument_sees_it(execute):
    text = """
    kernel f(p: ptr<i32>, q: ptr<i16>, o: ptr<i16>) {
      store p, 0x10002, none
      %0 = addptr q, 1 : ptr<i16>
      %1 = load %0, none, none : i16
      store o, %1, none
    }
    """.replace("0x10002", str(0x10002))
    p, out = np.zeros(1, np.int32), np.zeros(1, np.int16)
    execute(text, p, p.view(np.int16), out)
    assert out[0] == 1


def test_the_last_lane_wins_when_lanes_meet(execute):
    text = """
    kernel f(o: ptr<i32>) {
      %0 = arange {start=0, end=64} : vector<64 x i32>
      %1 = and %0, 3 : vector<64 x i32>
      %2 = addptr o, %1 : vector<64 x ptr<i32>>
      store %2, %0, none
    }
    """
    out = np.zeros(4, np.int32)
    execute(text, out)
    np.testing.assert_array_equal(out, [60, 61, 62, 63])


def test_a_reversed_view_is_addressed_from_its_first_element(execute):
    memory, out = np.arange(8, dtype=np.float32), np.zeros(1, np.float32)
    execute(MOVE, memory[::-1], out, -3, 0)
    assert out[0] == 4  # the base is element 7 of memory


@pytest.mark.parametrize("index", [1, -8])
def test_a_reversed_view_ends_where_its_bytes_end(execute, index):
    memory, out = np.arange(8, dtype=np.float32), np.zeros(1, np.float32)
    with pytest.raises(IndexError, match=r"valid: -7 to 0"):
        execute(MOVE, memory[::-1], out, index, 0)


def test_a_strided_view_is_a_base_pointer_over_the_bytes_it_spans(execute):
    memory, out = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros(1, np.float32)
    execute(MOVE, memory[1:3, 1:3], out, 5, 0)
    assert out[0] == 10
    with pytest.raises(IndexError, match="valid: 0 to 5"):
        execute(MOVE, memory[1:3, 1:3], out, 6, 0)


def test_a_zero_dimensional_array_has_one_element(execute):
    out = np.zeros((), np.float32)
    execute(MOVE, np.array(3, np.float32), out, 0, 0)
    assert out == 3


def test_an_empty_array_has_no_element(execute):
    with pytest.raises(IndexError, match="it has no elements"):
        execute(MOVE, np.zeros(0, np.float32), np.zeros(1, np.float32), 0, 0)


def test_an_empty_array_that_no_lane_touches_is_fine(execute):
    execute(COPY, np.zeros(0, np.float32), np.zeros(0, np.float32), 0, grid=(3,))


def test_unaligned_memory(execute):
    raw = np.zeros(4 * 4 + 1, np.uint8)
    raw[1:].view(np.uint8)[:] = np.arange(4, dtype=np.float32).view(np.uint8)
    x = np.frombuffer(raw, np.float32, 4, 1)
    out = np.zeros(1, np.float32)
    execute(MOVE, x, out, 2, 0)
    assert out[0] == 2


def test_a_field_whose_stride_is_no_multiple_of_its_size(execute):
    records = np.zeros(3, np.dtype([("tag", "u1"), ("value", "f4")]))
    records["value"] = [1, 2, 3]
    out = np.zeros(1, np.float32)
    execute(MOVE, records["value"], out, 0, 0)
    assert out[0] == 1
    execute(MOVE, np.array([9], np.float32), records["value"], 0, 0)
    assert records["value"].tolist() == [9, 2, 3] and not records["tag"].any()
    with pytest.raises(IndexError, match="valid: 0 to 2"):
        execute(MOVE, records["value"], out, 3, 0)


def test_a_read_only_array_may_be_loaded_from(execute):
    x, out = np.ones(1, np.float32), np.zeros(1, np.float32)
    x.flags.writeable = False
    execute(MOVE, x, out, 0, 0)
    assert out[0] == 1


def test_a_read_only_array_is_never_stored_to(execute):
    out = np.zeros(1, np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="argument 'o' is read-only"):
        execute(MOVE, np.ones(1, np.float32), out, 0, 0)
    assert out[0] == 0


def test_out_of_bounds_names_argument_index_program_and_line(execute):
    x, out = np.zeros(20, np.float32), np.full(64, -1, np.float32)
    with pytest.raises(IndexError) as caught:
        execute(COPY, x, out, 64, grid=(8,))
    error = caught.value
    assert (error.argument, error.index, error.program) == ("x", 20, (2, 0, 0))
    assert "load of x[20] in program (2, 0, 0) is out of bounds (valid: 0 to 19)" in str(error)
    assert "kernel.ssa:9:" in str(error)


def test_out_of_bounds_leaves_what_earlier_programs_stored_and_nothing_else(execute):
    x, out = np.ones(20, np.float32), np.full(64, -1, np.float32)
    with pytest.raises(IndexError):
        execute(COPY, x, out, 64, grid=(8,))
    np.testing.assert_array_equal(out, [*[1] * 16, *[-1] * 48])


def test_out_of_bounds_shows_the_source_line(as_view, tmp_path):
    from dataclasses import replace

    from mytriton.errors import Span
    from mytriton.interpreter.machine import run
    from mytriton.ir.parser import parse
    from mytriton.ir.types import F32

    source = tmp_path / "user.py"
    source.write_text("x = 1\nvalue = tl.load(x + i)\n")
    function = parse(MOVE)
    span = Span(str(source), 2, 9, 2, 23)
    function.body[1] = replace(function.body[1], span=span)
    x = np.zeros(1, np.float32)
    with pytest.raises(IndexError) as caught:
        run(function, [as_view(x, F32), as_view(x, F32), 5, 0], (1, 1, 1))
    assert f"{source}:2:9" in str(caught.value)
    assert "    value = tl.load(x + i)\n            ^^^^^^^^^^^^^^" in str(caught.value)


def test_out_of_bounds_store_is_refused_before_memory_is_touched(execute):
    memory = np.zeros(8, np.float32)
    with pytest.raises(IndexError, match=r"store of o\[4\]"):
        execute(MOVE, np.ones(1, np.float32), memory[:4], 0, 4)
    assert not memory.any()


def test_offsets_of_64_bits_do_not_wrap_into_the_array(execute):
    text = MOVE.replace("i: i32", "i: i64")
    for index in (2**32, 2**62, -(2**63), 2**63 - 1):
        with pytest.raises(IndexError):
            execute(text, np.zeros(1, np.float32), np.zeros(1, np.float32), index, 0)


def test_unsigned_offsets_are_not_negative(execute):
    text = MOVE.replace("i: i32", "i: u8")
    x, out = np.arange(256, dtype=np.float32), np.zeros(1, np.float32)
    execute(text, x, out, 255, 0)
    assert out[0] == 255
