"""What the interpreter makes of ``if``, ``while`` and ``reduce``, program by program and together."""

import numpy as np
import pytest

HEAD = "kernel f(out: ptr<i32>, x: ptr<i32>, n: i32) {\n"
PID = """  %0 = program_id {axis=0} : i32
  %1 = addptr out, %0 : ptr<i32>
  %2 = addptr x, %0 : ptr<i32>
  %3 = load %2, none, none : i32
"""


@pytest.mark.parametrize("sanitize", [False, True])
def test_programs_take_different_branches(execute, sanitize):
    text = f"""{HEAD}{PID}  %4 = cmp_gt %3, n : bool
  %7 = if %4 : i32 {{
    %5 = mul %3, 10 : i32
    yield %5
  }} else {{
    store %1, -1, none
    yield 7
  }}
  %8 = cmp_gt %7, 7 : bool
  if %8 {{
    store %1, %7, none
  }} else {{
  }}
}}
"""
    x = np.array([1, 5, 2, 9], np.int32)
    out = np.zeros(4, np.int32)
    execute(text, out, x, 3, grid=(4,), sanitize=sanitize)
    assert out.tolist() == [-1, 50, -1, 90]


@pytest.mark.parametrize("n", [0, 10])
def test_all_programs_take_one_branch(execute, n):
    text = f"""{HEAD}{PID}  %4 = cmp_gt n, 5 : bool
  %5 = if %4 : i32 {{
    yield %3
  }} else {{
    %6 = neg %3 : i32
    yield %6
  }}
  store %1, %5, none
}}
"""
    x = np.array([1, 2, 3], np.int32)
    out = np.zeros(3, np.int32)
    execute(text, out, x, n, grid=(3,))
    assert out.tolist() == (x if n else -x).tolist()


def test_branches_nest_and_pointers_and_blocks_are_chosen(execute):
    text = f"""{HEAD}{PID}  %4 = arange {{start=0, end=2}} : vector<2 x i32>
  %5 = cmp_lt %3, 10 : bool
  %15, %16 = if %5 : ptr<i32>, vector<2 x i32> {{
    %6 = cmp_lt %3, 5 : bool
    %10, %11 = if %6 : ptr<i32>, vector<2 x i32> {{
      %7 = addptr out, 8 : ptr<i32>
      %8 = add %4, 100 : vector<2 x i32>
      yield %7, %8
    }} else {{
      yield out, %4
    }}
    yield %10, %11
  }} else {{
    %12 = addptr out, 16 : ptr<i32>
    %13 = mul %4, %3 : vector<2 x i32>
    yield %12, %13
  }}
  %17 = mul %0, 2 : i32
  %18 = addptr %15, %17 : ptr<i32>
  %19 = addptr %18, %4 : vector<2 x ptr<i32>>
  store %19, %16, none
}}
"""
    x = np.array([1, 7, 20], np.int32)
    out = np.full(24, -1, np.int32)
    execute(text, out, x, 0, grid=(3,))
    expected = np.full(24, -1, np.int32)
    expected[8:10] = [100, 101]
    expected[2:4] = [0, 1]
    expected[20:22] = [0, 20]
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("sanitize", [False, True])
def test_each_program_leaves_a_while_in_its_own_time(execute, sanitize):
    text = f"""{HEAD}{PID}  %10, %11 = while %3, 0:i32 : i32, i32 {{
    args(%4: i32, %5: i32)
    %6 = cmp_gt %4, 0 : bool
    yield %6
  }} {{
    args(%7: i32, %8: i32)
    %9 = div %7, 2 : i32
    %12 = add %8, 1 : i32
    store %1, %12, none
    yield %9, %12
  }}
  %13 = add %11, 100 : i32
  %14 = addptr %1, 8 : ptr<i32>
  store %14, %13, none
}}
"""
    x = np.array([0, 1, 5, 64, -3], np.int32)
    out = np.zeros(13, np.int32)
    execute(text, out, x, 0, grid=(5,), sanitize=sanitize)
    trips = [0, 1, 3, 7, 0]
    assert out[:5].tolist() == trips
    assert out[8:].tolist() == [t + 100 for t in trips]


def test_idle_programs_read_no_memory(execute):
    # Program 1 would read far outside, were it not idle.
    text = f"""{HEAD}{PID}  %4 = cmp_lt %3, 100 : bool
  if %4 {{
    %5 = addptr x, %3 : ptr<i32>
    %6 = load %5, none, none : i32
    store %1, %6, none
  }} else {{
  }}
  %9 = while %3 : i32 {{
    args(%7: i32)
    %8 = cmp_lt %7, 2 : bool
    yield %8
  }} {{
    args(%10: i32)
    %11 = addptr x, %10 : ptr<i32>
    %12 = load %11, none, none : i32
    %13 = add %10, 1 : i32
    store %1, %12, none
    yield %13
  }}
}}
"""
    x = np.array([1, 10**6, 0], np.int32)
    out = np.zeros(3, np.int32)
    execute(text, out, x, 0, grid=(3,))
    # Program 0 loads x[1], then x[1]; program 2 loads x[0], then x[0] and x[1].
    assert out.tolist() == [10**6, 0, 10**6]


