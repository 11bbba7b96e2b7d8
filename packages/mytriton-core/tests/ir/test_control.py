"""``if``, ``while`` and ``reduce``: their text, and the rules the verifier holds them to."""

import pytest

from mytriton.errors import VerificationError
from mytriton.ir.parser import parse
from mytriton.ir.printer import print_module
from mytriton.verify import verify

PARAMS = "p: ptr<f32>, n: i32, v: f32, b: bool"


def module(body):
    return parse(f"kernel f({PARAMS}) {{\n{body}\n}}\n")


IF = """  %0 = cmp_gt n, 2 : bool
  %3, %4 = if %0 : f32, ptr<f32> {
    store p, 1.0, none
    %1 = mul v, 2.0 : f32
    %2 = addptr p, n : ptr<f32>
    yield %1, %2
  } else {
    yield v, p
  }
  store %4, %3, none"""
EMPTY_IF = """  if b {
    store p, 1.0, none
  } else {
  }"""
WHILE = """  %9, %8 = while n, v : i32, f32 {
    args(%1: i32, %2: f32)
    %3 = cmp_gt %1, 0 : bool
    yield %3
  } {
    args(%4: i32, %5: f32)
    %6 = div %4, 2 : i32
    %7 = add %5, -0.0 : f32
    yield %6, %7
  }
  store p, %8, none"""
NESTED = """  while {
    %1 = load p, none, none : f32
    %2 = cmp_lt %1, 4.0 : bool
    yield %2
  } {
    for %3 in range(0, n, 1) {
      if b {
        %4 = add v, nan : f32
        store p, %4, none
      } else {
        store p, inf, none
      }
    }
  }"""
REDUCE = """  %0 = full 1.5 {dtype=f32, shape=(4, 8)} : block<4x8 x f32>
  %1 = full n {dtype=i32, shape=(4, 8)} : block<4x8 x i32>
  %8, %9 = reduce %0, %1 {axis=1} : vector<4 x f32>, vector<4 x i32> {
    args(%2: f32, %3: i32, %4: f32, %5: i32)
    %6 = add %2, %4 : f32
    %7 = maximum %3, %5 : i32
    yield %6, %7
  }
  %12 = reduce %8 : f32 {
    args(%10: f32, %11: f32)
    yield %10
  }
  store p, %12, none"""


@pytest.mark.parametrize("body", [IF, EMPTY_IF, WHILE, NESTED, REDUCE])
def test_text_reads_back_as_itself(body):
    function = module(body)
    verify(function)
    text = print_module(function)
    again = parse(text)
    assert again == function
    assert print_module(again) == text


def test_operations_differ_by_their_regions():
    assert module(IF) != module(IF.replace("store p, 1.0", "store p, 2.0"))
    assert module(IF) != module(IF.replace("yield v, p", "yield 1.0, p"))
    assert module(WHILE) != module(WHILE.replace("div %4, 2", "div %4, 3"))


@pytest.mark.parametrize(
    ("body", "old", "new", "message"),
    [
        (IF, "if %0", "if n", "if: the condition must be a bool scalar, got i32"),
        (IF, "yield v, p", "yield v", "if: what the else region yields are f32 but must be f32, ptr<f32>"),
        (IF, "yield %1, %2", "yield n, %2", "if: what the then region yields are i32, ptr<f32>"),
        (IF, "store %4, %3", "store %2, %3", "outside the region that defines it"),
        (WHILE, "yield %3", "yield %1", "while: the condition must be a bool scalar, got i32"),
        (WHILE, "yield %3", "yield %3, %3", "while: the condition region yields one bool"),
        (WHILE, "yield %6, %7", "yield %7, %6", "while: what the body yields are f32, i32"),
        (WHILE, "args(%4: i32, %5: f32)", "args(%4: i32, %99: f32, %5: f32)", "while: the arguments of the body"),
        (WHILE, "while n, v : i32, f32", "while n, v : i32, f64", "while: the results are i32, f64"),
        (WHILE, "%6 = div %4", "%6 = div %1", "outside the region that defines it"),
        (REDUCE, "{axis=1}", "{axis=2}", "axis 2 is not an axis"),
        (REDUCE, "yield %6, %7", "yield %7, %7", "reduce: what the region yields are i32, i32"),
        (REDUCE, "(%10: f32, %11: f32)", "(%10: f32)", "reduce: the arguments are f32 but must be f32, f32"),
        (REDUCE, "    yield %10", "    store p, %10, none\n    yield %10", "must be pure, it has store"),
        (REDUCE, "%12 = reduce %8 : f32", "%12 = reduce %8 : f64", "reduce: the results are f64"),
    ],
)  # fmt: skip
def test_rules(body, old, new, message):
    assert old in body
    with pytest.raises(VerificationError, match=r"(?s).*" + message.replace("(", r"\(")):
        verify(module(body.replace(old, new)))
