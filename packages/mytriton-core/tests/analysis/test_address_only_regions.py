"""What regions do to ``address_only``: values that leave them count as what they become."""

from __future__ import annotations

from mytriton.analysis.offsets import address_only
from mytriton.ir.parser import parse


def add_only(body: str) -> frozenset[int]:
    return address_only(parse(f"kernel k(x: ptr<i32>, n: i32) {{\n{body}\n}}\n"))


BRANCH = """
  %0 = cmp_lt n, 5 : bool
  %3 = if %0 : i32 {{
    %1 = mul n, 7 : i32
    yield %1
  }} else {{
    %2 = add n, 7 : i32
    yield %2
  }}
  %4 = addptr x, {offset} : ptr<i32>
  store %4, {value}, none"""


def test_what_a_branch_yields_is_what_its_result_is() -> None:
    assert {1, 2, 3} <= add_only(BRANCH.format(offset="%3", value="1"))
    assert not {1, 2, 3} & add_only(BRANCH.format(offset="n", value="%3"))


def test_the_condition_of_a_branch_is_no_mask() -> None:
    assert 0 not in add_only(BRANCH.format(offset="%3", value="1"))


LOOP = """
  %6 = while 0:i32 : i32 {{
    args(%1: i32)
    %2 = cmp_lt n, 4 : bool
    yield %2
  }} {{
    args(%3: i32)
    %4 = add %3, 3 : i32
    yield %4
  }}
  %7 = addptr x, {offset} : ptr<i32>
  store %7, {value}, none"""


def test_what_a_while_carries_is_what_its_result_is() -> None:
    assert {3, 4, 6} <= add_only(LOOP.format(offset="%6", value="1"))
    assert not {4, 6} & add_only(LOOP.format(offset="n", value="%6"))


def test_the_condition_of_a_while_is_no_mask() -> None:
    assert 2 not in add_only(LOOP.format(offset="%6", value="1"))


def test_what_a_combine_function_computes_is_not() -> None:
    found = add_only("""
  %0 = arange {start=0, end=4} : vector<4 x i32>
  %5 = reduce %0 : i32 {
    args(%1: i32, %2: i32)
    %3 = mul %1, %2 : i32
    yield %3
  }
  store x, %5, none""")
    assert not {0, 3, 5} & found
