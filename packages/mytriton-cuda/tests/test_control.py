"""Branches and while loops in both mappings, on the emulator (which finds races and barriers that
some threads miss)."""

from __future__ import annotations

from typing import Any

import cuda_ssa as ssa
import numpy as np
import pytest

pytestmark = pytest.mark.nvrtc
pytest.importorskip("mytriton_testkit.emulator_device")
RNG = np.random.default_rng(3)
N = 128

START = f"""
  %0 = arange {{start=0, end={N}}} : vector<{N} x i32>
  %1 = addptr x, %0 : vector<{N} x ptr<f32>>
  %2 = load %1, none, none : vector<{N} x f32>"""
END = f"""
  %101 = addptr out, %0 : vector<{N} x ptr<f32>>
  store %101, %100, none
}}
"""
V = f"vector<{N} x f32>"

mappings = pytest.mark.parametrize("mapping", ssa.MAPPINGS)


def run(text: str, mapping: Any, grid: Any = (1, 1, 1), **args: Any) -> dict[str, Any]:
    return ssa.emulated(ssa.function(text), mapping, args, grid, {"x": 16, "out": 16})


def numbers(*shape: int) -> np.ndarray:
    """Whole numbers, whose sums are exact."""
    return RNG.integers(-50, 50, shape).astype(np.float32)


@mappings
@pytest.mark.parametrize("n", [-1, 1])
def test_a_branch_gives_a_block_and_a_scalar(mapping: Any, n: int) -> None:
    x = numbers(N)
    found = run(f"""kernel k(x: ptr<f32>, out: ptr<f32>, n: i32) {{{START}
  %3 = cmp_gt n, 0 : bool
  %4, %5 = if %3 : {V}, f32 {{
    %6 = sum %2 {{axis=0}} : f32
    yield %2, %6
  }} else {{
    %7 = add %2, 1.0 : {V}
    yield %7, 3.0
  }}
  %100 = add %4, %5 : {V}{END}""", mapping, x=x, out=np.zeros(N, "f4"), n=n)["out"]  # fmt: skip
    np.testing.assert_array_equal(found, x + x.sum() if n > 0 else x + 4)


@mappings
@pytest.mark.parametrize("n", [0, 1, 2])
def test_branches_within_branches_that_store(mapping: Any, n: int) -> None:
    x, out = numbers(N), numbers(N)
    found = run(f"""kernel k(x: ptr<f32>, out: ptr<f32>, n: i32) {{{START}
  %3 = cmp_eq n, 1 : bool
  %10 = addptr out, %0 : vector<{N} x ptr<f32>>
  if %3 {{
    store %10, %2, none
  }} else {{
    %4 = cmp_eq n, 2 : bool
    if %4 {{
      %5 = mul %2, 2.0 : {V}
      store %10, %5, none
    }} else {{
    }}
  }}
}}
""", mapping, x=x, out=out, n=n)["out"]  # fmt: skip
    np.testing.assert_array_equal(found, {0: out, 1: x, 2: 2 * x}[n])


@mappings
@pytest.mark.parametrize("n", [0, 1, 7])
def test_while_exchanges_what_it_carries(mapping: Any, n: int) -> None:
    x = numbers(N)
    found = run(f"""kernel k(x: ptr<f32>, out: ptr<f32>, n: i32) {{{START}
  %3 = add %2, 1.0 : {V}
  %4, %5, %6 = while n, %2, %3 : i32, {V}, {V} {{
    args(%10: i32, %11: {V}, %12: {V})
    %13 = cmp_gt %10, 0 : bool
    yield %13
  }} {{
    args(%20: i32, %21: {V}, %22: {V})
    %23 = sub %20, 1 : i32
    %24 = add %21, %22 : {V}
    yield %23, %22, %24
  }}
  %7 = mul %6, 1000.0 : {V}
  %100 = add %5, %7 : {V}{END}""", mapping, x=x, out=np.zeros(N, "f4"), n=n)["out"]  # fmt: skip
    a, b = x, x + 1
    for _ in range(n):
        a, b = b, a + b
    np.testing.assert_array_equal(found, a + 1000 * b)


@mappings
def test_a_condition_that_reduces_what_it_carries(mapping: Any) -> None:
    x = np.abs(numbers(N)) + 1
    found = run(f"""kernel k(x: ptr<f32>, out: ptr<f32>) {{{START}
  %100 = while %2 : {V} {{
    args(%10: {V})
    %11 = max %10 {{axis=0}} : f32
    %12 = cmp_lt %11, 1000.0 : bool
    yield %12
  }} {{
    args(%20: {V})
    %21 = sum %20 {{axis=0}} : f32
    %22 = cmp_lt %21, 10000.0 : bool
    %23 = if %22 : {V} {{
      %24 = mul %20, 2.0 : {V}
      yield %24
    }} else {{
      %25 = mul %20, 3.0 : {V}
      yield %25
    }}
    yield %23
  }}{END}""", mapping, x=x, out=np.zeros(N, "f4"))["out"]  # fmt: skip
    while x.max() < 1000:
        x = x * 2 if x.sum() < 10000 else x * 3
    np.testing.assert_array_equal(found, x)


