"""The passes on ``if``, ``while`` and ``reduce``."""

from mytriton.ir.parser import parse
from mytriton.ir.printer import print_module
from mytriton.transforms.cse import CSE
from mytriton.transforms.dce import DCE
from mytriton.transforms.fold import Fold
from mytriton.transforms.licm import LICM
from mytriton.transforms.passes import optimise
from mytriton.verify import verify

PARAMS = "p: ptr<f32>, q: ptr<f32>, n: i32, v: f32, b: bool"


def run(pass_, text):
    function = parse(f"kernel f({PARAMS}) {{\n{text}\n}}\n")
    verify(function)
    after = pass_.run(function)
    verify(after)
    assert pass_.run(after) is after
    return [line.strip() for line in print_module(after).splitlines()[1:-1]]


def lines(text):
    return [line.strip() for line in text.strip().splitlines()]


# -- fold ---------------------------------------------------------------------------------------


def test_a_branch_that_is_known_stands_in_its_place():
    assert run(Fold(), """
  %0 = cmp_lt 1:i32, 2:i32 : bool
  %2 = if %0 : f32 {
    store p, v, none
    %1 = add v, 1.0 : f32
    yield %1
  } else {
    store q, v, none
    yield v
  }
  store q, %2, none""") == lines("""
  store p, v, none
  %1 = add v, 1.0 : f32
  store q, %1, none""")  # fmt: skip


def test_the_other_branch_likewise_with_several_results():
    assert run(Fold(), """
  %2, %3 = if false : f32, f32 {
    %1 = add v, 1.0 : f32
    yield %1, v
  } else {
    yield v, 3.0
  }
  store q, %2, none
  store q, %3, none""") == lines("""
  store q, v, none
  store q, 3.0, none""")  # fmt: skip


def test_branches_inside_branches_fold():
    assert run(Fold(), """
  if b {
    if true {
      store p, 1.0, none
    } else {
    }
  } else {
    if false {
      store p, 2.0, none
    } else {
    }
  }""") == lines("""
  if b {
    store p, 1.0, none
  } else {
  }""")  # fmt: skip


def test_what_both_branches_give_needs_no_branch():
    after = run(Fold(), """
  %2, %3 = if b : f32, f32 {
    %0 = mul v, 1.0 : f32
    yield %0, 1.0
  } else {
    yield v, -1.0
  }
  store q, %2, none
  store q, %3, none""")  # fmt: skip
    assert after[-2:] == ["store q, v, none", "store q, %3, none"]


def test_a_while_that_never_starts_leaves_its_inputs():
    assert run(Fold(), """
  %5, %6 = while 0:i32, v : i32, f32 {
    args(%1: i32, %2: f32)
    %9 = cmp_gt 0:i32, 1:i32 : bool
    yield %9
  } {
    args(%3: i32, %4: f32)
    store p, %4, none
    yield %3, 1.0
  }
  store q, %6, none""") == ["store q, v, none"]  # fmt: skip


def test_a_while_whose_condition_writes_stays():
    after = run(Fold(), """
  while {
    store p, v, none
    yield false:bool
  } {
    store q, v, none
  }""")  # fmt: skip
    assert after[0] == "while {"


def test_what_a_while_hands_on_unchanged_is_its_initial_value():
    after = run(Fold(), """
  %6, %7 = while n, v : i32, f32 {
    args(%1: i32, %2: f32)
    %8 = cast %2 {dtype=i32} : i32
    %9 = cmp_gt %1, %8 : bool
    yield %9
  } {
    args(%3: i32, %4: f32)
    store p, %4, none
    %5 = sub %3, 1 : i32
    yield %5, %4
  }
  store q, %7, none""")  # fmt: skip
    assert "%8 = cast v {dtype=i32} : i32" in after
    assert "store p, v, none" in after
    assert after[-1] == "store q, v, none"


# -- cse ----------------------------------------------------------------------------------------


def test_pure_values_merge_into_regions_but_not_out_of_them():
    assert run(CSE(), """
  %0 = mul v, 2.0 : f32
  if b {
    %1 = mul v, 2.0 : f32
    %2 = neg v : f32
    store p, %1, none
    store p, %2, none
  } else {
    %3 = neg v : f32
    store p, %3, none
  }
  %4 = neg v : f32
  store p, %4, none""") == lines("""
  %0 = mul v, 2.0 : f32
  if b {
    %2 = neg v : f32
    store p, %0, none
    store p, %2, none
  } else {
    %3 = neg v : f32
    store p, %3, none
  }
  %4 = neg v : f32
  store p, %4, none""")  # fmt: skip


def test_loads_do_not_merge_across_a_branch_or_a_while():
    for region in (
        "if b {\n store p, v, none\n} else {\n}",
        "while {\n %7 = load q, none, none : f32\n %8 = cmp_gt %7, v : bool\n"
        " yield %8\n} {\n store q, v, none\n}",
    ):
        after = run(CSE(), f"""
  %0 = load p, none, none : f32
  {region}
  %1 = load p, none, none : f32
  %2 = add %0, %1 : f32
  store q, %2, none""")  # fmt: skip
        assert sum("load p" in line for line in after) == 2


