"""``tl.dot``: shapes, dtypes, accumulators, precisions."""

import numpy as np
import pytest

RNG = np.random.default_rng(9)


def operands(dtype, *batch):
    if dtype in ("int8", "uint8"):
        low = -128 if dtype == "int8" else 0
        return (
            RNG.integers(low, low + 256, s).astype(dtype)
            for s in ((*batch, 16, 32), (*batch, 32, 8))
        )
    return (RNG.normal(size=s).astype(dtype) for s in ((*batch, 16, 32), (*batch, 32, 8)))


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize(
    ("dtype", "result"),
    [("float16", "f32"), ("float32", "f32"), ("float64", "f64"), ("int8", "i32"), ("uint8", "i32")],
)
def test_products(dtype, result, batch, evaluate):
    a, b = operands(dtype, *batch)
    wide = np.int64 if "int" in dtype else np.float64
    want = a.astype(wide) @ b.astype(wide)
    for form in ("tl.dot(a, b)", "tl.dot(a, b, input_precision='ieee')", "tl.dot(a, b, allow_tf32=False)",
                 "tl.dot(a, b, None, 'IEEE', None, 0, tl.float32)"):  # fmt: skip
        got, ty = evaluate(form, a=a, b=b)
        assert ty == f"block<{'x'.join(map(str, want.shape))} x {result}>"
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


def test_bf16_and_fp8(evaluate):
    a, b = operands("float32")
    got, ty = evaluate("tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16))", a=a, b=b)
    assert ty == "block<16x8 x f32>"
    np.testing.assert_allclose(got, a.astype(np.float64) @ b, atol=0.2)
    small = np.ones((16, 16), np.float32)
    got, _ = evaluate("tl.dot(a.to(tl.float8e4nv), a.to(tl.float8e5))", a=small)
    np.testing.assert_array_equal(got, np.full((16, 16), 16.0))


@pytest.mark.parametrize("dtype", ["float16", "int8", "float64"])
def test_accumulators(dtype, evaluate):
    a, b = operands(dtype)
    out = {"float16": "float32", "int8": "int32", "float64": "float64"}[dtype]
    c = RNG.integers(-9, 9, (16, 8)).astype(out)
    want = a.astype(np.float64) @ b.astype(np.float64) + c
    for form in ("tl.dot(a, b, c)", "tl.dot(a, b, acc=c, out_dtype=tl.float32)"):
        np.testing.assert_allclose(evaluate(form, a=a, b=b, c=c)[0], want, rtol=1e-5, atol=1e-4)


def test_a_half_result_where_it_is_asked_for(evaluate):
    a, b = operands("float16")
    got, ty = evaluate("tl.dot(a, b, out_dtype=tl.float16)", a=a, b=b)
    assert ty == "block<16x8 x f16>"
    np.testing.assert_allclose(
        got, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-2, atol=1e-2
    )
    c = np.ones((16, 8), np.float16)
    assert evaluate("tl.dot(a, b, c)", a=a, b=b, c=c)[1] == "block<16x8 x f16>"


def test_transposed_operands(evaluate):
    a, b = operands("float32")
    got, _ = evaluate("tl.dot(tl.trans(b), a.T)", a=a, b=b)
    np.testing.assert_allclose(got, (a.astype(np.float64) @ b).T, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tl.dot(x, n)", "dot needs blocks, got i32"),
        ("tl.dot(x, x[:, None, :])", "dot needs blocks of shapes (M, K) and (K, N)"),
        ("tl.dot(x, tl.zeros((8, 16), tl.float32))", "block<16x16 x f32> and block<8x16 x f32>"),
        (
            "tl.dot(x, h)",
            "dot needs operands of one type, got f32 and f16; convert one with .to(...)",
        ),
        ("tl.dot(x.to(tl.int32), x.to(tl.int32))", "dot takes floats and 8-bit integers, got i32"),
        ("tl.dot(x, x, h)", "dot: the accumulator is block<16x16 x f16> but the product is"),
        ("tl.dot(h, h, acc=1.0)", "dot: the accumulator must be a block, got 1.0"),
        (
            "tl.dot(x, x, out_dtype=tl.bfloat16)",
            "dot of f32 cannot give bf16; out_dtype must be f32",
        ),
        (
            "tl.dot(x, x, input_precision='fast')",
            "input_precision must be one of tf32, tf32x3, ieee",
        ),
        (
            "tl.dot(x, x, input_precision='tf32', allow_tf32=True)",
            "input_precision or allow_tf32, not both",
        ),
        ("tl.dot(x, x, allow_tf32=n)", "dot: allow_tf32 must be a compile-time bool, got i32"),
        ("tl.dot_scaled(x, None, 'e2m1', x, None, 'e2m1')", "has no 'dot_scaled' yet"),
    ],
)
def test_refusals(expression, message, module_from):
    kernel = module_from(
        "@triton.jit\ndef kernel(n):\n    x = tl.zeros((16, 16), tl.float32)\n"
        f"    h = x.to(tl.float16)\n    {expression}\n"
    ).kernel
    with pytest.raises(TypeError) as caught:
        kernel.trace(3)
    assert message in caught.value.message
