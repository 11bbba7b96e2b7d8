"""Reductions along any axis, of any dtype, with ties and NaN."""

import numpy as np
import pytest

RNG = np.random.default_rng(5)
SHAPE = (4, 8, 2)
AXES = [None, 0, 1, 2, -1, -3]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def sample(dtype, shape=SHAPE):
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    return RNG.permutation(np.prod(shape)).reshape(shape).astype(dtype) - (
        0 if dtype[0] == "u" else 20
    )


def arguments(axis, keep):
    return f", axis={axis}" + (", keep_dims=True" if keep else "")


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_axes(name, axis, keep, evaluate):
    x = sample("float32")
    got, _ = evaluate(f"tl.{name}(x{arguments(axis, keep)})", x=x)
    want = getattr(np, name)(x.astype(np.float64), axis=axis, keepdims=keep)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name, axis, keep, evaluate):
    x = sample("int32")
    got, ty = evaluate(f"tl.{name}(x{arguments(axis, keep)})", x=x)
    want = getattr(np, name)(x, axis=axis, keepdims=keep)
    assert ty.removesuffix(">").endswith("i32")
    assert got.shape == np.shape(want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["max", "min"])
def test_return_indices_gives_both(name, axis, evaluate):
    x = sample("float16")
    value, ty = evaluate(f"tl.{name}(x, {axis}, return_indices=True)[0]", x=x)
    place, _ = evaluate(f"tl.{name}(x, {axis}, True, keep_dims=True)[1]", x=x)
    assert "f16" in ty  # the element in its own type
    np.testing.assert_array_equal(value, getattr(np, name)(x, axis=axis))
    np.testing.assert_array_equal(place, getattr(np, f"arg{name}")(x, axis=axis, keepdims=True))


def test_of_equals_the_first(evaluate):
    x = np.array([[1, 3, 3, 0], [2, 2, 2, 2]], np.int32)
    for form in ("tl.argmax(x, 1)", "tl.argmax(x, 1, tie_break_left=True)", "x.argmax(axis=-1)"):
        np.testing.assert_array_equal(evaluate(form, x=x)[0], [1, 0])
    np.testing.assert_array_equal(evaluate("tl.argmin(x, 1)", x=x)[0], [3, 0])
    assert evaluate("tl.argmax(x)", x=x)[0] == 1


def test_nan_is_ignored_unless_all_are(evaluate):
    x = np.array(
        [[np.nan, 3, 1, np.nan], [np.nan] * 4, [1, np.nan, 2, -1], [0, 0, 0, 0]], np.float32
    )
    np.testing.assert_array_equal(evaluate("tl.max(x, 1)", x=x)[0], [3, np.nan, 2, 0])
    np.testing.assert_array_equal(evaluate("tl.min(x, 1)", x=x)[0], [1, np.nan, -1, 0])
    np.testing.assert_array_equal(evaluate("tl.argmax(x, 1)", x=x)[0], [1, 0, 2, 0])
    np.testing.assert_array_equal(evaluate("tl.sum(x, 1)", x=x)[0], [np.nan, np.nan, np.nan, 0])


@pytest.mark.parametrize("dtype", INTS)
def test_small_integers_are_widened_first(dtype, evaluate):
    x = sample(dtype)
    total, ty = evaluate("tl.sum(x)", x=x)
    kind, bits = dtype.strip("1234568"), max(32, int(dtype.strip("uint")))
    assert ty == f"{kind[0]}{bits}"
    assert total == x.astype(np.int64).sum()
    largest, ty = evaluate("tl.max(x)", x=x)
    assert largest == x.max()
    assert ty == ("i32" if x.dtype.itemsize < 4 else f"{kind[0]}{bits}")


def test_bools(evaluate):
    x = np.array([True, True, True, False])
    assert evaluate("tl.sum(x)", x=x) == (3, "u32")
    assert evaluate("tl.max(x)", x=x) == (1, "i32")
    assert evaluate("tl.min(x.to(tl.int32))", x=x)[0] == 0
    assert evaluate("tl.xor_sum(x)", x=x) == (True, "bool")


