"""What operations mean on values; numbers from float64 or the specification."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

BINARY = """
kernel f(x: ptr<{t}>, y: ptr<{t}>, o: ptr<{r}>) {{
  %0 = arange {{start=0, end=8}} : vector<8 x i32>
  %1 = addptr x, %0 : vector<8 x ptr<{t}>>
  %2 = load %1, none, none : vector<8 x {t}>
  %3 = addptr y, %0 : vector<8 x ptr<{t}>>
  %4 = load %3, none, none : vector<8 x {t}>
  %5 = {op} %2, %4 : vector<8 x {r}>
  %6 = addptr o, %0 : vector<8 x ptr<{r}>>
  store %6, %5, none
}}
"""


def binary(execute, op, x, y, ty, result=None, out=None):
    out = np.zeros_like(x) if out is None else out
    execute(BINARY.format(op=op, t=ty, r=result or ty), x, y, out)
    return out


NAN, INF = np.nan, np.inf
X = np.array([1, NAN, 3, NAN, 0.0, -0.0, INF, -INF])
Y = np.array([2, 1, NAN, NAN, -0.0, 0.0, -INF, -INF])


@pytest.mark.parametrize("ty", ["f16", "f32", "f64"])
def test_maximum_keeps_nan_and_takes_the_right_operand_on_ties(execute, ty):
    dtype = f"f{int(ty[1:]) // 8}"
    got = binary(execute, "maximum", X.astype(dtype), Y.astype(dtype), ty)
    np.testing.assert_array_equal(got, [2, NAN, NAN, NAN, 0, 0, INF, -INF])
    assert np.signbit(got[4]) and not np.signbit(got[5])


def test_minimum_keeps_nan_and_takes_the_right_operand_on_ties(execute):
    got = binary(execute, "minimum", X.astype("f4"), Y.astype("f4"), "f32")
    np.testing.assert_array_equal(got, [1, NAN, NAN, NAN, 0, 0, -INF, -INF])
    assert np.signbit(got[4]) and not np.signbit(got[5])


@pytest.mark.parametrize("ty", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_integers_wrap(execute, op, ty):
    bits = int(ty[1:])
    dtype = np.dtype(f"{ty[0]}{bits // 8}")
    info = np.iinfo(dtype)
    x = [info.max, info.min, 3, info.max, 7, 1, info.max, info.min]
    y = [1, 1, 5, info.max, 2, info.max, 2, info.max]
    python = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}[op]
    wanted = [
        (python(a, b) - info.min) % 2**bits + info.min for a, b in zip(map(int, x), map(int, y))
    ]
    got = binary(execute, op, np.array(x, dtype), np.array(y, dtype), ty)
    assert got.tolist() == wanted


def test_integer_division_truncates_and_never_traps(execute):
    x = np.array([7, -7, 7, -7, 1, -(2**31), 0, 6], np.int32)
    y = np.array([-2, 2, 2, -2, 0, -1, 5, 3], np.int32)
    assert binary(execute, "div", x, y, "i32").tolist() == [-3, -3, 3, 3, 0, 0, 0, 2]


def test_comparison_with_nan_is_false(execute):
    got = binary(execute, "cmp_lt", X, Y, "f64", "bool", np.zeros(8, bool))
    assert got.tolist() == [True, False, False, False, False, False, False, False]


def test_bool_sum_is_exclusive_or(execute):
    x, y = np.array([0, 0, 1, 1] * 2, bool), np.array([0, 1] * 4, bool)
    assert binary(execute, "add", x, y, "bool").tolist() == [False, True, True, False] * 2


def test_float16_arithmetic_is_float16(execute):
    x = np.array([2048, 65504, 0.1, 1, 2, 3, 4, 5], np.float16)
    y = np.array([1, 65504, 0.2, 1, 2, 3, 4, 5], np.float16)
    with np.errstate(over="ignore"):
        wanted = (x.astype(np.float64) + y.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(binary(execute, "add", x, y, "f16"), wanted)


@pytest.mark.parametrize("ty", ["f16", "f32", "f64"])
def test_exp_agrees_with_float64(execute, ty):
    text = BINARY.replace("{op} %2, %4", "exp %2")
    dtype = f"f{int(ty[1:]) // 8}"
    x = np.array([0, 1, -1, 5, -20, 1000, -INF, NAN]).astype(dtype)
    out = np.zeros(8, dtype)
    execute(text.format(t=ty, r=ty), x, x, out)
    with np.errstate(over="ignore"):
        wanted = np.exp(x.astype(np.float64)).astype(dtype)
    np.testing.assert_allclose(out, wanted, rtol=float(np.finfo(dtype).eps) * 2, atol=0)


def test_where_ignores_nan_in_the_branch_not_taken(execute):
    text = BINARY.replace(
        "%5 = {op} %2, %4 : vector<8 x {r}>",
        "%7 = cmp_lt %0, 4 : vector<8 x bool>\n  %5 = select %7, %2, %4 : vector<8 x {r}>",
    )
    x = np.array([1, 2, 3, 4, NAN, NAN, NAN, NAN], np.float32)
    y = np.array([NAN, NAN, NAN, NAN, 5, 6, 7, 8], np.float32)
    out = np.zeros(8, np.float32)
    execute(text.format(t="f32", r="f32"), x, y, out)
    assert out.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


REDUCE = """
kernel f(x: ptr<f32>, o: ptr<f32>) {{
  %0 = arange {{start=0, end=8}} : vector<8 x i32>
  %1 = program_id {{axis=0}} : i32
  %2 = mul %1, 8 : i32
  %3 = add %0, %2 : vector<8 x i32>
  %4 = addptr x, %3 : vector<8 x ptr<f32>>
  %5 = load %4, none, none : vector<8 x f32>
  %6 = {op} %5 : f32
  %7 = addptr o, %1 : ptr<f32>
  store %7, %6, none
}}
"""


@pytest.mark.parametrize("op", ["max", "min"])
def test_reductions_ignore_nan_unless_all_are(execute, op):
    x = np.array([[NAN] * 8, [NAN, 2, 1, 3, NAN, 2, 2, 2]], np.float32)
    out = np.zeros(2, np.float32)
    execute(REDUCE.format(op=op), x, out, grid=(2,))
    np.testing.assert_array_equal(out, [NAN, {"max": 3, "min": 1}[op]])


def test_a_sum_in_many_programs_is_bit_for_bit_the_sum_in_one(execute):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((64, 8)).astype(np.float32)
    out, alone = np.zeros(64, np.float32), np.zeros(64, np.float32)
    execute(REDUCE.format(op="sum"), x, out, grid=(64,))
    for k in range(64):
        execute(REDUCE.format(op="sum"), x[k], alone[k : k + 1])
    assert out.tobytes() == alone.tobytes()
    np.testing.assert_allclose(out, x.astype(np.float64).sum(axis=1), atol=1e-5)


AXIS = """
kernel f(x: ptr<f32>, o: ptr<f32>) {{
  %0 = arange {{start=0, end=16}} : vector<16 x i32>
  %1 = expand_dims %0 {{axis=1}} : block<16x1 x i32>
  %2 = mul %1, 32 : block<16x1 x i32>
  %3 = arange {{start=0, end=32}} : vector<32 x i32>
  %4 = expand_dims %3 {{axis=0}} : block<1x32 x i32>
  %5 = add %2, %4 : block<16x32 x i32>
  %6 = program_id {{axis=0}} : i32
  %7 = mul %6, 512 : i32
  %8 = add %7, %5 : block<16x32 x i32>
  %9 = addptr x, %8 : block<16x32 x ptr<f32>>
  %10 = load %9, none, none : block<16x32 x f32>
  %11 = sum %10 {{axis={axis}}} : vector<{n} x f32>
  %12 = mul %6, {n} : i32
  %13 = arange {{start=0, end={n}}} : vector<{n} x i32>
  %14 = add %12, %13 : vector<{n} x i32>
  %15 = addptr o, %14 : vector<{n} x ptr<f32>>
  store %15, %11, none
}}
"""


@pytest.mark.parametrize("axis", [0, 1])
def test_a_sum_along_an_axis_does_not_depend_on_how_many_programs_run(execute, axis):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((5, 16, 32)).astype(np.float32)
    n = (32, 16)[axis]
    text = AXIS.format(axis=axis, n=n)
    out, alone = np.zeros((5, n), np.float32), np.zeros((5, n), np.float32)
    execute(text, x, out, grid=(5,))
    for k in range(5):
        execute(text, x[k], alone[k])
    assert out.tobytes() == alone.tobytes()
    np.testing.assert_allclose(out, x.astype(np.float64).sum(axis=axis + 1), atol=1e-4)


def test_full_converts_and_is_not_confused_by_the_program_axis(execute):
    text = """
    kernel f(o: ptr<f16>) {
      %0 = program_id {axis=0} : i32
      %1 = full %0 {shape=(2, 2), dtype=f16} : block<2x2 x f16>
      %2 = arange {start=0, end=2} : vector<2 x i32>
      %3 = expand_dims %2 {axis=0} : block<1x2 x i32>
      %4 = expand_dims %2 {axis=1} : block<2x1 x i32>
      %5 = mul %4, 2 : block<2x1 x i32>
      %6 = add %5, %3 : block<2x2 x i32>
      %7 = mul %0, 4 : i32
      %8 = add %6, %7 : block<2x2 x i32>
      %9 = addptr o, %8 : block<2x2 x ptr<f16>>
      store %9, %1, none
    }
    """
    out = np.zeros((2, 2, 2), np.float16)
    execute(text, out, grid=(2,))
    assert out.tolist() == [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]


def test_a_vector_broadcasts_along_the_last_axis_whatever_the_number_of_programs(execute):
    # (P, 4) beside (P, 4, 4): the program axis must not take part in broadcasting.
    text = """
    kernel f(x: ptr<i32>, o: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = arange {start=0, end=4} : vector<4 x i32>
      %2 = add %1, %0 : vector<4 x i32>
      %3 = expand_dims %1 {axis=1} : block<4x1 x i32>
      %4 = mul %3, 4 : block<4x1 x i32>
      %5 = add %4, %2 : block<4x4 x i32>
      %6 = mul %0, 16 : i32
      %7 = expand_dims %1 {axis=0} : block<1x4 x i32>
      %8 = add %4, %7 : block<4x4 x i32>
      %9 = add %8, %6 : block<4x4 x i32>
      %10 = addptr o, %9 : block<4x4 x ptr<i32>>
      store %10, %5, none
    }
    """
    out = np.zeros((4, 4, 4), np.int32)
    execute(text, np.zeros(1, np.int32), out, grid=(4,))
    row = np.arange(4)
    wanted = [4 * row[:, None] + (row + p)[None, :] for p in range(4)]
    np.testing.assert_array_equal(out, wanted)


def test_a_grid_of_three_axes_counts_the_first_fastest(execute):
    text = """
    kernel f(o: ptr<i32>, last: ptr<i32>) {
      %0 = program_id {axis=0} : i32
      %1 = program_id {axis=1} : i32
      %2 = program_id {axis=2} : i32
      %3 = mul %1, 2 : i32
      %4 = mul %2, 4 : i32
      %5 = add %0, %3 : i32
      %6 = add %5, %4 : i32
      %7 = addptr o, %6 : ptr<i32>
      %8 = load %7, none, none : i32
      %9 = add %8, %6 : i32
      store %7, %9, none
      store last, %6, none
    }
    """
    out, last = np.full(8, 100, np.int32), np.zeros(1, np.int32)
    execute(text, out, last, grid=(2, 2, 2))
    assert out.tolist() == [100 + k for k in range(8)]
    assert last[0] == 7


def test_numpy_warnings_never_reach_the_user(execute):
    text = """
    kernel f(x: f32, o: ptr<f32>, q: ptr<i32>) {
      %0 = div x, 0.0 : f32
      %1 = exp %0 : f32
      %2 = sub %1, %1 : f32
      store o, %2, none
      %3 = cast %2 {dtype=i32} : i32
      store q, %3, none
    }
    """
    out = np.zeros(1, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        execute(text, 1e30, out, np.zeros(1, np.int32))
    assert np.isnan(out[0])


def test_an_operation_registered_outside_core_runs(execute):
    from mytriton.ir import registry, rules

    op = registry.register(
        registry.OpDef(
            "test.scale", ("x",), rules.same("test.scale"),
            lambda ev, a: a * ev.attrs["by"], "Scale.", attrs=("by",), elementwise=True,
        )
    )  # fmt: skip
    try:
        out = np.zeros(1, np.float32)
        text = "kernel f(x: f32, o: ptr<f32>) {\n %0 = test.scale x {by=3} : f32\n store o, %0, none\n}\n"
        execute(text, 2.0, out)
        assert out[0] == 6
    finally:
        registry.unregister(op.name)


def test_a_chain_of_thousands_of_blocks_keeps_only_the_live_ones(execute):
    import tracemalloc

    lines = ["%0 = arange {start=0, end=4096} : vector<4096 x i32>"]
    lines += [f"%{k + 1} = add %{k}, 1 : vector<4096 x i32>" for k in range(3000)]
    lines += ["%9001 = addptr o, %0 : vector<4096 x ptr<i32>>", "store %9001, %3000, none"]
    out = np.zeros(4096, np.int32)
    tracemalloc.start()
    execute("kernel f(o: ptr<i32>) {\n" + "\n".join(lines) + "\n}\n", out, grid=(8,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert out[0] == 3000
    assert peak < 20 * 2**20  # all of them would be 48 MiB
