"""Assignment, assert, raise, f-strings, comprehensions, subscripts, attributes."""

import ast
import sys

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ASTFrontendError
from mytriton.frontend import refusals
from mytriton.frontend.tracer import Tracer


def run(kernel, n_out, *args, dtype=np.int32, grid=(1,), **kwargs):
    out = np.zeros(n_out, dtype)
    kernel.with_backend("interpreter")[grid](out, *args, **kwargs)
    return out.tolist()


def test_tuples_nest_star_and_swap():
    @triton.jit
    def kernel(out, n):
        a, (b, c) = n, (2, 3)
        a, b = b, a
        first, *rest = (a, b, c)
        [x, y] = rest
        s = t = x + 1
        u: tl.int32 = s + t
        tl.store(out, first)
        tl.store(out + 1, x)
        tl.store(out + 2, y)
        tl.store(out + 3, u)

    assert run(kernel, 4, 10) == [2, 10, 3, 22]


def test_every_augmented_operator():
    @triton.jit
    def kernel(out, n):
        a = n
        a += 3
        a -= 1
        a *= 5
        a //= 2
        a %= 11
        a <<= 3
        a >>= 1
        a |= 1
        a ^= 7
        a &= 62
        b = a * 1.0
        b /= 4
        tl.store(out, a)
        tl.store(out + 1, b)

    a = 10
    a = (a + 3 - 1) * 5 // 2 % 11
    a = (((a << 3 >> 1) | 1) ^ 7) & 62
    assert run(kernel, 2, 10, dtype=np.float32) == [a, a / 4]


def test_rebinding_pointers_and_offsets():
    @triton.jit
    def kernel(x_ptr, out_ptr, stride, n, B: tl.constexpr):
        row = tl.program_id(0)
        x_ptr += row * stride
        out_ptr = out_ptr + row * n
        cols = tl.arange(0, B)
        mask = cols < n
        tl.store(out_ptr + cols, tl.load(x_ptr + cols, mask, 0.0) * 2, mask)

    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    out = np.zeros((3, 5), np.float32)
    kernel.with_backend("interpreter")[(3,)](x, out, 8, 5, B=8)
    np.testing.assert_array_equal(out, x[:, :5] * 2)


def test_assert_on_known_and_runtime_values():
    @triton.jit
    def kernel(out, n, B: tl.constexpr):
        assert B == 4, f"B is {B}"
        assert n >= 0
        tl.store(out, B)

    assert run(kernel, 1, 1, 4) == [4]
    with pytest.raises(ASTFrontendError, match="assertion failed: B is 5"):
        run(kernel, 1, 1, 5)


def test_raise_in_a_static_branch():
    @triton.jit
    def kernel(out, KIND: tl.constexpr):
        if KIND == "good":
            tl.store(out, 1)
        else:
            raise ValueError(f"unknown kind {KIND!r}")

    assert run(kernel, 1, "good") == [1]
    with pytest.raises(ASTFrontendError, match="ValueError: unknown kind 'bad'"):
        run(kernel, 1, "bad")


def test_raise_under_a_runtime_condition_is_refused():
    @triton.jit
    def kernel(out, n):
        if n > 0:
            raise ValueError("positive")
        tl.store(out, n)

    with pytest.raises(ASTFrontendError, match="raise would depend on a runtime value"):
        run(kernel, 1, 1)


def test_f_strings_show_values_and_types():
    @triton.jit
    def kernel(out, x, B: tl.constexpr, NAME: tl.constexpr):
        v = tl.load(x + tl.arange(0, B))
        tl.static_assert(
            f"{NAME}-{B:03d}-{NAME!r}-{v.dtype}" == "k-008-'k'-f32" or v.dtype != tl.float32
        )
        tl.static_assert(f"{B + 1}{'' if B else 'x'}" == "9", f"got {B}")
        tl.store(out, 1)

    assert run(kernel, 1, np.zeros(8, np.float32), 8, "k") == [1]


def test_static_assert_names_its_message():
    @triton.jit
    def kernel(out, B: tl.constexpr):
        tl.static_assert(B % 2 == 0, f"B must be even, not {B}")
        tl.store(out, B)

    with pytest.raises(ASTFrontendError, match="B must be even, not 3"):
        run(kernel, 1, 3)


def test_static_assert_in_a_helper_under_a_runtime_branch_is_checked():
    @triton.jit
    def helper(B: tl.constexpr):
        tl.static_assert(B < 10, "too big")
        return B

    @triton.jit
    def kernel(out, n, B: tl.constexpr):
        x = 0
        if n > 0:
            x = helper(B)
        tl.store(out, x)

    assert run(kernel, 1, 1, 4) == [4]
    with pytest.raises(ASTFrontendError, match="too big"):
        run(kernel, 1, 1, 40)


def test_docstrings_pass_annotations_and_comments():
    @triton.jit
    def kernel(
        out,  # the result
        n: "tl.int32",
        B: "tl.constexpr" = 4,
    ):
        """What it does.

        More of it.
        """
        "another string"
        x: tl.int32
        pass  # noqa: PIE790
        if B == 4:
            pass
        ...  # noqa: PIE790
        x = n  # type: ignore
        tl.store(out, x)
        return

    assert run(kernel, 1, 3) == [3]


def test_subscripts_of_tuples_strings_and_shapes():
    @triton.jit
    def kernel(out, NAMES: tl.constexpr):
        x = tl.zeros((4, 8), tl.float32)
        tl.store(out, x.shape[0])
        tl.store(out + 1, x.shape[1] * len(x.shape))
        tl.store(out + 2, len(NAMES[1]) + len(NAMES[1:][0]) + len(NAMES[-1]))
        y = (tl.arange(0, 4) < 2)[:, None] & (tl.arange(0, 2) < 1)[None, :]
        tl.store(out + 3, tl.sum(tl.sum(y.to(tl.int32), 1), 0))

    assert run(kernel, 4, ("a", "bcd")) == [4, 16, 9, 2]


