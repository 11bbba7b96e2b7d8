"""Constant folding and algebraic rules, on parsed SSA."""

import struct

import pytest

from mytriton.errors import OpRuleError
from mytriton.ir.parser import parse
from mytriton.ir.printer import print_module
from mytriton.ir.registry import OpDef, register, unregister
from mytriton.ir.types import F32, I32
from mytriton.ir.values import Constant
from mytriton.transforms.fold import Fold
from mytriton.verify import verify

PARAMS = "out: ptr<f32>, i: i32, u: u32, l: i64, v: f32, d: f64, h: f16, b: bool"
BLOCKS = ["%90 = zeros {shape=(4,), dtype=f32} : vector<4 x f32>",
          "%91 = arange {start=0, end=4} : vector<4 x i32>"]  # fmt: skip


def kernel(*lines):
    return parse("\n".join([f"kernel f({PARAMS}) {{", *BLOCKS, *lines, "}"]))


def fold(*lines):
    function = kernel(*lines)
    verify(function)
    after = Fold().run(function)
    verify(after)
    assert Fold().run(after) is after
    return [line.strip() for line in print_module(after).splitlines()[1 + len(BLOCKS) : -1]]


def result_of(operation, ty):
    """What ``operation`` folds to: the text of the operand that replaces it, or ``None``."""
    lines = fold(f"%0 = {operation} : {ty}", f"%1 = test.use %0 : {ty}")
    if len(lines) == 2:
        return None
    return lines[0].removeprefix("%1 = test.use ").rsplit(" : ", 1)[0]


@pytest.fixture(autouse=True)
def use():
    yield register(
        OpDef("test.use", ("value",), lambda types, attrs: types[0], None, "Keeps a value.")
    )
    unregister("test.use")


@pytest.mark.parametrize(
    ("operation", "ty", "expected"),
    [
        ("add 2147483647, 1", "i32", "-2147483648"),
        ("sub -2147483648, 1", "i32", "2147483647"),
        ("mul 65536, 65536", "i32", "0"),
        ("mul 65536, 65536", "i64", "4294967296"),
        ("sub 0, 1", "u32", "4294967295"),
        ("add 9223372036854775807, 1", "i64", "-9223372036854775808"),
        ("add 18446744073709551615, 1", "u64", "0"),
        ("mul 9007199254740993, 1", "i64", "9007199254740993"),
        ("add 200, 100", "u8", "44"),
        ("div 7, -2", "i32", "-3"),
        ("div -7, 2", "i32", "-3"),
        ("div 7, 2", "i32", "3"),
        ("neg -2147483648", "i32", "-2147483648"),
        ("and 12, 10", "i32", "8"),
        ("add true, true", "bool", "false"),
        ("cmp_lt 1:i32, 2:i32", "bool", "true"),
        ("cmp_lt nan:f32, 2.0:f32", "bool", "false"),
        ("cmp_lt -0.0:f32, 0.0:f32", "bool", "false"),
        ("add 1:i32, 2.5:f32", "f32", "3.5"),
        ("add 0.1, 0.2", "f32", "0.3"),  # float32: 0.1 + 0.2 rounds to what 0.3 rounds to
        ("add 0.1, 0.2", "f64", "0.30000000000000004"),
        ("add 16777216.0, 1.0", "f32", "16777216.0"),
        ("add 2048.0, 1.0", "f16", "2048.0"),
        ("add 256.0, 1.0", "bf16", "256.0"),
        ("exp 1000.0", "f32", "inf"),
        ("exp 0.0", "f32", "1.0"),
        ("mul 1e+30, 1e+30", "f32", "inf"),
        ("div 1.0, 0.0", "f32", "inf"),
        ("div 1.0, -0.0", "f32", "-inf"),
        ("div 0.0, 0.0", "f64", None),
        ("neg 0.0", "f32", "-0.0"),
        ("neg -0.0", "f32", "0.0"),
        ("neg nan", "f32", "nan(0xfff8000000000000)"),
        ("add -0.0, 0.0", "f32", "0.0"),
        ("add -0.0, -0.0", "f32", "-0.0"),
        ("maximum -0.0, 0.0", "f32", "0.0"),
        ("maximum 0.0, -0.0", "f32", "-0.0"),
        ("minimum 3, -3", "i32", "-3"),
        ("select true, 1.0, nan", "f32", "1.0"),
        ("cast 2.9:f32 {dtype=i32}", "i32", "2"),
        ("cast -1:i32 {dtype=u8}", "u8", "255"),
        ("cast 0.1:f64 {dtype=f32}", "f32", "0.1"),
        ("cast 0.5:f32 {dtype=bool}", "bool", "true"),
    ],
)
def test_constants(operation, ty, expected):
    result = result_of(operation, ty)
    if expected is None:
        assert result.startswith("nan")
    else:
        assert result.removesuffix(f":{ty}") == expected