@mappings
@pytest.mark.parametrize("n", [0, 1])
def test_a_branch_chooses_pointers(mapping: Any, n: int) -> None:
    x, y = numbers(N), numbers(N)
    block = f"vector<{N} x ptr<f32>>"
    found = run(f"""kernel k(x: ptr<f32>, y: ptr<f32>, out: ptr<f32>, n: i32) {{{START}
  %3 = cmp_eq n, 0 : bool
  %4, %5 = if %3 : ptr<f32>, {block} {{
    yield x, %1
  }} else {{
    %6 = addptr y, 2 : ptr<f32>
    %7 = addptr y, %0 : {block}
    yield %6, %7
  }}
  %8 = load %4, none, none : f32
  %9 = load %5, none, none : {V}
  %100 = add %8, %9 : {V}{END}""", mapping, x=x, y=y, out=np.zeros(N, "f4"), n=n)["out"]  # fmt: skip
    np.testing.assert_array_equal(found, x + x[0] if n == 0 else y + y[2])


@mappings
def test_what_a_condition_reads_was_stored_before(mapping: Any) -> None:
    """Each trip stores a block and looks at one element of it: threads must not run ahead."""
    found = run(f"""kernel k(x: ptr<f32>, out: ptr<f32>) {{{START}
  %101 = addptr out, %0 : vector<{N} x ptr<f32>>
  store %101, %2, none
  %3 = addptr out, {N - 1} : ptr<f32>
  while {{
    %4 = load %3, none, none : f32
    %5 = cmp_lt %4, 100.0 : bool
    yield %5
  }} {{
    %6 = load %101, none, none : {V}
    %7 = add %6, 7.0 : {V}
    store %101, %7, none
  }}
}}
""", mapping, x=np.arange(N, dtype="f4") - N, out=np.zeros(N, "f4"))["out"]  # fmt: skip
    x = np.arange(N, dtype="f4") - N
    while x[-1] < 100:
        x += 7
    np.testing.assert_array_equal(found, x)


@mappings
def test_a_loop_in_a_branch_in_a_loop(mapping: Any) -> None:
    """Programs leave at different times, and some do nothing."""
    x = numbers(N)
    found = run(f"""kernel k(x: ptr<f32>, out: ptr<f32>, n: i32) {{{START}
  %3 = program_id {{axis=0}} : i32
  %4 = cmp_lt %3, 3 : bool
  if %4 {{
    %5 = mul %3, {N} : i32
    %6 = addptr out, %5 : ptr<f32>
    %7 = addptr %6, %0 : vector<{N} x ptr<f32>>
    %10, %11 = while 0:i32, %2 : i32, {V} {{
      args(%12: i32, %13: {V})
      %14 = cmp_lt %12, n : bool
      yield %14
    }} {{
      args(%15: i32, %16: {V})
      %17 = rem %15, 2 : i32
      %18 = cmp_eq %17, 0 : bool
      %19 = if %18 : {V} {{
        %20 = for %21 in range(0, %3, 1) iter_args(%22 = %16) : {V} {{
          %23 = sum %22 {{axis=0}} : f32
          %24 = add %22, 1.0 : {V}
          %25 = cmp_lt %23, 0.0 : bool
          %26 = select %25, 5.0, 0.0 : f32
          %27 = add %24, %26 : {V}
          yield %27
        }}
        yield %20
      }} else {{
        yield %16
      }}
      %28 = add %15, 1 : i32
      yield %28, %19
    }}
    store %7, %11, none
  }} else {{
  }}
}}
""", mapping, (5, 1, 1), x=x, out=np.zeros((5, N), "f4"), n=5)["out"]  # fmt: skip
    expected = np.zeros((5, N), "f4")
    for program in range(3):
        v = x.copy()
        for trip in range(5):
            for _ in range(program if trip % 2 == 0 else 0):
                v = v + 1 + (5 if v.sum() < 0 else 0)
        expected[program] = v
    np.testing.assert_array_equal(found, expected)


@mappings
def test_results_that_nobody_uses_are_not_computed(mapping: Any) -> None:
    text = f"""kernel k(x: ptr<f32>, out: ptr<f32>, n: i32) {{{START}
  %3 = cmp_gt n, 0 : bool
  %4 = if %3 : f32 {{
    %6 = sum %2 {{axis=0}} : f32
    yield %6
  }} else {{
    yield 1.0
  }}
  %100 = add %2, 1.0 : {V}{END}"""
    fn = ssa.function(text)
    assert "if (" not in ssa.source(fn, mapping).text.partition("void k")[2]


@mappings
@pytest.mark.parametrize("n", [1, 40])
def test_a_block_in_two_layouts_leaves_a_branch(mapping: Any, n: int) -> None:
    x = numbers(16)
    found = run("""kernel k(x: ptr<f32>, out: ptr<f32>, n: i32) {
  %0 = arange {start=0, end=16} : vector<16 x i32>
  %1 = addptr x, %0 : vector<16 x ptr<f32>>
  %2 = load %1, none, none : vector<16 x f32>
  %3 = cmp_lt n, 30 : bool
  %4 = if %3 : vector<16 x f32> {
    %5 = add %2, 2.0 : vector<16 x f32>
    yield %5
  } else {
    yield %2
  }
  %6 = expand_dims %4 {axis=1} : block<16x1 x f32>
  %7 = expand_dims %4 {axis=0} : block<1x16 x f32>
  %8 = mul %6, %7 : block<16x16 x f32>
  %9 = expand_dims %0 {axis=1} : block<16x1 x i32>
  %10 = expand_dims %0 {axis=0} : block<1x16 x i32>
  %11 = mul %9, 16 : block<16x1 x i32>
  %12 = add %11, %10 : block<16x16 x i32>
  %13 = addptr out, %12 : block<16x16 x ptr<f32>>
  store %13, %8, none
}
""", mapping, x=x, out=np.zeros((16, 16), "f4"), n=n)["out"]  # fmt: skip
    v = x + 2 if n < 30 else x
    np.testing.assert_array_equal(found, np.outer(v, v))
