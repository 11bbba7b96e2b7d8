"""Branches: what is pruned, what is merged, what a name holds afterwards."""

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


def opcodes(kernel, *args, **kwargs):
    return [item.opcode for item in walk(kernel.compile(*args, **kwargs).function.body)]


@pytest.mark.parametrize(("n", "expected"), [(5, 10), (-5, 20), (0, 30)])
def test_an_elif_chain_merges_scalars(n, expected):
    @triton.jit
    def kernel(out, n):
        if n > 0:
            x = 10
        elif n < 0:
            x = 20
        else:
            x = 30
        tl.store(out, x)

    assert run(kernel, 1, n) == [expected]


@pytest.mark.parametrize("n", [0, 1])
def test_a_branch_without_else_keeps_the_value_before(n):
    @triton.jit
    def kernel(out, n):
        x = 1.5
        y = tl.arange(0, 4)
        if n > 0:
            x = x * n + 1.0
            y += 10
        tl.store(out, x)
        tl.store(out + 1 + tl.arange(0, 4), y)

    expected = [2.5, 10, 11, 12, 13] if n else [1.5, 0, 1, 2, 3]
    assert run(kernel, 5, n, dtype=np.float32) == expected


@pytest.mark.parametrize("n", [0, 1])
def test_a_number_and_a_block_result_of_the_same_type_merge(n):
    @triton.jit
    def kernel(out, x, n):
        loss = 0.0
        if n > 0:
            loss = tl.sum(tl.load(x + tl.arange(0, 4)))
        tl.store(out, loss)

    x = np.array([1, 2, 3, 4.5], np.float32)
    assert run(kernel, 1, x, n, dtype=np.float32) == [10.5 if n else 0.0]


@pytest.mark.parametrize("n", [0, 1])
def test_pointers_merge(n):
    @triton.jit
    def kernel(out, x, y, n):
        p = x
        if n > 0:
            p = y + 1
        tl.store(out + tl.arange(0, 2), tl.load(p + tl.arange(0, 2)))

    x, y = np.array([1, 2, 3], np.int32), np.array([4, 5, 6], np.int32)
    assert run(kernel, 2, x, y, n) == ([5, 6] if n else [1, 2])


def test_blocks_of_pointers_merge_program_by_program():
    @triton.jit
    def kernel(out, x, y):
        pid = tl.program_id(0)
        lanes = tl.arange(0, 2)
        if pid % 2 == 0:
            p = x + lanes
        else:
            p = y + lanes
        tl.store(out + pid * 2 + lanes, tl.load(p) + pid)

    x, y = np.array([10, 20], np.int32), np.array([30, 40], np.int32)
    assert run(kernel, 8, x, y, grid=(4,)) == [10, 20, 31, 41, 12, 22, 33, 43]


@pytest.mark.parametrize("n", [0, 1])
def test_tuples_merge_item_by_item(n):
    @triton.jit
    def kernel(out, n):
        pair = (1, (2.0, n))
        if n > 0:
            pair = (n + 3, (4.0, n))
        a, (b, c) = pair
        tl.store(out, a)
        tl.store(out + 1, b)
        tl.store(out + 2, c)

    assert run(kernel, 3, n, dtype=np.float32) == ([4, 4, 1] if n else [1, 2, 0])


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_nested_branches(a, b):
    @triton.jit
    def kernel(out, a, b):
        x = 0
        if a > 0:
            x += 1
            if b > 0:
                x += 10
            else:
                x += 100
            x *= 2
        elif b > 0:
            x = 7
        tl.store(out, x)

    x = 0
    if a > 0:
        x += 1
        x += 10 if b > 0 else 100
        x *= 2
    elif b > 0:
        x = 7
    assert run(kernel, 1, a, b) == [x]


def test_stores_and_loads_happen_in_their_branch_only():
    @triton.jit
    def kernel(out, x):
        pid = tl.program_id(0)
        if pid > 0:
            tl.store(out + pid, tl.load(x + pid))
        else:
            tl.store(out, -1)

    # Program 0 would read past nothing, program 3 past the array: only their branch may.
    assert run(kernel, 3, np.array([5, 6, 7], np.int32), grid=(3,)) == [-1, 6, 7]


