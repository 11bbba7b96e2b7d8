"""Branches and conditional loops on the PTX emulator."""

import numpy as np
import pytest

from mytriton.ir.parser import parse
from mytriton_mlir.gpu import backend

COLLATZ = """
kernel k(x: ptr<i32>, steps: ptr<i32>, limit: i32) {
%0 = program_id {axis=0} : i32
%1 = addptr x, %0 : ptr<i32>
%2 = load %1, none, none : i32
%3, %4 = while %2, 0:i32 : i32, i32 {
  args(%5: i32, %6: i32)
  %7 = cmp_ne %5, 1 : bool
  %8 = cmp_lt %6, limit : bool
  %9 = and %7, %8 : bool
  yield %9
} {
  args(%10: i32, %11: i32)
  %12 = and %10, 1 : i32
  %13 = cmp_eq %12, 0 : bool
  %14 = if %13 : i32 {
    %15 = div %10, 2 : i32
    yield %15
  } else {
    %16 = mul %10, 3 : i32
    %17 = add %16, 1 : i32
    yield %17
  }
  %18 = add %11, 1 : i32
  yield %14, %18
}
%19 = addptr steps, %0 : ptr<i32>
store %19, %4, none
}
"""


def collatz(n, limit):
    steps = 0
    while n != 1 and steps < limit:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


@pytest.mark.parametrize("limit", [0, 5, 1000])
def test_a_branch_in_a_loop(both, limit):
    x = np.arange(1, 21, dtype="i4")
    there, _ = both(COLLATZ, {"x": x, "steps": np.zeros(20, "i4"), "limit": limit}, (20,))
    assert there["steps"].tolist() == [collatz(n, limit) for n in range(1, 21)]


CARRIED = """
kernel k(x: ptr<f32>, count: ptr<i32>, out: ptr<f32>) {
%0 = arange {start=0, end=32} : vector<32 x i32>
%1 = addptr x, %0 : vector<32 x ptr<f32>>
%2 = zeros {shape=(32), dtype=f32} : vector<32 x f32>
%3, %4 = while %1, %2 : vector<32 x ptr<f32>>, vector<32 x f32> {
  args(%5: vector<32 x ptr<f32>>, %6: vector<32 x f32>)
  %7 = load count, none, none : i32
  %8 = cmp_gt %7, 0 : bool
  yield %8
} {
  args(%9: vector<32 x ptr<f32>>, %10: vector<32 x f32>)
  %11 = load count, none, none : i32
  %12 = sub %11, 1 : i32
  store count, %12, none
  %13 = load %9, none, none : vector<32 x f32>
  %14 = max %13 : f32
  %15 = add %10, %13 : vector<32 x f32>
  %16 = add %15, %14 : vector<32 x f32>
  %17 = rem %12, 2 : i32
  %18 = cmp_eq %17, 0 : bool
  %19, %20 = if %18 : vector<32 x ptr<f32>>, vector<32 x f32> {
    %21 = addptr %9, 32 : vector<32 x ptr<f32>>
    %22 = sum %16 : f32
    %23 = add %16, %22 : vector<32 x f32>
    store x, 3.0, none
    yield %21, %23
  } else {
    yield %9, %16
  }
  yield %19, %20
}
%24 = addptr out, %0 : vector<32 x ptr<f32>>
store %24, %4, none
}
"""


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_blocks_pointers_and_reductions_go_round(both, count):
    """Memory that the condition reads and the body writes, with the emulator's race check."""
    x = np.random.default_rng(0).integers(-3, 4, 128).astype("f4")
    arguments = {"x": x, "count": np.array([count], "i4"), "out": np.zeros(32, "f4")}
    there, _ = both(CARRIED, arguments)
    memory, place, total = x.copy(), 0, np.zeros(32)
    for left in range(count - 1, -1, -1):
        row = memory[place : place + 32].copy()
        total = total + row + row.max()
        if left % 2 == 0:
            place, total = place + 32, total + total.sum()
            memory[0] = 3
    np.testing.assert_array_equal(there["out"], total)
    np.testing.assert_array_equal(there["x"], memory)
    assert there["count"].tolist() == [0]


CHOSEN = """
kernel k(x: ptr<f32>, y: ptr<f32>, out: ptr<f32>, n: i32, flag: bool) {
%0 = arange {start=0, end=64} : vector<64 x i32>
%1 = if flag : ptr<f32> {
  yield x
} else {
  %2 = addptr y, 1 : ptr<f32>
  yield %2
}
%3 = addptr %1, %0 : vector<64 x ptr<f32>>
%4 = load %3, none, none : vector<64 x f32>
%5 = addptr out, %0 : vector<64 x ptr<f32>>
%6 = cmp_lt %0, n : vector<64 x bool>
%7 = cmp_gt n, 3 : bool
if %7 {
  store %5, %4, %6
  %8 = cmp_gt n, 10 : bool
  if %8 {
    store out, 9.0, none
  } else {
  }
} else {
  store %5, 7.0, none
}
}
"""


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("n", [2, 5, 20])
def test_a_branch_chooses_an_array(both, flag, n):
    x, y = np.arange(70, dtype="f4"), np.arange(100, 170, dtype="f4")
    arguments = {"x": x, "y": y, "out": np.zeros(64, "f4"), "n": n, "flag": flag}
    there, _ = both(CHOSEN, arguments)
    chosen = (x if flag else y[1:])[:64]
    expected = np.where(np.arange(64) < n, chosen, 0) if n > 3 else np.full(64, 7)
    if n > 10:
        expected[0] = 9
    np.testing.assert_array_equal(there["out"], expected)


