"""One thread per element: who holds what, what is needed where, where threads wait."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mytriton as triton
import mytriton.language as tl
from mytriton.analysis.threads import Barriers, Demand, Tile, natural, operand_layout, size, tile_of
from mytriton.ir.types import F32, BlockType
from mytriton.ir.values import SSAForRange, walk

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
