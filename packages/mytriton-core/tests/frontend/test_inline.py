"""Calls of other kernels, macros, compile-time functions, builtins."""

import collections
import sys
from typing import NamedTuple

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ASTFrontendError, KernelTypeError

GLOBAL_BLOCK = tl.constexpr(4)
GLOBAL_SCALE = 3


def run(kernel, n_out, *args, dtype=np.int32, grid=(1,), **kwargs):
    out = np.zeros(n_out, dtype)
    kernel.with_backend("interpreter")[grid](out, *args, **kwargs)
    return out.tolist()


@triton.jit
def add_one(x):
    return x + 1


@triton.jit
def statistics(x, axis: tl.constexpr, eps=1e-5, *, SCALE: tl.constexpr = 1):
    mean = tl.sum(x, axis) / SCALE
    return mean, tl.max(x, axis) + eps


@triton.jit
def largest(a, b):
    return tl.maximum(a, b)


@triton.jit
def pick(x, y, KIND: tl.constexpr):
    if KIND == "first":
        return x
    elif KIND == "sum":
        return x + y
    else:
        return y


@triton.jit
def clip(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@triton.jit
def sign(x):
    if x == 0:
        result = 0
    else:
        if x > 0:
            return 1
        result = -1
    return result


@triton.jit
def store_twice(p, v, n):
    if n < 2:
        return
    tl.store(p, v)
    tl.store(p + 1, v)


@triton.jit
def advance(ptr, by):
    ptr += by
    by = by * 100
    return ptr


def test_a_helper_is_called_twice_with_different_shapes():
    @triton.jit
    def kernel(out):
        a = add_one(tl.arange(0, 4))
        b = add_one(tl.arange(0, 8))
        c = add_one(1)
        tl.store(out + tl.arange(0, 4), a)
        tl.store(out + 4 + tl.arange(0, 8), b)
        tl.store(out + 12, c)

    assert run(kernel, 13) == [1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 2]


def test_keywords_defaults_and_tuple_results():
    @triton.jit
    def kernel(out, x):
        rows = tl.arange(0, 2)[:, None] * 2 + tl.arange(0, 2)[None, :]
        v = tl.load(x + rows)
        mean, top = statistics(v, axis=1, SCALE=2)
        all_ = statistics(v, 0, eps=0.0)
        tl.store(out + tl.arange(0, 2), mean)
        tl.store(out + 2 + tl.arange(0, 2), top)
        tl.store(out + 4 + tl.arange(0, 2), all_[1])

    x = np.array([[1, 2], [3, 5]], np.float32)
    expected = [
        1.5,
        4.0,
        *(np.float32(2) + np.float32(1e-5), np.float32(5) + np.float32(1e-5)),
        3,
        5,
    ]
    assert run(kernel, 6, x, dtype=np.float32) == [float(np.float32(v)) for v in expected]


@pytest.mark.parametrize(("kind", "expected"), [("first", 2), ("sum", 7), ("other", 5)])
def test_a_string_argument_prunes(kind, expected):
    @triton.jit
    def kernel(out, KIND: tl.constexpr):
        tl.store(out, pick(2, 5, KIND))

    assert run(kernel, 1, kind) == [expected]


@pytest.mark.parametrize("x", [-5, 0, 3, 99])
def test_a_helper_returns_from_several_branches(x):
    @triton.jit
    def kernel(out, x):
        tl.store(out, clip(x, -1, 10))
        tl.store(out + 1, sign(x))

    assert run(kernel, 2, x) == [min(max(x, -1), 10), (x > 0) - (x < 0)]


def test_a_helper_stores_and_returns_early():
    @triton.jit
    def kernel(out):
        pid = tl.program_id(0)
        store_twice(out + pid * 2, pid + 5, pid)
        tl.store(out + 8, 1)

    assert run(kernel, 9, grid=(4,)) == [0, 0, 0, 0, 7, 7, 8, 8, 1]


def test_rebinding_a_parameter_does_not_reach_the_caller():
    @triton.jit
    def kernel(out, n):
        moved = advance(out, n)
        tl.store(out, n)
        tl.store(moved, n + 1)

    assert run(kernel, 4, 3) == [3, 0, 0, 4]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_a_pointer_is_returned_from_some_branches(n):
    @triton.jit
    def choose(p, n):
        if n > 0:
            if n > 1:
                return p + 2
            p += 1
        return p

    @triton.jit
    def choose_block(p, n):
        q = p + tl.arange(0, 2)
        for _ in range(n):
            q += 1
        if n > 0:
            if n > 1:
                return q
        return p + tl.arange(0, 2)

    @triton.jit
    def kernel(out, x, n):
        tl.store(out, tl.load(choose(x, n)))
        tl.store(out + 1 + tl.arange(0, 2), tl.load(choose_block(x, n)))

    x = np.arange(10, dtype=np.int32)
    assert run(kernel, 3, x, n) == [min(n, 2), *((n, n + 1) if n > 1 else (0, 1))]


def test_a_bare_return_and_a_value_do_not_mix():
    @triton.jit
    def sometimes(x):
        if x > 0:
            return
        return x

    @triton.jit
    def kernel(out, x):
        tl.store(out, sometimes(x))

    with pytest.raises((ASTFrontendError, KernelTypeError), match="what sometimes returns"):
        run(kernel, 1, 1)


def test_a_value_on_some_paths_only():
    @triton.jit
    def sometimes(x):
        if x > 0:
            return x

    @triton.jit
    def kernel(out, x):
        tl.store(out, sometimes(x))

    with pytest.raises(ASTFrontendError, match="sometimes returns a value on some paths only"):
        run(kernel, 1, 1)


def test_functions_as_arguments():
    @triton.jit
    def twice(f: tl.constexpr, x):
        return f(f(x))

    @triton.jit
    def kernel(out, ACT: tl.constexpr, x):
        v = ACT(x)
        tl.store(out, twice(ACT, v))

    assert run(kernel, 1, add_one, 5) == [8]


def test_recursion_is_refused():
    @triton.jit
    def kernel(out, n):
        tl.store(out, endless(n))

    with pytest.raises(ASTFrontendError, match="recursion is not supported: endless calls itself"):
        run(kernel, 1, 1)


@triton.jit
def endless(n):
    return endless(n + 1)


def test_a_long_chain_of_calls_is_not_called_recursion(tmp_path):
    file = tmp_path / "chain.py"
    calls = "".join(f"@jit\ndef f{k}(n):\n    return f{k + 1}(n)\n" for k in range(100))
    file.write_text(f"{calls}@jit\ndef kernel(out, n):\n    tl.store(out, f0(n))\n")
    names = {"tl": tl, "jit": triton.jit}
    exec(compile(file.read_text(), str(file), "exec"), names)

    with pytest.raises(ASTFrontendError, match="calls nest more than 64 deep here"):
        run(names["kernel"], 1, 1)


def test_the_wrong_arguments_name_the_signature():
    @triton.jit
    def kernel(out):
        tl.store(out, clip(1, 2))

    with pytest.raises(ASTFrontendError, match=r"clip\(x, low, high\): missing .* 'high'"):
        run(kernel, 1)


def test_a_constexpr_parameter_of_a_helper_takes_runtime_values_too():
    # The best-known attention kernel hands blocks of offsets to parameters it calls tl.constexpr.
    @triton.jit
    def add(x, lanes: tl.constexpr, N: tl.constexpr):
        return x + lanes + tl.arange(0, N)

    @triton.jit
    def kernel(out, n):
        lanes = tl.arange(0, 4)
        tl.store(out + lanes, add(n, lanes, 4))

    assert run(kernel, 4, 10) == [10, 12, 14, 16]


def test_a_runtime_value_is_no_string():
    @triton.jit
    def kernel(out, n):
        tl.store(out, pick(1, 2, n))

    with pytest.raises(ASTFrontendError, match="a runtime value of i32 is no string"):
        run(kernel, 1, 1)


def test_an_error_in_a_helper_names_the_chain_of_calls():
    @triton.jit
    def inner(x):
        return x + undefined  # noqa: F821

    @triton.jit
    def outer(x):
        return inner(x) * 2

    @triton.jit
    def kernel(out):
        tl.store(out, outer(1))

    with pytest.raises(NameError) as error:
        run(kernel, 1)
    lines = str(error.value).splitlines()
    assert lines[1].strip() == "return x + undefined  # noqa: F821"
    assert [line.split(" in ")[-1] for line in lines if "called from" in line] == [
        "outer",
        "kernel",
    ]


def test_helpers_of_other_modules(module_from, monkeypatch):
    utils = module_from(
        "SCALE = 10\n"
        "TABLE = (1, 2, 3)\n"
        "@triton.jit\ndef inner(x):\n    return x * SCALE\n"
        "@triton.jit\ndef helper(x, k=TABLE[1]):\n    return inner(x) + k\n"
    )
    monkeypatch.setitem(sys.modules, "my_utils", utils)
    user = module_from(
        "import my_utils as utils\nfrom my_utils import helper as imported\n"
        "@triton.jit\ndef kernel(out, x):\n"
        "    tl.store(out, utils.helper(x))\n"
        "    tl.store(out + 1, imported(x, k=utils.TABLE[2]))\n"
        "    tl.store(out + 2, utils.SCALE)\n"
    )
    assert run(user.kernel, 3, 4) == [42, 43, 10]
    utils.SCALE = 100
    assert run(user.kernel, 3, 4) == [402, 403, 100]


def test_globals_of_every_kind():
    @triton.jit
    def kernel(out, BLOCK: tl.constexpr = GLOBAL_BLOCK):
        lanes = tl.arange(0, GLOBAL_BLOCK)
        SIZE: tl.constexpr = GLOBAL_BLOCK * 2
        tl.static_assert(BLOCK == 4 and SIZE == 8)
        tl.store(out + lanes, lanes * GLOBAL_SCALE)

    assert run(kernel, 4) == [0, 3, 6, 9]


def test_constexpr_functions_run_while_the_kernel_is_compiled(module_from):
    module = module_from(
        "LIMIT = 4\n"
        "@triton.constexpr_function\n"
        "def half(n, cap=None):\n"
        "    values = {'n': [n]}\n"
        "    while values['n'][-1] > LIMIT:\n"
        "        values['n'].append(values['n'][-1] // 2)\n"
        "    return values['n'][-1]\n"
        "@triton.constexpr_function\n"
        "def describe(dtype):\n"
        "    return (dtype.primitive_bitwidth, str(dtype))\n"
        "@triton.jit\ndef kernel(out, B: tl.constexpr):\n"
        "    n: tl.constexpr = half(B)\n"
        "    bits, name = describe(out.dtype.element_ty)\n"
        "    tl.store(out + tl.arange(0, half(n * 1)), bits)\n"
        "    tl.static_assert(name == 'int32' or name == 'i32', name)\n"
    )
    assert module.half(32) == 4 and module.half(tl.constexpr(3)) == 3
    assert run(module.kernel, 4, 32) == [32, 32, 32, 32]
    module.LIMIT = 2
    assert run(module.kernel, 4, 32) == [32, 32, 0, 0]


def test_constexpr_functions_take_no_runtime_values():
    @triton.constexpr_function
    def half(n):
        return n // 2

    @triton.constexpr_function
    def broken(n):
        raise ValueError(f"{n} is unlucky")

    @triton.jit
    def kernel(out, n):
        tl.store(out, half(n))

    @triton.jit
    def unlucky(out):
        tl.store(out, broken(13))

    with pytest.raises(
        ASTFrontendError, match="half is a constexpr_function .* runtime value of i32"
    ):
        run(kernel, 1, 4)
    with pytest.raises(ASTFrontendError, match="broken: 13 is unlucky"):
        run(unlucky, 1)


Pair = collections.namedtuple("Pair", ["first", "second"])


class State(NamedTuple):
    total: object
    count: object = 0


def test_named_tuples_are_made_passed_and_carried():
    @triton.jit
    def step(state, v):
        return State(state.total + v, state.count + 1)

    @triton.jit
    def kernel(out, x, n):
        pair = Pair(1, second=n)
        state = State(0.0)
        for i in range(n):
            state = step(state, tl.load(x + i))
        if n > 100:
            state = State(-1.0, 0)
        tl.store(out, state.total)
        tl.store(out + 1, state.count)
        tl.store(out + 2, pair.first + pair.second + pair[1])

    x = np.array([1.5, 2.0, 3.0], np.float32)
    assert run(kernel, 3, x, 3, dtype=np.float32) == [6.5, 3, 7]


def test_macros_run_with_symbolic_values():
    def macro(x, k):
        return x * k + (1 if k > 2 else 0)

    @triton.jit
    def kernel(out, x):
        tl.store(out, macro(x, 3))

    assert run(kernel, 1, 5) == [16]


def test_builtins_on_known_and_runtime_values():
    @triton.jit
    def kernel(out, n, m, x, B: tl.constexpr):
        tl.store(out, min(n, m))
        tl.store(out + 1, max(n, m, 3))
        tl.store(out + 2, abs(n - m))
        total = max(B, 32)
        tl.store(out + 3, total + len((n, m)) + int(2.9) + bool(B))
        tl.store(out + 4, sum((n, m, 1)))
        tl.store(out + 5, tl.load(x) == float("inf"))
        tl.store(out + 6, isinstance(n, tl.tensor) and not isinstance(B, tl.tensor))
        for i, v in enumerate((n, m)):
            tl.store(out + 7 + i, v)

    expected = [2, 7, 5, 32 + 2 + 2 + 1, 10, 1, 1, 7, 2]
    assert run(kernel, 9, 7, 2, np.array([np.inf], np.float32), 16) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("print(n)", "tl.device_print"),
        ("int(n)", r"\.to\(tl.int32\)"),
        ("float(n)", r"\.to\(tl.float32\)"),
        ("len(n)", r"x\.shape\[0\]"),
        ("round(n)", "libdevice.rint"),
        ("open('f')", "the builtin open is not supported"),
        ("sorted([n])", "only takes compile-time values"),
    ],
)
def test_builtins_that_make_no_sense_on_runtime_values(kernel_from, call, message):
    kernel = kernel_from(f"def kernel(out, n):\n    {call}\n    tl.store(out, n)\n")
    with pytest.raises(ASTFrontendError, match=message):
        run(kernel, 1, 1)


