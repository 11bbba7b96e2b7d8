"""Loops: what is unrolled, what is carried, what a loop leaves behind."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ASTFrontendError, KernelTypeError
from mytriton.ssa import SSAForRange, walk


def run(kernel, n_out, *args, dtype=np.int32, **kwargs):
    out = np.zeros(n_out, dtype)
    kernel[(1,)](out, *args, **kwargs)
    return out.tolist()


def has_loop(kernel, *args, **kwargs):
    compiled = kernel.compile(*args, **kwargs)
    return any(isinstance(item, SSAForRange) for item in walk(compiled.function.body))


def test_two_carried_values_are_exchanged():
    @triton.jit
    def kernel(out, n):
        a = 1
        b = 2
        for _i in range(n):
            t = a
            a = b
            b = t
        tl.store(out, a)
        tl.store(out + 1, b)

    assert run(kernel, 2, 3) == [2, 1]
    assert run(kernel, 2, 4) == [1, 2]
    assert run(kernel, 2, 0) == [1, 2]


def test_three_carried_values_rotate():
    @triton.jit
    def kernel(out, n):
        a = 1
        b = 2
        c = 3
        for _i in range(n):
            t = a
            a = b
            b = c
            c = t
        tl.store(out, a)
        tl.store(out + 1, b)
        tl.store(out + 2, c)

    assert run(kernel, 3, 1) == [2, 3, 1]
    assert run(kernel, 3, 2) == [3, 1, 2]


def test_one_carried_value_is_copied_to_the_other():
    @triton.jit
    def kernel(out, n):
        a = 0
        b = 7
        for i in range(n):
            b = a
            a = i + 1
        tl.store(out, a)
        tl.store(out + 1, b)

    assert run(kernel, 2, 3) == [3, 2]
    assert run(kernel, 2, 1) == [1, 0]


def test_reassigning_the_bound_does_not_change_the_trips():
    @triton.jit
    def kernel(out, n):
        count = 0
        for _i in range(n):
            n = n - 1
            count = count + 1
        tl.store(out, count)
        tl.store(out + 1, n)

    assert run(kernel, 2, 4) == [4, 0]


@pytest.mark.parametrize(("start", "stop", "trips"), [(0, 0, 0), (5, 2, 0), (2, 5, 3), (-2, 1, 3)])
def test_trip_counts(start, stop, trips):
    @triton.jit
    def kernel(out, a, b):
        count = 0
        for _i in range(a, b):
            count += 1
        tl.store(out, count)

    assert run(kernel, 1, start, stop) == [trips]


def test_the_inner_bound_is_the_outer_index():
    @triton.jit
    def kernel(out, n):
        count = 0
        for i in range(n):
            for _j in range(i):
                count += 1
        tl.store(out, count)

    assert run(kernel, 1, 5) == [10]


def test_a_carried_value_is_read_before_and_after():
    @triton.jit
    def kernel(out, n):
        a = 10
        tl.store(out, a)
        for i in range(n):
            a += i
        tl.store(out + 1, a)

    assert run(kernel, 2, 4) == [10, 16]


def test_two_loops_use_the_same_names():
    @triton.jit
    def kernel(out, n):
        a = 0
        for i in range(n):
            a += i
        for i in range(n):
            a += i * 10
        tl.store(out, a)

    assert run(kernel, 1, 3) == [33]


def test_an_inner_loop_may_reuse_the_outer_index_name():
    @triton.jit
    def kernel(out, n):
        a = 0
        for i in range(n):
            for i in range(2):
                a += i
            a += i * 100
        tl.store(out, a)

    assert run(kernel, 1, 3) == [3 + 300]


def test_the_induction_variable_gets_its_old_value_back():
    @triton.jit
    def kernel(out, n):
        i = 42
        for i in range(n):
            pass
        tl.store(out, i)

    assert run(kernel, 1, 3) == [42]


def test_compile_time_ranges_unroll_up_to_64_trips():
    @triton.jit
    def kernel(out, N: tl.constexpr):
        a = 0
        for i in range(N):
            a += i
        tl.store(out, a + tl.program_id(0))

    out = np.zeros(1, np.int32)
    assert not has_loop(kernel, out, N=64)
    assert has_loop(kernel, out, N=65)
    assert run(kernel, 1, N=64) == [sum(range(64))]
    assert run(kernel, 1, N=65) == [sum(range(65))]


def test_static_range_always_unrolls():
    @triton.jit
    def kernel(out, N: tl.constexpr):
        a = tl.program_id(0)
        for i in tl.static_range(N):
            a += i
        tl.store(out, a)

    assert not has_loop(kernel, np.zeros(1, np.int32), N=200)
    assert run(kernel, 1, N=200) == [sum(range(200))]


def test_a_compile_time_range_may_count_down():
    @triton.jit
    def kernel(out):
        a = 0
        for i in range(3, 0, -1):
            a = a * 10 + i
        tl.store(out, a)

    assert run(kernel, 1) == [321]


@pytest.mark.parametrize("start, stop, step", [(7, 0, -2), (0, 7, 3), (5, 5, -1), (0, 9, -1)])
def test_a_step_of_any_sign_counts_as_python_counts(start, stop, step):
    @triton.jit
    def runtime(out, a, b, c):
        total = 0
        for i in range(a, b, c):
            total = total * 10 + i
        tl.store(out, total)

    @triton.jit
    def constant(out, a, b, STEP: tl.constexpr):
        total = 0
        for i in range(a, b, STEP):
            total = total * 10 + i
        tl.store(out, total)

    expected = 0
    for i in range(start, stop, step):
        expected = expected * 10 + i
    for kernel in (runtime, constant):
        out = np.zeros(1, np.int32)
        kernel[(1,)](out, start, stop, step)
        assert out[0] == expected


def test_a_type_change_is_refused_with_both_types():
    @triton.jit
    def kernel(out, n):
        acc = 0
        for _i in range(n):
            acc = acc + 0.5
        tl.store(out, acc)

    with pytest.raises(KernelTypeError, match=r"'acc' is i32 before the loop .* gives it f32"):
        run(kernel, 1, 3)


def test_a_literal_takes_the_carried_type():
    @triton.jit
    def kernel(out, n):
        acc = 1.5
        for _i in range(n):
            acc = 2
        tl.store(out, acc)

    assert run(kernel, 1, 2, dtype=np.float32) == [2.0]


def test_what_a_loop_cannot_carry_must_not_change():
    @triton.jit
    def kernel(out, n):
        kind = tl.int32
        for _i in range(n):
            kind = tl.float32
        tl.store(out, tl.full((1,), 1, kind))

    with pytest.raises(KernelTypeError, match="'kind' is .* cannot be changed"):
        run(kernel, 1, 3)


def test_pointers_can_be_carried():
    @triton.jit
    def kernel(out, x, n):
        p = x
        total = 0
        for _i in range(n):
            total += tl.load(p)
            p = p + 2
        tl.store(out, total)

    assert run(kernel, 1, np.arange(10, dtype=np.int32), 4) == [0 + 2 + 4 + 6]


def test_64_bit_bounds():
    @triton.jit
    def kernel(out, start, n):
        count = 0
        for i in range(start, start + n):
            count += 1
            tl.store(out + 1, i)
        tl.store(out, count)

    base = 2**40
    assert run(kernel, 2, base, 3, dtype=np.int64) == [3, base + 2]


def test_bounds_near_the_largest_i32_do_not_overflow():
    @triton.jit
    def kernel(out, start, stop):
        count = 0
        for _i in range(start, stop, 5):
            count += 1
        tl.store(out, count)

    top = 2**31 - 1
    assert run(kernel, 1, top - 7, top) == [2]


def test_float_bounds_are_refused():
    @triton.jit
    def kernel(out, n):
        for _i in range(n):
            tl.store(out, 1)

    with pytest.raises(TypeError, match="must be scalar i32 values, got f32"):
        run(kernel, 1, 3.0)


@pytest.mark.parametrize(
    "call",
    ["range()", "range(1, 2, 3, 4)", "range(stop=3)", "range(*2)", "3", "range(0, 4, 0)"],
)
def test_malformed_heads_are_refused(call, kernel_from):
    kernel = kernel_from(f"def kernel(out):\n    for i in {call}:\n        pass\n")
    with pytest.raises(ASTFrontendError):
        kernel[(1,)](np.zeros(1, np.float32))


def test_a_long_compile_time_loop_that_counts_down_stays_in_i32():
    @triton.jit
    def kernel(out):
        total = 0
        for i in range(200, 0, -2):
            total += i
        tl.store(out, total)

    assert has_loop(kernel, np.zeros(1, np.int32))
    assert "dtype.i64" not in kernel.compile(np.zeros(1, np.int32)).unoptimised.features()
    assert run(kernel, 1) == [sum(range(200, 0, -2))]


def test_a_name_an_unrolled_loop_leaves_may_be_another_value_in_a_later_loop():
    @triton.jit
    def kernel(out, n):
        for i in range(2):
            t = tl.arange(0, 4) + i
            tl.store(out + tl.arange(0, 4), t)
        for i in range(2):
            t = tl.arange(0, 4) * i
            tl.store(out + tl.arange(0, 4), t)
        for k in range(n):
            for _ in range(k):
                t = tl.arange(0, 2)
                tl.store(out + 4 + tl.arange(0, 2), t + k)
        while n > 0:
            t = 2.5
            n -= 1
            tl.store(out + 6, t)

    assert run(kernel, 7, 3) == [0, 1, 2, 3, 2, 3, 2]
    assert run(kernel, 7, 0) == [0, 1, 2, 3, 0, 0, 0]


def test_what_an_unrolled_loop_leaves_is_carried_where_it_can_be():
    @triton.jit
    def kernel(out, n):
        for i in range(3):
            last = i
        for _ in range(n):
            last = last * 2
        tl.store(out, last)

    assert run(kernel, 1, 0) == [2]
    assert run(kernel, 1, 3) == [16]


def test_a_name_two_loops_disagree_on_has_no_value_after_them():
    @triton.jit
    def kernel(out, n):
        for i in range(2):
            t = tl.arange(0, 4) + i
        for _ in range(n):
            t = tl.arange(0, 2)
        tl.store(out + tl.arange(0, 2), t)

    with pytest.raises(KernelTypeError, match="'t' is vector<4 x i32> before the loop") as caught:
        kernel.compile(np.zeros(2, np.int32), 3)
    assert caught.value.span.line == kernel.source.function.__code__.co_firstlineno + 6


@pytest.mark.parametrize("value", ["tl.multiple_of(i, 4)", "i.to(tl.int64)", "tl.assume(i >= 0)"])
def test_an_index_may_be_assigned_what_it_is(kernel_from, value):
    kernel = kernel_from(
        "def kernel(out, n):\n    total = tl.zeros((), tl.int64)\n    for i in range(n):\n"
        f"        i = {value}\n        total += i\n    tl.store(out, total)\n"
    )
    out = np.zeros(1, np.int64)
    if "assume" in value:  # which gives nothing
        with pytest.raises(ASTFrontendError, match="cannot assign to loop induction variable 'i'"):
            kernel[(1,)](out, 5)
        return
    kernel[(1,)](out, 5)
    assert out[0] == 10
