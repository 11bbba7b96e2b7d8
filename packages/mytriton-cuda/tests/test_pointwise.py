"""Elementwise operations on the emulator, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cuda_ssa as ssa
import numpy as np
import pytest

from mytriton.ir.numerics import decode, encode, storage_dtype
from mytriton.ir.types import parse_type

pytestmark = pytest.mark.nvrtc
pytest.importorskip("mytriton_testkit.emulator_device")
RNG = np.random.default_rng(2)
N = 256

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "bf16", "f32", "f64")
MAPPINGS = ("element", 2)


def kernel(op: str, ty: str, out: str, operands: int, attrs: str = "") -> Any:
    block = f"vector<{N} x"
    lines = [f"  %0 = arange {{start=0, end={N}}} : {block} i32>"]
    for k, name in enumerate("xyz"[:operands]):
        lines.append(f"  %{10 + k} = addptr {name}, %0 : {block} ptr<{ty}>>")
        lines.append(f"  %{20 + k} = load %{10 + k}, none, none : {block} {ty}>")
    used = ", ".join(f"%{20 + k}" for k in range(operands))
    lines.append(f"  %30 = {op} {used}{attrs and ' ' + attrs} : {block} {out}>")
    lines.append(f"  %31 = addptr out, %0 : {block} ptr<{out}>>")
    lines.append("  store %31, %30, none")
    params = ", ".join(f"{n}: ptr<{ty}>" for n in "xyz"[:operands])
    return ssa.function(f"kernel k({params}, out: ptr<{out}>) {{\n" + "\n".join(lines) + "\n}\n")


def run(mapping: Any, op: str, ty: str, out: str, *inputs: np.ndarray, attrs: str = "") -> Any:
    """The stored bits of ``op`` applied to arrays in storage form."""
    fn = kernel(op, ty, out, len(inputs), attrs)
    args: dict[str, Any] = dict(zip("xyz", inputs, strict=False))
    args["out"] = np.zeros(N, storage_dtype(parse_type(out)))
    return ssa.emulated(fn, mapping, args, divisible_by=dict.fromkeys(args, 16))["out"]


def integers(ty: str) -> np.ndarray:
    info = np.iinfo(storage_dtype(parse_type(ty)))
    found = RNG.integers(info.min, info.max, N, dtype=info.dtype, endpoint=True)
    edges = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]
    found[: len(edges)] = edges
    found[40:80] = RNG.integers(-3 if info.min else 0, 4, 40)
    return RNG.permutation(found)


def floats(ty: str, scale: float = 3.0) -> np.ndarray:
    found = RNG.standard_normal(N) * scale
    found[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5]
    return encode(held(RNG.permutation(found), ty), parse_type(ty))


def held(values: np.ndarray, ty: str) -> np.ndarray:
    return values.astype({"f16": "f2", "f64": "f8"}.get(ty, "f4"))


def values(bits: np.ndarray, ty: str) -> np.ndarray:
    return decode(bits, parse_type(ty)).astype(np.float64)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("ty", [*INTEGERS, *FLOATS])
def test_comparisons(mapping: Any, ty: str) -> None:
    make = floats if ty in FLOATS else integers
    x, y = make(ty), make(ty)
    y[::3] = x[::3]
    a, b = (decode(v, parse_type(ty)) for v in (x, y))
    for name, meaning in [
        ("lt", a < b), ("le", a <= b), ("gt", a > b), ("ge", a >= b), ("eq", a == b), ("ne", a != b),
    ]:  # fmt: skip
        np.testing.assert_array_equal(run(mapping, f"cmp_{name}", ty, "bool", x, y), meaning)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("ty", INTEGERS)
def test_bitwise(mapping: Any, ty: str) -> None:
    x, y = integers(ty), integers(ty)
    for name, expected in [("and", x & y), ("or", x | y), ("xor", x ^ y)]:
        np.testing.assert_array_equal(run(mapping, name, ty, ty, x, y), expected)
    np.testing.assert_array_equal(run(mapping, "not", ty, ty, x), ~x)
    by = RNG.integers(0, x.dtype.itemsize * 8, N).astype(x.dtype)
    np.testing.assert_array_equal(run(mapping, "shl", ty, ty, x, by), np.left_shift(x, by))
    np.testing.assert_array_equal(run(mapping, "shr", ty, ty, x, by), np.right_shift(x, by))


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_bitwise_of_bools(mapping: Any) -> None:
    x, y = RNG.integers(0, 2, N).astype(bool), RNG.integers(0, 2, N).astype(bool)
    for name, expected in [("and", x & y), ("or", x | y), ("xor", x ^ y)]:
        np.testing.assert_array_equal(run(mapping, name, "bool", "bool", x, y), expected)
    np.testing.assert_array_equal(run(mapping, "not", "bool", "bool", x), ~x)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("ty", INTEGERS)
def test_remainder_and_absolute_value_of_integers(mapping: Any, ty: str) -> None:
    x, y = integers(ty), integers(ty)
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    expected = [0 if b in (0, -1) else abs(a) % abs(b) * (-1 if a < 0 else 1) for a, b in pairs]
    np.testing.assert_array_equal(
        run(mapping, "rem", ty, ty, x, y), np.array(expected, object).astype(x.dtype)
    )
    np.testing.assert_array_equal(run(mapping, "abs", ty, ty, x), np.abs(x))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("ty", ["i32", "i64", "u32", "u64"])
def test_upper_half_of_a_product(mapping: Any, ty: str) -> None:
    x, y = integers(ty), integers(ty)
    bits = x.dtype.itemsize * 8
    mask = (1 << bits) - 1
    expected = [(a & mask) * (b & mask) >> bits for a, b in zip(x.tolist(), y.tolist())]
    unsigned = np.array(expected, f"u{bits // 8}")
    np.testing.assert_array_equal(run(mapping, "umulhi", ty, ty, x, y), unsigned.view(x.dtype))


ROUNDED: dict[str, Callable[[Any], Any]] = {
    "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "abs": np.abs,
}  # fmt: skip


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("ty", FLOATS)
@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_functions_that_are_rounded_correctly(mapping: Any, ty: str, name: str) -> None:
    x = floats(ty)
    exact = encode(held(ROUNDED[name](values(x, ty)), ty), parse_type(ty))
    found = values(run(mapping, name, ty, ty, x), ty)
    np.testing.assert_array_equal(found, values(exact, ty))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(values(exact, ty)), strict=False)


CLOSE: dict[str, Callable[[Any], Any]] = {
    "exp2": np.exp2, "log": np.log, "log2": np.log2, "rsqrt": lambda a: 1 / np.sqrt(a),
    "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "erf": np.vectorize(math.erf),
}  # fmt: skip


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("ty", FLOATS)
@pytest.mark.parametrize("name", CLOSE)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_functions_of_a_float(mapping: Any, ty: str, name: str) -> None:
    x = floats(ty)
    found = values(run(mapping, name, ty, ty, x), ty)
    expected = CLOSE[name](values(x, ty))
    bound = {"f16": 1e-3, "bf16": 8e-3, "f32": 1e-6, "f64": 1e-14}[ty]
    np.testing.assert_allclose(found, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_of_many_turns(name: str) -> None:
    x = (RNG.standard_normal(N) * 10.0 ** RNG.integers(3, 30, N)).astype("f4")
    found = run("element", name, "f32", "f32", x)
    np.testing.assert_allclose(found, getattr(np, name)(x.astype("f8")), atol=1e-6)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("ty", FLOATS)
def test_remainder_and_fused_multiply_add_of_floats(mapping: Any, ty: str) -> None:
    x, y, z = floats(ty, 100.0), floats(ty), floats(ty)
    a, b, c = (values(v, ty) for v in (x, y, z))
    with np.errstate(all="ignore"):
        rest, total = np.fmod(a, b), a * b + c
    # 16-bit floats give their remainder in single precision.
    out = "f64" if ty == "f64" else "f32"
    np.testing.assert_array_equal(run(mapping, "rem", ty, out, x, y), rest)
    bound = {"f16": 1e-3, "bf16": 8e-3, "f32": 1e-7, "f64": 1e-15}[ty]
    found = values(run(mapping, "fma", ty, ty, x, y, z), ty)
    np.testing.assert_allclose(found, total, rtol=bound, atol=bound)


def test_fused_multiply_add_rounds_once() -> None:
    x = np.full(N, 1 + 2.0**-12, "f4")
    z = np.full(N, -(1 + 2.0**-11), "f4")
    np.testing.assert_array_equal(run("element", "fma", "f32", "f32", x, x, z), 2.0**-24)


PAIRS = [
    ("f32", "i32"), ("i32", "f32"), ("f32", "u32"), ("f64", "i64"), ("u64", "f64"), ("f16", "i16"),
    ("u16", "f16"), ("bf16", "i16"), ("i16", "bf16"), ("f16", "bf16"), ("bf16", "f16"), ("i8", "u8"),
    ("f8e5", "i8"), ("u8", "f8e4nv"), ("u32", "i32"), ("u64", "i64"),
]  # fmt: skip


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_bitcasts(mapping: Any, source: str, target: str) -> None:
    x = (floats if source[0] in "fb" else integers)(source)
    if {"f16", "bf16", "f8e5"} & {source, target} or target == "f8e4nv":
        # Held as float32: a NaN loses its payload.
        lost = np.isnan(decode_all(x, source)) | np.isnan(decode_all(x, target))
        x = np.where(lost, x.dtype.type(0), x)
    found = run(mapping, "bitcast", source, target, x, attrs=f"{{dtype={target}}}")
    assert found.tobytes() == x.tobytes()


def decode_all(bits: np.ndarray, ty: str) -> np.ndarray:
    """Numbers for any bits."""
    with np.errstate(all="ignore"):
        return decode(bits.view(storage_dtype(parse_type(ty))), parse_type(ty)).astype("f8")


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("ty", ["f8e4nv", "f8e5"])
def test_every_8_bit_float_is_widened_exactly(mapping: Any, ty: str) -> None:
    bits = np.arange(256, dtype=np.uint8)
    mantissa, bias = (3, 7) if ty == "f8e4nv" else (2, 15)
    exponent, fraction = (bits & 127) >> mantissa, (bits & ((1 << mantissa) - 1)) / 2.0**mantissa
    sign = np.where(bits & 128, -1.0, 1.0)
    exact = sign * np.where(
        exponent == 0,
        fraction * 2.0 ** (1 - bias),
        (1 + fraction) * 2.0 ** (exponent - float(bias)),
    )
    if ty == "f8e5":
        exact = np.where(exponent == 31, np.where(fraction == 0, sign * np.inf, np.nan), exact)
    else:
        exact = np.where(bits & 127 == 127, np.nan, exact)
    for out in ("f32", "f64", "f16", "bf16"):
        found = values(run(mapping, "cast", ty, out, bits, attrs=f"{{dtype={out}}}"), out)
        np.testing.assert_array_equal(found, exact)
    assert run(mapping, "cast", ty, ty, bits, attrs=f"{{dtype={ty}}}")[:120].tolist() == list(
        range(120)
    )


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("source", ["f32", "f64", "f16", "i32"])
@pytest.mark.parametrize("ty", ["f8e4nv", "f8e5"])
def test_rounding_to_8_bit_floats(mapping: Any, source: str, ty: str) -> None:
    table = values(np.arange(128, dtype=np.uint8), ty)
    table = table[np.isfinite(table)]
    middles = (table[1:] + table[:-1]) / 2
    points = np.concatenate(
        [middles, middles * (1 + 2**-9), -middles * (1 - 2**-9), [448, 464, 465, 6e4]]
    )
    points = RNG.permutation(np.concatenate([points, table, -table]))[:N]
    points = np.pad(points, (0, N - len(points)))
    x = points.astype({"f32": "f4", "f64": "f8", "f16": "f2", "i32": "i4"}[source])
    wide = x.astype("f8")
    step = 2 * table[-1] - table[-2]
    grid = np.append(table, step)
    at = np.clip(np.searchsorted(grid, np.abs(wide)), 1, len(grid) - 1)
    low, high = grid[at - 1], grid[at]
    up = (np.abs(wide) - low > high - np.abs(wide)) | (
        (np.abs(wide) - low == high - np.abs(wide)) & (at % 2 == 0)
    )
    near = np.where(up, high, low)
    near = np.where(
        (near == step) | (np.abs(wide) > step), np.inf if ty == "f8e5" else np.nan, near
    )
    near = np.where(np.isnan(wide), np.nan, near)
    found = values(run(mapping, "cast", source, ty, x, attrs=f"{{dtype={ty}}}"), ty)
    np.testing.assert_array_equal(found, np.copysign(near, wide))


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_double_is_rounded_to_8_bits_once(mapping: Any) -> None:
    # Just above the middle of 1 and 1.125: in single precision it is the middle, and goes to 1.
    x = np.full(N, 1.0625 + 2.0**-40)
    found = values(run(mapping, "cast", "f64", "f8e4nv", x, attrs="{dtype=f8e4nv}"), "f8e4nv")
    np.testing.assert_array_equal(found, 1.125)


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_extents_of_the_grid_and_broadcasts(mapping: Any) -> None:
    fn = ssa.function("""kernel k(out: ptr<i32>) {
  %0 = arange {start=0, end=8} : vector<8 x i32>
  %1 = expand_dims %0 {axis=1} : block<8x1 x i32>
  %2 = num_programs {axis=0} : i32
  %3 = num_programs {axis=1} : i32
  %4 = num_programs {axis=2} : i32
  %5 = mul %2, 100 : i32
  %6 = mul %3, 10 : i32
  %7 = add %5, %6 : i32
  %8 = add %7, %4 : i32
  %9 = broadcast %1 {shape=(8, 4)} : block<8x4 x i32>
  %10 = broadcast %8 {shape=(8, 4)} : block<8x4 x i32>
  %11 = add %9, %10 : block<8x4 x i32>
  %12 = mul %1, 4 : block<8x1 x i32>
  %13 = arange {start=0, end=4} : vector<4 x i32>
  %14 = expand_dims %13 {axis=0} : block<1x4 x i32>
  %15 = add %12, %14 : block<8x4 x i32>
  %16 = addptr out, %15 : block<8x4 x ptr<i32>>
  store %16, %11, none
}
""")
    found = ssa.emulated(fn, mapping, {"out": np.zeros((8, 4), "i4")}, (3, 2, 4))["out"]
    np.testing.assert_array_equal(found, np.arange(8)[:, None] + np.full(4, 324))