def test_loads_merge_inside_one_region():
    after = run(CSE(), """
  if b {
    %0 = load p, none, none : f32
    %1 = load p, none, none : f32
    %2 = add %0, %1 : f32
    store q, %2, none
  } else {
  }""")  # fmt: skip
    assert "%2 = add %0, %0 : f32" in after


# -- licm ---------------------------------------------------------------------------------------


def test_invariants_leave_a_while_but_no_branch():
    assert run(LICM(), """
  %9 = while n : i32 {
    args(%1: i32)
    %2 = mul n, 2 : i32
    %3 = cmp_gt %1, %2 : bool
    yield %3
  } {
    args(%4: i32)
    %5 = add n, 1 : i32
    %6 = sub %4, %5 : i32
    if b {
      %7 = mul v, v : f32
      store p, %7, none
    } else {
    }
    yield %6
  }""") == lines("""
  %2 = mul n, 2 : i32
  %5 = add n, 1 : i32
  %9 = while n : i32 {
    args(%1: i32)
    %3 = cmp_gt %1, %2 : bool
    yield %3
  } {
    args(%4: i32)
    %6 = sub %4, %5 : i32
    if b {
      %7 = mul v, v : f32
      store p, %7, none
    } else {
    }
    yield %6
  }""")  # fmt: skip


def test_divisions_and_loads_stay_in_a_while():
    text = """
  while {
    yield b
  } {
    %1 = div n, n : i32
    %2 = load p, none, none : f32
    %3 = cast %1 {dtype=f32} : f32
    %4 = add %2, %3 : f32
    store q, %4, none
  }"""
    assert run(LICM(), text) == lines(text)


# -- dce ----------------------------------------------------------------------------------------


def test_a_branch_without_effects_whose_results_are_unused_goes():
    assert run(DCE(), """
  %2 = if b : f32 {
    %0 = load p, none, none : f32
    yield %0
  } else {
    yield v
  }
  store q, v, none""") == ["store q, v, none"]  # fmt: skip


def test_results_nobody_uses_go_with_what_only_they_needed():
    assert run(DCE(), """
  %3, %4, %5 = if b : f32, ptr<f32>, f32 {
    %0 = mul v, 2.0 : f32
    %1 = addptr p, n : ptr<f32>
    store p, 1.0, none
    yield %0, %1, 1.0
  } else {
    yield v, p, 2.0
  }
  store q, %5, none""") == lines("""
  %5 = if b : f32 {
    store p, 1.0, none
    yield 1.0
  } else {
    yield 2.0
  }
  store q, %5, none""")  # fmt: skip


def test_carried_values_of_a_while_that_only_feed_themselves_go():
    assert run(DCE(), """
  %7, %8 = while n, v : i32, f32 {
    args(%1: i32, %2: f32)
    %3 = cmp_gt %1, 0 : bool
    yield %3
  } {
    args(%4: i32, %5: f32)
    %6 = sub %4, 1 : i32
    %9 = add %5, 1.0 : f32
    store p, 1.0, none
    yield %6, %9
  }""") == lines("""
  %7 = while n : i32 {
    args(%1: i32)
    %3 = cmp_gt %1, 0 : bool
    yield %3
  } {
    args(%4: i32)
    %6 = sub %4, 1 : i32
    store p, 1.0, none
    yield %6
  }""")  # fmt: skip


def test_a_reduction_nobody_uses_goes():
    assert run(DCE(), """
  %0 = full v {dtype=f32, shape=(4,)} : vector<4 x f32>
  %4 = reduce %0 : f32 {
    args(%1: f32, %2: f32)
    %3 = add %1, %2 : f32
    yield %3
  }
  store q, v, none""") == ["store q, v, none"]  # fmt: skip


# -- together -----------------------------------------------------------------------------------


def test_the_passes_take_turns():
    function = parse(f"""kernel f({PARAMS}) {{
  %0 = sub 3:i32, 3:i32 : i32
  %1 = cmp_gt %0, 0:i32 : bool
  %5 = if %1 : i32 {{
    yield n
  }} else {{
    yield 0
  }}
  %9 = while %5 : i32 {{
    args(%6: i32)
    %7 = cmp_lt %6, %5 : bool
    yield %7
  }} {{
    args(%8: i32)
    store p, v, none
    yield %8
  }}
  %10 = addptr q, %9 : ptr<f32>
  store %10, v, none
}}
""")
    verify(function)
    after = print_module(optimise(function)).splitlines()[1:-1]
    assert [line.strip() for line in after] == [
        "%10 = addptr q, 0 : ptr<f32>",
        "store %10, v, none",
    ]
