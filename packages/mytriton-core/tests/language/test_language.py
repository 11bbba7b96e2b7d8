"""What the functions and operators of the language accept, give and refuse."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl


def value_of(kernel_from, expression, *args, n=1, dtype=np.float32):
    names = ", ".join(f"a{i}" for i in range(len(args)))
    kernel = kernel_from(
        f"def kernel(out, {names}):\n    tl.store(out + tl.arange(0, {n}), {expression})\n"
    )
    out = np.zeros(n, dtype)
    kernel[(1,)](out, *args)
    return out


@pytest.mark.parametrize(
    ("expression", "args", "expected"),
    [
        ("a0 / a1", (7, 2), 3.5),
        ("a0 / 2", (7,), 3.5),
        ("1 / a0", (4,), 0.25),
        ("a0 / a1", (7.0, 2), 3.5),
        ("-a0", (3,), -3),
        ("+a0", (3,), 3),
        ("2 - a0", (5,), -3),
        ("a0 * 0.5", (3,), 1.5),
        ("tl.exp(0.0 * a0)", (3,), 1.0),
        ("tl.where(a0 < a1, a0, a1)", (3, 5), 3),
        ("tl.where(True, a0, 9)", (3,), 3),
        ("tl.maximum(a0, 4)", (3,), 4),
        ("tl.minimum(a0, 4)", (3,), 3),
        ("tl.maximum(1, 2) + a0", (3,), 5),
        ("(a0 & 6) + 0", (5,), 4),
        ("tl.sum(tl.arange(0, 8))", (), 28),
        ("tl.max(tl.arange(3, 11))", (), 10),
        ("tl.min(tl.arange(-2, 2))", (), -2),
        ("tl.sum(tl.arange(0, 4)[:, None] + tl.arange(0, 2)[None, :])", (), 16),
        ("tl.sum(tl.sum(tl.arange(0, 4)[:, None] * tl.arange(0, 2)[None, :], axis=1), axis=-1)", (), 6),
        ("triton.cdiv(7, 2) + a0", (0,), 4),
        ("float(3) + int(2.7) + len((1, 2)) + a0", (0,), 7),
        ("(1, 2, 3)[1] + a0", (0,), 2),
        ("3 if isinstance(a0, tl.tensor) else 4", (0,), 3),
    ],
)  # fmt: skip
def test_values(kernel_from, expression, args, expected):
    assert value_of(kernel_from, expression, *args)[0] == expected


@pytest.mark.parametrize(
    ("expression", "dtype", "expected"),
    [
        # A Python literal is weak: it does not widen what it meets.
        ("x + 1", "float16", "f16"), ("x * 2.0", "float16", "f16"), ("x + 1", "int8", "i8"),
        ("x + 1.5", "int8", "f32"), ("x + 1.5", "int64", "f32"), ("x * 2.0", "float64", "f64"),
        ("x + 1", "bool", "i32"), ("x + x", "bool", "bool"),
        # Division of 16-bit floats is in f32, of integers true division in f32.
        ("x / x", "float16", "f32"), ("x / 2", "float16", "f32"), ("x / x", "int32", "f32"),
        ("x / x", "int64", "f32"), ("x / x", "float64", "f64"),
        ("x + y", "float16", "f32"), ("x + y", "int32", "f32"), ("x + y", "float64", "f64"),
        # A runtime scalar is typed.
        ("x + s", "float16", "f16"), ("x + s", "int8", "i32"), ("x + s", "uint32", "u32"),
        ("x + s", "uint64", "u64"), ("x + s", "int64", "i64"),
        ("tl.exp(x)", "float16", "f16"), ("tl.exp(x)", "float64", "f64"), ("-x", "float16", "f16"),
        ("x < y", "float16", "bool"),
        ("tl.where(x < 1, x, 0)", "float16", "f16"), ("tl.where(x < 1, x, 0.0)", "int32", "f32"),
        ("tl.maximum(x, 0)", "float16", "f16"), ("tl.maximum(x, y)", "int16", "f32"),
        # Small types are widened before they are reduced.
        ("tl.sum(x)", "int8", "i32"), ("tl.sum(x)", "uint8", "u32"), ("tl.sum(x)", "bool", "u32"),
        ("tl.sum(x)", "float16", "f16"), ("tl.sum(x)", "int64", "i64"),
        ("tl.max(x)", "float16", "f32"), ("tl.max(x)", "int8", "i32"), ("tl.min(x)", "float64", "f64"),
    ],
)  # fmt: skip
def test_result_types(kernel_from, expression, dtype, expected):
    kernel = kernel_from(
        "def kernel(px, py, s, seen: tl.constexpr):\n"
        "    i = tl.arange(0, 4)\n    x = tl.load(px + i)\n    y = tl.load(py + i)\n"
        f"    seen({expression})\n"
    )
    found = []

    def seen(value):
        found.append(str(value.dtype))

    kernel.trace(np.zeros(4, dtype), np.zeros(4, np.float32), 3, seen)
    assert found == [expected]


REFUSED = {
    "exp of an int": ("tl.exp(a0)", "exp needs a floating-point operand, got i32"),
    "pointer minus pointer": (
        "tl.load(out - out)",
        "sub: cannot combine|offset must be an integer",
    ),
    "pointer times": ("out * 2", "mul: cannot combine ptr<f32> and 2"),
    "pointer plus pointer": ("tl.load(out + out)", "offset must be an integer|cannot combine"),
    "pointer plus float": ("tl.load(out + 1.5)", "addptr: the offset must be an integer, got f32"),
    "load of a number": ("tl.load(a0)", "load needs a pointer, got i32"),
    "shapes": (
        "tl.arange(0, 4) + tl.arange(0, 8)",
        r"add of vector<4 x i32> and vector<8 x i32>: shapes",
    ),
    "float mask": ("tl.load(out, mask=a0 * 1.0)", "the mask must be a bool .* got f32"),
    "other without mask": ("tl.load(out, other=1.0)", "load: other needs a mask"),
    "wide mask": (
        "tl.load(out, mask=tl.arange(0, 4) < 2)",
        "the mask .* does not broadcast to the pointer",
    ),
    "and of floats": ("(a0 * 1.0) & 1.0", "and needs integers or bools"),
    "bad axis": ("tl.program_id(3)", "axis must be an int from 0 to 2, got 3"),
    "runtime axis": ("tl.program_id(a0)", "axis of program_id must be a compile-time int"),
    "empty arange": ("tl.arange(4, 4)", "end must be larger than the start"),
    "reduction of 3": ("tl.sum(tl.arange(0, 3))", "power-of-two extent, got 3"),
    "reduction of a scalar": ("tl.sum(a0)", "sum needs a block, got i32"),
    "reduction axis": (
        "tl.sum(tl.arange(0, 4), axis=1)",
        "axis 1 is not an axis of vector<4 x i32>",
    ),
    "zeros of zero": ("tl.zeros((0,), tl.float32)", "positive int"),
    "zeros without dtype": ("tl.zeros((4,), float)", "dtype must be a dtype"),
    "block fill": ("tl.full((4,), tl.arange(0, 4), tl.int32)", "fill value must be a scalar"),
    "subscript of a scalar": ("a0[:, None]", "only blocks can be subscripted, got i32"),
    "element access": ("tl.arange(0, 4)[1]", "takes only ':' and None"),
    "too many colons": (
        "tl.arange(0, 4)[:, :]",
        "the subscript has 2 ':' but vector<4 x i32> has 1 axes",
    ),
    "unknown operator": ("a0 ** 2", r"unsupported operator '\*\*' on runtime values"),
    "literal out of range": ("tl.load(px) + 300", "the integer 300 does not fit in i8"),
    "string": ("a0 + 'x'", "a number or a runtime value is needed here, got 'x'"),
    "constant fault": ("1 / 0", "division by zero"),
    "unknown attribute": ("tl.sotre(out, 1)", "no attribute 'sotre'"),
    "unknown keyword": (
        "tl.load(out, msk=1)",
        r"argument 'msk' \(did you mean 'mask'\?\); parameters: pointer, mask, other",
    ),
    "condition": (
        "1 if tl.arange(0, 4) < 2 else 3",
        "only scalar conditions in IfExp are supported",
    ),
    "builtin": ("int(a0)", r"convert with .to\(tl.int32\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_operation_and_both_types_at_the_users_line(name, kernel_from):
    expression, message = REFUSED[name]
    kernel = kernel_from(f"def kernel(out, px, a0):\n    v = {expression}\n    tl.store(out, v)\n")
    with pytest.raises(TypeError, match=message) as caught:
        kernel[(1,)](np.zeros(4, np.float32), np.zeros(4, np.int8), 3)
    lines = str(caught.value).splitlines()
    assert ":6:" in lines[0]
    assert lines[1].strip() == f"v = {expression}"
    assert set(lines[2].strip()) == {"^"}


def test_functions_of_the_language_say_where_they_belong():
    with pytest.raises(RuntimeError, match="inside a @triton.jit kernel"):
        tl.program_id(0)


def test_a_macro_sees_symbolic_values_and_its_errors_are_located(kernel_from):
    kernel = kernel_from(
        "def kernel(out, n):\n    tl.store(out, helper(n))\n\n\n"
        "def helper(n):\n    if n < 3:\n        return 1\n    return 2\n"
    )
    with pytest.raises(TypeError, match="control flow over symbolic values"):
        kernel[(1,)](np.zeros(1), 3)


def test_stores_convert_to_the_pointee(kernel_from):
    for dtype in ("float16", "int8", "float64", "uint16"):
        assert value_of(kernel_from, "a0", 3, dtype=dtype)[0] == 3
        assert value_of(kernel_from, "3.0", dtype=dtype)[0] == 3
    np.testing.assert_array_equal(
        value_of(kernel_from, "tl.arange(0, 4)", n=4, dtype=bool), [0, 1, 1, 1]
    )


def test_pointer_minus_integer(kernel_from):
    kernel = kernel_from(
        "def kernel(out, n):\n    tl.store(out + n - 1, 5)\n    tl.store(out + 3 - n, 7)\n"
    )
    out = np.zeros(4, np.int32)
    kernel[(1,)](out, 2)
    np.testing.assert_array_equal(out, [0, 7, 0, 0])


def test_constexpr_globals_inside_macros(module_from):
    module = module_from(
        "F = tl.constexpr(3)\ndef macro(v):\n    return F * v + tl.where(v < F, F, v)\n"
        "@triton.jit\ndef kernel(out, n):\n    tl.store(out, macro(n))\n"
    )
    out = np.zeros(1, np.int32)
    module.kernel[(1,)](out, 2)
    assert out[0] == 9
    module.F = tl.constexpr(5)
    module.kernel[(1,)](out, 2)
    assert out[0] == 15


def test_constexpr_wraps_once():
    assert tl.constexpr(tl.constexpr(3)).value == 3
    assert tl.constexpr(3) == 3
    assert isinstance(triton.next_power_of_2(5), int)


@pytest.mark.parametrize(
    ("n", "expected"), [(0, 1), (1, 1), (2, 2), (3, 4), (1000, 1024), (1024, 1024)]
)
def test_next_power_of_2(n, expected):
    assert triton.next_power_of_2(n) == expected
