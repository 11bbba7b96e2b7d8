"""Numbers with a name: known while tracing, of a type of their own."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl


def run(kernel, n_out, *args, dtype=np.int32, **kwargs):
    out = np.zeros(n_out, dtype)
    kernel.with_backend("interpreter")[(1,)](out, *args, **kwargs)
    return out.tolist()


def test_a_named_float_widens_a_half_and_a_written_one_does_not():
    @triton.jit
    def kernel(out, x):
        v = tl.load(x + tl.arange(0, 4))
        half = 0.5
        HALF: tl.constexpr = 0.5
        tl.static_assert((v * half).dtype == tl.float32)
        tl.static_assert((v * 0.5).dtype == tl.float16)
        tl.static_assert((v * HALF).dtype == tl.float16)
        tl.static_assert((half + v).dtype == tl.float32)
        tl.static_assert((v * (half * 2)).dtype == tl.float32)
        tl.static_assert(tl.where(v > 0, v, half).dtype == tl.float32)
        tl.static_assert(tl.where(v > 0, v, 0.0).dtype == tl.float16)
        tl.static_assert(tl.maximum(v, half).dtype == tl.float32)
        half *= 3
        tl.static_assert((v * half).dtype == tl.float32)
        tl.store(out, 1)

    assert run(kernel, 1, np.ones(4, np.float16)) == [1]


def test_a_named_int_does_not_wrap_in_eight_bits():
    @triton.jit
    def kernel(out, x):
        hundred = 100
        v = tl.load(x)
        tl.store(out, v + hundred)
        tl.store(out + 1, v + 100)

    assert run(kernel, 2, np.array([100], np.int8)) == [200, -56]


def test_an_accumulator_of_an_unrolled_loop_is_a_float32():
    @triton.jit
    def kernel(out, x):
        acc = 0.0
        for i in tl.static_range(4):
            acc += tl.load(x + i + tl.arange(0, 2))
        tl.static_assert(acc.dtype == tl.float32)
        tl.store(out + tl.arange(0, 2), acc)

    x = np.array([2048, 1, 1, 1, 1], np.float16)
    assert run(kernel, 2, x, dtype=np.float32) == [2051.0, 4.0]


def test_named_numbers_are_still_compile_time_values():
    @triton.jit
    def kernel(out, B: tl.constexpr):
        half = B // 2
        names = (half, half + 2)
        tl.store(out + tl.arange(0, half), names[1])
        x = tl.full((half,), half, tl.int32).expand_dims(0)
        tl.store(out + half + tl.arange(0, half)[None, :], x)
        for i in tl.static_range(half, half + names[0]):
            tl.static_assert(i >= half)
        if half == 4 and half is not None and half in (4, 8):
            tl.store(out + 8, f"{half}" == "4")

    assert run(kernel, 9, 8) == [6, 6, 6, 6, 4, 4, 4, 4, 1]


@pytest.mark.parametrize(("a", "b"), [(-7, 2), (7, -2), (-7, -2), (7, 2)])
def test_named_ints_divide_as_they_do_at_run_time(a, b):
    @triton.jit
    def kernel(out, m, n, A: tl.constexpr, B: tl.constexpr):
        a = A
        tl.store(out, a // B)
        tl.store(out + 1, a % B)
        tl.store(out + 2, m // n)
        tl.store(out + 3, m % n)
        tl.store(out + 4, A // B)
        tl.store(out + 5, A % B)

    truncated = int(a / b)
    expected = [truncated, a - truncated * b] * 2 + [a // b, a % b]
    assert run(kernel, 6, a, b, a, b) == expected


def test_the_index_of_an_unrolled_range_divides_like_that_of_a_loop():
    @triton.jit
    def kernel(out, n):
        for i in range(5):
            tl.store(out + i, (i - 3) // 2)
        for i in range(n):
            tl.store(out + 5 + i, (i - 3) // 2)

    expected = [-1, -1, 0, 0, 0]
    assert run(kernel, 10, 5) == expected * 2


def test_arguments_and_results_of_helpers():
    @triton.jit
    def scale(x, by, KNOWN: tl.constexpr):
        tl.static_assert(KNOWN == 2)
        return x * by, 0.5

    @triton.jit
    def kernel(out, x):
        v = tl.load(x)
        two = 2.0
        named, half = scale(v, two, 2)
        written, _ = scale(v, 2.0, 2)
        tl.static_assert(named.dtype == tl.float32)
        tl.static_assert(written.dtype == tl.float16)
        tl.static_assert((v * half).dtype == tl.float32)
        tl.store(out, named)

    assert run(kernel, 1, np.array([3], np.float16), dtype=np.float32) == [6.0]


def test_a_named_int_beside_unsigned_and_wide_types():
    @triton.jit
    def kernel(out, x, y):
        one = 1
        tl.static_assert((tl.load(x) + one).dtype == tl.uint32)
        tl.static_assert((tl.load(y) + one).dtype == tl.int64)
        tl.static_assert((x + one).dtype.element_ty == tl.uint32)
        tl.store(out, tl.load(x) + one)
        tl.store(out + 1, tl.load(x + one))

    x, y = np.array([5, 6], np.uint32), np.array([1], np.int64)
    assert run(kernel, 2, x, y) == [6, 6]
