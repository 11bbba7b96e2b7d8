"""Assertions and prints of a running kernel."""

from __future__ import annotations

from typing import Any

import cuda_ssa as ssa
import numpy as np
import pytest

from mytriton_cuda.emit.output import quoted

pytestmark = pytest.mark.nvrtc
ptx = pytest.importorskip("mytriton_testkit.ptx")
mappings = pytest.mark.parametrize("mapping", ssa.MAPPINGS)

CHECKED = """kernel k(x: ptr<i32>, out: ptr<i32>, n: i32) {
  %0 = arange {start=0, end=48} : vector<48 x i32>
  %1 = addptr x, %0 : vector<48 x ptr<i32>>
  %2 = load %1, none, none : vector<48 x i32>
  %3 = cmp_lt %2, 100 : vector<48 x bool>
  %4 = cmp_lt %0, n : vector<48 x bool>
  device_assert %3, %4 {message='too "large"\\n'}
  %5 = cmp_gt n, 0 : bool
  device_assert %5, none {message=''}
  %6 = addptr out, %0 : vector<48 x ptr<i32>>
  store %6, %2, none
}
"""


@mappings
def test_an_assertion_fails_only_in_selected_lanes(mapping: Any) -> None:
    x = np.arange(48, dtype="i4")
    x[40] = 100
    fn, args = ssa.function(CHECKED), {"x": x, "out": np.zeros(48, "i4"), "n": 40}
    np.testing.assert_array_equal(ssa.emulated(fn, mapping, args)["out"], x)
    with pytest.raises(ptx.PtxCheckError, match="assertion failed"):
        ssa.emulated(fn, mapping, {**args, "n": 41})
    with pytest.raises(ptx.PtxCheckError, match="assertion failed"):
        ssa.emulated(fn, mapping, {**args, "n": 0})


@mappings
def test_a_scalar_is_checked_with_a_mask_of_a_block(mapping: Any) -> None:
    fn = ssa.function("""kernel k(out: ptr<i32>, n: i32, m: i32) {
  %0 = arange {start=0, end=8} : vector<8 x i32>
  %1 = cmp_lt %0, m : vector<8 x bool>
  %2 = cmp_gt n, 0 : bool
  device_assert %2, %1 {message='m'}
  store out, 1, none
}
""")
    args = {"out": np.zeros(1, "i4"), "n": 0, "m": 0}
    assert ssa.emulated(fn, mapping, args)["out"] == [1]
    with pytest.raises(ptx.PtxCheckError, match="assertion failed"):
        ssa.emulated(fn, mapping, {**args, "m": 1})


def test_the_words_of_an_assertion_are_kept() -> None:
    text = ssa.source(ssa.function(CHECKED), "element").text
    assert r'__assertfail("too \"large\"\n", "<ssa>", 7, "k", 1);' in text


PRINTS = """kernel k(x: ptr<f16>, n: i64) {
  %0 = arange {start=0, end=8} : vector<8 x i32>
  %1 = expand_dims %0 {axis=1} : block<8x1 x i32>
  %2 = arange {start=0, end=4} : vector<4 x i32>
  %3 = expand_dims %2 {axis=0} : block<1x4 x i32>
  %4 = mul %1, 4 : block<8x1 x i32>
  %5 = add %4, %3 : block<8x4 x i32>
  %6 = addptr x, %5 : block<8x4 x ptr<f16>>
  %7 = load %6, none, none : block<8x4 x f16>
  device_print %7, n {prefix=': 100% '}
  %8 = sub %2, 1 : vector<4 x i32>
  device_print %8 {prefix=' hex', hex=True}
  device_print {prefix='done'}
}
"""


@mappings
def test_every_element_is_printed_once_with_its_place(
    mapping: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.arange(32, dtype="f2").reshape(8, 4) / 4
    ssa.emulated(ssa.function(PRINTS), mapping, {"x": x, "n": -(2**40)}, (2, 1, 1))
    expected = []
    for program in (0, 1):
        start = f"pid ({program}, 0, 0) idx"
        expected += [
            f"{start} ({i}, {j}): 100%  (operand 0) {x[i, j]:g}" for i in range(8) for j in range(4)
        ]
        expected += [f"{start} (): 100%  (operand 1) {-(2**40)}", f"{start} ()done"]
        words = ("0xffffffff", "0x00000000", "0x00000001", "0x00000002")
        expected += [f"{start} ({j}) hex {word}" for j, word in enumerate(words)]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(expected)


@pytest.mark.parametrize(
    ("words", "literal"), [('a"b\\', r'"a\"b\\"'), ("\t\n", r'"\t\n"'), ("é", r'"\303\251"')]
)
def test_string_literals(words: str, literal: str) -> None:
    assert quoted(words) == literal
