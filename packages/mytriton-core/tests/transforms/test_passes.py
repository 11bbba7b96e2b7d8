"""The pass manager, and what the passes do together."""

import time

import pytest

from mytriton.errors import PassError, VerificationError
from mytriton.ir.expr import Param
from mytriton.ir.parser import parse
from mytriton.ir.printer import SSAPrinter, print_module
from mytriton.ir.types import F32, I32, PointerType, with_shape
from mytriton.ir.values import Constant, SSAFunction, SSAOp, SSAValue
from mytriton.transforms import DEFAULT_PASSES, optimise
from mytriton.transforms.passes import run_pass
from mytriton.verify import verify

PARAMS = "x: ptr<f32>, y: ptr<f32>, out: ptr<f32>, n: i32, K: i32, v: f32"


def kernel(*lines):
    return parse("\n".join([f"kernel f({PARAMS}) {{", *lines, "}"]))


def optimised(*lines, **options):
    function = kernel(*lines)
    verify(function)
    after = optimise(function, **options)
    verify(after)
    assert optimise(after) is after
    return [line[2:] for line in print_module(after).splitlines()[1:-1]]


ADD_KERNEL = """\
%0 = program_id {axis=0} : i32
%1 = mul %0, 256 : i32
%2 = arange {start=0, end=256} : vector<256 x i32>
%3 = add %1, %2 : vector<256 x i32>
%4 = addptr x, %3 : vector<256 x ptr<f32>>
%5 = cmp_lt %3, n : vector<256 x bool>
%6 = load %4, %5, 0.0 : vector<256 x f32>
%7 = addptr y, %3 : vector<256 x ptr<f32>>
%8 = load %7, %5, 0.0 : vector<256 x f32>
%9 = add %6, %8 : vector<256 x f32>
%10 = addptr out, %3 : vector<256 x ptr<f32>>
store %10, %9, %5"""

RUNTIME_SUM = """\
%5 = for %0 in range(0, K, 1) iter_args(%1 = 0.0) : f32 {
  %2 = addptr x, %0 : ptr<f32>
  %3 = load %2, none, none : f32
  %4 = add %1, %3 : f32
  yield %4
}
store out, %5, none"""

CONSTRUCTORS = """\
%0 = zeros {shape=(8,), dtype=f32} : vector<8 x f32>
%1 = full 2.5 {shape=(8,), dtype=f32} : vector<8 x f32>
%2 = add %0, %1 : vector<8 x f32>
%3 = sum %2 : f32
store out, %3, none"""


@pytest.mark.parametrize("text", [ADD_KERNEL, RUNTIME_SUM, CONSTRUCTORS])
def test_listings_of_the_articles_are_already_optimal(text):
    function = kernel(*text.splitlines())
    after = optimise(function)
    assert after is function
    assert SSAPrinter().print_ops(after.body) == text


def test_level_0_changes_nothing():
    function = kernel("%0 = add 1, 2 : i32")

    class Never:
        name = "never"

        def run(self, function):
            raise AssertionError

    assert optimise(function, 0, [Never()]) is function


@pytest.mark.parametrize("level", [2, -1, "1"])
def test_levels(level):
    with pytest.raises(ValueError, match="the optimisation level is 0 or 1"):
        optimise(kernel(), level)


def test_invariants_of_the_loop_of_part_10_move_out():
    lines = optimised(
        "%4 = program_id {axis=0} : i32",
        "%9 = for %13 in range(0, K, 1) iter_args(%14 = 0.0) : f32 {",
        "  %15 = mul %4, K : i32",
        "  %16 = add %15, %13 : i32",
        "  %17 = addptr x, %16 : ptr<f32>",
        "  %18 = cmp_lt %4, n : bool",
        "  %19 = load %17, %18, 0.0 : f32",
        "  %26 = add %14, %19 : f32",
        "  yield %26",
        "}",
        "store out, %9, none",
    )
    assert lines[:4] == [
        "%4 = program_id {axis=0} : i32",
        "%15 = mul %4, K : i32",
        "%18 = cmp_lt %4, n : bool",
        "%9 = for %13 in range(0, K, 1) iter_args(%14 = 0.0) : f32 {",
    ]


