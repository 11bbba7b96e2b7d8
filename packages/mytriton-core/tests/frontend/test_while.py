"""``while`` loops, ranges that do not just count up, and what loops carry."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ASTFrontendError, KernelTypeError
from mytriton.ssa import walk


def run(kernel, n_out, *args, dtype=np.int32, grid=(1,), **kwargs):
    out = np.zeros(n_out, dtype)
    kernel.with_backend("interpreter")[grid](out, *args, **kwargs)
    return out.tolist()


@pytest.mark.parametrize("n", [0, 1, 2, 5, 100])
def test_halving_until_it_fits(n):
    @triton.jit
    def kernel(out, n, BLOCK: tl.constexpr):
        w = BLOCK + 1
        trips = 0
        while w > n:
            w = (w + 1) // 2
            trips += 1
            if trips == 20:
                n = w
        tl.store(out, w)
        tl.store(out + 1, trips)

    w, trips, bound = 65, 0, n
    while w > bound:
        w, trips = (w + 1) // 2, trips + 1
        if trips == 20:
            bound = w
    assert run(kernel, 2, n, 64) == [w, trips]


def test_programs_leave_a_while_loop_one_by_one():
    @triton.jit
    def kernel(out, x):
        pid = tl.program_id(0)
        n = tl.load(x + pid)
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        tl.store(out + pid, steps)

    def collatz(n):
        steps = 0
        while n != 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps

    x = np.array([1, 2, 3, 7, 27, 97], np.int32)
    assert run(kernel, 6, x, grid=(6,)) == [collatz(int(n)) for n in x]


def test_a_while_loop_with_a_known_condition_is_unrolled():
    @triton.jit
    def kernel(out):
        w = 16
        while w > 1:
            w = w // 2
            tl.store(out + tl.arange(0, w), w)

    assert not any(i.opcode == "while" for i in walk(kernel.compile(np.zeros(16)).function.body))
    assert run(kernel, 8) == [1, 2, 4, 4, 8, 8, 8, 8]


def test_a_while_loop_too_long_to_unroll_is_a_loop():
    @triton.jit
    def kernel(out):
        i = 0
        total = 0
        while i < 1000:
            total += i
            i += 1
        tl.store(out, total)

    assert run(kernel, 1) == [499500]


def test_nested_while_and_for_with_memory_in_the_condition():
    @triton.jit
    def kernel(out, x, n):
        count = 0
        for i in range(n):
            j = 0
            while j < n and tl.load(x + j) > i:
                j += 1
            count += j
        tl.store(out, count)

    x = np.array([5, 3, 2, 0], np.int32)
    count = 0
    for i in range(4):
        j = 0
        while j < 4 and x[j] > i:
            j += 1
        count += j
    # `and` reads both sides, so the loop may look one past the end it stops at.
    assert run(kernel, 1, np.append(x, np.int32(0)), 4) == [count]


def test_a_while_loop_that_never_starts_leaves_everything():
    @triton.jit
    def kernel(out, n):
        acc = tl.zeros((4,), tl.float32)
        p = out
        while n > 0:
            acc += 1
            p += 1
            n -= 1
        tl.store(p + tl.arange(0, 4), acc)

    assert run(kernel, 8, 0, dtype=np.float32) == [0] * 8
    assert run(kernel, 8, 2, dtype=np.float32) == [0, 0, 2, 2, 2, 2, 0, 0]


@pytest.mark.parametrize("bounds", [(5, -1, -1), (0, 10, 3), (10, 0, -3), (0, 5, -1), (-7, 8, 4)])
def test_runtime_steps_of_either_sign(bounds):
    @triton.jit
    def kernel(out, start, stop, step):
        k = 0
        for i in range(start, stop, step):
            tl.store(out + k, i)
            k += 1
        tl.store(out + 15, k)

    values = list(range(*bounds))
    assert run(kernel, 16, *bounds) == [*values, *[0] * (15 - len(values)), len(values)]


@pytest.mark.parametrize("n", [0, 1, 6])
def test_counting_down_by_a_constant(n):
    @triton.jit
    def kernel(out, n):
        k = 0
        for i in range(n - 1, -1, -2):
            tl.store(out + k, i)
            k += 1

    values = list(range(n - 1, -1, -2))
    assert run(kernel, 4, n) == [*values, *[0] * (4 - len(values))]


def test_64_bit_bounds():
    @triton.jit
    def kernel(out, start, n):
        total = start - start
        for i in range(start, start + n):
            total += i
        tl.store(out, total)

    start = 2**40
    assert run(kernel, 1, start, 3, dtype=np.int64) == [sum(range(start, start + 3))]


def test_bounds_loaded_from_memory():
    @triton.jit
    def kernel(out, bounds):
        pid = tl.program_id(0)
        total = 0
        for i in range(tl.load(bounds + pid), tl.load(bounds + pid + 1)):
            total += i
        tl.store(out + pid, total)

    bounds = np.array([0, 3, 3, 7], np.int32)
    assert run(kernel, 3, bounds, grid=(3,)) == [3, 0, 18]


def test_tl_range_with_options_and_names():
    @triton.jit
    def kernel(out, n):
        a = 0
        for i in tl.range(0, n, 1, num_stages=3, loop_unroll_factor=2, flatten=True):
            a += i
        for i in tl.range(n, step=2, warp_specialize=False, disallow_acc_multi_buffer=True):
            a += i * 100
        tl.store(out, a)

    assert run(kernel, 1, 5) == [10 + 600]


def test_literals_enter_a_loop_as_triton_types_them():
    @triton.jit
    def kernel(out, x, n):
        s = 0.0
        idx = 0
        m = float("-inf")
        found = False
        for i in range(n):
            v = tl.load(x + i)
            s += v
            if v > m:
                m = v
                idx = i
            found = found or v == 3.0
        tl.store(out, s)
        tl.store(out + 1, idx)
        tl.store(out + 2, m)
        tl.store(out + 3, found)

    x = np.array([1, 3, 2], np.float32)
    assert run(kernel, 4, x, 3, dtype=np.float32) == [6, 1, 3, 1]
    assert run(kernel, 4, x, 0, dtype=np.float32) == [0, 0, -np.inf, 0]


def test_a_literal_takes_the_width_the_body_gives_it():
    @triton.jit
    def kernel(out, x, n):
        s = 0
        for i in range(n):
            s += tl.load(x + i)
        tl.store(out, s)

    x = np.array([2**40, 1], np.int64)
    assert run(kernel, 1, x, 2, dtype=np.int64) == [2**40 + 1]


@pytest.mark.parametrize("n", [0, 3])
def test_an_integer_argument_that_is_one_and_a_pointer_are_rebound_in_a_loop(n):
    @triton.jit
    def kernel(out, x, y, a0, b0, n):
        for _ in range(n):
            t = a0
            a0 = b0
            b0 = t
            p = x
            x = y
            y = p
        tl.store(out, a0)
        tl.store(out + 1, b0)
        tl.store(out + 2, tl.load(x))

    x, y = np.array([10], np.int32), np.array([20], np.int32)
    assert run(kernel, 3, x, y, 1, 7, n) == ([7, 1, 20] if n else [1, 7, 10])


def test_pointer_blocks_and_tuples_are_carried():
    @triton.jit
    def kernel(out, x, n, stride):
        lanes = tl.arange(0, 4)
        ptrs = x + lanes
        state = (tl.zeros((4,), tl.int32), 0)
        for _ in range(n):
            state = (state[0] + tl.load(ptrs), state[1] + 1)
            ptrs += stride
        total, trips = state
        tl.store(out + lanes, total)
        tl.store(out + 4, trips)

    x = np.arange(12, dtype=np.int32)
    expected = [*x.reshape(3, 4).sum(0), 3]
    assert run(kernel, 5, x, 3, 4) == expected
    assert run(kernel, 5, x, 0, 4) == [0] * 5


def test_bools_stay_bools_round_a_loop():
    @triton.jit
    def kernel(out, x, n):
        lanes = tl.arange(0, 4)
        any_ = tl.load(x + lanes)
        for i in range(1, n):
            any_ = any_ | tl.load(x + 4 * i + lanes)
        tl.static_assert(any_.dtype == tl.int1)
        picked = tl.where(lanes < 2, any_, tl.load(x + lanes))
        tl.store(out + lanes, picked)

    x = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], bool)
    assert run(kernel, 4, x, 3, dtype=np.uint8) == [1, 1, 0, 0]
    assert run(kernel, 4, x, 3, dtype=bool) == [True, True, False, False]


def test_a_constexpr_of_the_body_stays_one():
    @triton.jit
    def kernel(out, n, B: tl.constexpr):
        HALF: tl.constexpr = B
        for i in range(n):
            HALF: tl.constexpr = B // 2
            tl.store(out + i * HALF + tl.arange(0, HALF), i + 1)

    assert run(kernel, 6, 3, 4) == [1, 1, 2, 2, 3, 3]


def test_loops_over_tuples_and_lists():
    @triton.jit
    def kernel(out, x, y, n):
        k = 0
        for p in (x, y):
            for scale in [1, 10]:
                tl.store(out + k, tl.load(p) * scale * n)
                k += 1
        for a, b in ((1, 2), (3, 4)):
            tl.store(out + k, a * b)
            k += 1
        parts = [i * i for i in range(4) if i != 1]
        tl.static_assert(len(parts) == 3, f"{parts}")
        for i in tl.static_range(len(parts)):
            tl.store(out + k + i, parts[i])

    x, y = np.array([2], np.int32), np.array([3], np.int32)
    assert run(kernel, 9, x, y, 1) == [2, 20, 3, 30, 2, 12, 0, 4, 9]


def test_what_a_loop_inside_a_branch_changes():
    @triton.jit
    def kernel(out, n, m):
        acc = 0
        if n > 2:
            for i in range(n):
                if i % 2 == 0:
                    acc += i
                else:
                    acc -= 1
        elif m:
            acc = m
        tl.store(out, acc)

    assert run(kernel, 1, 5, 0) == [0 + 2 + 4 - 2]
    assert run(kernel, 1, 1, 9) == [9]
    assert run(kernel, 1, 1, 0) == [0]


def test_a_loop_that_changes_a_type_names_both():
    @triton.jit
    def kernel(out, n):
        acc = 0
        for i in range(n):
            acc += i * 0.5
        tl.store(out, acc)

    with pytest.raises(KernelTypeError, match=r"'acc' is i32 before the loop .* f32") as error:
        run(kernel, 1, 3)
    assert error.value.span.source_line().strip() == "acc += i * 0.5"


def test_a_loop_that_changes_a_shape_names_both():
    @triton.jit
    def kernel(out, n):
        acc = 0.0
        for _ in range(n):
            acc += tl.zeros((4,), tl.float32)
        tl.store(out, tl.sum(acc))

    with pytest.raises(KernelTypeError, match=r"f32 before the loop .* vector<4 x f32>"):
        run(kernel, 1, 3)


def test_endless_loops_are_refused():
    @triton.jit
    def kernel(out):
        while True:
            tl.store(out, 1)

    with pytest.raises(ASTFrontendError, match="never ends"):
        run(kernel, 1)


def test_a_return_ends_an_endless_loop():
    @triton.jit
    def kernel(out, n):
        i = 0
        while True:
            tl.store(out, i)
            if i == n:
                return
            i += 1

    assert run(kernel, 1, 7) == [7]


def test_while_else_and_break_are_refused():
    @triton.jit
    def with_else(out, n):
        while n > 0:
            n -= 1
        else:
            tl.store(out, 1)

    @triton.jit
    def with_break(out, n):
        for _ in range(n):
            break

    with pytest.raises(ASTFrontendError, match="while/else is not supported"):
        run(with_else, 1, 1)
    with pytest.raises(ASTFrontendError, match="unsupported AST node: Break; .* while"):
        run(with_break, 1, 1)


def test_an_index_may_be_given_its_own_value_with_a_hint():
    @triton.jit
    def kernel(out, n, B: tl.constexpr):
        for start in range(0, n, B):
            start = tl.multiple_of(start, B)
            start = start.to(tl.int64)
            tl.store(out + start + tl.arange(0, B), start)

    assert run(kernel, 6, 6, 2) == [0, 0, 2, 2, 4, 4]


def test_a_loop_in_a_loop_carries_through_both():
    @triton.jit
    def kernel(out, n, m):
        a = 1
        b = 0
        for i in range(n):
            c = a
            for _ in range(m):
                c += b
                b += 1
            a = c + i
        tl.store(out, a)
        tl.store(out + 1, b)

    a, b = 1, 0
    for i in range(3):
        c = a
        for _ in range(4):
            c, b = c + b, b + 1
        a = c + i
    assert run(kernel, 2, 3, 4) == [a, b]
