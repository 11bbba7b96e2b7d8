"""The two text forms: exact texts from the articles and the README."""

import math

import pytest

from mytriton.ir.expr import Param
from mytriton.ir.parser import parse
from mytriton.ir.printer import SSAPrinter, print_module
from mytriton.ir.types import BF16, BOOL, F32, I32, I64, BlockType, PointerType
from mytriton.ir.values import Constant, Region, SSAForRange, SSAFunction, SSAOp, SSAValue

X = Param("x", PointerType(F32))


def listing(*items):
    return SSAPrinter().print_ops(items)


def value(number, ty=F32):
    return SSAValue(number, ty)


def vector(n, ty):
    return BlockType((n,), ty)


def test_lines_of_the_articles():
    offsets = value(3, vector(256, I32))
    n = Param("n", I32)
    mask = value(5, vector(256, BOOL))
    pointers = value(4, vector(256, PointerType(F32)))
    lines = listing(
        SSAOp("arange", (), value(2, vector(256, I32)), {"start": 0, "end": 256}),
        SSAOp("addptr", (X, offsets), pointers),
        SSAOp("cmp_lt", (offsets, n), mask),
        SSAOp("load", (pointers, mask, Constant(0.0, F32)), value(6, vector(256, F32))),
        SSAOp("store", (pointers, value(6, vector(256, F32)), mask)),
    )
    assert lines.splitlines() == [
        "%2 = arange {start=0, end=256} : vector<256 x i32>",
        "%4 = addptr x, %3 : vector<256 x ptr<f32>>",
        "%5 = cmp_lt %3, n : vector<256 x bool>",
        "%6 = load %4, %5, 0.0 : vector<256 x f32>",
        "store %4, %6, %5",
    ]


def test_constructors_of_the_readme():
    eight = vector(8, F32)
    lines = listing(
        SSAOp("zeros", (), value(0, eight), {"shape": (8,), "dtype": F32}),
        SSAOp("full", (Constant(2.5, F32),), value(1, eight), {"shape": (8,), "dtype": F32}),
        SSAOp("expand_dims", (value(2),), value(3, BlockType((16, 1), I32)), {"axis": 1}),
    )
    assert lines.splitlines() == [
        "%0 = zeros {shape=(8,), dtype=f32} : vector<8 x f32>",
        "%1 = full 2.5 {shape=(8,), dtype=f32} : vector<8 x f32>",
        "%3 = expand_dims %2 {axis=1} : block<16x1 x i32>",
    ]


def test_nested_loops_of_part_10():
    def loop(result, index, stop, arg, initial, body, yielded):
        bounds = (Constant(0, I32), Param(stop, I32), Constant(1, I32))
        carried = ((initial,), (arg,))
        return SSAForRange(value(index, I32), *bounds, *carried, body, (yielded,), (result,))

    five = SSAOp("add", (value(4, I32), Constant(1, I32)), value(5, I32))
    inner = loop(value(6, I32), 3, "N", value(4, I32), value(2, I32), [five], value(5, I32))
    zero = Constant(0, I32)
    outer = loop(value(7, I32), 1, "M", value(2, I32), zero, [inner], value(6, I32))
    assert listing(outer).splitlines() == [
        "%7 = for %1 in range(0, M, 1) iter_args(%2 = 0) : i32 {",
        "  %6 = for %3 in range(0, N, 1) iter_args(%4 = %2) : i32 {",
        "    %5 = add %4, 1 : i32",
        "    yield %5",
        "  }",
        "  yield %6",
        "}",
    ]


def test_regions_of_an_operation():
    body = SSAOp("add", (value(1), value(2)), value(3))
    region = Region((value(1), value(2)), [body], (value(3),))
    item = SSAOp("test.reduce", (X,), value(4), {"axis": 0}, (region, Region((), [])))
    assert listing(item).splitlines() == [
        "%4 = test.reduce x {axis=0} : f32 {",
        "  args(%1: f32, %2: f32)",
        "  %3 = add %1, %2 : f32",
        "  yield %3",
        "} {",
        "}",
    ]


def test_the_branches_of_an_if_say_else():
    item = SSAOp("if", (Constant(True, BOOL),), None, {}, (Region((), []), Region((), [])))
    assert listing(item).splitlines() == ["if true {", "} else {", "}"]


@pytest.mark.parametrize(
    ("operands", "text"),
    [
        ((value(0), Constant(1.5, F32)), "%0, 1.5"),
        ((value(0), Constant(1, I64)), "%0, 1:i64"),
        ((value(0), Constant(math.nan, F32)), "%0, nan"),
        ((value(0), Constant(-0.0, F32)), "%0, -0.0"),
        ((value(0), Constant(-math.inf, F32)), "%0, -inf"),
        ((value(0), Constant(True, BOOL)), "%0, true:bool"),
        ((value(0), Constant(1.0, BF16)), "%0, 1.0:bf16"),
        ((value(0), None), "%0, none"),
        ((Param("nan", F32), Param("f", F32)), '"nan", f'),
    ],
)
def test_module_form_of_operands(operands, text):
    function = SSAFunction("f", (), [SSAOp("add", operands, value(9))])
    assert print_module(function) == f"kernel f() {{\n  %9 = add {text} : f32\n}}\n"


def test_the_listing_has_no_suffixes_and_no_quotes():
    operands = (Param("nan", F32), Constant(1, I64))
    assert listing(SSAOp("add", operands, value(9))) == "%9 = add nan, 1 : f32"


def test_a_mask_and_a_condition_imply_bool():
    function = parse(
        "kernel f(x: ptr<f32>) {\n"
        "  %0 = load x, true, 2.0 : f32\n"
        "  store x, 3.0, false\n"
        "  %1 = select true, 1.0, %0 : f32\n"
        "}\n"
    )
    assert function.body[0].operands[1:] == (Constant(True, BOOL), Constant(2.0, F32))
    assert function.body[1].operands[1:] == (Constant(3.0, F32), Constant(False, BOOL))
    assert function.body[2].operands[:2] == (Constant(True, BOOL), Constant(1.0, F32))


def test_deep_nests_print_without_recursion():
    body = []
    for k in range(2000):
        bounds = (Constant(0, I32), Constant(4, I32), Constant(1, I32))
        body = [SSAForRange(value(k, I32), *bounds, (), (), body, (), ())]
    assert print_module(SSAFunction("f", (), body)).count("for %") == 2000
