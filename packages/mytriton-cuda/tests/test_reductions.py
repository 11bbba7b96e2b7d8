"""Positions, exclusive or and reductions with a function of the user's, on the emulator."""

from __future__ import annotations

from typing import Any

import cuda_ssa as ssa
import numpy as np
import pytest

from mytriton.ir.numerics import decode, encode, storage_dtype
from mytriton.ir.types import parse_type

pytestmark = pytest.mark.nvrtc
pytest.importorskip("mytriton_testkit.emulator_device")
RNG = np.random.default_rng(4)
mappings = pytest.mark.parametrize("mapping", ssa.MAPPINGS)
SHAPES = [((64,), None), ((2,), 0), ((512,), 0), ((8, 16), 0), ((8, 16), 1), ((16, 8), None),
          ((4, 1, 8), 1), ((4, 2, 8), 1), ((1, 1), None), ((3, 32), 1)]  # fmt: skip
shapes = pytest.mark.parametrize(("shape", "axis"), SHAPES)


def _rest(shape: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    return () if axis is None else tuple(n for k, n in enumerate(shape) if k != axis)


def _reduced(shape: tuple[int, ...], axis: int | None, ty: str, out: str, text: str) -> Any:
    """A kernel that loads ``%1``, and stores ``%2`` which ``text`` makes of it."""
    rest = _rest(shape, axis)
    target = ssa.pointers(300, "out", rest, out) if rest else f"  %350 = addptr out, 0 : ptr<{out}>"
    return ssa.function(f"""kernel k(x: ptr<{ty}>, y: ptr<{ty}>, out: ptr<{out}>) {{
{ssa.pointers(100, "x", shape, ty)}
{ssa.pointers(200, "y", shape, ty)}
{target}
  %1 = load %150, none, none : {ssa.block(shape, ty)}
  %3 = load %250, none, none : {ssa.block(shape, ty)}
{text}
  store %350, %2, none
}}
""")


def run(mapping: Any, shape: Any, axis: Any, ty: str, out: str, text: str, *inputs: Any) -> Any:
    fn = _reduced(shape, axis, ty, out, text)
    args = {
        "x": inputs[0],
        "y": inputs[-1],
        "out": np.zeros(_rest(shape, axis) or 1, storage_dtype(parse_type(out))),
    }
    found = ssa.emulated(fn, mapping, args, divisible_by=dict.fromkeys(args, 16))["out"]
    return found.reshape(_rest(shape, axis))


def _at(axis: int | None) -> str:
    return "" if axis is None else f"{{axis={axis}}} "


@mappings
@pytest.mark.parametrize(
    ("shape", "axis", "ty", "name"),
    [(*each, "f32", "argmax") for each in SHAPES]
    + [((8, 16), 0, ty, name) for ty in ("f16", "u8", "i64") for name in ("argmax", "argmin")]
    + [((512,), None, "i32", "argmin"), ((8, 16), 1, "i32", "argmin")],
)
def test_first_position(mapping: Any, shape: Any, axis: Any, ty: str, name: str) -> None:
    # Few different values: many ties.
    x = RNG.integers(0, 5, shape).astype(storage_dtype(parse_type(ty)))
    result = ssa.block(_rest(shape, axis), "i32")
    found = run(mapping, shape, axis, ty, "i32", f"  %2 = {name} %1 {_at(axis)}: {result}", x)
    np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))


@mappings
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_ignore_nan(mapping: Any, name: str) -> None:
    x = RNG.integers(0, 4, (8, 32)).astype("f4")
    x[RNG.random(x.shape) < 0.5] = np.nan
    x[3] = np.nan
    x[4, 0] = np.nan
    x[5] = [-np.inf, np.inf] * 16
    found = run(
        mapping, (8, 32), 1, "f32", "i32", f"  %2 = {name} %1 {{axis=1}} : vector<8 x i32>", x
    )
    filled = np.where(np.isnan(x), -np.inf if name == "argmax" else np.inf, x)
    expected = getattr(np, name)(filled, axis=1)
    expected[3] = 0
    np.testing.assert_array_equal(found, expected)


