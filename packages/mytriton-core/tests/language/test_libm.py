"""The composed mathematical functions against NumPy and Python in double precision."""

import math

import numpy as np
import pytest

RNG = np.random.default_rng(7)
INF, NAN = math.inf, math.nan


def spread(low, high, n=256, signs=False):
    """Numbers whose magnitudes lie between two powers of ten."""
    found = 10.0 ** RNG.uniform(low, high, n)
    return found * RNG.choice([-1, 1], n) if signs else found


def near_one(n=256):
    return 1 - 10.0 ** RNG.uniform(-7, 0, n)


def unit(n=256):
    return RNG.uniform(-1, 1, n)


#: name: what it computes in double precision, where it is tried, relative error allowed for f64.
ONE = {
    "acos": (np.arccos, lambda: np.concatenate([unit(), near_one()]), 1e-14),
    "acosh": (np.arccosh, lambda: 1 + spread(-6, 30, 512), 1e-14),
    "asin": (np.arcsin, lambda: np.concatenate([near_one(), spread(-20, 0)]), 1e-14),
    "asinh": (np.arcsinh, lambda: spread(-20, 30, 512, signs=True), 1e-14),
    "atan": (np.arctan, lambda: spread(-20, 20, 512, signs=True), 1e-14),
    "atanh": (np.arctanh, lambda: np.concatenate([unit(), spread(-20, -1)]), 1e-14),
    "cbrt": (np.cbrt, lambda: spread(-30, 30, 512, signs=True), 1e-14),
    "cosh": (np.cosh, lambda: spread(-10, 1.9, 512, signs=True), 1e-14),
    "erfc": (np.vectorize(math.erfc), lambda: RNG.uniform(-6, 9, 512), 1e-11),
    "exp10": (lambda x: 10.0**x, lambda: RNG.uniform(-37, 37, 512), 1e-13),
    "expm1": (np.expm1, lambda: spread(-30, 1.9, 512, signs=True), 1e-14),
    "log10": (np.log10, lambda: spread(-37, 37, 512), 1e-14),
    "log1p": (np.log1p, lambda: np.concatenate([-near_one(), spread(-30, 30)]), 1e-14),
    "normcdf": (lambda x: 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2)), lambda: unit() * 5, 1e-11),
    "rcbrt": (lambda x: 1 / np.cbrt(x), lambda: spread(-30, 30, 512, signs=True), 1e-14),
    "sinh": (np.sinh, lambda: spread(-30, 1.9, 512, signs=True), 1e-14),
    "tan": (np.tan, lambda: RNG.uniform(-20, 20, 512), 1e-13),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_of_single_precision_the_nearest_float(name, evaluate):
    meaning, inputs, _ = ONE[name]
    x = inputs().astype(np.float32)
    got, ty = evaluate(f"libdevice.{name}(x)", x=x)
    want = meaning(x.astype(np.float64))
    assert ty.endswith("f32>")
    ulps = np.abs(got - want) / np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    assert ulps.max() <= 0.51


@pytest.mark.parametrize("name", ONE)
def test_of_double_precision_within_the_stated_error(name, evaluate):
    meaning, inputs, tolerance = ONE[name]
    x = inputs()
    got, ty = evaluate(f"libdevice.{name}(x)", x=x)
    assert ty.endswith("f64>")
    np.testing.assert_allclose(got, meaning(x), rtol=tolerance)


TWO = {
    "pow": (np.power, lambda: (spread(-3, 3), RNG.uniform(-10, 10, 256)), 2e-13),
    "atan2": (np.arctan2, lambda: (spread(-9, 9, signs=True), spread(-9, 9, signs=True)), 1e-14),
    "hypot": (np.hypot, lambda: (spread(-30, 30, signs=True), spread(-30, 30)), 1e-14),
    "fmod": (np.fmod, lambda: (spread(-3, 3, signs=True), spread(-3, 3, signs=True)), 0),
    "fdim": (lambda x, y: np.maximum(x - y, 0), lambda: (unit(), unit()), 0),
    "copysign": (np.copysign, lambda: (unit(), unit()), 0),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name, dtype, evaluate):
    meaning, inputs, tolerance = TWO[name]
    x, y = (v.astype(dtype) for v in inputs())
    got, ty = evaluate(f"libdevice.{name}(x, y)", x=x, y=y)
    want = meaning(x.astype(np.float64), y.astype(np.float64))
    assert got.dtype == dtype
    np.testing.assert_allclose(
        got, want.astype(dtype), rtol=6e-8 if dtype == np.float32 else tolerance
    )


