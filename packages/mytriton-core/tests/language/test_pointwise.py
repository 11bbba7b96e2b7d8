"""Elementwise functions against NumPy in double precision."""

import math

import numpy as np
import pytest

RNG = np.random.default_rng(2)
NAN, INF = math.nan, math.inf
FUNCTIONS = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos,
    "floor": np.floor, "ceil": np.ceil, "abs": np.abs, "erf": np.vectorize(math.erf),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_float(name, dtype, evaluate):
    x = RNG.uniform(0.05, 6, 128).astype(dtype)
    want = FUNCTIONS[name](x.astype(np.float64))
    tolerance = {"float16": 1e-3, "float32": 3e-7, "float64": 1e-15}[dtype]
    for form in (f"tl.{name}(x)", f"tl.math.{name}(x)", f"x.{name}()"):
        got, ty = evaluate(form, x=x)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
        assert got.dtype == dtype


def test_tanh_and_the_functions_of_libdevice_with_an_operation(evaluate):
    x = RNG.uniform(-4, 4, 64).astype(np.float32)
    for name, meaning in {"tanh": np.tanh, "trunc": np.trunc, "rint": np.rint, "nearbyint": np.rint,
                          "fast_expf": np.exp, "fabs": np.abs, "fast_sinf": np.sin}.items():  # fmt: skip
        got, _ = evaluate(f"libdevice.{name}(x)", x=x)
        np.testing.assert_allclose(got, meaning(x.astype(np.float64)), rtol=3e-7)
        np.testing.assert_array_equal(evaluate(f"tl.extra.cuda.libdevice.{name}(x)", x=x)[0], got)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64", "bool", "float32"])
def test_abs(dtype, evaluate):
    x = np.array([0, 1, 5, 100], dtype) if dtype[0] in "ub" else np.array([-128, -1, 0, 7], dtype)
    want = x if dtype == "bool" else np.abs(x)
    for form in ("tl.abs(x)", "abs(x)", "x.abs()"):
        np.testing.assert_array_equal(evaluate(form, x=x)[0], want)


PAIRS = np.array([NAN, 1.0, -0.0, 0.0, INF, -INF, 3.0, NAN], np.float32)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extrema_and_nan(name, evaluate):
    x, y = np.repeat(PAIRS, 8), np.tile(PAIRS, 8)
    got, _ = evaluate(f"tl.{name}(x, y)", x=x, y=y)
    np.testing.assert_array_equal(got, getattr(np, name)(x, y))
    same, _ = evaluate(f"tl.{name}(x, y, propagate_nan=tl.PropagateNan.ALL)", x=x, y=y)
    np.testing.assert_array_equal(same, got)
    skip, _ = evaluate(f"tl.{name}(x, y, tl.PropagateNan.NONE)", x=x, y=y)
    np.testing.assert_array_equal(skip, getattr(np, f"f{name[:3]}")(x, y))
    lib, _ = evaluate(f"libdevice.{name[:3]}(x, y)", x=x, y=y)
    np.testing.assert_array_equal(lib, skip)


def test_extrema_without_nan_keep_the_promoted_type(evaluate):
    x = np.array([1, -1], np.float16)
    assert (
        evaluate("tl.maximum(x, 0, propagate_nan=tl.PropagateNan.NONE)", x=x)[1]
        == "vector<2 x f16>"
    )
    got, ty = evaluate("tl.minimum(x, s, propagate_nan=tl.PropagateNan.NONE)", x=x, s=0.5)
    assert ty == "vector<2 x f32>"
    np.testing.assert_array_equal(got, [0.5, -1])
    ints = np.array([1, -1], np.int8)
    assert evaluate("tl.maximum(x, 0, propagate_nan=tl.PropagateNan.NONE)", x=ints)[1].endswith(
        "i8>"
    )


