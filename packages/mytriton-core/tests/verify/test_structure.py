"""Structural rules: definitions, scopes, counts, attributes, results. Each message is checked."""

import time

import pytest

from mytriton.errors import OpRuleError, Span, VerificationError
from mytriton.ir.expr import Param
from mytriton.ir.parser import parse
from mytriton.ir.registry import OpDef, register, unregister
from mytriton.ir.types import BOOL, F32, I32, I64, BlockType, PointerType, with_shape
from mytriton.ir.values import Constant, Region, SSAForRange, SSAFunction, SSAOp, SSAValue
from mytriton.verify import verify

X = Param("x", PointerType(F32))
V = Param("v", F32)
ONE = Constant(1.0, F32)


def value(number, ty=F32):
    return SSAValue(number, ty)


def add(number, lhs, rhs, ty=F32):
    return SSAOp("add", (lhs, rhs), value(number, ty))


def message_of(*items, params=(X, V)):
    with pytest.raises(VerificationError) as caught:
        verify(SSAFunction("f", params, list(items)))
    return caught.value.message


def loop(number, body, *, carried=(), **more):
    """``for`` over four trips; ``carried`` is (initial, argument, yielded, result) tuples."""
    inputs, args, yields, results = zip(*carried, strict=True) if carried else ((), (), (), ())
    bounds = {"start": Constant(0, I32), "stop": Constant(4, I32), "step": Constant(1, I32)}
    fields = {
        "index": value(number, I32),
        **bounds,
        "carried_inputs": inputs,
        "carried_args": args,
        "body": list(body),
        "yields": yields,
        "results": results,
    }
    return SSAForRange(**{**fields, **more})  # fmt: skip


def test_a_correct_function_is_accepted():
    verify(
        parse(
            "kernel f(x: ptr<f32>, n: i32) {\n"
            "  %5 = for %0 in range(0, n, 1) iter_args(%1 = 0.0) : f32 {\n"
            "    %2 = addptr x, %0 : ptr<f32>\n"
            "    %3 = load %2, none, none : f32\n"
            "    %4 = add %1, %3 : f32\n"
            "    yield %4\n"
            "  }\n"
            "  store x, %5, none\n"
            "}\n"
        )
    )
    verify(SSAFunction("f", (), []))


def test_use_before_definition():
    message = message_of(add(0, value(1), V), add(1, V, V))
    assert message == "add: the lhs, %1 (f32), is used before it is defined"


def test_use_of_itself():
    message = message_of(add(0, V, value(0)))
    assert message == "add: the rhs, %0 (f32), is used before it is defined"


def test_use_outside_its_region():
    message = message_of(loop(0, [add(1, V, V)]), add(2, value(1), V))
    assert message == "add: the lhs, %1 (f32), is used outside the region that defines it"


def test_use_of_a_region_argument_outside():
    carried = [(ONE, value(1), value(1), value(2))]
    message = message_of(loop(0, [], carried=carried), add(3, value(1), V))
    assert message == "add: the lhs, %1 (f32), is used outside the region that defines it"
    message = message_of(loop(0, []), add(3, value(0, I32), V))
    assert message == "add: the lhs, %0 (i32), is used outside the region that defines it"


def test_a_loop_does_not_see_its_own_result():
    carried = [(ONE, value(1), value(3), value(3))]
    message = message_of(loop(0, [], carried=carried))
    assert message == "for: a yielded value, %3 (f32), is used before it is defined"


def test_a_value_has_one_type():
    message = message_of(add(0, V, V), add(1, value(0, I32), V))
    assert message == "add: the lhs, %0, is used as i32 but is f32"


def test_parameters_are_known_by_name_and_type():
    message = message_of(add(0, Param("w", F32), V))
    assert message == "add: the lhs is 'w', which is no parameter of f"
    message = message_of(add(0, Param("v", I32), V))
    assert message == "add: the lhs, v, is used as i32 but is f32"
    verify(SSAFunction("f", (V,), [add(0, Param("v", F32), V)]))  # an equal one will do


def test_equal_values_need_not_be_identical():
    verify(SSAFunction("f", (V,), [add(0, V, V), add(1, value(0), V)]))


def test_parameters_of_a_function():
    message = message_of(params=(Param("x", F32), Param("x", I32)))
    assert message == "f: two parameters are called 'x' (f32 and i32)"
    message = message_of(params=(Param("x", BlockType((4,), F32)),))
    assert message == "f: parameter 'x' must be a scalar or a pointer, got vector<4 x f32>"


def test_numbers_are_unique():
    message = message_of(add(0, V, V), add(0, V, V))
    assert message == "add: %0 is defined twice (as f32 and as f32)"


def test_numbers_are_unique_across_regions():
    assert message_of(loop(0, [add(1, V, V)]), add(1, V, V)) == "add: %1 is defined twice"
    assert message_of(add(0, V, V), loop(0, [])) == "for: %0 is defined twice (as f32 and as i32)"
    carried = [(ONE, value(0), value(0), value(2))]
    message = message_of(loop(0, [], carried=carried))
    assert message == "for: %0 is defined twice (as i32 and as f32)"