def test_a_branch_that_is_not_taken_is_not_even_typed():
    @triton.jit
    def kernel(out, FLAG: tl.constexpr, p=None):
        if FLAG:
            tl.store(out, 1)
        else:
            tl.store(out, tl.dot(FLAG, "nonsense") + undefined_name)  # noqa: F821
        if p is not None:
            tl.store(out + 1, tl.load(p))

    assert run(kernel, 2, True) == [1, 0]


@pytest.mark.parametrize(("act", "expected"), [("relu", 0.0), ("neg", 2.0), (None, -2.0)])
def test_strings_and_none_choose(act, expected):
    @triton.jit
    def kernel(out, x, ACT: tl.constexpr):
        v = tl.load(x)
        if ACT == "relu":
            v = tl.maximum(v, 0.0)
        elif ACT in ("neg", "minus") and ACT is not None:
            v = -v
        elif not ACT:
            pass
        tl.store(out, v)

    x = np.array([-2.0], np.float32)
    assert run(kernel, 1, x, act, dtype=np.float32) == [expected]


def test_a_name_bound_under_one_static_branch_is_used_under_another():
    @triton.jit
    def kernel(out, x, HAS: tl.constexpr):
        if HAS:
            bias = tl.load(x)
        v = 1.0
        if HAS:
            v += bias
        tl.store(out, v)

    x = np.array([4.0], np.float32)
    assert run(kernel, 1, x, True, dtype=np.float32) == [5.0]
    assert run(kernel, 1, x, False, dtype=np.float32) == [1.0]


def test_a_name_of_a_static_branch_not_taken_says_so():
    @triton.jit
    def kernel(out, HAS: tl.constexpr):
        if HAS:
            bias = 1.0
        tl.store(out, bias)

    with pytest.raises(NameError, match="in a branch that is not taken"):
        run(kernel, 1, False)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 3), (2, 0), (2, 3)])
def test_and_or_not_of_scalars(a, b):
    @triton.jit
    def kernel(out, a, b):
        tl.store(out, 1 if a and b else 0)
        tl.store(out + 1, 1 if a or b else 0)
        tl.store(out + 2, 1 if not a else 0)
        if a > 1 and not b > 1:
            tl.store(out + 3, 1)

    assert run(kernel, 4, a, b) == [bool(a and b), bool(a or b), not a, a > 1 and not b > 1]


def test_and_or_not_of_blocks_broadcast():
    @triton.jit
    def kernel(out, m, n):
        rows = tl.arange(0, 4)[:, None]
        cols = tl.arange(0, 4)[None, :]
        mask = rows < m and cols < n
        other = not (mask or rows == cols)
        tl.store(out + rows * 4 + cols, mask.to(tl.int32) + 10 * other.to(tl.int32))

    rows, cols = np.arange(4)[:, None], np.arange(4)[None, :]
    mask = (rows < 3) & (cols < 2)
    expected = mask + 10 * ~(mask | (rows == cols))
    assert run(kernel, 16, 3, 2) == expected.reshape(-1).tolist()


@pytest.mark.parametrize("with_p", [False, True])
def test_a_mask_and_a_test_for_none(with_p):
    @triton.jit
    def kernel(out, n, p):
        lanes = tl.arange(0, 4)
        before = lanes < n and p is not None
        after = p is not None and lanes < n
        tl.store(out + lanes, before.to(tl.int32))
        if p is not None:
            tl.store(out + 4 + lanes, after.to(tl.int32))

    p = np.zeros(1, np.int32) if with_p else None
    one = [1, 1, 0, 0]
    assert run(kernel, 8, 2, p) == (one + one if with_p else [0] * 8)