@mappings
@pytest.mark.parametrize(
    ("shape", "axis", "ty"),
    [(*each, "i32") for each in SHAPES] + [((8, 16), 1, ty) for ty in ("u8", "i64", "bool")],
)
def test_exclusive_or(mapping: Any, shape: Any, axis: Any, ty: str) -> None:
    x = RNG.integers(0, 100, shape).astype(storage_dtype(parse_type(ty)))
    result = ssa.block(_rest(shape, axis), ty)
    found = run(mapping, shape, axis, ty, ty, f"  %2 = xor_sum %1 {_at(axis)}: {result}", x)
    axes = tuple(range(x.ndim)) if axis is None else axis
    np.testing.assert_array_equal(found, np.bitwise_xor.reduce(x, axis=axes))


@mappings
@shapes
def test_a_function_that_is_not_commutative(mapping: Any, shape: Any, axis: Any) -> None:
    """``x -> a x + b`` after one another, modulo 2**32: only neighbours in order give the result."""
    a, b = (RNG.integers(-(2**31), 2**31, shape).astype("i4") for _ in "ab")
    result = ssa.block(_rest(shape, axis), "i32")
    found = run(mapping, shape, axis, "i32", "i32", f"""  %10, %11 = reduce %1, %3 {_at(axis)}: {result}, {result} {{
    args(%20: i32, %21: i32, %22: i32, %23: i32)
    %24 = mul %20, %22 : i32
    %25 = mul %21, %22 : i32
    %26 = add %25, %23 : i32
    yield %24, %26
  }}
  %2 = xor %10, %11 : {result}""", a, b)  # fmt: skip
    rows = [np.moveaxis(v, axis, 0) if axis is not None else v.ravel() for v in (a, b)]
    total = [v[:1].astype("u4") for v in rows]
    for x, y in zip(rows[0][1:].astype("u4"), rows[1][1:].astype("u4"), strict=True):
        total = [total[0] * x, total[1] * x + y]
    np.testing.assert_array_equal(found, (total[0] ^ total[1]).astype("i4").reshape(found.shape))


@mappings
def test_a_function_with_branches_of_what_lies_outside(mapping: Any) -> None:
    """The largest value below a bound, and where: of types of different width, in a loop."""
    x = RNG.standard_normal((4, 32))
    y = encode(x.astype("f4"), parse_type("bf16"))
    x = decode(y, parse_type("bf16"))
    found = run(mapping, (4, 32), 1, "bf16", "i64", """  %5 = cast 0.5:f32 {dtype=bf16} : bf16
  %6 = arange {start=0, end=32} : vector<32 x i32>
  %7 = cast %6 {dtype=i64} : vector<32 x i64>
  %8 = expand_dims %7 {axis=0} : block<1x32 x i64>
  %9 = broadcast %8 {shape=(4, 32)} : block<4x32 x i64>
  %4 = zeros {shape=(4,), dtype=i64} : vector<4 x i64>
  %2 = for %40 in range(0, 3, 1) iter_args(%41 = %4) : vector<4 x i64> {
    %10, %11 = reduce %1, %9 {axis=1} : vector<4 x bf16>, vector<4 x i64> {
      args(%20: bf16, %21: i64, %22: bf16, %23: i64)
      %24 = cmp_lt %20, %22 : bool
      %25 = cmp_lt %22, %5 : bool
      %26 = and %24, %25 : bool
      %27 = cmp_ge %20, %5 : bool
      %28 = or %26, %27 : bool
      %30, %31 = if %28 : bf16, i64 {
        yield %22, %23
      } else {
        yield %20, %21
      }
      yield %30, %31
    }
    %42 = add %41, %11 : vector<4 x i64>
    yield %42
  }""", y)  # fmt: skip
    below = np.where(x < 0.5, x, -np.inf)
    np.testing.assert_array_equal(found, 3 * below.argmax(axis=1))