SPECIAL = {
    "acos": [(1, 0.0), (-1, math.pi), (1.5, NAN), (NAN, NAN)],
    "acosh": [(1, 0.0), (0.5, NAN), (-5, NAN), (-1e9, NAN), (INF, INF)],
    "asin": [(1, math.pi / 2), (-1, -math.pi / 2), (0.0, 0.0), (-0.0, -0.0), (-1.5, NAN)],
    "asinh": [(INF, INF), (-INF, -INF), (-0.0, -0.0), (NAN, NAN)],
    "atan": [(INF, math.pi / 2), (-INF, -math.pi / 2), (-0.0, -0.0), (NAN, NAN)],
    "atanh": [(1, INF), (-1, -INF), (2, NAN), (-0.0, -0.0), (INF, NAN)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (-27, -3)],
    "cosh": [(INF, INF), (-INF, INF), (0, 1), (NAN, NAN)],
    "cospi": [(0.5, 0.0), (1, -1), (2, 1), (1.5, 0.0)],
    "erfc": [(INF, 0.0), (-INF, 2), (0, 1), (NAN, NAN)],
    "erfinv": [(1, INF), (-1, -INF), (0.0, 0.0), (1.5, NAN), (NAN, NAN)],
    "exp10": [(INF, INF), (-INF, 0.0), (0, 1), (2, 100)],
    "expm1": [(INF, INF), (-INF, -1), (-0.0, -0.0), (NAN, NAN), (1000, INF)],
    "log10": [(1000, 3), (0.0, -INF), (-1, NAN), (INF, INF)],
    "log1p": [(-1, -INF), (-2, NAN), (-0.0, -0.0), (INF, INF), (NAN, NAN)],
    "round": [(0.5, 1), (-0.5, -1), (2.5, 3), (0.49999997, 0.0), (-0.3, -0.0), (INF, INF)],
    "rint": [(0.5, 0.0), (1.5, 2), (2.5, 2), (-0.3, -0.0)],
    "sinh": [(INF, INF), (-INF, -INF), (-0.0, -0.0), (NAN, NAN)],
    "sinpi": [(1, 0.0), (0.5, 1), (-0.5, -1), (1000000, 0.0)],
    "saturatef": [(NAN, 0.0), (-1, 0.0), (0.25, 0.25), (INF, 1)],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_are_those_of_c(name, evaluate):
    pairs = SPECIAL[name] + [SPECIAL[name][0]] * (8 - len(SPECIAL[name]))
    x, want = (np.array(v, np.float32) for v in zip(*pairs, strict=True))
    got, _ = evaluate(f"libdevice.{name}(x)", x=x)
    np.testing.assert_array_equal(got, want)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def test_the_special_cases_of_pow(evaluate):
    values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        INF,
        -INF,
        NAN,
        3.0,
        -3.0,
        1e30,
        -1e30,
        7.5,
    ]
    x = np.repeat(np.array(values), 16)
    y = np.tile(np.array(values), 16)
    got, _ = evaluate("libdevice.pow(x, y)", x=x, y=y)
    with np.errstate(all="ignore"):
        want = np.power(x, y)  # NumPy's is the C library's
    np.testing.assert_allclose(got, want, rtol=2e-13)
    zero = want == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def test_the_quadrants_of_atan2(evaluate):
    values = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 2.0]
    y, x = np.repeat(np.array(values), 8), np.tile(np.array(values), 8)
    got, _ = evaluate("libdevice.atan2(y, x)", y=y, x=x)
    want = np.arctan2(y, x)
    np.testing.assert_allclose(got, want, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


def test_hypot_does_not_overflow_on_the_way(evaluate):
    x = np.array([3e300, INF, NAN, 0.0])
    y = np.array([4e300, NAN, INF, 0.0])
    np.testing.assert_allclose(evaluate("libdevice.hypot(x, y)", x=x, y=y)[0], [5e300, INF, INF, 0])


def test_erfinv_inverts_erf(evaluate):
    x = np.concatenate([RNG.uniform(-1, 1, 128), near_one(128)])
    got, _ = evaluate("libdevice.erfinv(x)", x=x)
    np.testing.assert_allclose(np.vectorize(math.erf)(got), x, rtol=1e-14)


def test_classification(evaluate):
    x = np.array([1.0, -0.0, INF, -INF, NAN, -1.0, 1e-45, 0.0], np.float32)
    for name, want in {
        "isnan": np.isnan(x), "isinf": np.isinf(x), "finitef": np.isfinite(x),
        "isfinited": np.isfinite(x), "signbit": np.signbit(x),
    }.items():  # fmt: skip
        got, ty = evaluate(f"libdevice.{name}(x)", x=x)
        assert ty == "vector<8 x bool>"
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["log1p", "pow", "tan", "tl.sigmoid", "round"])
def test_16_bit_floats_compute_in_more_and_round_back(name, evaluate):
    x = RNG.uniform(0.1, 4, 64).astype(np.float16)
    call = name if "." in name else f"libdevice.{name}"
    arguments = "x, x" if name == "pow" else "x"
    got, ty = evaluate(f"{call}({arguments})", x=x)
    wide = x.astype(np.float64)
    want = {
        "log1p": np.log1p(wide), "pow": wide**wide, "tan": np.tan(wide),
        "tl.sigmoid": 1 / (1 + np.exp(-wide)), "round": np.floor(wide + 0.5),
    }[name]  # fmt: skip
    assert ty == "vector<64 x f16>"
    np.testing.assert_array_equal(got, want.astype(np.float16))


