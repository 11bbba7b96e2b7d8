"""Conversions: ``.to``, ``tl.cast``, bitcasts, rounding modes, and what stores and loads convert."""

import numpy as np
import pytest

import mytriton.language as tl

RNG = np.random.default_rng(11)
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("target", INTS)
@pytest.mark.parametrize("source", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap(source, target, evaluate):
    info = np.iinfo(source)
    x = RNG.integers(info.min, info.max, 32, source, endpoint=True)
    got, _ = evaluate(f"x.to(tl.{target})", x=x)
    np.testing.assert_array_equal(got, x.astype(target))
    assert got.dtype == target


@pytest.mark.parametrize("target", INTS)
def test_floats_truncate_to_integers(target, evaluate):
    x = np.array([0.0, 0.9, 1.5, 100.99, 2.0, 7.0, 3.5, 5.25], np.float32)
    if target[0] == "i":
        x[1::2] *= -1
    np.testing.assert_array_equal(evaluate(f"tl.cast(x, tl.{target})", x=x)[0], np.trunc(x))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float16"])
def test_anything_but_zero_is_true(dtype, evaluate):
    x = np.array([0, 1, 2, 0], dtype)
    got, ty = evaluate("x.to(tl.int1)", x=x)
    assert ty == "vector<4 x bool>"
    np.testing.assert_array_equal(got, [False, True, True, False])


def test_bools_become_numbers(evaluate):
    x = np.array([True, False])
    for target in ("int8", "uint32", "float16", "float64"):
        np.testing.assert_array_equal(evaluate(f"x.to(tl.{target})", x=x)[0], [1, 0])


def test_floats_round_to_nearest_even(evaluate):
    x = RNG.normal(size=256).astype(np.float32)
    np.testing.assert_array_equal(evaluate("x.to(tl.float16)", x=x)[0], x.astype(np.float16))
    bits = x.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).view(np.float32)
    got, ty = evaluate("x.to(tl.bfloat16)", x=x)
    assert ty == "vector<256 x bf16>"
    np.testing.assert_array_equal(got, rounded)
    np.testing.assert_array_equal(
        evaluate("x.to(tl.bfloat16, fp_downcast_rounding='rtne')", x=x)[0], rounded
    )


@pytest.mark.parametrize("rounding", ["rtne", "rtz"])
def test_a_rounding_may_be_named_where_the_type_stays(rounding, evaluate):
    x = RNG.normal(size=16).astype(np.float32)
    got, ty = evaluate(f"x.to(x.dtype, fp_downcast_rounding='{rounding}')", x=x)
    assert ty == "vector<16 x f32>"
    np.testing.assert_array_equal(got, x)


def test_rounding_toward_zero_to_bf16_drops_bits(evaluate):
    x = np.concatenate([RNG.normal(size=60), [np.inf, -np.inf, 3.4e38, 0.0]]).astype(np.float32)
    want = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    got, _ = evaluate("x.to(tl.bfloat16, fp_downcast_rounding='rtz')", x=x)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("source", "target"), [("float32", "float16"), ("float64", "float16"),
                                                ("float64", "float32")])  # fmt: skip
def test_rounding_toward_zero_never_grows(source, target, evaluate):
    x = np.concatenate([RNG.normal(size=120), [1e30, -1e30, 1e300, -0.0, 6e-8, 1e-9, 65519, 65536]])
    with np.errstate(over="ignore"):
        x = x.astype(source)
    got, _ = evaluate(f"tl.cast(x, tl.{target}, fp_downcast_rounding='rtz')", x=x)
    with np.errstate(over="ignore"):
        nearest = x.astype(target)
    inward = np.nextafter(nearest, np.zeros(1, target))
    np.testing.assert_array_equal(got, np.where(np.abs(nearest) > np.abs(x), inward, nearest))
    assert got.dtype == target