def test_clamp(evaluate):
    x = np.array([NAN, -5, -0.5, 0.5, 5, INF, -INF, 1], np.float32)
    np.testing.assert_array_equal(
        evaluate("tl.clamp(x, -1.0, 1.0)", x=x)[0], [-1, -1, -0.5, 0.5, 1, 1, -1, 1]
    )
    np.testing.assert_array_equal(
        evaluate("tl.clamp(x, -1, 1, propagate_nan=tl.PropagateNan.ALL)", x=x)[0],
        [NAN, -1, -0.5, 0.5, 1, 1, -1, 1],
    )
    ints = np.arange(-4, 4, dtype=np.int16)
    got, ty = evaluate("tl.clamp(x, -2, 1)", x=ints)
    assert ty == "vector<8 x i16>"
    np.testing.assert_array_equal(got, np.clip(ints, -2, 1))
    half = np.array([-2.0, 3.0], np.float16)
    assert evaluate("tl.clamp(x, min=0.0, max=1.0)", x=half)[1] == "vector<2 x f16>"
    assert evaluate("tl.clamp(x, lo, 1.0)", x=half, lo=0.25)[1] == "vector<2 x f32>"


def test_where(evaluate):
    x = np.array([1, 2, 3, 4], np.float16)
    cases = {
        "tl.where(x > 2, x, 0)": ([0, 0, 3, 4], "f16"),
        "tl.where(x > 2, x, float('-inf'))": ([-INF, -INF, 3, 4], "f16"),
        "tl.where(x > 2, 1.0, 0)": ([0, 0, 1, 1], "f32"),
        "tl.where(x > 2, 1, 0)": ([0, 0, 1, 1], "i32"),
        "tl.where(n, x, -x)": ([1, 2, 3, 4], "f16"),
        "tl.where(n > 5, x, -x)": ([-1, -2, -3, -4], "f16"),
        "tl.where(True, x, 7)": ([1, 2, 3, 4], "f16"),
        "tl.where(tl.arange(0, 4) & 1, x, n)": ([3, 2, 3, 4], "f16"),
        "tl.where(x > 2, tl.full((4,), True, tl.int1), False)": ([0, 0, 1, 1], "bool"),
    }
    for expression, (want, short) in cases.items():
        got, ty = evaluate(expression, x=x, n=3)
        assert ty == f"vector<4 x {short}>", expression
        np.testing.assert_array_equal(got, want, err_msg=expression)
    got, _ = evaluate("tl.where(x[:, None] > x[None, :], 1, 0)", x=x)
    np.testing.assert_array_equal(got, np.tril(np.ones((4, 4)), -1))


def test_fma(evaluate):
    x, y, z = (RNG.normal(size=32).astype(np.float32) for _ in range(3))
    want = x.astype(np.float64) * y + z
    np.testing.assert_allclose(evaluate("tl.fma(x, y, z)", x=x, y=y, z=z)[0], want, rtol=3e-7)
    half = x.astype(np.float16)
    assert evaluate("tl.fma(x, 2.0, 1)", x=half)[1] == "vector<32 x f16>"


def test_division_by_name(evaluate):
    x = np.array([1, 2, 7], np.int32).repeat(2)[:4]
    f = np.array([1.0, 2.0, 7.0, -3.0], np.float32)
    for form in ("tl.fdiv(f, 3.0)", "tl.math.div_rn(f, 3.0)", "tl.fdiv(f, 3, ieee_rounding=True)",
                 "libdevice.fast_dividef(f, 3.0)"):  # fmt: skip
        np.testing.assert_array_equal(evaluate(form, f=f)[0], f / np.float32(3))
    np.testing.assert_array_equal(evaluate("x / f", x=x, f=f)[0], x.astype(np.float32) / f)


def test_named_arithmetic(evaluate):
    x = np.array([2**31 - 1, -5], np.int32)
    np.testing.assert_array_equal(evaluate("tl.add(x, 1)", x=x)[0], [-(2**31), -4])
    np.testing.assert_array_equal(evaluate("tl.sub(x, 1, sanitize_overflow=False)", x=x)[0], x - 1)
    np.testing.assert_array_equal(evaluate("tl.mul(x, 2, True)", x=x)[0], [-2, -10])