def test_a_foreign_function_takes_no_runtime_values():
    @triton.jit
    def kernel(out, n):
        tl.store(out, np.sqrt(n))

    with pytest.raises(ASTFrontendError, match="sqrt is not a function of the kernel language"):
        run(kernel, 1, 1)


def test_an_autotuned_kernel_is_not_called():
    @triton.autotune([triton.Config({})], key=[])
    @triton.jit
    def tuned(x):
        return x

    @triton.jit
    def kernel(out):
        tl.store(out, tuned(1))

    with pytest.raises(ASTFrontendError, match="tuned is wrapped in Autotuner"):
        run(kernel, 1)


def test_locals_shadow_builtins_and_modules():
    @triton.jit
    def kernel(out, input, n):
        sum = tl.sum(tl.load(input + tl.arange(0, 4)))
        max = sum + 1
        all = max * 2
        np = all - n
        range_ = 0
        for len in range(n):
            range_ += len
        tl.store(out, sum)
        tl.store(out + 1, max)
        tl.store(out + 2, np + range_)

    x = np.array([1, 2, 3, 4], np.int32)
    assert run(kernel, 3, x, 3) == [10, 11, 22]


def test_constexpr_parameters_are_rebound():
    @triton.jit
    def kernel(out, n, total: tl.constexpr, num_warps: tl.constexpr):
        total = max(total, 4)
        total = total * 2 if num_warps == 4 else total
        tl.store(out + tl.arange(0, total), num_warps)
        if n > 3:
            total = n
        tl.store(out, total)

    assert run(kernel, 8, 9, 2, num_warps=4) == [9, *[4] * 7]
    assert run(kernel, 8, 1, 2, num_warps=2) == [4, 2, 2, 2, 0, 0, 0, 0]