def test_merging_makes_work_for_folding():
    # x & x appears only once the two sums are known to be one.
    assert optimised(
        "%0 = add n, K : i32",
        "%1 = add K, n : i32",
        "%2 = and %0, %1 : i32",
        "%3 = addptr out, %2 : ptr<f32>",
        "store %3, v, none",
    ) == ["%0 = add n, K : i32", "%3 = addptr out, %0 : ptr<f32>", "store %3, v, none"]


def test_motion_makes_work_for_merging():
    lines = optimised(
        "for %0 in range(0, n, 1) {", "  %1 = neg v : f32", "  store x, %1, none", "}",
        "for %2 in range(0, n, 1) {", "  %3 = neg v : f32", "  store y, %3, none", "}",
    )  # fmt: skip
    assert lines == [
        "%1 = neg v : f32",
        "for %0 in range(0, n, 1) {",
        "  store x, %1, none",
        "}",
        "for %2 in range(0, n, 1) {",
        "  store y, %1, none",
        "}",
    ]


def test_folding_a_carried_value_makes_work_for_motion():
    assert optimised(
        "%9 = for %0 in range(0, n, 1) iter_args(%1 = v) : f32 {",
        "  %2 = neg %1 : f32",
        "  store out, %2, none",
        "  yield %1",
        "}",
        "store x, %9, none",
    ) == [
        "%2 = neg v : f32",
        "for %0 in range(0, n, 1) {",
        "  store out, %2, none",
        "}",
        "store x, v, none",
    ]


def test_memory_order_is_program_order():
    lines = [
        "%0 = load x, none, none : f32",
        "store x, 0.0, none",
        "store y, %0, none",
        "%1 = load x, none, none : f32",
        "store out, %1, none",
    ]
    assert optimised(*lines) == lines


def test_memory_order_across_a_loop():
    lines = [
        "%0 = load x, none, none : f32",
        "for %1 in range(0, n, 1) {",
        "  store x, v, none",
        "}",
        "%2 = load x, none, none : f32",
        "%3 = add %0, %2 : f32",
        "store out, %3, none",
    ]
    assert optimised(*lines) == lines


def test_an_aliasing_pointer():
    # p + 0 is p: the folder sees it, and the store still lies between.
    assert optimised(
        "%0 = load x, none, none : f32",
        "%1 = addptr x, 0 : ptr<f32>",
        "store %1, 1.0, none",
        "%2 = load x, none, none : f32",
        "%3 = add %0, %2 : f32",
        "store out, %3, none",
    )[-3:] == [
        "%2 = load x, none, none : f32",
        "%3 = add %0, %2 : f32",
        "store out, %3, none",
    ]


def test_the_observer_sees_every_pass():
    seen = []
    function = kernel("%0 = add 1.0, 2.0 : f32", "store out, %0, none")
    optimise(function, on_pass=lambda name, before, after: seen.append((name, before, after)))
    assert [name for name, _, _ in seen] == ["fold", "cse", "licm", "dce"]
    assert seen[0][1] is function and seen[0][2] is not function
    assert all(before is after for _, before, after in seen[1:])


class Rename:
    """Replaces every ``neg`` by another operation."""

    def __init__(self, opcode):
        self.name = f"to-{opcode}"
        self.opcode = opcode

    def run(self, function):
        body = [
            SSAOp(self.opcode, op.operands, op.result) if op.opcode == "neg" else op
            for op in function.body
        ]
        return SSAFunction(function.name, function.params, body)


def test_extra_passes_run_and_are_followed_by_the_default_ones():
    assert optimised(
        "%0 = neg v : f32", "%1 = exp v : f32", "%2 = add %0, %1 : f32", "store out, %2, none",
        extra_passes=[Rename("exp")],
    ) == ["%0 = exp v : f32", "%2 = add %0, %0 : f32", "store out, %2, none"]  # fmt: skip


