"""Memory order is program order; values are shared; long programs stay linear."""

import copy
import time

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.ssa import SSAPrinter


def run(kernel, out, *args, **kwargs):
    kernel[(1,)](out, *args, **kwargs)
    return out.tolist()


@pytest.fixture(params=["0", "1"], ids=["level0", "level1"], autouse=True)
def level(request, monkeypatch):
    monkeypatch.setenv("MYTRITON_OPT_LEVEL", request.param)


def test_a_load_before_a_store_sees_the_old_value():
    @triton.jit
    def kernel(p, q):
        a = tl.load(p)
        tl.store(p, 0.0)
        tl.store(q, a)

    p, q = np.full(1, 7, np.float32), np.zeros(1, np.float32)
    kernel[(1,)](p, q)
    assert (p[0], q[0]) == (0.0, 7.0)


def test_the_same_through_an_aliasing_pointer():
    @triton.jit
    def kernel(p, q):
        a = tl.load(p)
        b = tl.load(p + 0)
        tl.store(p + 0, 0.0)
        tl.store(q, a)
        tl.store(q + 1, b)
        tl.store(q + 2, tl.load(p))

    p = np.full(1, 7, np.float32)
    assert run(lambda_kernel(kernel), np.zeros(3, np.float32), p) == [7.0, 7.0, 0.0]


def lambda_kernel(kernel):
    """Call ``kernel(p, q)`` with the output first."""

    class Swapped:
        def __getitem__(self, grid):
            return lambda out, p: kernel[grid](p, out)

    return Swapped()


def test_a_load_before_a_loop_that_stores_is_used_after_it():
    @triton.jit
    def kernel(p, n):
        old = tl.load(p)
        for i in range(n):
            tl.store(p, i)
        tl.store(p + 1, old)

    assert run(kernel, np.array([9, 0], np.int32), 3) == [2, 9]


def test_a_load_in_a_loop_sees_the_previous_trip():
    @triton.jit
    def kernel(p, n):
        total = 0
        for i in range(n):
            total += tl.load(p)
            tl.store(p, i + 1)
        tl.store(p + 1, total)

    assert run(kernel, np.array([10, 0], np.int32), 3) == [3, 10 + 1 + 2]


def test_loads_around_a_store_are_not_merged():
    @triton.jit
    def kernel(p):
        a = tl.load(p)
        tl.store(p, 5)
        b = tl.load(p)
        tl.store(p + 1, a * 10 + b)

    assert run(kernel, np.array([1, 0], np.int32)) == [5, 15]


def test_a_value_first_needed_in_a_loop_is_defined_before_it():
    @triton.jit
    def kernel(out, n):
        base = tl.program_id(0) * 3 + 4
        pair = (base, base + 1)
        total = 0
        for _i in range(n):
            total += pair[1]
        tl.store(out, total + base)

    assert run(kernel, np.zeros(1, np.int32), 2) == [14]


def test_masked_off_lanes_touch_no_memory():
    @triton.jit
    def kernel(out, x, wild):
        i = tl.arange(0, 4)
        v = tl.load(x + i * wild, mask=i < 1, other=-1.0)
        tl.store(out + i * wild, v, mask=i < 1)
        tl.store(out + 1, tl.sum(v))

    out = np.zeros(2, np.float32)
    assert run(kernel, out, np.full(1, 3, np.float32), 2**30) == [3.0, 0.0]


class TestLinear:
    @staticmethod
    def chain_kernel():
        @triton.jit
        def kernel(out, a, N: tl.constexpr):
            v = a
            for _i in tl.static_range(N):
                v = v + a
            tl.store(out, v)

        return kernel

    def test_a_chain_of_5000_additions(self):
        kernel = self.chain_kernel()
        out = np.zeros(1, np.int32)
        result = kernel[(1,)](out, 1, N=5000)
        assert out[0] == 5001
        assert len(repr(result.expression_ops)) < 2_000_000
        assert result.expression_ops == kernel.trace(out, 1, N=5000).ops
        assert copy.deepcopy(result.expression_ops) == result.expression_ops
        assert len(SSAPrinter().print_ops(result.ssa_ops).splitlines()) == 5001

    def test_one_expression_used_10000_times(self):
        @triton.jit
        def kernel(out, a, N: tl.constexpr):
            shared = tl.program_id(0) + a
            v = shared
            for _i in tl.static_range(N):
                v = v + shared
            tl.store(out, v)

        compiled = kernel.compile(np.zeros(1, np.int32), 1, N=10_000)
        text = SSAPrinter().print_ops(compiled.unoptimised.body)
        assert text.count("program_id") == 1

    def test_forty_doublings(self):
        @triton.jit
        def kernel(out, a):
            v = a
            for _i in tl.static_range(40):
                v = v + v
            tl.store(out, v)

        out = np.zeros(1, np.float64)
        result = kernel[(1,)](out, 1.0)
        assert out[0] == 2.0**40
        assert len(repr(result.expression_ops)) < 20_000
        assert result.expression_ops == kernel.trace(out, 1.0).ops
        assert len(result.ssa_ops) == 42  # 40 additions, a cast for the f64 array, a store

    def test_compile_time_grows_linearly(self):
        kernel = self.chain_kernel()
        out = np.zeros(1, np.int32)

        def cost(n):
            best = float("inf")
            for _ in range(3):
                start = time.process_time()
                kernel.compile(out, 1, N=n)
                best = min(best, time.process_time() - start)
            return best

        # A quadratic stage would take 16 times as long.
        assert cost(4000) < 8 * cost(1000)


def test_a_sum_nested_deeper_than_the_stack(kernel_from):
    terms = " + ".join(["a"] * 800)
    kernel = kernel_from(f"def kernel(out, a):\n    tl.store(out, {terms})\n")
    assert run(kernel, np.zeros(1, np.int32), 1) == [800]


def test_nesting_python_cannot_follow_is_a_located_error(kernel_from):
    text = "(" * 90 + "a" + " + 1)" * 90
    kernel = kernel_from(f"def kernel(out, a):\n    tl.store(out, {text})\n")
    assert run(kernel, np.zeros(1, np.int32), 1) == [91]
