"""Numbers with a name have a type, in which their arithmetic wraps and rounds."""

from __future__ import annotations

import numpy as np
import pytest

from mytriton.errors import ASTFrontendError, CompilationError

INTS = (0, 1, -1, 7, -7, 12345, 2**31 - 1, -(2**31))
FLOATS = (0.1, -0.1, 1 / 3, 16777217.0, 3e38, 1e-30)


def computed(kernel_from, expression, a, b, dtype):
    """What ``expression`` of two named numbers gives when it is known while tracing."""
    kernel = kernel_from(
        f"def kernel(out):\n    a = {a!r}\n    b = {b!r}\n    tl.store(out, {expression})\n"
    )
    out = np.zeros(1, dtype)
    kernel.with_backend("interpreter")[(1,)](out)
    return out[0]


@pytest.mark.parametrize("op", ["+", "-", "*", "&", "|", "^"])
@pytest.mark.parametrize("a", INTS)
def test_ints_wrap(kernel_from, op, a):
    for b in INTS:
        with np.errstate(over="ignore"):
            want = eval(f"x {op} y", {"x": np.int32(a), "y": np.int32(b)})
        assert computed(kernel_from, f"a {op} b", a, b, np.int64) == want


@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
def test_floats_round(kernel_from, op):
    for a in FLOATS:
        for b in FLOATS:
            with np.errstate(over="ignore"):
                want = eval(f"x {op} y", {"x": np.float32(a), "y": np.float32(b)})
            found = computed(kernel_from, f"a {op} b", a, b, np.float64)
            assert found == np.float64(want)


@pytest.mark.parametrize(
    ("expression", "a", "want"),
    [
        ("a + 1", 2**31 - 1, -(2**31)),
        ("-a", -(2**31), -(2**31)),
        ("a << 20", 5000, np.int32(5000) << np.int32(20)),
        ("a + 2**31", 1, 2**31 + 1),  # a literal beyond i32 is of its own type
        ("a * 2", 2**40, 2**41),
        ("(a >> 20) * 4096 * 4096", 2**40, 2**44),  # and stays i64
        ("a", 2**31, 2**31),
        ("a == 7 and a < 8", 7, 1),
        ("a / 2", 7, 3),
        ("[4, 5, 6][a]", 2, 6),
    ],
)
def test_types_of_ints(kernel_from, expression, a, want):
    assert computed(kernel_from, expression, a, 0, np.int64) == want


def test_a_constant_is_rounded_where_it_gets_its_name(kernel_from):
    assert computed(kernel_from, "a", 0.1, 0, np.float64) == np.float64(np.float32(0.1))
    kernel = kernel_from(
        "def kernel(out):\n    a: tl.constexpr = 0.1\n    tl.store(out, a)\n"
        "    tl.store(out + 1, 0.1)\n"
    )
    out = np.zeros(2)
    kernel.with_backend("interpreter")[(1,)](out)
    assert out.tolist() == [0.1, 0.1]


def test_a_generator_is_what_it_is_with_runtime_values(kernel_from):
    body = "    for i in range({n}):\n        seed = seed * 1103515245 + 12345\n    tl.store(out, seed)\n"
    out = np.zeros(2, np.int32)
    known = kernel_from("def kernel(out, n):\n    seed = 12345\n" + body.format(n=4))
    runtime = kernel_from("def kernel(out, seed, n):\n" + body.format(n="n"))
    known.with_backend("interpreter")[(1,)](out, 4)
    runtime.with_backend("interpreter")[(1,)](out[1:], 12345, 4)
    seed = np.int32(12345)
    with np.errstate(over="ignore"):
        for _ in range(4):
            seed = seed * np.int32(1103515245) + np.int32(12345)
    assert out.tolist() == [seed, seed]


@pytest.mark.parametrize(
    "expression",
    ["3 ** 10**9", "a ** 10**9", "1 << 10**9", "a << 10**9", "'x' * 10**10", "(1,) * 10**10"],
)
def test_what_would_take_all_time_or_memory_is_refused(kernel_from, expression):
    kernel = kernel_from(
        f"def kernel(out):\n    a = 3\n    x = {expression}\n    tl.store(out, 1)\n"
    )
    with pytest.raises(ASTFrontendError, match=r":9: .*(fits in no type|more than a kernel holds)"):
        kernel.compile(np.zeros(1))


def test_an_int_of_no_type_is_refused_where_it_is_used(kernel_from):
    unused = "def kernel(out):\n    a = 1 << 70\n    tl.store(out, {})\n"
    kernel_from(unused.format(1)).compile(np.zeros(1, np.int64))
    with pytest.raises(CompilationError, match="does not fit"):
        kernel_from(unused.format("a")).compile(np.zeros(1, np.int64))


@pytest.mark.parametrize(
    ("expression", "a", "want"),
    [
        ("abs(a) + 1", 2**31 - 1, -(2**31)), ("abs(a)", -(2**31), -(2**31)),
        ("sum((a, a))", 2**31 - 1, -2), ("sum([a, 0]) // 2", -7, -3), ("sum((a,), a)", 3, 6),
        ("pow(a, 2)", 2**31 - 1, 1), ("divmod(a, 2)[0]", -7, -3), ("divmod(a, 2)[1]", -7, -1),
        ("int(a) + 1", 2**31 - 1, -(2**31)), ("abs(a) // -2", -7, -3), ("max(a, 1) + 1", 2**31 - 1, -(2**31)),
        ("round(a) + 1", 2**31 - 1, -(2**31)), ("len((a, a))", 5, 2), ("int(a == 7) + 1", 7, 2), ("(a == 7) + (a > 3)", 7, 2),
    ],
)  # fmt: skip
def test_builtins_keep_the_type(kernel_from, expression, a, want):
    assert computed(kernel_from, expression, a, 0, np.int64) == want


@pytest.mark.parametrize("expression", ["abs(a) * 3", "-a * 3", "sum((-a, -a, -a))"])
def test_builtins_of_floats_round(kernel_from, expression):
    a = np.float32(-0.1)
    want = -a + -a + -a if "sum" in expression else -a * np.float32(3)
    assert computed(kernel_from, expression, -0.1, 0, np.float64) == np.float64(want)


@pytest.mark.parametrize("body", ["a = True", "a: tl.constexpr = True", "a = 1 < 2"])
def test_inverting_a_known_bool_is_refused(kernel_from, body):
    kernel = kernel_from(
        f"def kernel(out):\n    {body}\n    tl.store(out + tl.arange(0, 4), 1, mask=~a)\n"
    )
    with pytest.raises(ASTFrontendError, match="~True is -2 in Python, which is true; write not"):
        kernel.compile(np.zeros(4))