@pytest.mark.parametrize(
    ("expression", "want", "ty"),
    [
        ("tl.cdiv(n, 4)", 3, "i32"), ("tl.cdiv(n, K)", 3, "i32"), ("tl.cdiv(K, n)", 1, "i32"),
        ("n.cdiv(3)", 3, "i32"), ("tl.cdiv(n, n)", 1, "i32"), ("tl.cdiv(n.to(tl.int64), 5)", 2, "i64"),
        ("tl.standard._log2(K) + tl.standard._log2(tl.arange(0, 5).numel)", 4, "i32"),
        ("tl.zeros((tl.cdiv(K, 3) * 2,), tl.int32).numel", 4, "i32"),
    ],
)  # fmt: skip
def test_cdiv(expression, want, ty, evaluate):
    assert evaluate(expression, n=9, K=4) == (want, ty)


def test_swizzle2d_walks_bands_of_rows(evaluate):
    rows, cols, band = 5, 4, 2
    for part in (0, 1):
        got, _ = evaluate(
            f"tl.swizzle2d(tl.arange(0, 5)[:, None], tl.arange(0, 4)[None, :], n, 4, {band})[{part}]",
            n=rows,
        )
        want = np.empty((rows, cols), int)
        place = iter(np.ndindex(rows, cols))
        for first in range(0, rows, band):
            for j in range(cols):
                for i in range(first, min(first + band, rows)):
                    want[next(place)] = (i, j)[part]
        np.testing.assert_array_equal(got, want)


def test_grid(module_from):
    kernel = module_from(
        "@triton.jit\ndef kernel(out):\n"
        "    i = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(axis=1) * tl.program_id(2))\n"
        "    tl.store(out + i, tl.num_programs(2) * 100 + i)\n"
    ).kernel
    out = np.zeros(24, np.int32)
    kernel.with_backend("interpreter")[(2, 3, 4)](out)
    np.testing.assert_array_equal(out, 400 + np.arange(24))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tl.exp(n)", "exp needs a floating-point operand, got i32"),
        ("tl.floor(n)", "floor needs a floating-point operand, got i32"),
        ("tl.sigmoid(n)", "exp needs a floating-point operand, got i32"),
        ("tl.exp(p)", "exp: the operand must be a number, got ptr<f32>"),
        ("tl.exp('x')", "a number or a runtime value is needed here, got 'x'"),
        ("tl.where(p, n, n)", "a number is needed here, got ptr<f32>; tl.load what it points to"),
        (
            "tl.maximum(n, n, propagate_nan=True)",
            "propagate_nan must be tl.PropagateNan.ALL or NONE",
        ),
        ("tl.fma(n, n, n)", "fma needs floating-point operands, got i32"),
        ("tl.umulhi(n * 1.0, n)", "umulhi needs integers or bools"),
        ("tl.umulhi(n.to(tl.int8), 1)", "umulhi needs 32- or 64-bit integers"),
        ("tl.fdiv(n, n)", "fdiv needs floating-point operands, got i32 and i32"),
        ("tl.cdiv(n * 1.0, 2)", "'//' takes integers"),
        ("tl.num_programs(3)", "num_programs: the axis must be an int from 0 to 2, got 3"),
        ("tl.num_programs(n)", "the axis of num_programs must be a compile-time int"),
        ("tl.sotre(p, 1)", "has no attribute 'sotre'; did you mean 'store'?"),
        ("tl.math.lgamma(n * 1.0)", "tl.math has no attribute 'lgamma'"),
        ("tl.rand(n, n)", "has no 'rand' yet: it is not supported"),
    ],
)
def test_refusals(expression, message, refused):
    assert message in refused(expression, p=np.zeros(4, np.float32), n=3)
