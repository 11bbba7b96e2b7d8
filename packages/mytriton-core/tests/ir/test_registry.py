"""The op registry."""

import pytest

from mytriton.errors import OpRuleError
from mytriton.ir import registry
from mytriton.ir.expr import BINARY_SYMBOLS, UNARY_SYMBOLS
from mytriton.ir.parser import parse
from mytriton.ir.registry import Effect, OpDef
from mytriton.ir.types import F16, F32, BlockType


def made_up(name="test.thing", **more):
    return OpDef(name, ("a", "b?"), lambda types, attrs: types[0], None, "Made up.", **more)


@pytest.fixture
def thing():
    yield registry.register(made_up())
    registry.unregister("test.thing")


def test_registered_operations_are_found(thing):
    assert registry.get("test.thing") is thing is registry.lookup("test.thing")
    assert thing in list(registry.all_ops())
    assert thing.required() == (True, False)
    assert thing.feature_id == "op.test.thing" and thing.pure


def test_registering_the_same_object_again_is_fine(thing):
    assert registry.register(thing) is thing


def test_a_name_has_one_definition(thing):
    with pytest.raises(ValueError, match=r"'test\.thing' is registered already"):
        registry.register(made_up())


def test_an_operator_has_one_meaning():
    with pytest.raises(ValueError, match="operator '\\+' already means 'add'"):
        registry.register(made_up("test.plus", symbol="+"))
    assert registry.lookup("test.plus") is None


def test_operators_come_and_go_with_their_operation():
    registry.register(made_up("test.at", symbol="@"))
    assert BINARY_SYMBOLS["@"] == "test.at"
    registry.unregister("test.at")
    assert "@" not in BINARY_SYMBOLS
    registry.unregister("test.at")  # nothing left to remove


def test_unary_and_binary_operators_are_told_apart():
    assert BINARY_SYMBOLS["-"] == "sub" and UNARY_SYMBOLS["-"] == "neg"


def test_unknown_operations_name_the_closest():
    with pytest.raises(OpRuleError, match="no operation is called 'addd'; closest: 'add'"):
        registry.get("addd")
    with pytest.raises(OpRuleError, match="^no operation is called 'zzzz'$"):
        registry.get("zzzz")


def test_all_operations_are_sorted_and_documented():
    ops = list(registry.all_ops())
    assert [op.name for op in ops] == sorted(op.name for op in ops)
    assert all(op.doc.strip() for op in ops)


def test_compute_types():
    vector = BlockType((4,), F16)
    assert registry.get("add").compute_types([vector, F16], vector) == (F16, F16)
    assert registry.get("exp").compute_types([vector], vector) == (F32,)


def test_effects_include_those_nested_inside():
    function = parse(
        "kernel f(x: ptr<f32>, n: i32) {\n"
        "  for %0 in range(0, n, 1) {\n"
        "    for %1 in range(0, n, 1) {\n"
        "      store x, 0.0, none\n"
        "    }\n"
        "  }\n"
        "  %2 = load x, none, none : f32\n"
        "}\n"
    )
    loop, load = function.body
    assert registry.effects_of(loop) == Effect.WRITE
    assert registry.effects_of(load) == Effect.READ


def test_features():
    function = parse(
        "kernel f(x: ptr<f16>) {\n"
        "  %0 = program_id {axis=2} : i32\n"
        "  %1 = zeros {shape=(4, 8), dtype=f64} : block<4x8 x f64>\n"
        "  %2 = sum %1 {axis=0} : vector<8 x f64>\n"
        "}\n"
    )
    assert function.features() == {
        "op.program_id", "grid.axis2", "op.zeros", "reduce.sum", "rank.2",
        "dtype.i32", "dtype.f16", "dtype.f64",
    }  # fmt: skip