def test_unknown_operations():
    message = message_of(SSAOp("addd", (V, V), value(0)))
    assert message == "no operation is called 'addd'; closest: 'add'"


def test_the_number_of_operands():
    message = message_of(SSAOp("add", (V,), value(0)))
    assert message == "add takes 2 operands (lhs, rhs), got 1: f32"
    message = message_of(SSAOp("program_id", (V,), value(0), {"axis": 0}))
    assert message == "program_id takes 0 operands (none), got 1: f32"
    message = message_of(SSAOp("neg", (), value(0)))
    assert message == "neg takes 1 operands (operand), got 0: nothing"


def test_absent_operands():
    verify(SSAFunction("f", (X,), [SSAOp("load", (X, None, None), value(0))]))
    message = message_of(SSAOp("add", (V, None), value(0)))
    assert message == "add: the rhs is needed, got none (operands: f32, none)"


def test_operands_are_values():
    message = message_of(SSAOp("add", (V, 1.0), value(0)))
    assert message == "add: the rhs is a float, not a value, parameter, constant or none"
    message = message_of(SSAOp("neg", (V, "w"), value(0)))
    assert message == "neg: operand 1 is a str, not a value, parameter, constant or none"
    message = message_of(loop(0, [], carried=[(7, value(1), value(1), value(2))]))
    assert message == "for: carried input 0 is a int, not a value, parameter, constant or none"


def test_results_must_be_there():
    message = message_of(SSAOp("add", (V, V)))
    assert message == "add has a result of type f32, which is missing"
    message = message_of(SSAOp("store", (X, ONE, None), value(0)))
    assert message == "store has no result, got one of type f32"


def test_the_result_type_is_the_inferred_one():
    message = message_of(add(0, V, V, I32))
    assert message == "add: the result is i32 but f32, f32 give f32"
    message = message_of(SSAOp("neg", (V,), (value(0), value(1))))
    assert message == "neg: the result is f32, f32 but f32 give f32"


def test_an_equal_result_type_need_not_be_identical():
    block = BlockType((4,), F32)
    ops = [
        SSAOp("zeros", (), value(0, block), {"shape": (4,), "dtype": F32}),
        SSAOp("neg", (value(0, block),), value(1, BlockType((4,), F32))),
    ]
    verify(SSAFunction("f", (), ops))


def test_required_attributes():
    message = message_of(SSAOp("arange", (), value(0), {"start": 0}))
    assert message == "arange needs the attribute 'end'"


def test_undeclared_attributes():
    message = message_of(SSAOp("add", (V, V), value(0), {"axis": 0}))
    assert message == "add has no attribute 'axis' (it has: none)"
    message = message_of(SSAOp("program_id", (), value(0, I32), {"axis": 0, "at": 1}))
    assert message == "program_id has no attribute 'at' (it has: axis)"


def test_optional_attributes():
    block = with_shape((4,), F32)
    zeros = SSAOp("zeros", (), value(0, block), {"shape": (4,), "dtype": F32})
    verify(SSAFunction("f", (), [zeros, SSAOp("sum", (value(0, block),), value(1))]))
    verify(SSAFunction("f", (), [zeros, SSAOp("sum", (value(0, block),), value(1), {"axis": 0})]))


def deep(depth):
    nested = 1
    for _ in range(depth):
        nested = (nested,)
    return nested


@pytest.mark.parametrize(
    ("attribute", "kind"),
    [([1], "list"), ({}, "dict"), (object(), "object"), ((1, [2]), "tuple"), (deep(40), "tuple")],
)
def test_attributes_are_plain_data(attribute, kind):
    message = message_of(SSAOp("program_id", (), value(0, I32), {"axis": attribute}))
    assert message == (
        f"program_id: the attribute 'axis' is a {kind}, not a bool, int, float, string, type, None"
        " or a tuple of these"
    )


def test_the_number_of_regions():
    message = message_of(SSAOp("neg", (V,), value(0), {}, (Region((), []),)))
    assert message == "neg: 0 regions are needed, got 1"


@pytest.fixture
def region_op():
    def infer(types, attrs):
        return types[0]

    def check(item):
        if item.regions[0].yields != (ONE,):
            raise OpRuleError("the region must yield 1.0")

    yield register(
        OpDef("test.region", ("value",), infer, None, "A region.", regions=1, verify=check)
    )
    unregister("test.region")


def region_item(*yields, body=(), args=()):
    return SSAOp("test.region", (V,), value(9), {}, (Region(args, list(body), yields),))


def test_operations_with_regions(region_op):
    verify(SSAFunction("f", (V,), [region_item(ONE, body=[add(2, value(1), V)], args=(value(1),))]))
    message = message_of(SSAOp("test.region", (V,), value(9)))
    assert message == "test.region: 1 regions are needed, got 0"