def test_a_nan_stays_nan_whatever_the_rounding(evaluate):
    x = np.array([np.nan, -np.nan], np.float32)
    for target in ("float16", "bfloat16", "float8e5", "float8e4nv"):
        got, _ = evaluate(f"x.to(tl.{target}, fp_downcast_rounding='rtz').to(tl.float32)", x=x)
        assert np.isnan(got).all()


def test_8_bit_floats_toward_zero(evaluate):
    x = np.array([1.0, 1.24, 1.26, -1.9, 500.0, -1e9, 448.0, 0.0], np.float32)
    got, _ = evaluate("x.to(tl.float8e4nv, fp_downcast_rounding='rtz').to(tl.float32)", x=x)
    np.testing.assert_array_equal(got, [1.0, 1.125, 1.25, -1.875, 448.0, -448.0, 448.0, 0.0])
    got, _ = evaluate("x.to(tl.float8e5, fp_downcast_rounding='rtz').to(tl.float32)", x=x)
    np.testing.assert_array_equal(got, [1.0, 1.0, 1.25, -1.75, 448.0, -57344.0, 448.0, 0.0])


@pytest.mark.parametrize(("source", "target"), [("float32", "int32"), ("float16", "uint16"),
                                                ("int64", "float64"), ("uint8", "int8")])  # fmt: skip
def test_bitcasts_keep_the_bits(source, target, evaluate):
    x = RNG.integers(0, 100, 16).astype(source)
    np.testing.assert_array_equal(
        evaluate(f"x.to(tl.{target}, bitcast=True)", x=x)[0], x.view(target)
    )


def test_bitcasts_of_types_numpy_lacks(evaluate):
    x = np.array([1.0, -2.5, 0.0, 3.0], np.float32)
    got, _ = evaluate("x.to(tl.bfloat16).to(tl.uint16, bitcast=True)", x=x)
    np.testing.assert_array_equal(got, x.view(np.uint32) >> 16)
    got, _ = evaluate("x.to(tl.float8e4nv).to(tl.int8, bitcast=True)", x=x)
    np.testing.assert_array_equal(got, np.array([0x38, 0xC2, 0, 0x44], np.uint8).view(np.int8))


def test_a_dtype_may_be_named_in_many_ways(evaluate):
    x = np.array([1.5, 2.5], np.float32)
    for expression, want in {
        "x.to(p_x.dtype.element_ty)": "f32",
        "x.to((p_x + tl.arange(0, 2)).type.element_ty.element_ty)": "f32",
        "x.to(tl.float16).to(x.dtype)": "f32",
        "x.to(x.type)": "f32",
        "x.to(D)": "i16",
        "tl.cast(x, dtype=tl.dtype('fp16'))": "f16",
        "x.to(tl.get_int_dtype(32, signed=False))": "u32",
        "x.cast(tl.float64)": "f64",
        "x.to(tl.float32, bitcast=True)": "f32",
    }.items():
        _, ty = evaluate(expression, x=x, D=tl.int16)
        assert ty == f"vector<2 x {want}>", expression


