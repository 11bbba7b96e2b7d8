"""Expression nodes: plain data that is compared, hashed, copied and printed in linear time."""

import copy
import time

import pytest

from mytriton.ir.expr import (
    AddPtr,
    BinOp,
    Const,
    ForRange,
    Load,
    LoopCarry,
    LoopIndex,
    LoopResult,
    Maximum,
    OpExpr,
    Ops,
    Param,
    ProgramId,
    Store,
    Sum,
    UnaryOp,
    Where,
)
from mytriton.ir.types import F32, I32, PointerType

X = Param("x", PointerType(F32))


def chain(length):
    node = Const(0.0)
    for k in range(length):
        node = BinOp("+", node, Const(float(k)))
    return node


def doublings(times):
    node = Load(X)
    for _ in range(times):
        node = BinOp("+", node, node)
    return node


def loop():
    index, initial = LoopIndex("k"), Const(0)
    carry = LoopCarry(0, initial)
    made = ForRange(
        index, Const(0), Param("n", I32), Const(1), (), [], (initial,), (carry,),
        (BinOp("+", carry, index),),
    )  # fmt: skip
    object.__setattr__(made, "results", (LoopResult(made, 0),))
    return made


def test_nodes_compare_as_plain_data():
    a = Store(ptr=AddPtr(X, ProgramId(0)), value=BinOp("+", Load(X), Load(X)), mask=None)
    b = Store(ptr=AddPtr(X, ProgramId(0)), value=BinOp("+", Load(X), Load(X)), mask=None)
    assert a == b and hash(a) == hash(b)
    assert a != Store(ptr=AddPtr(X, ProgramId(1)), value=a.value, mask=None)
    assert a != "a" and Const(1) != ProgramId(1)


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, 1.0), (True, 1), (0.0, -0.0), ("1", 1), (1, 2)],
)
def test_constants_are_compared_with_their_type_and_sign(a, b):
    assert Const(a) != Const(b)


def test_a_nan_constant_equals_itself():
    assert Const(float("nan")) == Const(float("nan"))


def test_repr_follows_the_fields():
    assert repr(Load(X)) == (
        "Load(ptr=Param(name='x', ty=PointerType(element=ScalarType(name='f32'))),"
        " mask=None, other=None)"
    )
    assert repr(BinOp("+", Const(1), Const(2.5))) == (
        "BinOp(op='+', lhs=Const(value=1), rhs=Const(value=2.5))"
    )


def test_span_and_type_take_no_part():
    a, b = Const(1), Const(1)
    a.beside(span="here", _type=I32)
    assert a == b
    assert repr(a) == repr(b)
    assert a.type == I32 and a.span == "here"


def test_opcode_operands_and_attributes():
    add = BinOp("+", Const(1), Const(2))
    assert add.opcode == "add" and add.operands == (Const(1), Const(2)) and add.attrs == {}
    assert UnaryOp("-", Const(1)).opcode == "neg" and UnaryOp("exp", Const(1)).opcode == "exp"
    assert UnaryOp("-", Const(1)).attrs == {}
    assert ProgramId(2).attrs == {"axis": 2} and ProgramId(2).operands == ()
    assert Load(X).operands == (X, None, None)
    assert Where(1, 2, 3).opcode == "select"
    cast = OpExpr("cast", (X,), (("dtype", F32),))
    assert cast.opcode == "cast" and cast.operands == (X,) and cast.attrs == {"dtype": F32}
    assert str(X) == "x" and X.type == PointerType(F32)


def test_copies_are_the_node_itself():
    node = doublings(40)
    assert copy.copy(node) is node and copy.deepcopy(node) is node


def test_forty_doublings_are_linear():
    start = time.perf_counter()
    a, b = doublings(40), doublings(40)
    assert a == b and hash(a) == hash(b)
    text = repr(a)
    assert len(text) < 20_000 and "#" in text
    assert time.perf_counter() - start < 20


def test_doublings_of_different_length_differ():
    assert doublings(40) != doublings(41)


def test_a_chain_of_5000_does_not_recurse():
    a, b = chain(5000), chain(5000)
    assert a == b and hash(a) == hash(b)
    assert repr(a).count("BinOp(") == 5000


def test_small_shared_graphs_print_in_full():
    shared = Maximum(Const(1), Const(2))
    assert repr(Sum(BinOp("+", shared, shared))).count("Maximum(") == 2


def test_a_loop_and_its_results_end():
    a, b = loop(), loop()
    assert a == b and hash(a) == hash(b)
    assert "LoopResult(loop=<ForRange over 'k'>, index=0)" in repr(a)


def test_results_compare_their_loop():
    assert loop().results[0] == loop().results[0]


def test_lists_and_tuples_in_fields():
    assert repr(OpExpr("f", (Const(1),), ())) == (
        "OpExpr(op='f', args=(Const(value=1),), keywords=())"
    )
    assert "body=[]" in repr(loop())


def test_the_list_of_a_trace_shares_what_it_prints():
    node = doublings(30)
    ops = Ops([Store(X, node, None), Store(X, node, None)])
    text = repr(ops)
    assert text.startswith("[Store(ptr=") and text.endswith(")]")
    assert len(text) < 40_000
    assert repr(Ops([])) == "[]"
    assert Ops([Const(1)]) == [Const(1)]
