"""Loop-invariant code motion."""

from mytriton.ir.parser import parse
from mytriton.ir.printer import print_module
from mytriton.transforms.licm import LICM
from mytriton.verify import verify

PARAMS = "p: ptr<f32>, q: ptr<f32>, n: i32, m: i32, v: f32, w: f32"


def kernel(*lines):
    return parse("\n".join([f"kernel f({PARAMS}) {{", *lines, "}"]))


def licm(*lines):
    function = kernel(*lines)
    verify(function)
    after = LICM().run(function)
    verify(after)
    assert LICM().run(after) is after
    return [line[2:] for line in print_module(after).splitlines()[1:-1]]


def stays(*lines):
    function = kernel(*lines)
    verify(function)
    assert LICM().run(function) is function


def test_invariants_move_in_their_order():
    assert licm(
        "for %0 in range(0, n, 1) {",
        "  %1 = mul m, 4 : i32",
        "  %2 = add %1, %0 : i32",
        "  %3 = add %1, 1 : i32",
        "  %4 = add %2, %3 : i32",
        "  %5 = addptr p, %4 : ptr<f32>",
        "  store %5, v, none",
        "}",
    ) == [
        "%1 = mul m, 4 : i32",
        "%3 = add %1, 1 : i32",
        "for %0 in range(0, n, 1) {",
        "  %2 = add %1, %0 : i32",
        "  %4 = add %2, %3 : i32",
        "  %5 = addptr p, %4 : ptr<f32>",
        "  store %5, v, none",
        "}",
    ]


def test_nested_invariants_move_all_the_way():
    assert licm(
        "for %0 in range(0, n, 1) {",
        "  for %1 in range(0, m, 1) {",
        "    %2 = neg v : f32",
        "    %3 = mul %0, 2 : i32",
        "    %4 = add %3, %1 : i32",
        "    %5 = addptr p, %4 : ptr<f32>",
        "    store %5, %2, none",
        "  }",
        "}",
    ) == [
        "%2 = neg v : f32",
        "for %0 in range(0, n, 1) {",
        "  %3 = mul %0, 2 : i32",
        "  for %1 in range(0, m, 1) {",
        "    %4 = add %3, %1 : i32",
        "    %5 = addptr p, %4 : ptr<f32>",
        "    store %5, %2, none",
        "  }",
        "}",
    ]


def test_yielded_invariants_move():
    assert licm(
        "%9 = for %0 in range(0, n, 1) iter_args(%1 = v) : f32 {",
        "  %2 = neg w : f32",
        "  yield %2",
        "}",
        "store p, %9, none",
    ) == [
        "%2 = neg w : f32",
        "%9 = for %0 in range(0, n, 1) iter_args(%1 = v) : f32 {",
        "  yield %2",
        "}",
        "store p, %9, none",
    ]


def test_loads_stay():
    stays(
        "for %0 in range(0, n, 1) {",
        "  %1 = load p, none, none : f32",
        "  store q, %1, none",
        "}",
    )


def test_divisions_stay_and_what_depends_on_them():
    # With zero trips the division never ran: m may be zero.
    stays(
        "for %0 in range(0, n, 1) {",
        "  %1 = div n, m : i32",
        "  %2 = add %1, 1 : i32",
        "  %3 = addptr p, %2 : ptr<f32>",
        "  store %3, v, none",
        "}",
    )


def test_what_depends_on_the_trip_stays():
    stays(
        "%9 = for %0 in range(0, n, 1) iter_args(%1 = v) : f32 {",
        "  %2 = mul %0, 2 : i32",
        "  %3 = add %1, w : f32",
        "  %4 = addptr p, %2 : ptr<f32>",
        "  store %4, %3, none",
        "  yield %3",
        "}",
    )


def test_what_depends_on_an_inner_result_stays():
    stays(
        "for %0 in range(0, n, 1) {",
        "  %9 = for %1 in range(0, m, 1) iter_args(%2 = 0) : i32 {",
        "    %3 = add %2, %1 : i32",
        "    yield %3",
        "  }",
        "  %4 = addptr p, %9 : ptr<f32>",
        "  store %4, v, none",
        "}",
    )


def test_loops_themselves_stay():
    stays(
        "for %0 in range(0, n, 1) {",
        "  for %1 in range(0, m, 1) {",
        "  }",
        "}",
    )


def test_straight_code_is_the_same_object():
    stays("%0 = neg v : f32", "store p, %0, none")


def test_only_loops_are_left():
    # A region of an operation nobody knows may not run at all, or run elsewhere.
    function = kernel("acme.region {", "  %0 = neg v : f32", "  store p, %0, none", "}")
    assert LICM().run(function) is function
    unknown = kernel("for %0 in range(0, n, 1) {", "  %1 = acme.pure v : f32", "}")
    assert LICM().run(unknown) is unknown


def test_a_loop_inside_an_unknown_region_moves_up_to_it_only():
    function = kernel(
        "acme.region {",
        "for %0 in range(0, n, 1) {",
        "%1 = neg v : f32",
        "store p, %1, none",
        "}",
        "}",
    )
    lines = print_module(LICM().run(function)).splitlines()
    assert [line.strip() for line in lines[1:4]] == [
        "acme.region {", "%1 = neg v : f32", "for %0 in range(0, n, 1) {",
    ]  # fmt: skip
