"""Linear forms and masks of typical kernels."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.analysis.affine import MOST, BaseOf, Binary, add, affine, mul
from mytriton.analysis.pointers import accessed_params
from mytriton.ir.expr import Param
from mytriton.ir.types import I32
from mytriton.ssa import SSAForRange, SSAValue, walk

x = np.zeros(64, np.float32)


def analysed(kernel, *args, **kwargs):
    function = kernel.compile(*args, **kwargs).unoptimised
    return function, affine(function)


def first(function, opcode):
    return next(item for item in walk(function.body) if item.opcode == opcode)


def value_of(scalar, env):
    """Evaluate a scalar expression."""
    if isinstance(scalar, int):
        return scalar
    if isinstance(scalar, Binary):
        a, b = value_of(scalar.lhs, env), value_of(scalar.rhs, env)
        return {"+": a + b, "-": a - b, "*": a * b}[scalar.op]
    return env[scalar.name if isinstance(scalar, Param) else scalar.id]


@triton.jit
def add_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def tile_kernel(a, out, M, K, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.arange(0, BN)[None, :]
    mask = (rows < M) & (cols < K)
    tl.store(out + rows * K + cols, tl.load(a + rows * K + cols, mask=mask), mask=mask)


def test_the_address_of_a_blocked_load():
    function, found = analysed(add_kernel, x, x, 64, BLOCK=16)
    form = found.of(first(function, "load").operands[0])
    assert (form.root.name, form.strides) == ("x", (1,))
    assert value_of(form.base, {1: 48}) == 48  # %1 is program_id * BLOCK


def test_a_mask_is_a_bound_along_its_axis():
    function, found = analysed(add_kernel, x, x, 64, BLOCK=16)
    mask = found.mask(first(function, "load").operands[1])
    assert mask.conditions == ()
    ((bound,),) = mask.bounds
    assert value_of(bound, {1: 48, "n": 50}) == 2


def test_a_tile_has_a_stride_per_axis_and_a_bound_per_axis():
    function, found = analysed(tile_kernel, x, x, 4, 8, BM=4, BN=8)
    load = first(function, "load")
    form, mask = found.of(load.operands[0]), found.mask(load.operands[1])
    env = {1: 12, "K": 8, "M": 14}
    assert [value_of(s, env) for s in form.strides] == [8, 1]
    assert value_of(form.base, env) == 12 * 8
    assert [[value_of(b, env) for b in axis] for axis in mask.bounds] == [[2], [8]]


def test_a_scalar_condition_is_kept_apart_from_bounds():
    @triton.jit
    def kernel(out, n, k, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, 1.0, mask=(i < n) & (k < 3))

    function, found = analysed(kernel, x, 3, 4, BLOCK=8)
    mask = found.mask(first(function, "store").operands[2])
    assert len(mask.conditions) == 1
    assert isinstance(mask.conditions[0], SSAValue)
    assert [len(b) for b in mask.bounds] == [1]


BENT = [
    "i * i", "tl.load(idx + i)", "tl.where(i < 3, i, 0)",
    # What wraps, and is defined to.
    "i + (tl.zeros((8,), tl.uint8) - 5)", "(tl.zeros((8,), tl.uint32) - 5)",
    "i + (tl.full((8,), 100, tl.int8) + tl.full((8,), 100, tl.int8))",
    "i + tl.full((8,), 100, tl.uint8) * 3",
]  # fmt: skip


@pytest.mark.parametrize("expression", BENT)
def test_what_is_not_linear_has_no_form(expression, kernel_from):
    kernel = kernel_from(
        f"def kernel(x, idx, out):\n    i = tl.arange(0, 8)\n    tl.store(out + i, tl.load(x + {expression}))\n"
    )
    function, found = analysed(kernel, x, np.zeros(8, np.int32), x)
    loads = [item for item in walk(function.body) if item.opcode == "load"]
    assert found.of(loads[-1].operands[0]) is None


def test_a_mask_over_a_strided_index_is_left_to_the_backend():
    @triton.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, 1.0, mask=i * 2 < n)

    function, found = analysed(kernel, x, 3, BLOCK=8)
    assert found.mask(first(function, "store").operands[2]) is None


def test_a_carried_pointer_block_keeps_its_strides():
    @triton.jit
    def kernel(x, out, n, step, BLOCK: tl.constexpr):
        p = x + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), tl.float32)
        for _i in range(n):
            total += tl.load(p)
            p = p + step
        tl.store(out + tl.arange(0, BLOCK), total)

    function, found = analysed(kernel, x, x, 2, 8, BLOCK=8)
    loop = first(function, "for")
    assert isinstance(loop, SSAForRange)
    form = found.of(first(function, "load").operands[0])
    assert form.strides == (1,)
    assert isinstance(form.base, BaseOf)
    assert form.root.name == "x"


def test_a_carried_block_that_bends_has_no_form():
    @triton.jit
    def kernel(x, out, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        offsets = i
        for _i in range(n):
            tl.store(out + offsets, 1.0)
            offsets = offsets + i
        tl.store(out + i, 2.0)

    function, found = analysed(kernel, x, x, 2, BLOCK=8)
    loop = first(function, "for")
    assert found.of(loop.carried_args[0]) is None


def test_accessed_parameters():
    function, _ = analysed(add_kernel, x, x, 64, BLOCK=16)
    assert accessed_params(function) == ({"x"}, {"out"})


def test_accessed_parameters_through_a_carried_pointer():
    @triton.jit
    def kernel(a, b, n):
        p = a
        q = b
        for _i in range(n):
            t = p
            p = q
            q = t
        tl.store(p, 1.0)

    function, _ = analysed(kernel, x, x, 3)
    assert accessed_params(function) == (frozenset(), {"a", "b"})


@triton.jit
def doubled_kernel(x, s, T: tl.constexpr):
    i = tl.arange(0, 16) + s
    for _ in tl.static_range(T):
        i = i + i
    tl.store(x + i, 1.0)


@triton.jit
def added_kernel(x, s, T: tl.constexpr):
    i, m = tl.arange(0, 16), tl.arange(0, 16) < s
    for _ in tl.static_range(T):
        i = i + s + tl.program_id(0)
        m = m & (i < s)
    tl.store(x + i, 1.0, mask=m)


@pytest.mark.parametrize(("kernel", "trips"), [(doubled_kernel, 200), (added_kernel, 2000)])
def test_what_is_too_long_to_walk_through_has_no_form(kernel, trips):
    function, found = analysed(kernel, x, 3, T=trips)
    pointer, _, mask = first(function, "store").operands
    assert found.of(pointer) is None
    assert mask is None or mask.id not in found.masks
    sizes = [form.base.size for form in found.linear.values() if isinstance(form.base, Binary)]
    assert 100 < max(sizes) <= MOST


@triton.jit
def stepping_kernel(x, s, T: tl.constexpr):
    p = x + tl.arange(0, 16)
    for _ in tl.static_range(T):
        p += s
    tl.store(p, 1.0)


@pytest.mark.parametrize("trips", [2, 100, 1000])
def test_equal_steps_are_counted(trips):
    function, found = analysed(stepping_kernel, x, 3, T=trips)
    base = found.of(first(function, "store").operands[0]).base
    terms = 0
    while isinstance(base, Binary) and base.op == "+":
        base, terms = base.lhs, terms + 1
    assert terms <= trips // 100 + 1
    assert evaluated(found.of(first(function, "store").operands[0]).base, 3) == 3 * trips


def evaluated(scalar, s):
    """A scalar whose one parameter is ``s``."""
    if isinstance(scalar, int):
        return scalar
    if not isinstance(scalar, Binary):
        return s
    a, b = evaluated(scalar.lhs, s), evaluated(scalar.rhs, s)
    return {"+": a + b, "-": a - b, "*": a * b}[scalar.op]


def test_steps_there_and_back_are_none():
    s = SSAValue(1, I32)
    assert add(add(4, mul(s, 3)), mul(s, -3)) == 4


def test_equal_scalars_are_one_key():
    a, b = (Binary("+", Binary("*", SSAValue(1, I32), 2), 3) for _ in range(2))
    assert a == b
    assert {a: 1}[b] == 1
    assert a != Binary("-", a.lhs, 3)
