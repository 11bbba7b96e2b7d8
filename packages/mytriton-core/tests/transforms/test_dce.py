"""Dead code elimination."""

from mytriton.ir.parser import parse
from mytriton.ir.printer import print_module
from mytriton.ir.registry import OpDef, register, unregister
from mytriton.transforms.dce import DCE
from mytriton.verify import verify

PARAMS = "p: ptr<f32>, q: ptr<f32>, n: i32, v: f32, w: f32"


def kernel(*lines):
    return parse("\n".join([f"kernel f({PARAMS}) {{", *lines, "}"]))


def dce(*lines):
    function = kernel(*lines)
    verify(function)
    after = DCE().run(function)
    verify(after)
    assert DCE().run(after) is after
    return [line.strip() for line in print_module(after).splitlines()[1:-1]]


def stays(*lines):
    function = kernel(*lines)
    assert DCE().run(function) is function


def test_unused_values_go_with_what_only_they_used():
    assert dce(
        "%0 = add v, w : f32", "%1 = mul %0, %0 : f32", "%2 = neg v : f32", "store p, %2, none"
    ) == ["%2 = neg v : f32", "store p, %2, none"]  # fmt: skip


def test_unused_loads_go():
    assert dce("%0 = load p, none, none : f32", "store q, v, none") == ["store q, v, none"]


def test_stores_and_what_they_need_stay():
    stays(
        "%0 = load p, none, none : f32",
        "%1 = addptr q, n : ptr<f32>",
        "store %1, %0, none",
    )


def test_loops_without_effects_whose_results_are_unused_go():
    assert dce(
        "%9 = for %1 in range(0, n, 1) iter_args(%2 = 0.0) : f32 {",
        "  %3 = load p, none, none : f32",
        "  %4 = add %2, %3 : f32",
        "  yield %4",
        "}",
        "store q, v, none",
    ) == ["store q, v, none"]


def test_loops_with_effects_stay():
    stays(
        "for %1 in range(0, n, 1) {",
        "  for %2 in range(0, n, 1) {",
        "    store p, v, none",
        "  }",
        "}",
    )


def test_dead_code_in_a_live_loop_goes():
    assert dce(
        "for %1 in range(0, n, 1) {",
        "  %2 = add v, w : f32",
        "  for %3 in range(0, n, 1) {",
        "  }",
        "  store p, v, none",
        "}",
    ) == ["for %1 in range(0, n, 1) {", "store p, v, none", "}"]


def test_bounds_of_a_live_loop_are_used():
    stays(
        "%0 = mul n, 2 : i32",
        "for %1 in range(0, %0, 1) {",
        "  store p, v, none",
        "}",
    )


def test_carried_values_used_only_by_their_own_cycle_go():
    assert dce(
        "%0 = neg v : f32",
        "%8, %9 = for %1 in range(0, n, 1) iter_args(%2 = %0, %3 = w) : f32, f32 {",
        "  %4 = add %2, 1.0 : f32",
        "  %5 = mul %3, 2.0 : f32",
        "  yield %4, %5",
        "}",
        "store p, %9, none",
    ) == [
        "%9 = for %1 in range(0, n, 1) iter_args(%3 = w) : f32 {",
        "%5 = mul %3, 2.0 : f32",
        "yield %5",
        "}",
        "store p, %9, none",
    ]


def test_carried_values_that_feed_another_stay():
    stays(
        "%8, %9 = for %1 in range(0, n, 1) iter_args(%2 = v, %3 = w) : f32, f32 {",
        "  yield %3, %2",
        "}",
        "store p, %9, none",
    )


def test_carried_values_used_in_the_body_only_stay():
    stays(
        "%9 = for %1 in range(0, n, 1) iter_args(%2 = v) : f32 {",
        "  store p, %2, none",
        "  %3 = add %2, 1.0 : f32",
        "  yield %3",
        "}",
    )


def test_a_cycle_through_two_loops_goes():
    assert dce(
        "%9 = for %1 in range(0, n, 1) iter_args(%2 = v) : f32 {",
        "  %8 = for %3 in range(0, n, 1) iter_args(%4 = %2) : f32 {",
        "    %5 = add %4, 1.0 : f32",
        "    yield %5",
        "  }",
        "  store p, w, none",
        "  yield %8",
        "}",
    ) == ["for %1 in range(0, n, 1) {", "store p, w, none", "}"]


def test_a_value_used_only_in_a_nested_store_stays():
    stays(
        "%0 = neg v : f32",
        "for %1 in range(0, n, 1) {",
        "  store p, %0, none",
        "}",
    )


def test_unknown_operations_stay():
    stays("%0 = neg v : f32", "acme.trace %0")


def test_regions_of_operations():
    register(
        OpDef(
            "test.region", ("value",), lambda types, attrs: types[0], None, "A region.", regions=1
        )
    )
    lines = [
        "%9 = test.region v : f32 {",
        "  args(%1: f32)",
        "  %2 = neg %1 : f32",
        "  %3 = exp %1 : f32",
        "  yield %2",
        "}",
    ]
    try:
        assert dce(*lines) == []
        used = dce(*lines, "store p, %9, none")
        assert used == [
            "%9 = test.region v : f32 {",
            "args(%1: f32)",
            "%2 = neg %1 : f32",
            "yield %2",
            "}",
            "store p, %9, none",
        ]
    finally:
        unregister("test.region")


def test_deep_nests_do_not_recurse():
    depth = 1500
    opening = [f"for %{k} in range(0, n, 1) {{" for k in range(depth)]
    assert dce(*opening, *["}"] * depth) == []
    stays(*opening, "store p, v, none", *["}"] * depth)