@pytest.mark.parametrize("n", [-1, 0, 4, 9])
def test_chained_comparisons_at_run_time(n):
    @triton.jit
    def kernel(out, n):
        lanes = tl.arange(0, 4)
        if 0 <= n < 5:
            tl.store(out, 1)
        inside = 0 < lanes <= n
        tl.store(out + 1 + lanes, inside.to(tl.int32))
        tl.store(out + 5, 1 if 3 < 2 < n else 0)

    expected = [int(0 <= n < 5), *(int(0 < k <= n) for k in range(4)), 0]
    assert run(kernel, 6, n) == expected


@pytest.mark.parametrize("n", [0, 3])
def test_conditional_expressions_on_runtime_scalars(n):
    @triton.jit
    def kernel(out, x, n):
        a = 1 if n > 0 else 2
        b = tl.load(x + n) if n > 0 else 0.5
        c = x if n > 0 else x + 1
        d = (n, 1.0) if n > 0 else (5, 2.0)
        tl.store(out, a)
        tl.store(out + 1, b)
        tl.store(out + 2, tl.load(c))
        tl.store(out + 3, d[0])
        tl.store(out + 4, d[1])

    x = np.array([10, 20, 30, 40], np.float32)
    expected = [1, 40, 10, 3, 1] if n else [2, 0.5, 20, 5, 2]
    assert run(kernel, 5, x, n, dtype=np.float32) == expected


def test_a_conditional_expression_loads_on_its_side_only():
    @triton.jit
    def kernel(out, x, n):
        tl.store(out, tl.load(x + 1000) if n > 5 else 7)

    assert run(kernel, 1, np.zeros(1, np.int32), 0) == [7]


@pytest.mark.parametrize("given", [False, True])
def test_a_pointer_is_true(given):
    @triton.jit
    def kernel(out, bias_ptr):
        v = 1
        if bias_ptr:
            v += tl.load(bias_ptr)
        w = 2 if not bias_ptr else 3
        tl.store(out, v)
        tl.store(out + 1, w)
        if bias_ptr and v > 4:
            tl.store(out + 2, 1)

    bias = np.array([4], np.int32) if given else None
    assert run(kernel, 3, bias) == ([5, 3, 1] if given else [1, 2, 0])


def test_early_return_of_some_programs():
    @triton.jit
    def kernel(out, n):
        pid = tl.program_id(0)
        tl.store(out + pid, 1)
        if pid >= n:
            return
        tl.store(out + pid, 2)
        if pid == 0:
            return
        tl.store(out + pid, 3)

    assert run(kernel, 5, 3, grid=(5,)) == [2, 3, 3, 1, 1]


def test_early_return_deep_in_branches():
    @triton.jit
    def kernel(out, n):
        pid = tl.program_id(0)
        x = 1
        if pid > 0:
            x = 2
            if pid > n:
                return
            x = 3
        else:
            if n == 5:
                tl.store(out, 9)
                return
        tl.store(out + pid, x)

    assert run(kernel, 4, 1, grid=(4,)) == [1, 3, 0, 0]
    assert run(kernel, 4, 5, grid=(4,)) == [9, 3, 3, 3]


def test_a_chain_too_long_for_the_stack_is_refused_where_it_became_too_long(tmp_path):
    chain = "".join(f"    if n == {k}:\n        return\n" for k in range(1_000))
    file = tmp_path / "chain.py"
    file.write_text(f"def kernel(out, n):\n{chain}    tl.store(out, n)\n")
    names = {"tl": tl}
    exec(compile(file.read_text(), str(file), "exec"), names)

    with pytest.raises(ASTFrontendError, match="nests too deeply here: ifs, elifs") as caught:
        run(triton.jit(names["kernel"]), 1, 5)
    assert 50 < caught.value.span.line < 2_000


def test_early_return_inside_a_loop():
    @triton.jit
    def kernel(out, n):
        pid = tl.program_id(0)
        total = 0
        for i in range(n):
            tl.store(out + pid * 4, i)
            if i == pid:
                return
            total += i
            tl.store(out + pid * 4 + 1, total)
        tl.store(out + pid * 4 + 2, total)

    # Program p stores until trip p; program 3 makes all three trips.
    expected = [0, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 2, 3, 3, 0]
    assert run(kernel, 16, 3, grid=(4,)) == expected


