"""Common subexpression elimination."""

from mytriton.ir.parser import parse
from mytriton.ir.printer import print_module
from mytriton.transforms.cse import CSE
from mytriton.verify import verify

PARAMS = "p: ptr<f32>, q: ptr<f32>, n: i32, v: f32, w: f32"


def kernel(*lines):
    return parse("\n".join([f"kernel f({PARAMS}) {{", *lines, "}"]))


def cse(*lines):
    function = kernel(*lines)
    verify(function)
    after = CSE().run(function)
    verify(after)
    assert CSE().run(after) is after
    return [line.strip() for line in print_module(after).splitlines()[1:-1]]


def test_equal_operations_merge():
    assert cse(
        "%0 = program_id {axis=0} : i32",
        "%1 = program_id {axis=0} : i32",
        "%2 = mul %0, 4 : i32",
        "%3 = mul %1, 4 : i32",
        "%4 = add %2, %3 : i32",
        "%5 = addptr p, %4 : ptr<f32>",
        "store %5, v, none",
    ) == [
        "%0 = program_id {axis=0} : i32",
        "%2 = mul %0, 4 : i32",
        "%4 = add %2, %2 : i32",
        "%5 = addptr p, %4 : ptr<f32>",
        "store %5, v, none",
    ]


def different(*lines):
    assert cse(*lines) == [line.strip() for line in lines]


def test_attributes_tell_operations_apart():
    different("%0 = program_id {axis=0} : i32", "%1 = program_id {axis=1} : i32")
    different(
        "%0 = zeros {shape=(4,), dtype=f32} : vector<4 x f32>",
        "%1 = zeros {shape=(4,), dtype=i32} : vector<4 x i32>",
        "%2 = zeros {shape=(8,), dtype=f32} : vector<8 x f32>",
    )


def test_operands_tell_operations_apart():
    different("%0 = add v, w : f32", "%1 = add v, v : f32", "%2 = sub v, w : f32")


def test_constants_are_keyed_by_bits_and_type():
    different(
        "%0 = mul v, 0.0 : f32",
        "%1 = mul v, -0.0 : f32",
        "%2 = mul v, nan : f32",
        "%3 = mul v, nan(0xfff8000000000000) : f32",
        "%4 = mul v, 1.0 : f32",
        "%5 = mul v, 1:i32 : f32",
        "%6 = mul v, true:bool : f32",
    )


def test_nan_constants_merge_with_themselves():
    assert cse(
        "%0 = mul v, nan : f32", "%1 = mul v, nan : f32", "store p, %1, none"
    ) == ["%0 = mul v, nan : f32", "store p, %0, none"]  # fmt: skip


def test_commutative_operations_merge_in_either_order():
    lines = cse("%0 = add v, w : f32", "%1 = add w, v : f32", "store p, %1, none")
    assert lines == ["%0 = add v, w : f32", "store p, %0, none"]


def test_other_operations_do_not():
    different("%0 = sub v, w : f32", "%1 = sub w, v : f32")
    different("%0 = maximum v, w : f32", "%1 = maximum w, v : f32")  # the right one wins ties


def test_loads_merge_when_nothing_lies_between():
    assert cse(
        "%0 = load p, none, none : f32",
        "%1 = load p, none, none : f32",
        "%2 = add %0, %1 : f32",
        "store q, %2, none",
    ) == [
        "%0 = load p, none, none : f32",
        "%2 = add %0, %0 : f32",
        "store q, %2, none",
    ]


def test_a_store_between_keeps_both_loads():
    different(
        "%0 = load p, none, none : f32",
        "store q, v, none",  # q may be p
        "%1 = load p, none, none : f32",
        "%2 = add %0, %1 : f32",
        "store q, %2, none",
    )


def test_masks_and_others_tell_loads_apart():
    different(
        "%0 = load p, none, none : f32",
        "%1 = load p, true, none : f32",
        "%2 = load p, true, 1.0 : f32",
        "%3 = load q, none, none : f32",
    )


def test_loads_do_not_merge_into_a_loop():
    different(
        "%0 = load p, none, none : f32",
        "for %1 in range(0, n, 1) {",
        "  %2 = load p, none, none : f32",
        "  store p, %2, none",
        "}",
    )


def test_loads_do_not_merge_out_of_a_loop():
    different(
        "%0 = load p, none, none : f32",
        "for %1 in range(0, n, 1) {",
        "  store p, v, none",
        "}",
        "%3 = load p, none, none : f32",
    )
    different(
        "for %1 in range(0, n, 1) {",
        "  %2 = load p, none, none : f32",
        "}",
        "%3 = load p, none, none : f32",
    )


def test_loads_in_one_trip_merge():
    lines = cse(
        "for %1 in range(0, n, 1) {",
        "  %2 = load p, none, none : f32",
        "  %3 = load p, none, none : f32",
        "  store q, %3, none",
        "}",
    )
    assert lines[1:3] == ["%2 = load p, none, none : f32", "store q, %2, none"]


def test_a_pure_value_is_known_inside_a_loop():
    assert cse(
        "%0 = mul v, 2.0 : f32",
        "%5 = for %1 in range(0, n, 1) iter_args(%2 = 0.0) : f32 {",
        "  %3 = mul v, 2.0 : f32",
        "  yield %3",
        "}",
        "store p, %5, none",
    ) == [
        "%0 = mul v, 2.0 : f32",
        "%5 = for %1 in range(0, n, 1) iter_args(%2 = 0.0) : f32 {",
        "yield %0",
        "}",
        "store p, %5, none",
    ]


def test_what_a_loop_computes_is_not_known_outside():
    different(
        "for %1 in range(0, n, 1) {",
        "  %2 = mul v, 2.0 : f32",
        "  store p, %2, none",
        "}",
        "%3 = mul v, 2.0 : f32",
        "for %4 in range(0, n, 1) {",
        "  store p, %3, none",
        "}",
    )


def test_sibling_loops_do_not_see_each_other():
    different(
        "for %1 in range(0, n, 1) {",
        "  %2 = mul v, 2.0 : f32",
        "  store p, %2, none",
        "}",
        "for %3 in range(0, n, 1) {",
        "  %4 = mul v, 2.0 : f32",
        "  store p, %4, none",
        "}",
    )


def test_stores_and_loops_never_merge():
    different(
        "store p, v, none",
        "store p, v, none",
        "for %1 in range(0, n, 1) {",
        "}",
        "for %2 in range(0, n, 1) {",
        "}",
    )


def test_unknown_operations_are_a_barrier():
    function = kernel(
        "%0 = load p, none, none : f32",
        "acme.sync",
        "%1 = load p, none, none : f32",
        "acme.sync",
    )
    assert CSE().run(function) is function


def test_a_result_of_another_type_is_not_merged():
    # The verifier would refuse this; the pass must not make it worse.
    function = kernel("%0 = add v, w : f32", "%1 = add v, w : f64", "%2 = add v, w : f64")
    assert CSE().run(function) is function


def test_nothing_to_do_is_the_same_object():
    function = kernel("%0 = add v, w : f32", "for %1 in range(0, n, 1) {", "store p, %0, none", "}")
    assert CSE().run(function) is function