@pytest.mark.parametrize(
    ("operation", "ty"),
    [
        ("div 7, 0", "i32"),
        ("div 0, 0", "u8"),
        ("div -2147483648, -1", "i32"),
        ("cast 1e+30:f32 {dtype=i32}", "i32"),
        ("cast nan:f32 {dtype=i32}", "i32"),
    ],
)
def test_unspecified_results_are_left_alone(operation, ty):
    assert result_of(operation, ty) is None


@pytest.mark.parametrize(
    ("operation", "ty", "expected"),
    [
        ("add i, 0", "i32", "i"),
        ("add 0, i", "i32", "i"),
        ("add v, -0.0", "f32", "v"),
        ("add -0.0, v", "f32", "v"),
        ("sub i, 0", "i32", "i"),
        ("sub v, 0.0", "f32", "v"),
        ("mul i, 1", "i32", "i"),
        ("mul 1.0, v", "f32", "v"),
        ("mul i, 0", "i32", "0"),
        ("mul v, 1:i32", "f32", "v"),
        ("div v, 1.0", "f32", "v"),
        ("div i, 1", "i32", "i"),
        ("and i, i", "i32", "i"),
        ("and i, 0", "i32", "0"),
        ("and i, -1", "i32", "i"),
        ("and -1:i32, u", "u32", "u"),
        ("and b, true", "bool", "b"),
        ("and l, -1:i32", "i64", "l"),
        ("maximum v, v", "f32", "v"),
        ("minimum i, i", "i32", "i"),
        ("select true, v, 2.0", "f32", "v"),
        ("select false, v, 2.0", "f32", "2.0"),
        ("select b, v, v", "f32", "v"),
        ("select true, %90, nan", "vector<4 x f32>", "%90"),
        ("cast v {dtype=f32}", "f32", "v"),
        ("add %91, 0:i32", "vector<4 x i32>", "%91"),
        ("mul %90, 1.0", "vector<4 x f32>", "%90"),
    ],
)
def test_algebra(operation, ty, expected):
    assert result_of(operation, ty).removesuffix(f":{ty}") == expected


@pytest.mark.parametrize(
    ("operation", "ty"),
    [
        ("add v, 0.0", "f32"),  # -0.0 + 0.0 is 0.0
        ("add v, 0:i32", "f32"),  # converts to 0.0
        ("sub v, -0.0", "f32"),
        ("sub 0, i", "i32"),
        ("mul v, 0.0", "f32"),  # NaN, infinities and the sign of zero
        ("div h, 1.0", "f32"),  # another type
        ("div 1, i", "i32"),
        ("mul %91, 0:i32", "vector<4 x i32>"),  # a block is not replaced by a scalar
        ("and %91, 0:i32", "vector<4 x i32>"),
        ("add i, %91", "vector<4 x i32>"),
        ("add %90, 0.0", "vector<4 x f32>"),
        ("mul i, 1.0:f32", "f32"),  # i is no f32
        ("and i, true:bool", "i32"),  # keeps the lowest bit only
        ("and l, 4294967295:u32", "i64"),  # clears the upper half
        ("select true, v, %90", "vector<4 x f32>"),
        ("cast v {dtype=f64}", "f64"),
        ("maximum v, 0.0", "f32"),
        ("full 2.5:f32 {shape=(4,), dtype=f32}", "vector<4 x f32>"),
        ("zeros {shape=(4,), dtype=f32}", "vector<4 x f32>"),
        ("sum %90", "f32"),
        ("neg v", "f32"),
    ],
)
def test_what_is_not_the_same(operation, ty):
    assert result_of(operation, ty) is None


def test_chains_fold_in_one_run():
    assert fold(
        "%0 = add 1, 2 : i32", "%1 = mul %0, %0 : i32", "%2 = sub %1, 9 : i32",
        "%3 = add i, %2 : i32", "%4 = test.use %3 : i32",
    ) == ["%4 = test.use i : i32"]  # fmt: skip