def test_early_return_inside_unrolled_and_while_loops():
    @triton.jit
    def kernel(out, n):
        pid = tl.program_id(0)
        for i in tl.static_range(3):
            if i * 2 > pid:
                return
            tl.store(out + pid * 2, i + 1)
        k = 0
        while k < n:
            k += 1
            if k > 3:
                return
            tl.store(out + pid * 2 + 1, k)
        tl.store(out + pid * 2 + 1, 100)

    assert run(kernel, 10, 2, grid=(5,)) == [1, 0, 1, 0, 2, 0, 2, 0, 3, 100]
    assert run(kernel, 10, 6, grid=(5,)) == [1, 0, 1, 0, 2, 0, 2, 0, 3, 3]


def test_statements_after_an_early_return_nest_once():
    # Each statement after a return must not add a branch of its own.
    @triton.jit
    def kernel(out, n):
        for i in range(n):
            if i == 2:
                return
        tl.store(out, 1)
        tl.store(out + 1, 2)
        tl.store(out + 2, 3)
        tl.store(out + 3, 4)

    assert opcodes(kernel, np.zeros(4, np.int32), 3).count("if") <= 3
    assert run(kernel, 4, 2) == [1, 2, 3, 4]
    assert run(kernel, 4, 3) == [0, 0, 0, 0]


def test_the_last_branch_of_a_kernel_yields_nothing():
    @triton.jit
    def kernel(out, n):
        pid = tl.program_id(0)
        if pid >= n:
            return
        out += pid
        pid = pid * 2
        tl.store(out, pid)

    for level in (0, 1):
        leveled = triton.jit(opt_level=level)(kernel.fn)
        function = leveled.compile(np.zeros(4, np.int32), 4).function
        (branch,) = [item for item in walk(function.body) if item.opcode == "if"]
        assert branch.results == ()
    assert run(kernel, 4, 3, grid=(4,)) == [0, 2, 4, 0]


def test_both_types_and_lines_of_a_clash():
    @triton.jit
    def kernel(out, n):
        x = tl.arange(0, 4)
        if n > 0:
            x = x * 1.5
        tl.store(out + tl.arange(0, 4), x)

    with pytest.raises(KernelTypeError, match="vector<4 x f32>.*vector<4 x i32>"):
        run(kernel, 4, 1)


def test_a_clash_nobody_reads_is_none():
    @triton.jit
    def kernel(out, n):
        x = tl.arange(0, 4)
        if n > 0:
            x = x * 1.5
            tl.store(out + tl.arange(0, 4), x)
        tl.store(out, n)

    assert run(kernel, 4, 1, dtype=np.float32) == [1, 1.5, 3, 4.5]


def test_a_name_one_branch_lacks():
    @triton.jit
    def kernel(out, n):
        if n > 0:
            x = 1
        tl.store(out, x)

    with pytest.raises(NameError, match="only assigned where the condition at line"):
        run(kernel, 1, 1)


def test_a_block_is_neither_true_nor_false():
    @triton.jit
    def kernel(out):
        if tl.arange(0, 4) < 2:
            tl.store(out, 1)

    with pytest.raises(ASTFrontendError, match="choose between blocks with tl.where"):
        run(kernel, 1)


@pytest.mark.parametrize("pair", ["1 if n else 2.5", "2.5 if n else 1", "True if n else 1"])
def test_an_int_and_a_float_do_not_merge_in_either_order(kernel_from, pair):
    kernel = kernel_from(f"def kernel(out, n):\n    tl.store(out, {pair})\n")
    with pytest.raises(ASTFrontendError, match="the two values of a conditional expression"):
        run(kernel, 1, 1)


def test_a_mask_merges_as_bool():
    @triton.jit
    def kernel(out, n, m):
        lanes = tl.arange(0, 4)
        if n > 0:
            mask = lanes < m
        else:
            mask = lanes >= m
        tl.store(out + lanes, 1, mask=mask)

    assert run(kernel, 4, 1, 1) == [1, 0, 0, 0]
    assert run(kernel, 4, 0, 1) == [0, 1, 1, 1]