def test_scalars_and_literals_convert(evaluate):
    for expression, ty in {
        "n.to(tl.int64)": "i64", "n.to(tl.float32)": "f32", "e.to(tl.float16)": "f16",
        "tl.cast(3, tl.uint8)": "u8", "tl.cast(2.5, tl.float64)": "f64", "tl.to_tensor(3)": "i32",
        "tl.to_tensor(2**31)": "u32", "tl.to_tensor(True)": "bool", "tl.to_tensor(1e300)": "f64",
        "tl.to_tensor(n)": "i32",
    }.items():  # fmt: skip
        assert evaluate(expression, n=3, e=0.5)[1] == ty


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "n.to(tl.float32, bitcast=True) + n.to(tl.int64, bitcast=True)",
            "bitcast: i32 has 32 bits and i64",
        ),
        (
            "n.to(tl.int64, fp_downcast_rounding='rtz')",
            "fp_downcast_rounding is only for a float that gets",
        ),
        ("f.to(tl.float16, fp_downcast_rounding='up')", "must be one of 'rtne', 'rtz', got 'up'"),
        (
            "n.to(tl.float8e4b8)",
            "cast: float8e4b8 is not supported; use tl.float8e4nv or tl.float8e5",
        ),
        ("n.to(tl.pointer_type(tl.float32))", "casts to pointers are not supported yet"),
        ("p.to(tl.int64)", "casts of pointers are not supported yet, got ptr<f32>"),
        ("n.to('float32')", "the dtype must be a dtype such as tl.float32, got 'float32'"),
        ("n.to(float)", "the dtype must be a dtype such as tl.float32"),
        (
            "tl.float32(n)",
            "tl.float32 is a dtype, not a function; convert with tl.cast(x, tl.float32)",
        ),
        ("n.to(n)", "the dtype must be a dtype such as tl.float32, got i32"),
    ],
)
def test_refusals(expression, message, refused):
    assert message in refused(expression, p=np.zeros(4, np.float32), n=3, f=1.5)


STORED = [
    ("x", "int8", "float32", [-3, 0, 2, 100]),
    ("x", "float32", "int32", [-3.9, 0.0, 2.5, 100.0]),
    ("x", "bool", "float16", [0, 1, 1, 0]),
    ("x", "int64", "bool", [0, 7, -1, 0]),
    ("x", "float64", "float32", [0.1, 1 / 3, -2.0, 1e-3]),
    ("x > 0", "int32", "uint8", [0, 7, -1, 3]),
]


@pytest.mark.parametrize(("expression", "source", "target", "values"), STORED)
def test_stores_convert_to_the_pointee(expression, source, target, values, module_from):
    kernel = module_from(
        "@triton.jit\ndef kernel(px, out):\n    i = tl.arange(0, 4)\n    x = tl.load(px + i)\n"
        f"    tl.store(out + i, {expression})\n"
    ).kernel
    x, out = np.array(values, source), np.zeros(4, target)
    kernel.with_backend("interpreter")[(1,)](x, out)
    want = (x > 0) if ">" in expression else np.trunc(x) if "int" in target else x
    np.testing.assert_array_equal(out, want.astype(target))


@pytest.mark.parametrize(
    ("value", "target", "want"),
    [
        ("-1", "uint8", 255), ("255", "int8", -1), ("0xFFFFFFFF", "int32", -1), ("-1", "uint64", 2**64 - 1),
        ("True", "float32", 1.0), ("2", "bool", True), ("0.5", "bool", True), ("2.9", "int32", 2),
        ("-2.9", "int16", -2), ("3", "float16", 3.0), ("1e300", "float32", np.inf),
        ("float('-inf')", "float16", -np.inf),
    ],
)  # fmt: skip
def test_stored_literals(value, target, want, module_from):
    kernel = module_from(f"@triton.jit\ndef kernel(out):\n    tl.store(out, {value})\n").kernel
    out = np.zeros(1, target)
    kernel.with_backend("interpreter")[(1,)](out)
    assert out[0] == want


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("tl.store(p, 300)", "the integer 300 does not fit in u8 (0 to 255)"),
        ("tl.store(p, -129)", "the integer -129 does not fit in u8"),
        ("tl.store(p, float('inf'))", "inf cannot be converted to u8"),
        ("tl.load(p, mask=n > 0, other=256)", "the integer 256 does not fit in u8"),
        ("tl.store(p, p)", "store: a pointer cannot be stored, got ptr<u8>"),
        ("tl.store(p, 'x')", "a number or a runtime value is needed here, got 'x'"),
        ("tl.full((4,), -1, tl.uint8)", "the integer -1 does not fit in u8"),
    ],
)
def test_literals_that_do_not_fit_memory(statement, message, refused):
    assert message in refused(statement, p=np.zeros(4, np.uint8), n=3)