def test_rules_of_an_operation_name_it(region_op):
    assert message_of(region_item(V)) == "test.region: the region must yield 1.0"


def test_regions_do_not_yield_none(region_op):
    assert message_of(region_item(None)) == "test.region: a region yields none"


def test_region_values_do_not_escape(region_op):
    message = message_of(region_item(ONE, body=[add(2, V, V)]), add(3, value(2), V))
    assert message == "add: the lhs, %2 (f32), is used outside the region that defines it"


def test_errors_carry_the_place():
    span = Span("kernel.py", 7, 3)
    op = SSAOp("add", (V, V), value(0, I32), {}, (), span)
    with pytest.raises(VerificationError) as caught:
        verify(SSAFunction("f", (V,), [op]))
    assert caught.value.span is span
    assert str(caught.value).startswith("kernel.py:7:3: add: the result is i32")


def test_the_error_is_a_type_error():
    assert issubclass(VerificationError, TypeError)


def test_deep_nests_do_not_recurse():
    body = []
    for k in range(3000):
        body = [loop(k, body)]
    verify(SSAFunction("f", (), body))


def chain(length):
    ops = [add(0, V, ONE)]
    for k in range(1, length):
        ops.append(add(k, value(k - 1), ONE))
    return SSAFunction("f", (V,), ops)


def test_verification_is_linear():
    def seconds(length):
        function, found = chain(length), []
        for _ in range(3):  # other processes disturb one, or two
            start = time.process_time()
            verify(function)
            found.append(time.process_time() - start)
        return min(found)

    seconds(100)
    # Twenty times the length; quadratic would be 400.
    assert seconds(20_000) < 80 * max(seconds(1000), 0.002)


def test_bounds_of_wide_loops():
    bounds = {k: Constant(1, I64) for k in ("start", "stop", "step")}
    verify(SSAFunction("f", (), [loop(0, [], index=value(0, I64), **bounds)]))
    message = message_of(loop(0, [], **bounds))
    assert message == "for: the index %0 is i32 but the bounds are i64"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stop": Constant(4, I64)},
         "for: start, stop and step must be i32 scalars (or all i64), got i32, i64, i32"),
        ({"stop": ONE},
         "for: start, stop and step must be i32 scalars (or all i64), got i32, f32, i32"),
        ({"start": None},
         "for: start, stop and step must be i32 scalars (or all i64), got none, i32, i32"),
        ({"start": X},
         "for: start, stop and step must be i32 scalars (or all i64), got ptr<f32>, i32, i32"),
        ({"step": Param("n", I32)}, "for: the step must be a constant, got a value of type i32"),
        ({"step": Constant(0, I32)}, "for: the step must be positive, got 0 (i32)"),
        ({"step": Constant(-1, I32)}, "for: the step must be positive, got -1 (i32)"),
        ({"index": value(0, F32)}, "for: the index %0 is f32 but the bounds are i32"),
        ({"start": value(8, I32)}, "for: the start, %8 (i32), is used before it is defined"),
        ({"stop": value(8, I32)}, "for: the stop, %8 (i32), is used before it is defined"),
        ({"step": value(8, I32)}, "for: the step, %8 (i32), is used before it is defined"),
        ({"results": (value(9),)},
         "for: 0 carried inputs, 0 arguments, 0 yields and 1 results (the counts must agree)"),
        ({"carried_inputs": (ONE, ONE), "carried_args": (value(3),)},
         "for: 2 carried inputs, 1 arguments, 0 yields and 0 results (the counts must agree)"),
    ],
)  # fmt: skip
def test_loops(change, message):
    assert message_of(loop(0, [], **change), params=(X, V, Param("n", I32))) == message


def test_block_bounds():
    block = with_shape((4,), I32)
    arange = SSAOp("arange", (), value(5, block), {"start": 0, "end": 4})
    message = message_of(arange, loop(0, [], stop=value(5, block)))
    assert message == (
        "for: start, stop and step must be i32 scalars (or all i64), got i32, vector<4 x i32>, i32"
    )


@pytest.mark.parametrize(
    ("lane", "types"),
    [
        ((Constant(0, I32), value(1), value(1), value(2)), ("i32", "f32", "f32", "f32")),
        ((ONE, value(1), Constant(0, I32), value(2)), ("f32", "f32", "i32", "f32")),
        ((ONE, value(1), value(1), value(2, BOOL)), ("f32", "f32", "f32", "bool")),
        ((None, value(1), value(1), value(2)), ("none", "f32", "f32", "f32")),
    ],
)
def test_carried_values_keep_their_type(lane, types):
    entered, inside, yielded, left = types
    assert message_of(loop(0, [], carried=[lane])) == (
        f"for: carried value 0 enters as {entered}, is {inside} in the body, is yielded as"
        f" {yielded} and leaves as {left} (types must agree)"
    )


def test_nested_loops_obey_the_same_rules():
    inner = loop(5, [], step=Constant(0, I32))
    assert message_of(loop(0, [inner])) == "for: the step must be positive, got 0 (i32)"
