"""One thread per element: who holds what, what is needed where, where threads wait."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mytriton as triton
import mytriton.language as tl
from mytriton.analysis.threads import (
    Barriers,
    Demand,
    Tile,
    gathering_in_combine,
    natural,
    operand_layout,
    size,
    tile_of,
)
from mytriton.ir.parser import parse
from mytriton.ir.types import F32, BlockType
from mytriton.ir.values import SSAForRange, walk
from mytriton.verify import verify

X = np.ones(4096, np.float32)


def held(thread, layout, shape):
    """The element of a block that a thread holds."""
    return tuple(0 if s == 0 else thread // s % e for s, e in zip(layout, shape))


def in_charge(tile, layout, shape, thread):
    return all(
        thread // stride % extent == 0 if extent else thread < stride
        for stride, extent in tile.spare(layout, shape)
    )


shapes = st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=3).map(tuple)


@given(shape=shapes, ones=st.lists(st.booleans(), min_size=3, max_size=3))
@settings(max_examples=200, deadline=None)
def test_every_element_has_one_thread_in_charge(shape, ones):
    tile = Tile(shape)
    part = tuple(1 if one else e for one, e in zip(ones, shape))
    layout = tile.embed(part)
    assert layout is not None
    charged = [
        held(t, layout, part) for t in range(tile.threads) if in_charge(tile, layout, part, t)
    ]
    assert sorted(charged) == sorted(itertools.product(*map(range, part)))
    assert tile.unique(layout, part) == (part == shape)


@given(shape=shapes)
@settings(max_examples=50, deadline=None)
def test_natural_is_row_major(shape):
    order = [held(t, natural(shape), shape) for t in range(size(shape))]
    assert order == list(np.ndindex(*shape))


@given(shape=shapes)
@settings(max_examples=50, deadline=None)
def test_coordinates(shape):
    tile = Tile(shape)
    for axis, (stride, extent) in enumerate(zip(tile.layout, shape)):
        if extent == 1:
            continue
        divides, wraps = tile.coordinate(stride, extent)
        for thread in range(tile.threads):
            place = thread // stride if divides else thread
            place = place % extent if wraps else place
            assert place == thread // stride % extent
        found = tile.axis(stride, extent)
        assert found is not None
        assert found <= axis


def test_layouts_of_operands():
    assert operand_layout((8, 1), BlockType((4, 8), F32)) == (8, 1)
    assert operand_layout((8, 1), BlockType((1, 8), F32)) == (0, 1)
    assert operand_layout((8, 1), BlockType((8,), F32)) == (1,)
    assert operand_layout((8, 1), F32) == ()
    assert Tile((4, 8)).embed((8,)) is None
    assert Tile((4, 8)).embed((4, 4)) is None


def analysed(kernel, *args, **kwargs):
    function = kernel.compile(*args, **kwargs).function
    tile = tile_of(function)
    demand = Demand(function, tile)
    return function, tile, demand, Barriers(function, demand)


def waits(kernel, *args, **kwargs):
    """The operations that have a barrier in front."""
    function, _, _, barriers = analysed(kernel, *args, **kwargs)
    return [item.opcode for item in walk(function.body) if barriers.before(item)]


@triton.jit
def outer_kernel(x, out, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out + r[:, None] * B + r[None, :], tl.load(x + r[:, None]) + tl.load(x + r[None, :]))


def test_a_range_in_two_layouts():
    function, tile, demand, _ = analysed(outer_kernel, X, X, B=8)
    assert tile.shape == (8, 8)
    (arange,) = [item for item in function.body if item.opcode == "arange"]
    assert sorted(demand.of(arange.results[0])) == [(1,), (8,)]


@triton.jit
def useless_kernel(x, out, n, B: tl.constexpr):
    r = tl.arange(0, B)
    lost = tl.load(x + r)
    for _ in range(n):
        lost = lost + 1.0
    tl.store(out + r, 2.0)


def test_what_nobody_stores_is_not_computed():
    function = useless_kernel.compile(X, X, 4, B=8).unoptimised
    demand = Demand(function, tile_of(function))
    (loop,) = [item for item in function.body if isinstance(item, SSAForRange)]
    assert id(loop) not in demand.loops
    (load,) = [item for item in function.body if item.opcode == "load"]
    assert not demand.of(load.results[0])


@triton.jit
def copy_kernel(x, out, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out + r, tl.load(x + r))


@triton.jit
def shifted_kernel(x, out, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(out + r, tl.load(x + r + 1))


@triton.jit
def reread_kernel(x, out, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(x + r, 1.0)
    tl.store(out + r, tl.load(x + (B - 1 - r)))


@triton.jit
def two_sums_kernel(x, out, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    tl.store(out, tl.sum(v) - tl.max(v))


@triton.jit
def sum_in_loop_kernel(x, out, n, B: tl.constexpr):
    r = tl.arange(0, B)
    acc = 0.0
    for i in range(n):
        acc += tl.sum(tl.load(x + i * B + r))
    tl.store(out, acc)


@pytest.mark.parametrize(
    ("kernel", "args", "expected"),
    [
        # Every thread reads and writes its own element: the arrays may be one.
        (copy_kernel, (X, X), []),
        (shifted_kernel, (X, X), ["store"]),
        (reread_kernel, (X, X), ["load", "store"]),
        # The second tree overwrites what threads still read.
        (two_sums_kernel, (X, X), ["max"]),
        # The next trip does.
        (sum_in_loop_kernel, (X, X, 3), ["sum"]),
    ],
)
def test_barriers(kernel, args, expected):
    assert waits(kernel, *args, B=64) == expected


def test_one_thread_never_waits():
    assert waits(reread_kernel, X, X, B=1) == []


def of_text(text):
    """The analyses of a kernel given as SSA."""
    function = parse(text)
    verify(function)
    tile = tile_of(function)
    demand = Demand(function, tile)
    barriers = Barriers(function, demand)
    items = {value.id: item for item in walk(function.body) for value in item.results}
    waiting = [item.opcode for item in walk(function.body) if barriers.before(item)]
    return function, demand, items, waiting


SHIFTED = """
  %0 = arange {start=0, end=8} : vector<8 x i32>
  %1 = addptr x, %0 : vector<8 x ptr<f32>>
  %2 = add %0, 1 : vector<8 x i32>
  %3 = addptr x, %2 : vector<8 x ptr<f32>>"""


def test_a_branch_that_stores_asks_for_its_condition():
    function, demand, _, waiting = of_text(f"""kernel k(x: ptr<f32>, n: i32) {{{SHIFTED}
  %4 = cmp_lt n, 3 : bool
  %5 = load %3, none, none : vector<8 x f32>
  if %4 {{
    store %1, %5, none
  }} else {{
  }}
  %6 = load %3, none, none : vector<8 x f32>
  store %1, %6, none
}}
""")
    (branch,) = [item for item in function.body if item.opcode == "if"]
    assert id(branch) in demand.loops
    assert demand.of(function.body[4].results[0]) == [()]
    # The first store after what others read; then the read after a store that one branch did.
    assert waiting == ["store", "load", "store"]


def test_what_only_one_branch_did_still_counts():
    *_, waiting = of_text(f"""kernel k(x: ptr<f32>, n: i32) {{{SHIFTED}
  %4 = cmp_lt n, 3 : bool
  if %4 {{
    store %1, 1.0, none
  }} else {{
    store %1, 2.0, none
    %5 = load %3, none, none : vector<8 x f32>
    store %1, %5, none
  }}
  store %3, 3.0, none
}}
""")
    assert waiting == ["load", "store", "store"]


def test_results_of_a_branch_pass_layouts_on():
    _, demand, items, _ = of_text("""kernel k(x: ptr<f32>, n: i32) {
  %0 = arange {start=0, end=8} : vector<8 x i32>
  %1 = cmp_lt n, 3 : bool
  %2 = if %1 : vector<8 x i32> {
    %3 = add %0, 1 : vector<8 x i32>
    yield %3
  } else {
    yield %0
  }
  %4 = expand_dims %2 {axis=1} : block<8x1 x i32>
  %5 = expand_dims %2 {axis=0} : block<1x8 x i32>
  %6 = mul %4, 8 : block<8x1 x i32>
  %7 = add %6, %5 : block<8x8 x i32>
  %8 = addptr x, %7 : block<8x8 x ptr<f32>>
  store %8, 1.0, none
}
""")
    for number in (0, 2, 3):
        assert sorted(demand.of(items[number].results[0])) == [(1,), (8,)]


def test_a_while_loop_waits_for_the_trip_before():
    function, demand, items, waiting = of_text(f"""kernel k(x: ptr<f32>, n: i32) {{{SHIFTED}
  %4, %5 = while n, 0.0:f32 : i32, f32 {{
    args(%6: i32, %7: f32)
    %8 = load x, none, none : f32
    %9 = cmp_lt %8, 3.0 : bool
    yield %9
  }} {{
    args(%10: i32, %11: f32)
    %12 = sub %10, 1 : i32
    %13 = add %11, 1.0 : f32
    store %1, 4.0, none
    yield %12, %13
  }}
  store x, %5, none
}}
""")
    # The store after what every thread reads for the condition, and the next read after it; what
    # comes after the loop has seen the condition last.
    assert waiting == ["load", "store", "store"]
    assert demand.of(items[5].results[1]) == [()]
    # Nobody needs the first value, though the loop carries it.
    assert not demand.of(items[12].results[0])
    assert id(items[4]) in demand.loops


def test_transposing_moves_no_element():
    _, demand, items, waiting = of_text("""kernel k(x: ptr<f32>, y: ptr<f32>) {
  %0 = arange {start=0, end=32} : vector<32 x i32>
  %1 = expand_dims %0 {axis=0} : block<1x32 x i32>
  %2 = arange {start=0, end=4} : vector<4 x i32>
  %3 = expand_dims %2 {axis=1} : block<4x1 x i32>
  %4 = mul %3, 32 : block<4x1 x i32>
  %5 = add %4, %1 : block<4x32 x i32>
  %6 = trans %5 {order=(1, 0)} : block<32x4 x i32>
  %7 = addptr x, %6 : block<32x4 x ptr<f32>>
  store %7, 1.0, none
}
""")
    (stored,) = demand.of(items[6].results[0])
    (made,) = demand.of(items[5].results[0])
    assert made == stored[::-1]
    assert waiting == []


def test_a_product_gathers_its_operands_and_follows_its_result():
    _, demand, items, waiting = of_text("""kernel k(x: ptr<f32>) {
  %0 = full 1.0 {shape=(4, 2), dtype=f32} : block<4x2 x f32>
  %1 = full 2.0 {shape=(2, 8), dtype=f32} : block<2x8 x f32>
  %2 = full 3.0 {shape=(4, 8), dtype=f32} : block<4x8 x f32>
  %3 = dot %0, %1, %2 {out_dtype=f32} : block<4x8 x f32>
  %4 = dot %0, %1, %3 {out_dtype=f32} : block<4x8 x f32>
  %5 = arange {start=0, end=8} : vector<8 x i32>
  %6 = expand_dims %5 {axis=0} : block<1x8 x i32>
  %7 = addptr x, %6 : block<1x8 x ptr<f32>>
  %8 = arange {start=0, end=4} : vector<4 x i32>
  %9 = expand_dims %8 {axis=1} : block<4x1 x i32>
  %10 = mul %9, 8 : block<4x1 x i32>
  %11 = addptr %7, %10 : block<4x8 x ptr<f32>>
  store %11, %4, none
}
""")
    assert demand.of(items[0].results[0]) == [(2, 1)]
    assert demand.of(items[1].results[0]) == [(8, 1)]
    assert demand.of(items[2].results[0]) == [(8, 1)]
    # The second product overwrites what threads still read for the first.
    assert waiting == ["dot"]


@triton.jit
def combine_with_a_sum(a, b, SUM: tl.constexpr):
    return a + b + (tl.sum(tl.arange(0, 4)) if SUM else 4)


@triton.jit
def plain(a, b):
    return combine_with_a_sum(a, b, False)


@triton.jit
def summing(a, b):
    return combine_with_a_sum(a, b, True)


@triton.jit
def reduced(x, out, COMBINE: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, 8)), 0, COMBINE) + tl.sum(tl.arange(0, 8)))


def test_a_reduction_in_a_function_that_combines_is_found():
    assert gathering_in_combine(reduced.compile(X, X, COMBINE=plain).function) is None
    assert gathering_in_combine(reduced.compile(X, X, COMBINE=summing).function).opcode == "sum"
