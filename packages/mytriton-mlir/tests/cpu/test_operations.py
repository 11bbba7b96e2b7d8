"""Pointwise operations, conversions and reductions against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

INTEGERS = {
    "i8": "i1",
    "i16": "i2",
    "i32": "i4",
    "i64": "i8",
    "u8": "u1",
    "u16": "u2",
    "u32": "u4",
    "u64": "u8",
}
COMPARISONS = {
    "cmp_lt": np.less, "cmp_le": np.less_equal, "cmp_gt": np.greater, "cmp_ge": np.greater_equal,
    "cmp_eq": np.equal, "cmp_ne": np.not_equal,
}  # fmt: skip
BINARY = """kernel k(x: ptr<{ty}>, y: ptr<{ty}>, out: ptr<{to}>) {{
  %0 = arange {{start=0, end=100}} : vector<100 x i32>
  %1 = addptr x, %0 : vector<100 x ptr<{ty}>>
  %2 = addptr y, %0 : vector<100 x ptr<{ty}>>
  %3 = load %1, none, none : vector<100 x {ty}>
  %4 = load %2, none, none : vector<100 x {ty}>
  %5 = {op} %3, %4 : vector<100 x {to}>
  %6 = addptr out, %0 : vector<100 x ptr<{to}>>
  store %6, %5, none
}}"""
UNARY = """kernel k(x: ptr<{ty}>, out: ptr<{to}>, n: i32) {{
  %0 = program_id {{axis=0}} : i32
  %1 = mul %0, 100 : i32
  %2 = arange {{start=0, end=100}} : vector<100 x i32>
  %3 = add %1, %2 : vector<100 x i32>
  %4 = cmp_lt %3, n : vector<100 x bool>
  %5 = addptr x, %3 : vector<100 x ptr<{ty}>>
  %6 = load %5, %4, none : vector<100 x {ty}>
  %7 = {op} %6 {attrs}: vector<100 x {to}>
  %8 = addptr out, %3 : vector<100 x ptr<{to}>>
  store %8, %7, %4
}}"""


def numbers(dtype, seed=0):
    info, rng = np.iinfo(dtype), np.random.default_rng(seed)
    found = rng.integers(info.min, info.max, 100, dtype=dtype, endpoint=True)
    found[:6] = [0, 1, info.max, info.min, info.min, 2]
    return found


@pytest.fixture
def binary(run_ssa):
    def binary(op, ty, x, y, to=None, out="?"):
        found = np.zeros(100, out)
        run_ssa(BINARY.format(op=op, ty=ty, to=to or ty), [x, y, found])
        return found

    return binary


@pytest.fixture
def unary(run_ssa):
    def unary(op, ty, x, to=None, out=None, attrs=""):
        found = np.zeros(x.size, out or x.dtype)
        text = UNARY.format(op=op, ty=ty, to=to or ty, attrs=attrs)
        run_ssa(text, [x, found, x.size], (-(-x.size // 100), 1, 1))
        return found

    return unary


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize("ty", INTEGERS)
def test_comparing_integers(binary, op, ty):
    x, y = numbers(INTEGERS[ty]), np.roll(numbers(INTEGERS[ty]), 1)
    np.testing.assert_array_equal(binary(op, ty, x, y, "bool"), COMPARISONS[op](x, y))


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparing_with_nan(binary, op):
    x = np.tile(np.array([0.0, -0.0, np.nan, np.inf, 1.0], "f"), 20)
    y = np.repeat(np.array([0.0, -0.0, np.nan, np.inf, 1.0], "f"), 20)
    np.testing.assert_array_equal(binary(op, "f32", x, y, "bool"), COMPARISONS[op](x, y))


@pytest.mark.parametrize("ty", INTEGERS)
def test_bits(binary, unary, ty):
    dtype = np.dtype(INTEGERS[ty])
    x, y = numbers(dtype), numbers(dtype, 1)
    np.testing.assert_array_equal(binary("or", ty, x, y, out=dtype), x | y)
    np.testing.assert_array_equal(binary("xor", ty, x, y, out=dtype), x ^ y)
    np.testing.assert_array_equal(unary("not", ty, x), ~x)
    by = (np.arange(100) % (dtype.itemsize * 8)).astype(dtype)
    np.testing.assert_array_equal(binary("shl", ty, x, by, out=dtype), x << by)
    np.testing.assert_array_equal(binary("shr", ty, x, by, out=dtype), x >> by)


@pytest.mark.parametrize("ty", INTEGERS)
def test_the_remainder_has_the_sign_of_the_dividend(binary, ty):
    dtype = np.dtype(INTEGERS[ty])
    x, y = numbers(dtype), np.roll(numbers(dtype, 1), 3)
    got = binary("rem", ty, x, y, out=dtype)  # must not trap, whatever is divided by
    low = np.iinfo(dtype).min
    defined = (y != 0) & ~((x == low) & (y.astype(float) == -1))
    pairs = zip(map(int, x[defined]), map(int, y[defined]))
    want = [abs(a) % abs(b) * (-1 if a < 0 else 1) for a, b in pairs]
    np.testing.assert_array_equal(got[defined], np.array(want, dtype))


def test_the_remainder_of_floats_is_exact(binary):
    rng = np.random.default_rng(2)
    x = (rng.standard_normal(100) * 10.0 ** rng.integers(-3, 20, 100)).astype("f")
    y = rng.standard_normal(100).astype("f")
    np.testing.assert_array_equal(binary("rem", "f32", x, y, out="f"), np.fmod(x, y))


@pytest.mark.parametrize("ty, bits", [("i32", 32), ("u32", 32), ("i64", 64), ("u64", 64)])
def test_the_upper_half_of_a_product(binary, ty, bits):
    dtype = np.dtype(INTEGERS[ty])
    x, y = numbers(dtype), numbers(dtype, 3)
    got = binary("umulhi", ty, x, y, out=dtype)
    mask = (1 << bits) - 1
    want = [((int(a) & mask) * (int(b) & mask)) >> bits for a, b in zip(x, y)]
    assert [int(v) & mask for v in got] == want


def f8_value(code, mantissa, bias, ieee):
    """The number an 8-bit float is, from the definition of the format."""
    sign, exponent = -1.0 if code & 0x80 else 1.0, (code & 0x7F) >> mantissa
    fraction = code & ((1 << mantissa) - 1)
    if ieee and exponent == 31:
        return sign * np.inf if fraction == 0 else np.nan
    if not ieee and code & 0x7F == 0x7F:
        return np.nan
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - mantissa)
    return sign * (1 + fraction / (1 << mantissa)) * 2.0 ** (exponent - bias)


FORMATS = {"f8e4nv": (3, 7, False), "f8e5": (2, 15, True)}


@pytest.mark.parametrize("ty", FORMATS)
def test_every_8_bit_float(unary, ty):
    codes = np.arange(256).astype("u1")
    got = unary("cast", ty, codes, "f32", "f", "{dtype=f32} ")
    np.testing.assert_array_equal(got, [f8_value(c, *FORMATS[ty]) for c in range(256)])


@pytest.mark.parametrize("ty", FORMATS)
@pytest.mark.parametrize("source, dtype", [("f32", "f4"), ("f64", "f8"), ("f16", "f2")])
def test_rounding_to_8_bits_goes_to_the_nearest_and_to_even(unary, ty, source, dtype):
    table = np.array([f8_value(c, *FORMATS[ty]) for c in range(128)])
    table = table[np.isfinite(table)]
    middle = (table[1:] + table[:-1]) / 2
    if dtype == "f2":
        middle = middle[middle.astype("f2") == middle]
    step = np.spacing(middle.astype(dtype))
    x = np.concatenate([table, middle, middle - step, middle + step]).astype(dtype)
    got = unary("cast", source, x, ty, "u1", f"{{dtype={ty}}} ")
    for value, code in zip(x.astype("f8"), got):
        distance = np.abs(table - value)
        nearest = np.flatnonzero(distance == distance.min())
        assert code == (nearest[0] if len(nearest) == 1 else nearest[nearest % 2 == 0][0]), value
    negative = unary("cast", source, -x, ty, "u1", f"{{dtype={ty}}} ")
    np.testing.assert_array_equal(negative, got | 0x80)


def test_beyond_the_largest_8_bit_float(unary):
    x = np.array([464.0, 464.1, np.inf, np.nan], "f")
    got = unary("cast", "f32", x, "f8e4nv", "u1", "{dtype=f8e4nv} ")
    assert got.tolist() == [0x7E, 0x7F, 0x7F, 0x7F]
    x = np.array([61439.0, 61440.0, np.inf], "f")
    got = unary("cast", "f32", x, "f8e5", "u1", "{dtype=f8e5} ")
    assert got.tolist() == [0x7B, 0x7C, 0x7C]


@pytest.mark.parametrize(
    "ty, dtype, to, out",
    [("f32", "f4", "i32", "i4"), ("i64", "i8", "f64", "f8"), ("f16", "f2", "u16", "u2")],
)
def test_the_same_bits_as_another_type(unary, ty, dtype, to, out):
    x = numbers(INTEGERS["i64"])[:96].view(np.uint8).view(dtype)
    x = x[x == x]
    got = unary("bitcast", ty, x, to, out, f"{{dtype={to}}} ")
    np.testing.assert_array_equal(got.view(dtype), x)


REDUCE = """kernel k(x: ptr<{ty}>, out: ptr<{to}>) {{
  %0 = arange {{start=0, end=8}} : vector<8 x i32>
  %1 = arange {{start=0, end=16}} : vector<16 x i32>
  %2 = arange {{start=0, end=32}} : vector<32 x i32>
  %3 = expand_dims %0 {{axis=1}} : block<8x1 x i32>
  %4 = expand_dims %3 {{axis=2}} : block<8x1x1 x i32>
  %5 = expand_dims %1 {{axis=1}} : block<16x1 x i32>
  %6 = mul %4, 512 : block<8x1x1 x i32>
  %7 = mul %5, 32 : block<16x1 x i32>
  %8 = add %6, %7 : block<8x16x1 x i32>
  %9 = add %8, %2 : block<8x16x32 x i32>
  %10 = addptr x, %9 : block<8x16x32 x ptr<{ty}>>
  %11 = load %10, none, none : block<8x16x32 x {ty}>
  %12 = {op} %11 {{axis={axis}}} : block<{dims} x {to}>{region}
  %13 = arange {{start=0, end={n}}} : vector<{n} x i32>
  %14 = arange {{start=0, end={m}}} : vector<{m} x i32>
  %15 = expand_dims %13 {{axis=1}} : block<{n}x1 x i32>
  %16 = mul %15, {m} : block<{n}x1 x i32>
  %17 = add %16, %14 : block<{n}x{m} x i32>
  %18 = addptr out, %17 : block<{n}x{m} x ptr<{to}>>
  store %18, %12, none
}}"""


@pytest.fixture
def reduce3(run_ssa):
    """A reduction of an (8, 16, 32) block along an axis."""

    def reduce3(op, ty, x, axis, to=None, out=None, region=""):
        n, m = (extent for k, extent in enumerate((8, 16, 32)) if k != axis)
        found = np.zeros((n, m), out or x.dtype)
        text = REDUCE.format(
            op=op, ty=ty, to=to or ty, axis=axis, dims=f"{n}x{m}", n=n, m=m, region=region
        )
        run_ssa(text, [x, found])
        return found

    return reduce3


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_reducing_an_axis_of_three(reduce3, axis):
    x = np.random.default_rng(0).integers(-99, 99, (8, 16, 32)).astype("i4")
    np.testing.assert_array_equal(reduce3("sum", "i32", x, axis), x.sum(axis))
    np.testing.assert_array_equal(
        reduce3("xor_sum", "i32", x, axis), np.bitwise_xor.reduce(x, axis)
    )
    y = x.astype("f")
    y[x % 3 == 0] = np.nan
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(reduce3("max", "f32", y, axis), np.fmax.reduce(y, axis))
        np.testing.assert_array_equal(reduce3("min", "f32", y, axis), np.fmin.reduce(y, axis))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_first_of_equals_and_never_nan(reduce3, axis):
    x = np.random.default_rng(1).integers(-3, 4, (8, 16, 32)).astype("f")
    np.testing.assert_array_equal(reduce3("argmax", "f32", x, axis, "i32", "i4"), x.argmax(axis))
    np.testing.assert_array_equal(reduce3("argmin", "f32", x, axis, "i32", "i4"), x.argmin(axis))
    x[x == 3] = np.nan
    want = np.where(np.isnan(x), -np.inf, x).argmax(axis)
    np.testing.assert_array_equal(reduce3("argmax", "f32", x, axis, "i32", "i4"), want)


IN_ORDER = """ {
    args(%20: i32, %21: i32)
    %22 = mul %20, 0 : i32
    %23 = add %22, %21 : i32
    yield %23
  }"""
BRANCHING = """ {
    args(%20: i32, %21: i32)
    %22 = cmp_ge %20, %21 : bool
    %23 = if %22 : i32 {
      yield %20
    } else {
      yield %21
    }
    yield %23
  }"""
LOOPING = """ {
    args(%20: i32, %21: i32)
    %22 = for %24 in range(0, %21, 1) iter_args(%25 = %20) : i32 {
      %26 = add %25, 1 : i32
      yield %26
    }
    yield %22
  }"""


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_functions_of_the_users(reduce3, axis):
    x = np.random.default_rng(2).integers(0, 9, (8, 16, 32)).astype("i4")
    last = np.take(x, -1, axis)
    np.testing.assert_array_equal(reduce3("reduce", "i32", x, axis, region=IN_ORDER), last)
    np.testing.assert_array_equal(reduce3("reduce", "i32", x, axis, region=BRANCHING), x.max(axis))
    np.testing.assert_array_equal(reduce3("reduce", "i32", x, axis, region=LOOPING), x.sum(axis))