def test_ldexp_scales_exactly(evaluate):
    x = RNG.uniform(1, 2, 16)
    n = np.array(
        [0, 1, -1, 5, -5, 1023, -1022, -1074, 2000, -2000, 52, -52, 100, -100, 3, 7], np.int32
    )
    got, _ = evaluate("libdevice.ldexp(x, n)", x=x, n=n)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, np.ldexp(x, n))


def test_literals_and_constants(evaluate):
    assert evaluate("libdevice.pow(2, 10)")[0] == 1024
    assert evaluate("tl.math.exp2(3)")[0] == 8


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("libdevice.tan(n)", "tan needs floating-point operands, got i32; use .to(tl.float32)"),
        ("libdevice.pow(n, n)", "pow needs floating-point operands, got i32 and i32"),
        ("libdevice.isnan(n)", "isnan needs floating-point operands"),
        ("libdevice.lgamma(n)", "libdevice has no attribute 'lgamma'"),
        ("libdevice.popc(1.0 * n)", "popc needs integers of 32 or 64 bits, got f32"),
    ],
)
def test_refusals(expression, message, refused):
    assert message in refused(expression, n=3)


INTEGERS = [np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_of_integers(dtype, evaluate):
    width = np.dtype(dtype).itemsize * 8
    info = np.iinfo(dtype)
    x = (
        RNG.integers(info.min, info.max, 64, dtype, endpoint=True)
        >> np.arange(64).astype(dtype) % width
    )
    x[:6] = [0, 1, info.max, info.min, 8, 6]
    bits = [int(v) & ((1 << width) - 1) for v in x]
    want = {
        "popc": [v.bit_count() for v in bits],
        "clz": [width - v.bit_length() for v in bits],
        "ffs": [(v & -v).bit_length() for v in bits],
    }
    for name, expected in want.items():
        got, ty = evaluate(f"libdevice.{name}(x)", x=x)
        assert ty == "vector<64 x i32>"
        np.testing.assert_array_equal(got, expected, err_msg=name)
    reverse = np.array([int(f"{v:0{width}b}"[::-1], 2) for v in bits], f"u{width // 8}")
    np.testing.assert_array_equal(evaluate("libdevice.brev(x)", x=x)[0], reverse.view(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_upper_half_of_a_product(dtype, evaluate):
    width = np.dtype(dtype).itemsize * 8
    info = np.iinfo(dtype)
    x, y = (RNG.integers(info.min, info.max, 64, dtype, endpoint=True) for _ in range(2))
    x[:2], y[:2] = [info.min, info.max], [info.min, info.max]
    products = [int(a) * int(b) for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(
        evaluate("libdevice.mulhi(x, y)", x=x, y=y)[0], [p >> width for p in products]
    )
    mask = (1 << width) - 1
    unsigned = [(int(a) & mask) * (int(b) & mask) >> width for a, b in zip(x, y, strict=True)]
    want = np.array(unsigned, f"u{width // 8}").view(dtype)
    np.testing.assert_array_equal(evaluate("tl.umulhi(x, y)", x=x, y=y)[0], want)


def test_mul24(evaluate):
    x = RNG.integers(-(2**31), 2**31, 32, np.int32)
    y = RNG.integers(-(2**31), 2**31, 32, np.int32)

    def low(v):
        v = int(v) & 0xFFFFFF
        return v - (1 << 24) if v >> 23 else v

    want = [(low(a) * low(b) + 2**31) % 2**32 - 2**31 for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(evaluate("libdevice.mul24(x, y)", x=x, y=y)[0], want)


def test_conversions_by_name(evaluate):
    x = np.array([1.5, -1.5, 2.5, -2.5], np.float32)
    for mode, want in {"rn": [2, -2, 2, -2], "rz": [1, -1, 2, -2], "rd": [1, -2, 2, -3],
                       "ru": [2, -1, 3, -2]}.items():  # fmt: skip
        got, ty = evaluate(f"libdevice.float2int_{mode}(x)", x=x)
        assert ty == "vector<4 x i32>"
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(evaluate("libdevice.float_as_int(x)", x=x)[0], x.view(np.int32))
    np.testing.assert_array_equal(
        evaluate("libdevice.llrint(x)", x=x)[0], np.rint(x).astype(np.int64)
    )
    np.testing.assert_array_equal(evaluate("libdevice.llround(x)", x=x)[0], [2, -2, 3, -3])
    wide = np.array([1 + 2**-24 + 2**-40, -1 - 2**-24 - 2**-40])
    np.testing.assert_array_equal(evaluate("libdevice.double2float_rz(x)", x=wide)[0], [1, -1])