def test_sum_in_another_dtype(evaluate):
    x = np.full(8, 200, np.uint8)
    assert evaluate("tl.sum(x, dtype=tl.uint8)", x=x) == (8 * 200 % 256, "u8")
    assert evaluate("tl.sum(x, 0, False, tl.int64)", x=x) == (1600, "i64")
    assert evaluate("x.sum(dtype=tl.float32)", x=x) == (1600.0, "f32")
    half = np.full(8, 2.0**-12, np.float16)
    half[0] = 1.0
    assert evaluate("tl.sum(x, dtype=tl.float32)", x=half) == (1 + 7 * 2.0**-12, "f32")


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_xor_sum(dtype, axis, evaluate):
    x = sample(dtype)
    got, _ = evaluate(f"tl.xor_sum(x, {axis})", x=x)
    want = np.bitwise_xor.reduce(x.reshape(-1) if axis is None else x, axis=axis or 0)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == dtype


def test_axes_of_extent_1(evaluate):
    x = sample("float32", (16, 1))
    np.testing.assert_array_equal(evaluate("tl.max(x, axis=0)", x=x)[0], x.max(0))
    np.testing.assert_array_equal(evaluate("tl.max(x, axis=1)", x=x)[0], x[:, 0])
    np.testing.assert_array_equal(evaluate("tl.argmin(x, axis=1)", x=x)[0], [0] * 16)
    np.testing.assert_array_equal(evaluate("tl.sum(x[None, :, :], axis=0)", x=x)[0], x)


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_softmax(dim, evaluate):
    x = RNG.normal(size=(4, 8)).astype(np.float32) * 3
    got, ty = evaluate(f"tl.softmax(x, dim={dim})", x=x)
    axis = 0 if dim is None else dim
    wide = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    np.testing.assert_allclose(got, wide / wide.sum(axis, keepdims=True), rtol=4e-6)
    assert ty == "block<4x8 x f32>"
    assert evaluate("tl.softmax(x)", x=x.astype(np.float16))[1] == "block<4x8 x f32>"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tl.sum(n)", "sum needs a block, got i32"),
        ("tl.sum(3)", "sum needs a block, got 3 (int)"),
        ("tl.max(p + b)", "a number is needed here, got vector<4 x ptr<f32>>"),
        ("tl.sum(b, 1)", "sum: axis 1 is not an axis of vector<4 x i32>"),
        ("tl.argmax(b, -2)", "argmax: axis -2 is not an axis of vector<4 x i32>"),
        ("tl.sum(b, n)", "the axis of sum must be a compile-time int, got a runtime value of i32"),
        ("tl.sum(b, keep_dims=n)", "sum: keep_dims must be a compile-time bool, got i32"),
        ("tl.sum(b, dtype=int)", "sum: the dtype must be a dtype such as tl.float32"),
        ("tl.xor_sum(b * 1.0)", "xor_sum needs integers or bools, got vector<4 x f32>"),
        (
            "tl.max(tl.arange(0, 3))",
            "max needs a power-of-two extent, got 3 (axis 0 of vector<3 x i32>)",
        ),
        ("tl.softmax(n)", "softmax needs a block, got i32"),
        ("tl.softmax(b)", "exp needs a floating-point operand, got vector<4 x i32>"),
        (
            "tl.sum(tl.zeros((4,), tl.float8e5))",
            "only lives in memory; convert with .to(tl.float32)",
        ),
    ],
)
def test_refusals(expression, message, module_from):
    kernel = module_from(
        f"@triton.jit\ndef kernel(p, n):\n    b = tl.arange(0, 4)\n    {expression}\n"
    ).kernel
    with pytest.raises(TypeError) as caught:
        kernel.trace(np.zeros(4, np.float32), 3)
    assert message in caught.value.message