def test_scalar_methods_and_attributes():
    @triton.jit
    def kernel(out, x, n, eps, B: tl.constexpr):
        big = n.to(tl.int64) * 2
        small = B.to(tl.float32) / 4
        tl.static_assert(big.dtype == tl.int64 and eps.dtype == tl.float32)
        v = tl.load(x).to(tl.float32) + eps.to(tl.float32) + small
        tl.store(out, v.to(out.dtype.element_ty))
        tl.store(out + 1, big.to(out.type.element_ty))
        tl.store(out + 2, (B.value + 1))

    x = np.array([1.5], np.float16)
    assert run(kernel, 3, x, 3, 0.5, 8, dtype=np.float32) == [4.0, 6.0, 9.0]


def test_calls_spread_tuples():
    @triton.jit
    def kernel(out, n):
        shape = (n, 5)
        tl.store(out, clip(2, *shape))
        tl.store(out + 1, largest(*shape))

    assert run(kernel, 2, 3) == [3, 5]


def test_a_reduction_with_a_helper_called_through_a_helper():
    @triton.jit
    def reduce_with(x, f: tl.constexpr):
        return tl.reduce(x, 0, f)

    @triton.jit
    def kernel(out, x):
        v = tl.load(x + tl.arange(0, 8))
        tl.store(out, reduce_with(v, largest))
        a, b = tl.reduce((v, v * 2), 0, both)
        tl.store(out + 1, a)
        tl.store(out + 2, b)

    x = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.int32)
    assert run(kernel, 3, x) == [9, 31, 18]