NOTHING = """
kernel k(count: ptr<i32>, out: ptr<f32>) {
while {
  %0 = load count, none, none : i32
  %1 = cmp_gt %0, 0 : bool
  yield %1
} {
  %2 = load count, none, none : i32
  %3 = sub %2, 1 : i32
  store count, %3, none
}
%4 = arange {start=0, end=64} : vector<64 x i32>
%5 = addptr out, %4 : vector<64 x ptr<f32>>
store %5, 1.0, none
}
"""


def test_a_loop_that_carries_nothing(both):
    there, _ = both(NOTHING, {"count": np.array([4], "i4"), "out": np.zeros(64, "f4")})
    assert there["count"].tolist() == [0]
    assert (there["out"] == 1).all()


LAYOUTS = """
kernel k(x: ptr<i32>, out: ptr<i32>, n: i32) {
%0 = arange {start=0, end=8} : vector<8 x i32>
%1 = addptr x, %0 : vector<8 x ptr<i32>>
%2 = load %1, none, none : vector<8 x i32>
%3 = cmp_gt n, 0 : bool
%4 = if %3 : vector<8 x i32> {
  yield %2
} else {
  yield %0
}
%5 = while %4 : vector<8 x i32> {
  args(%6: vector<8 x i32>)
  %7 = sum %6 : i32
  %8 = cmp_lt %7, n : bool
  yield %8
} {
  args(%9: vector<8 x i32>)
  %10 = add %9, 1 : vector<8 x i32>
  yield %10
}
%11 = expand_dims %5 {axis=1} : block<8x1 x i32>
%12 = expand_dims %5 {axis=0} : block<1x8 x i32>
%13 = mul %11, 10 : block<8x1 x i32>
%14 = add %13, %12 : block<8x8 x i32>
%15 = expand_dims %0 {axis=1} : block<8x1 x i32>
%16 = expand_dims %0 {axis=0} : block<1x8 x i32>
%17 = mul %15, 8 : block<8x1 x i32>
%18 = add %17, %16 : block<8x8 x i32>
%19 = addptr out, %18 : block<8x8 x ptr<i32>>
store %19, %14, none
}
"""


@pytest.mark.parametrize("n", [-1, 30, 61])
def test_values_in_two_layouts_go_through(both, n):
    x = np.array([3, 1, 4, 1, 5, 9, 2, 6], "i4")
    there, _ = both(LAYOUTS, {"x": x, "out": np.zeros(64, "i4"), "n": n})
    value = x if n > 0 else np.arange(8)
    while value.sum() < n:
        value = value + 1
    np.testing.assert_array_equal(there["out"].reshape(8, 8), value[:, None] * 10 + value)


def test_the_text_of_a_branch():
    text = backend.mytriton_lower(parse(COLLATZ), None).text
    assert (
        """
        %v14 = scf.if %v13 -> (i32) {
          %v15 = arith.divsi %v10, %c_i32_2 : i32
          scf.yield %v15 : i32
        } else {
          %v16 = arith.muli %v10, %c_i32_3 : i32
          %v17 = arith.addi %v16, %c_i32_1 : i32
          scf.yield %v17 : i32
        }
"""
        in text
    )


ASSERTED = """
kernel k(x: ptr<f32>, m: ptr<bool>) {
%0 = arange {start=0, end=64} : vector<64 x i32>
%1 = addptr x, %0 : vector<64 x ptr<f32>>
%2 = load %1, none, none : vector<64 x f32>
%3 = cmp_lt %2, 5.0 : vector<64 x bool>
%4 = addptr m, %0 : vector<64 x ptr<bool>>
%5 = load %4, none, none : vector<64 x bool>
device_assert %3, %5 {message='"quoted" too large: é'}
%6 = add %2, 1.0 : vector<64 x f32>
store %1, %6, none
}
"""


def test_assertions(both):
    x, mask = np.zeros(64, "f4"), np.ones(64, bool)
    x[7], mask[7] = 6, False
    there, _ = both(ASSERTED, {"x": x, "m": mask})
    np.testing.assert_array_equal(there["x"], x + 1)
    with pytest.raises(Exception, match=r"assertion failed\n.*thread \(7,0,0\)"):
        both(ASSERTED, {"x": x, "m": np.ones(64, bool)})


PINNED = """
kernel k(x: ptr<i32>, y: ptr<i32>, n: i32) {
%0 = arange {start=0, end=64} : vector<64 x i32>
%1 = addptr x, %0 : vector<64 x ptr<i32>>
%2 = load %1, none, none : vector<64 x i32>
%3 = arange {start=0, end=8} : vector<8 x i32>
%4 = addptr y, %3 : vector<8 x ptr<i32>>
for %5 in range(0, n, 1) {
  %6 = addptr y, 50 : ptr<i32>
  store %6, %5, none
  %7 = while 0:i32 : i32 {
    args(%8: i32)
    %9 = addptr y, %0 : vector<64 x ptr<i32>>
    store %9, %2, none
    %10 = cmp_lt %8, 1 : bool
    yield %10
  } {
    args(%11: i32)
    %12 = add %11, 1 : i32
    store y, %5, none
    store %4, 7, none
    yield %12
  }
}
}
"""


def test_stores_around_a_loop_stay_apart(both):
    """Merged into one block they made LLVM copy the barrier at the head of the loop."""
    arguments = {"x": np.arange(64, dtype="i4"), "y": np.zeros(64, "i4"), "n": 2}
    there, here = both(PINNED, arguments)
    np.testing.assert_array_equal(there["y"], here["y"])