def test_a_pass_that_breaks_the_ssa_is_named_with_a_diff():
    function = kernel("%0 = neg v : f32", "store out, %0, none")
    with pytest.raises(PassError) as caught:
        optimise(function, extra_passes=[Rename("cmp_lt")])
    message = str(caught.value)
    assert (
        "pass 'to-cmp_lt' broke the SSA: cmp_lt takes 2 operands (lhs, rhs), got 1: f32" in message
    )
    assert "\n--- before to-cmp_lt\n+++ after to-cmp_lt\n" in message
    assert "\n-  %0 = neg v : f32\n+  %0 = cmp_lt v : f32\n" in message
    assert isinstance(caught.value, VerificationError)


def test_a_pass_that_makes_an_unknown_operation_is_reported_too():
    function = kernel("%0 = neg v : f32", "store out, %0, none")
    with pytest.raises(PassError, match="no operation is called 'acme.neg'"):
        optimise(function, extra_passes=[Rename("acme.neg")])


def test_a_pass_that_fails_is_named():
    class Crash:
        name = "crash"

        def run(self, function):
            raise KeyError("oops")

    with pytest.raises(PassError, match="pass 'crash' failed: KeyError: 'oops'"):
        optimise(kernel(), extra_passes=[Crash()])


def test_a_pass_that_returns_nothing_is_named():
    class Nothing:
        name = "nothing"

        def run(self, function):
            return None

    with pytest.raises(PassError, match="pass 'nothing' returned a NoneType, not an SSAFunction"):
        run_pass(Nothing(), kernel())


def test_default_passes_have_names():
    assert [each.name for each in DEFAULT_PASSES] == ["fold", "cse", "licm", "dce"]


def test_passes_never_renumber():
    function = kernel(
        "%7 = neg v : f32", "%5 = neg %7 : f32", "%2 = add %5, 0 : f32", "store out, %2, none"
    )
    numbers = {value.id for item in optimise(function).body for value in item.results}
    assert numbers <= {7, 5, 2}


@pytest.mark.parametrize("lines", [["%0 = acme.x v : f32"], []])
def test_every_pass_accepts_any_function(lines):
    function = kernel(*lines)
    for each in DEFAULT_PASSES:
        assert each.run(function) is function


def test_deep_nests_do_not_recurse():
    depth = 1500
    opening = [f"for %{k} in range(0, n, 1) {{" for k in range(depth)]
    leaf = [f"%{depth} = neg v : f32", f"store out, %{depth}, none"]
    after = optimise(kernel(*opening, *leaf, *["}"] * depth))
    assert [item.opcode for item in after.body] == ["neg", "for"]


def chain(length):
    block = with_shape((256,), F32)
    ops = [
        SSAOp("full", (Constant(1.0, F32),), SSAValue(0, block), {"shape": (256,), "dtype": F32})
    ]
    for k in range(1, length):
        ops.append(SSAOp("add", (ops[-1].result, Constant(float(k), F32)), SSAValue(k, block)))
    out = Param("out", PointerType(F32))
    ops.append(SSAOp("sum", (ops[-1].result,), SSAValue(length, F32)))
    ops.append(SSAOp("store", (out, SSAValue(length, F32), None)))
    return SSAFunction("f", (out,), ops)


def test_optimising_is_linear():
    def seconds(length):
        found = []
        for _ in range(3):  # other processes disturb one, or two
            function = chain(length)
            start = time.process_time()
            optimise(function)
            found.append(time.process_time() - start)
        return min(found)

    seconds(200)
    # Sixteen times the length; quadratic would be 256.
    assert seconds(16_000) < 64 * max(seconds(1000), 0.005)


def test_large_integers():
    function = kernel("%0 = mul 4611686018427387904:i64, 2:i64 : i64")
    assert optimise(function).body == []
    assert I32 != F32