@pytest.mark.parametrize("sanitize", [False, True])
def test_a_while_moves_a_pointer_to_another_argument(execute, sanitize):
    # From the second trip on some programs' pointers are in x while others' are still in out.
    text = f"""{HEAD}{PID}  %10, %11 = while 0:i32, out : i32, ptr<i32> {{
    args(%4: i32, %5: ptr<i32>)
    %6 = cmp_lt %4, %3 : bool
    yield %6
  }} {{
    args(%7: i32, %8: ptr<i32>)
    %9 = add %7, 1 : i32
    yield %9, x
  }}
  %12 = add %0, 4 : i32
  %13 = addptr %11, %12 : ptr<i32>
  store %13, %10, none
}}
"""
    x = np.array([0, 1, 3, 2, -1, -1, -1, -1], np.int32)
    out = np.full(8, -1, np.int32)
    execute(text, out, x, 0, grid=(4,), sanitize=sanitize)
    assert out.tolist() == [-1, -1, -1, -1, 0, -1, -1, -1]
    assert x.tolist() == [0, 1, 3, 2, -1, 1, 3, 2]


def test_a_while_around_a_branch_around_a_for(execute):
    text = f"""{HEAD}{PID}  %20, %21 = while 0:i32, 0:i32 : i32, i32 {{
    args(%4: i32, %5: i32)
    %6 = cmp_lt %4, %3 : bool
    yield %6
  }} {{
    args(%7: i32, %8: i32)
    %9 = rem %7, 2 : i32
    %10 = cmp_eq %9, 0 : bool
    %16 = if %10 : i32 {{
      %15 = for %11 in range(0, %7, 1) iter_args(%12 = %8) : i32 {{
        %13 = add %12, %11 : i32
        yield %13
      }}
      yield %15
    }} else {{
      %14 = sub %8, 1 : i32
      yield %14
    }}
    %17 = add %7, 1 : i32
    yield %17, %16
  }}
  store %1, %21, none
}}
"""
    x = np.array([0, 3, 6, 9], np.int32)
    out = np.zeros(4, np.int32)
    execute(text, out, x, 0, grid=(4,))

    def meaning(limit):
        total = 0
        for k in range(limit):
            total = total + sum(range(k)) if k % 2 == 0 else total - 1
        return total

    assert out.tolist() == [meaning(int(v)) for v in x]


@pytest.mark.parametrize("axis", [0, 1, None])
def test_a_reduction_combines_neighbours_in_order(execute, axis):
    # first * 10 + second is associative for no one; for digits of one place it shows the order.
    attribute = "" if axis is None else f" {{axis={axis}}}"
    rest = {0: "vector<4 x i32>", 1: "vector<2 x i32>", None: "i32"}[axis]
    lanes = {0: 4, 1: 2, None: 0}[axis]
    where = (
        f"  %20 = arange {{start=0, end={lanes}}} : vector<{lanes} x i32>\n"
        f"  %21 = addptr out, %20 : vector<{lanes} x ptr<i32>>\n  store %21, %9, none\n"
        if lanes
        else "  store out, %9, none\n"
    )
    text = f"""{HEAD}  %0 = arange {{start=0, end=2}} : vector<2 x i32>
  %1 = expand_dims %0 {{axis=1}} : block<2x1 x i32>
  %2 = mul %1, 4 : block<2x1 x i32>
  %3 = arange {{start=0, end=4}} : vector<4 x i32>
  %4 = expand_dims %3 {{axis=0}} : block<1x4 x i32>
  %5 = add %2, %4 : block<2x4 x i32>
  %6 = addptr x, %5 : block<2x4 x ptr<i32>>
  %7 = load %6, none, none : block<2x4 x i32>
  %9 = reduce %7{attribute} : {rest} {{
    args(%10: i32, %11: i32)
    %12 = mul %10, 3 : i32
    %13 = sub %12, %11 : i32
    yield %13
  }}
{where}}}
"""
    x = np.array([[3, 1, 4, 1], [5, 9, 2, 6]], np.int32)
    out = np.zeros(max(lanes, 1), np.int32)
    execute(text, out, x.reshape(-1), 0)

    def tree(values):
        values = list(values)
        while len(values) > 1:
            values = [3 * a - b for a, b in zip(values[::2], values[1::2], strict=True)]
        return values[0]

    expected = {
        0: [tree(column) for column in x.T],
        1: [tree(row) for row in x],
        None: [tree(x.reshape(-1))],
    }[axis]
    assert out.tolist() == [int(v) for v in expected]


def test_a_reduction_of_several_blocks_in_several_programs(execute):
    text = f"""{HEAD}  %0 = program_id {{axis=0}} : i32
  %1 = arange {{start=0, end=4}} : vector<4 x i32>
  %2 = mul %0, 4 : i32
  %3 = add %1, %2 : vector<4 x i32>
  %4 = addptr x, %3 : vector<4 x ptr<i32>>
  %5 = load %4, none, none : vector<4 x i32>
  %15, %16 = reduce %5, %1 {{axis=0}} : i32, i32 {{
    args(%6: i32, %7: i32, %8: i32, %9: i32)
    %10 = cmp_ge %6, %8 : bool
    %13, %14 = if %10 : i32, i32 {{
      yield %6, %7
    }} else {{
      yield %8, %9
    }}
    yield %13, %14
  }}
  %17 = mul %0, 2 : i32
  %18 = addptr out, %17 : ptr<i32>
  %19 = addptr %18, 1 : ptr<i32>
  store %18, %15, none
  store %19, %16, none
}}
"""
    x = np.array([[3, 1, 4, 1], [5, 5, 2, 5]], np.int32)
    out = np.zeros(4, np.int32)
    execute(text, out, x.reshape(-1), 0, grid=(2,))
    assert out.tolist() == [4, 2, 5, 0]