@triton.jit
def both(a, b, c, d):
    total = a + c
    if b > d:
        top = b
    else:
        top = d
    return total, top


def test_calls_that_double_again_and_again_are_refused(module_from, monkeypatch):
    from mytriton.ir import builder

    monkeypatch.setattr(builder, "MOST_TRACED", 1_000)
    text = "@triton.jit\ndef f0(x):\n    return x\n"
    for k in range(1, 30):
        text += f"@triton.jit\ndef f{k}(x):\n    return f{k - 1}(f{k - 1}(x))\n"
    text += "@triton.jit\ndef kernel(out):\n    tl.store(out, f29(tl.load(out)))\n"
    with pytest.raises(
        triton.CompilationError, match="more than 1,000 operations and calls.*\n"
    ) as caught:
        module_from(text).kernel.compile(np.zeros(1))
    assert "f29(tl.load(out))" in str(caught.value)


def test_loops_unrolled_without_end_are_refused(kernel_from, monkeypatch):
    from mytriton.ir import builder

    monkeypatch.setattr(builder, "MOST_TRACED", 1_000)
    kernel = kernel_from(
        "def kernel(out):\n    for k in tl.static_range(99_999):\n        tl.store(out + k, k)\n"
    )
    with pytest.raises(triton.CompilationError, match="more than 1,000 operations"):
        kernel.compile(np.zeros(1))
