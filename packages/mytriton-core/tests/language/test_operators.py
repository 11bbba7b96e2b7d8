"""Operators on runtime values: C-like integers, comparisons, shifts, and the type each gives."""

import itertools
import operator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
SHORT = {"bool": "bool", "float16": "f16", "float32": "f32", "float64": "f64",
         **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
         **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)}}  # fmt: skip


def wrap(value, dtype):
    """An exact integer as ``dtype`` holds it."""
    info = np.iinfo(dtype)
    return (value - int(info.min)) % (1 << info.bits) + int(info.min)


def truncated(a, b):
    """The quotient of C."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXACT = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "//": truncated, "%": lambda a, b: a - b * truncated(a, b),
}  # fmt: skip


def edges(dtype):
    info = np.iinfo(dtype)
    values = {int(info.min), int(info.max), int(info.max) // 2, 0, 1, 2, 7}
    values |= {-1, -2, -7, int(info.min) + 1} if info.min else set()
    return st.one_of(st.sampled_from(sorted(values)), st.integers(int(info.min), int(info.max)))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("symbol", EXACT)
def test_integer_arithmetic_is_that_of_c(symbol, dtype, evaluate):
    pairs = st.tuples(edges(dtype), edges(dtype))

    @settings(
        max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(st.lists(pairs, min_size=16, max_size=16))
    def check(drawn):
        low = int(np.iinfo(dtype).min)
        if symbol in ("//", "%"):  # unspecified, and never a trap: see below
            drawn = [(a, b) if b != 0 and (a, b) != (low, -1) else (a, 3) for a, b in drawn]
        x, y = (np.array(v, dtype) for v in zip(*drawn, strict=True))
        got, ty = evaluate(f"x {symbol} y", x=x, y=y)
        assert ty == f"vector<16 x {SHORT[dtype]}>"
        want = [wrap(EXACT[symbol](a, b), dtype) for a, b in drawn]
        np.testing.assert_array_equal(got, np.array(want, dtype))

    check()


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("symbol", ["//", "%"])
def test_division_by_zero_and_overflow_give_zero_on_the_interpreter(symbol, dtype, evaluate):
    x = np.array([5, np.iinfo(dtype).min], dtype)
    y = np.array([0, -1 if dtype[0] == "i" else 0], dtype)
    np.testing.assert_array_equal(evaluate(f"x {symbol} y", x=x, y=y)[0], [0, 0])


@pytest.mark.parametrize("dtype", INTS)
def test_shifts(dtype, evaluate):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    x = rng.integers(info.min, info.max, 16, dtype, endpoint=True)
    n = rng.integers(0, info.bits, 16).astype(dtype)
    left, right = (evaluate(f"x {s} n", x=x, n=n)[0] for s in ("<<", ">>"))
    pairs = [(int(a), int(b)) for a, b in zip(x, n, strict=True)]
    np.testing.assert_array_equal(left, np.array([wrap(a << b, dtype) for a, b in pairs], dtype))
    np.testing.assert_array_equal(right, [a >> b for a, b in pairs])


def test_a_right_shift_copies_the_sign_of_its_left_operand(evaluate):
    x, n = np.array([-8, 8], np.int32), np.array([1, 1], np.uint32)
    got, ty = evaluate("x >> n", x=x, n=n)
    assert ty == "vector<2 x u32>"
    np.testing.assert_array_equal(got, [2**32 - 4, 4])
    np.testing.assert_array_equal(evaluate("n >> x", x=np.array([0, 1], np.int32), n=n)[0], [1, 0])


COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
               "==": np.equal, "!=": np.not_equal}  # fmt: skip


@pytest.mark.parametrize("dtype", [*INTS, *FLOATS, "bool"])
@pytest.mark.parametrize("symbol", COMPARISONS)
def test_comparisons(symbol, dtype, evaluate):
    values = np.array([0, 1, 1, 0], dtype)
    if dtype in FLOATS:
        values = np.array([0.0, -0.0, np.inf, np.nan], dtype)
    elif dtype != "bool":
        values = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 1, 2], dtype)
    x, y = np.repeat(values, 4), np.tile(values, 4)
    got, ty = evaluate(f"x {symbol} y", x=x, y=y)
    assert ty == "vector<16 x bool>"
    np.testing.assert_array_equal(got, COMPARISONS[symbol](x, y))


@pytest.mark.parametrize("symbol", COMPARISONS)
def test_comparisons_with_a_number_on_either_side(symbol, evaluate):
    x = np.array([-1, 0, 1, 2], np.int8)
    np.testing.assert_array_equal(evaluate(f"x {symbol} 1", x=x)[0], COMPARISONS[symbol](x, 1))
    np.testing.assert_array_equal(evaluate(f"1 {symbol} x", x=x)[0], COMPARISONS[symbol](1, x))


def test_unary_operators(evaluate):
    x = np.array([-128, -1, 0, 5], np.int8)
    np.testing.assert_array_equal(evaluate("-x", x=x)[0], [-128, 1, 0, -5])
    np.testing.assert_array_equal(evaluate("~x", x=x)[0], [127, 0, -1, -6])
    np.testing.assert_array_equal(evaluate("+x", x=x)[0], x)
    np.testing.assert_array_equal(evaluate("~(x < 0)", x=x)[0], [False, False, True, True])
    u = np.array([0, 1], np.uint16)
    np.testing.assert_array_equal(evaluate("-u", u=u)[0], [0, 65535])


def test_bools_are_bits(evaluate):
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for symbol, want in {"+": x ^ y, "*": x & y, "&": x & y, "|": x | y, "^": x ^ y}.items():
        got, ty = evaluate(f"x {symbol} y", x=x, y=y)
        assert ty == "vector<4 x bool>"
        np.testing.assert_array_equal(got, want)
    got, ty = evaluate("x + 1", x=x)
    assert ty == "vector<4 x i32>"
    np.testing.assert_array_equal(got, [1, 1, 2, 2])


def test_remainder_of_floats_takes_the_sign_of_the_left(evaluate):
    x, y = np.array([7.5, -7.5, 7.5, -7.5]), np.array([2.0, 2.0, -2.0, -2.0])
    np.testing.assert_array_equal(evaluate("x % y", x=x, y=y)[0], [1.5, -1.5, 1.5, -1.5])


# -- types ------------------------------------------------------------------------------------------

NUMBERS = ["bool", *INTS, *FLOATS, "bf16"]
RANK = {"bool": 0, **dict.fromkeys(INTS, 1), **dict.fromkeys([*FLOATS, "bf16"], 2)}


def met(a, b, division=False):
    """The promotion table of language.md, spelt out."""
    either = {a, b}
    if "float64" in either:
        return "float64"
    floats = either & {"float32", "float16", "bf16"}
    if floats:
        if division or "float32" in either:
            return "float32"
        if "float16" in either:
            return "float16"
        return "bf16" if either == {"bf16"} else "float32"
    bits = {"bool": 1, **{name: int(name.strip("uint")) for name in INTS}}
    if bits[a] != bits[b]:
        return a if bits[a] > bits[b] else b
    return a if a.startswith("u") or a == "bool" else b


def block(name):
    """The source of a block of ones of an element type, and its arguments."""
    return f"tl.full((2,), 1, tl.{ {'bool': 'int1', 'bf16': 'bfloat16'}.get(name, name) })"


@pytest.mark.parametrize("a", NUMBERS)
def test_two_runtime_values_meet_as_the_table_says(a, module_from):
    names = [(b, symbol) for b in NUMBERS for symbol in "+/"]
    body = "".join(f"    SEEN({block(a)} {symbol} {block(b)})\n" for b, symbol in names)
    kernel = module_from(f"@triton.jit\ndef kernel(SEEN: tl.constexpr):\n{body}").kernel
    seen = []
    kernel.trace(lambda value: seen.append(str(value.dtype)))
    for (b, symbol), got in zip(names, seen, strict=True):
        want = met(a, b, division=symbol == "/")
        if symbol == "/" and RANK[a] < 2 and RANK[b] < 2:
            want = "float32"  # true division
        assert got == SHORT.get(want, want), f"{a} {symbol} {b}"


LITERALS = {"True": "bool", "3": "int32", "0.5": "float32", "float('-inf')": "float32"}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_python_number_is_weak(name, module_from):
    cases = list(itertools.product(LITERALS, ("{x} * {v}", "{v} + {x}", "tl.where({x} != 0, {x}, {v})",
                                              "tl.maximum({x}, {v})")))  # fmt: skip
    body = "".join(
        f"    SEEN({form.format(x='x', v=value)})\n" for value, form in cases
    )  # fmt: skip
    kernel = module_from(
        f"@triton.jit\ndef kernel(SEEN: tl.constexpr):\n    x = {block(name)}\n{body}"
    ).kernel
    seen = []
    kernel.trace(lambda value: seen.append(str(value.dtype)))
    for (value, form), got in zip(cases, seen, strict=True):
        own = LITERALS[value]
        want = name if RANK[own] <= RANK[name] else met(name, own)
        assert got == SHORT.get(want, want), form.format(x=name, v=value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("f // 2", "'//' takes integers, got f32 and 2 (int); use tl.floor(x / y)"),
        ("3.0 // n", "'//' takes integers, got 3.0 (float) and i32"),
        ("n // u", "'//' of i32 and u32: a signed and an unsigned integer have no common quotient"),
        ("u % n", "'%' of u32 and i32: a signed and an unsigned integer"),
        ("(n < 3) % (n < 4)", "'%' takes integers, got bool and bool"),
        ("n ** 2", "unsupported operator '**' on runtime values; use x * x, tl.exp2"),
        ("2 ** n", "libdevice.pow(x, y)"),
        ("f | 1", "or needs integers or bools, got f32"),
        ("f << 1", "shl needs integers or bools"),
        ("~f", "not needs an integer or a bool, got f32"),
        ("-(n < 3)", "neg needs a number, got bool"),
        ("n + 2**40", "the integer 1099511627776 does not fit in i32"),
        ("u - (-1)", "the integer -1 does not fit in u32"),
        ("u < -1", "the integer -1 does not fit in u32"),
        (
            "p - p",
            "sub: cannot combine ptr<f32> and ptr<f32>; pointers cannot be added, subtracted or",
        ),
        ("p < p", "cmp_lt: cannot combine ptr<f32> and ptr<f32>; pointers cannot be"),
        ("p == 0", "cmp_eq: cannot combine ptr<f32> and 0 (int); only ptr + offset"),
        ("p * 2", "mul: cannot combine ptr<f32> and 2"),
        ("n - p", "sub: cannot combine i32 and ptr<f32>; only ptr + offset"),
        ("p + f", "addptr: the offset must be an integer, got f32"),
        ("n + 'x'", "a number or a runtime value is needed here, got 'x' (str)"),
        ("n + None", "a number or a runtime value is needed here, got None"),
    ],
)
def test_refusals(expression, message, module_from):
    kernel = module_from(
        f"@triton.jit\ndef kernel(p, n, f):\n    u = n.to(tl.uint32)\n    {expression}\n"
    ).kernel
    with pytest.raises(TypeError) as caught:
        kernel.trace(np.zeros(4, np.float32), 3, 1.5)
    assert message in caught.value.message
    assert caught.value.span.line == 7


def test_pointer_offsets_of_every_integer_type(module_from):
    module = module_from(
        "@triton.jit\ndef kernel(out, n):\n"
        "    u = n.to(tl.uint8)\n"
        "    tl.store(out + u, 1)\n"
        "    tl.store(out + 5 - u, 2)\n"
        "    tl.store(out + (n > 0), 3)\n"
        "    tl.store(n.to(tl.int64) + out + 1, 4)\n"
    )
    out = np.zeros(6, np.int32)
    module.kernel.with_backend("interpreter")[(1,)](out, 3)
    np.testing.assert_array_equal(out, [0, 3, 2, 1, 4, 0])


@pytest.mark.parametrize(
    "call", ["x * half", "tl.mul(x, half)", "tl.add(x, half)", "tl.sub(half, x)"]
)
def test_a_named_number_counts_alike_for_operators_and_functions(module_from, call):
    module = module_from(
        "@triton.jit\ndef kernel(p, out):\n    half = 0.5\n    x = tl.load(p)\n"
        f"    y = {call}\n    tl.static_assert(y.dtype == tl.float32)\n    tl.store(out, y)\n"
    )
    module.kernel[(1,)](np.ones(1, np.float16), np.zeros(1, np.float32))