def test_a_bare_return_ends_the_kernel():
    @triton.jit
    def kernel(out, STOP: tl.constexpr):
        tl.store(out, 1)
        if STOP:
            return
        tl.store(out, 2)
        return
        tl.store(out, nonsense)  # noqa: F821

    assert run(kernel, 1, True) == [1]
    assert run(kernel, 1, False) == [2]


def test_a_kernel_returns_no_value():
    @triton.jit
    def kernel(out):
        return out

    with pytest.raises(ASTFrontendError, match="a kernel returns nothing"):
        run(kernel, 1)


def test_every_refusal_says_what_to_write_instead():
    kinds = {k.__name__ for base in (ast.stmt, ast.expr) for k in base.__subclasses__()}
    # Read where they stand: under index, f-string and starred argument; or from before Python 3.9.
    elsewhere = {"Slice", "FormattedValue", "Num", "Str", "Bytes", "NameConstant", "Ellipsis"}
    lacking = {k for k in kinds - elsewhere if not hasattr(Tracer, f"visit_{k}")}
    assert lacking >= {"Match", "Yield", "ClassDef"} or sys.version_info < (3, 10)
    assert {k for k in lacking if not refusals.HINTS.get(k, "").startswith("; ")} == set()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("out[0] = 1", "only assignment to a simple name is supported"),
        ("out.x = 1", "only assignment to a simple name is supported"),
        ("a, b = n", "a runtime value of i32 cannot be unpacked into 2 names"),
        ("a, b = 1, 2, 3", "3 values cannot be unpacked into 2 names"),
        ("a, *b, c = (1,)", "1 values cannot be unpacked into 3 names"),
        ("f = lambda x: x", "unsupported AST node: Lambda"),
        ("import os", "unsupported AST node: Import; import at the top"),
        ("global m", "unsupported AST node: Global"),
        ("del n", "unsupported AST node: Delete"),
        ("d = {'a': 1}", "unsupported AST node: Dict"),
        ("if (m := n) > 0:\n        pass", "unsupported AST node: NamedExpr"),
        ("with n:\n        pass", "unsupported AST node: With"),
        ("try:\n        pass\n    except E:\n        pass", "unsupported AST node: Try"),
        ("def f():\n        pass", "unsupported AST node: FunctionDef"),
        ("class A:\n        pass", "unsupported AST node: ClassDef; define classes outside"),
        ("yield n", "unsupported AST node: Yield; a kernel gives results through memory"),
        (
            "match n:\n        case 1:\n            pass",
            "unsupported AST node: Match; write if, elif",
        ),
        ("for i in range(n):\n        pass\n    else:\n        pass", "after the loop"),
        ("x = [i for i in n]", "a list comprehension needs a tuple"),
        ("x = [i for i in (1, 2) if n > i]", "must be known at compile time"),
        ("x = [i + j for i in (1, 2) for j in (3,)]", "only one 'for'"),
        ("x = sum(i for i in (1, 2))", "unsupported AST node: GeneratorExp"),
        ("for i in n:\n        pass", "only loops over range"),
        ("for i in range(n) :\n        i = 2", "cannot assign to loop induction variable 'i'"),
        ("for i in range(0, n, 0):\n        pass", "range step must not be zero"),
        ("for i in range(1.5):\n        pass", "range stop must be an integer, got 1.5"),
        ("for i in tl.static_range(n):\n        pass", "tl.static_range needs compile-time ints"),
        ("for i in range(1, 2, 3, 4):\n        pass", "range takes 1 to 3 arguments"),
        ("for i in tl.range(n, oops=3):\n        pass", "range has no argument 'oops'"),
        ("x = tl.range(n)", "only stands in the head of a for loop"),
        ("x: tl.constexpr = n", "a tl.constexpr needs a compile-time value"),
        ("x = tl.constexpr(n)", "tl.constexpr needs a compile-time value"),
        ("x = n in (1, 2)", "'in' only takes compile-time values"),
        ("x = 1 < n & n < 5", "wrap each comparison in parentheses"),
        ("x = (1, 2)[5]", "tuple index out of range"),
        ("x = 1 / 0", "division by zero"),
        ("n()", "is not callable"),
        ("x = len(out)", "of an array, pass the length as an argument"),
        ("x = out.shape[0]", "an array is a pointer in a kernel, without length and shape; pass"),
        ("x = out.size", "no attribute 'size': an array is a pointer in a kernel"),
        ("x = out.strides[0]", "no attribute 'strides': an array is a pointer in a kernel"),
        ("x = tl.sum(out)", "got ptr<i32>; tl.load what it points to"),
        ("x = n.foo", "'foo'"),
        ("x = tl.foo(n)", "'foo'"),
        ("x = -out", "number"),
        ("x = n @ n", "tl.dot"),
        ("x = min(*n)", r"only a tuple can follow \*"),
        ("x = min(**n)", r"only a dict can follow \*\*"),
        ("async_ = await_", "name 'await_' is not defined"),
    ],
)
def test_what_the_language_lacks(kernel_from, statement, message):
    kernel = kernel_from(f"def kernel(out, n):\n    {statement}\n    tl.store(out, 1)\n")
    with pytest.raises((TypeError, NameError), match=message) as error:
        run(kernel, 1, 1)
    assert error.value.span is not None
    assert "kernels_" in str(error.value) and "^" in str(error.value)