def test_folding_reaches_into_regions_and_their_yields():
    assert fold(
        "%0 = add 1.0, 2.0 : f32",
        "%9 = for %1 in range(0, i, 1) iter_args(%2 = %0) : f32 {",
        "  %3 = mul %0, 2.0 : f32",
        "  %4 = add %2, %3 : f32",
        "  %5 = mul %4, 1.0 : f32",
        "  yield %5",
        "}",
        "store out, %9, none",
    ) == [
        "%9 = for %1 in range(0, i, 1) iter_args(%2 = 3.0) : f32 {",
        "%4 = add %2, 6.0 : f32",
        "yield %4",
        "}",
        "store out, %9, none",
    ]


def test_carried_values_are_not_constants():
    assert (
        fold(
            "%9 = for %1 in range(0, i, 1) iter_args(%2 = 1.0) : f32 {",
            "  %3 = add %2, 2.0 : f32",
            "  yield %3",
            "}",
            "store out, %9, none",
        )[1]
        == "%3 = add %2, 2.0 : f32"
    )


def test_carried_values_that_never_change_are_their_initial_value():
    assert fold(
        "%8, %9 = for %1 in range(0, i, 1) iter_args(%2 = 1.0, %3 = 0.0) : f32, f32 {",
        "  %4 = add %3, %2 : f32",
        "  yield %2, %4",
        "}",
        "store out, %8, none",
        "store out, %9, none",
    ) == [
        "%8, %9 = for %1 in range(0, i, 1) iter_args(%2 = 1.0, %3 = 0.0) : f32, f32 {",
        "%4 = add %3, 1.0 : f32",
        "yield 1.0, %4",
        "}",
        "store out, 1.0, none",
        "store out, %9, none",
    ]


def test_swapped_values_are_not_invariant():
    text = [
        "%8, %9 = for %1 in range(0, i, 1) iter_args(%2 = 1.0, %3 = 0.0) : f32, f32 {",
        "yield %3, %2",
        "}",
        "store out, %8, none",
        "store out, %9, none",
    ]
    assert fold(*text) == text


@pytest.mark.parametrize("bounds", ["0, 0", "5, 3", "0, -1"])
def test_loops_without_trips_give_their_initial_values(bounds):
    assert fold(
        f"%9 = for %1 in range({bounds}, 1) iter_args(%2 = v) : f32 {{",
        "  store out, %2, none",
        "  %3 = add %2, 1.0 : f32",
        "  yield %3",
        "}",
        "store out, %9, none",
    ) == ["store out, v, none"]


def test_loops_that_run_stay():
    assert len(fold("for %1 in range(0, 1, 1) {", "store out, v, none", "}")) == 3


def test_nothing_to_do_is_the_same_object():
    function = kernel(
        "%0 = add v, 1.0 : f32", "for %1 in range(0, i, 1) {", "store out, %0, none", "}"
    )
    assert Fold().run(function) is function


def test_the_input_is_not_changed():
    function = kernel(
        "%0 = add 1.0, 1.0 : f32", "for %1 in range(0, i, 1) {", "store out, %0, none", "}"
    )
    text = print_module(function)
    Fold().run(function)
    assert print_module(function) == text


def test_signs_of_nan_survive():
    negative = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000000))[0]
    assert result_of("neg nan(0xfff8000000000000)", "f32") == "nan"
    assert Constant(negative, F32) != Constant(float("nan"), F32)


def test_a_rule_that_offers_another_type_is_not_followed():
    zero = Constant(0, I32)
    register(
        OpDef("test.bad", ("a",), lambda types, attrs: types[0], None, "", fold=lambda op: zero)
    )
    try:
        assert result_of("test.bad v", "f32") is None
        assert result_of("test.bad i", "i32") == "0"
    finally:
        unregister("test.bad")


def test_unknown_operations_are_left_alone():
    function = kernel("acme.thing 1:i32")
    assert Fold().run(function) is function


def test_rules_that_refuse_or_fail_leave_the_operation_alone():
    def refuse(op):
        raise OpRuleError("not today")

    def overflow(ev, a):
        raise OverflowError

    register(
        OpDef(
            "test.bad", ("a",), lambda types, attrs: types[0], overflow, "",
            elementwise=True, fold=refuse,
        )
    )  # fmt: skip
    try:
        assert result_of("test.bad 1.0", "f32") is None
    finally:
        unregister("test.bad")
