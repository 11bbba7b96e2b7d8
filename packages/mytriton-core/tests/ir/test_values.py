"""SSA values, items and their comparison."""

import math

import pytest

from mytriton.ir.compare import attributes_key
from mytriton.ir.expr import Param
from mytriton.ir.parser import parse
from mytriton.ir.types import F32, F64, I32
from mytriton.ir.values import (
    Constant,
    Region,
    SSAForRange,
    SSAFunction,
    SSAOp,
    SSAValue,
    next_id,
    operand_type,
    walk,
)


def op(**more):
    fields = {"opcode": "neg", "operands": (SSAValue(0, F32),), "result": SSAValue(1, F32)}
    return SSAOp(**{**fields, **more})


def nest(depth, leaf="neg"):
    body = [SSAOp(leaf, (Constant(1.0, F32),), SSAValue(depth, F32))]
    for k in range(depth):
        bounds = (Constant(0, I32), Constant(4, I32), Constant(1, I32))
        body = [SSAForRange(SSAValue(k, I32), *bounds, (), (), body, (), ())]
    return body


def test_constants_are_equal_by_type_and_bits():
    assert Constant(math.nan, F32) == Constant(math.nan, F32)
    assert Constant(0.0, F32) != Constant(-0.0, F32)
    assert Constant(1.0, F32) != Constant(1.0, F64)
    assert Constant(1, I32) != 1
    assert len({Constant(math.nan, F32), Constant(math.nan, F32)}) == 1


def test_constants_take_their_type():
    assert Constant(2**31, I32).value == -(2**31)
    assert Constant(1e-60, F32).value == 0.0
    assert repr(Constant(1.0, F32)) == "Constant(1.0, f32)"


def test_values():
    value = SSAValue(3, F32)
    assert value == SSAValue(3, F32) and hash(value) == hash(SSAValue(3, F32))
    assert value != SSAValue(3, I32) and value != SSAValue(4, F32) and value != 3
    assert repr(value) == "SSAValue(id=3, ty=f32)" and str(value) == "%3"


def test_types_of_operands():
    assert operand_type(None) is None
    assert operand_type(Constant(1, I32)) == I32
    assert operand_type(Param("x", F32)) == F32


@pytest.mark.parametrize(
    "change",
    [
        {"opcode": "exp"},
        {"operands": (SSAValue(2, F32),)},
        {"operands": ()},
        {"result": SSAValue(2, F32)},
        {"result": None},
        {"attrs": {"axis": 0}},
        {"regions": (Region((), []),)},
    ],
)
def test_operations_differ_by_every_field(change):
    assert op() == op()
    assert op() != op(**change)


def test_spans_take_no_part():
    assert op(span="here") == op(span="there")


def test_attributes_are_compared_by_type_and_bits():
    nan = op(attrs={"a": math.nan})
    assert nan == op(attrs={"a": float("nan")})
    assert op(attrs={"a": 0.0}) != op(attrs={"a": -0.0})
    assert op(attrs={"a": 1}) != op(attrs={"a": True})
    assert op(attrs={"a": (1, 2)}) != op(attrs={"a": (1, 2.0)})
    assert op(attrs={"a": 1}) != op(attrs={"b": 1})
    assert op(attrs={"a": 1, "b": 2}) == op(attrs={"b": 2, "a": 1})
    assert attributes_key({"a": 1, "b": 2}) == attributes_key({"b": 2, "a": 1})


@pytest.mark.parametrize(
    "other",
    [
        Region((SSAValue(1, F32),), []),
        Region((), [], (SSAValue(1, F32),)),
        Region((), [op()]),
        7,
    ],
)
def test_regions(other):
    assert Region((), []) == Region((), [])
    assert Region((), []) != other
    assert op(regions=(Region((), []),)) != op(regions=(other,)) if other != 7 else True


def test_a_loop_is_no_operation():
    assert nest(1)[0] != op()
    assert op() != nest(1)[0]


def test_functions():
    one = SSAFunction("f", (Param("x", F32),), [op()])
    assert one == SSAFunction("f", (Param("x", F32),), [op()])
    assert one != SSAFunction("g", (Param("x", F32),), [op()])
    assert one != SSAFunction("f", (Param("x", I32),), [op()])
    assert one != SSAFunction("f", (Param("x", F32),), [])
    assert one != "f"
    assert str(one).startswith("kernel f(x: f32) {\n")


def test_deep_nests_compare_without_recursion():
    assert SSAFunction("f", (), nest(3000)) == SSAFunction("f", (), nest(3000))
    assert SSAFunction("f", (), nest(3000)) != SSAFunction("f", (), nest(3000, "exp"))


def test_results():
    assert op().results == (SSAValue(1, F32),)
    assert op(result=None).results == ()
    pair = (SSAValue(1, F32), SSAValue(2, F32))
    assert op(result=pair).results == pair


def test_rebuild_keeps_results():
    assert op().rebuild([SSAValue(7, F32)], ()) == op(operands=(SSAValue(7, F32),))
    (loop,) = nest(1)
    assert loop.rebuild(loop.inputs, loop.regions) == loop


def test_walk_is_program_order_outer_first():
    function = parse(
        "kernel f(x: ptr<f32>, n: i32) {\n"
        "  %0 = program_id {axis=0} : i32\n"
        "  for %1 in range(0, n, 1) {\n"
        "    %2 = program_id {axis=1} : i32\n"
        "    for %3 in range(0, n, 1) {\n"
        "      %4 = program_id {axis=2} : i32\n"
        "    }\n"
        "    %9 = load x, none, none : f32\n"
        "  }\n"
        "  store x, 1.0, none\n"
        "}\n"
    )
    opcodes = [item.opcode for item in walk(function.body)]
    assert opcodes == ["program_id", "for", "program_id", "for", "program_id", "load", "store"]
    assert next_id(function) == 10


def test_next_id_counts_region_arguments():
    assert next_id(SSAFunction("f", (), nest(1))) == 2
    assert next_id(SSAFunction("f", (), [])) == 0
