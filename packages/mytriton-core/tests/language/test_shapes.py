"""Constructors, broadcasting, axes: shapes as NumPy has them."""

import numpy as np
import pytest

X = np.arange(8.0).reshape(2, 4)
CUBE = np.arange(16, dtype=np.int32).reshape(2, 4, 2)


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("tl.zeros((2, 4), tl.float32)", np.zeros((2, 4))),
        ("tl.zeros([4], tl.int8)", np.zeros(4)),
        ("tl.zeros(4, tl.int8)", np.zeros(4)),
        ("tl.full((2, 2), 3, tl.int64)", np.full((2, 2), 3)),
        ("tl.full([2], n, tl.float16)", np.full(2, 5)),
        ("tl.full((4,), float('-inf'), dtype=tl.float32)", np.full(4, -np.inf)),
        ("tl.full((), 3, tl.float32)", 3.0),
        ("tl.full([], n, tl.float32)", 5.0),
        ("tl.zeros((), tl.float32)", 0.0),
        ("tl.zeros([], dtype=tl.int32) + n", 5),
        ("tl.zeros_like(x)", np.zeros((2, 4))),
        ("tl.zeros_like(n)", 0),
        ("tl.full_like(x, 2)", np.full((2, 4), 2)),
        ("tl.full_like(x, 2.5, dtype=tl.float32)", np.full((2, 4), 2.5)),
        ("tl.arange(3, 7)", np.arange(3, 7)),
        ("tl.broadcast_to(tl.arange(0, 4)[None, :], (2, 4))", np.tile(np.arange(4), (2, 1))),
        ("tl.broadcast_to(tl.arange(0, 4), 2, 4)", np.tile(np.arange(4), (2, 1))),
        ("tl.broadcast_to(n, [2, 2])", np.full((2, 2), 5)),
        ("tl.broadcast_to(1.5, (2,))", np.full(2, 1.5)),
        ("x.broadcast_to(2, 2, 4)", np.broadcast_to(X, (2, 2, 4))),
        ("tl.broadcast(x, n)[1]", np.full((2, 4), 5)),
        ("tl.broadcast(tl.arange(0, 2)[:, None], tl.arange(0, 4))[0]", np.tile([[0], [1]], (1, 4))),
        ("tl.expand_dims(x, 0)", X[None]),
        ("tl.expand_dims(x, -1)", X[:, :, None]),
        ("tl.expand_dims(x, (0, 2))", X[None, :, None, :]),
        ("x.expand_dims([1, -1])", X[:, None, :, None]),
        ("tl.expand_dims(n, 0)", np.array([5])),
        ("tl.trans(x)", X.T),
        ("x.T", X.T),
        ("x.trans()", X.T),
        ("x.trans(1, 0)", X.T),
        ("tl.trans(c)", CUBE.transpose(0, 2, 1)),
        ("tl.trans(c, 2, 0, 1)", CUBE.transpose(2, 0, 1)),
        ("tl.permute(c, (2, 1, 0))", CUBE.transpose(2, 1, 0)),
        ("c.permute(1, 2, -3)", CUBE.transpose(1, 2, 0)),
        ("tl.permute(x, 0, 1)", X),
        ("x[:, None, :]", X[:, None, :]),
        ("x[None]", X[None]),
        ("x[:, None]", X[:, None]),
        ("x[..., None]", X[..., None]),
        ("x[None, ...]", X[None]),
        ("x[:, ..., None]", X[:, :, None]),
        ("x[:, :]", X),
        ("x[None, :, None, :, None]", X[None, :, None, :, None]),
        ("n[None]", np.array([5])),
        ("n[None, :]", np.array([5])),
        ("n[None, None]", np.array([[5]])),
        ("tl.zeros((), tl.float32)[None] + n", np.array([5])),
        ("x.numel + x.shape[1] + x.shape[0]", 14),
        ("n.numel + len(n.shape)", 1),
        ("x.type.numel", 8),
    ],
)
def test_values(expression, want, evaluate):
    got, _ = evaluate(expression, x=X, c=CUBE, n=5)
    assert got.shape == np.shape(want)
    np.testing.assert_array_equal(got, want)


def test_constructors_have_the_dtype_asked_for(evaluate):
    for name, short in {
        "int1": "bool",
        "uint8": "u8",
        "bfloat16": "bf16",
        "float64": "f64",
    }.items():
        for form in (f"tl.zeros((2,), tl.{name})", f"tl.full((2,), 1, tl.{name})"):
            assert evaluate(form)[1] == f"vector<2 x {short}>"
        assert evaluate(f"tl.zeros((), tl.{name})")[1] == short


def test_pointers_have_shapes_too(module_from):
    kernel = module_from(
        "@triton.jit\ndef kernel(x, out):\n"
        "    p = tl.broadcast_to((x + tl.arange(0, 4))[None, :], (2, 4))\n"
        "    q = out + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :]\n"
        "    tl.store(q.T, tl.load(p).T)\n"
        "    one = out[None]\n"
        "    tl.store(one, 9.0 + tl.zeros((1,), tl.float32))\n"
    ).kernel
    x, out = np.arange(4.0), np.zeros((2, 4))
    kernel.with_backend("interpreter")[(1,)](x, out)
    np.testing.assert_array_equal(out, [[9, 1, 2, 3], x])


def test_pointers_carried_round_a_loop_have_shapes(module_from):
    kernel = module_from(
        "@triton.jit\ndef kernel(x, out, n):\n"
        "    p = x + tl.arange(0, 4)\n"
        "    q = out + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :]\n"
        "    for k in range(0, n):\n"
        "        tl.store(tl.trans(q), tl.load(p[None, :]).T + k)\n"
        "        p += 4\n        q += 8\n"
    ).kernel
    x, out = np.arange(12.0), np.zeros((3, 2, 4))
    kernel.with_backend("interpreter")[(1,)](x, out, 3)
    want = x.reshape(3, 1, 4) + np.arange(3)[:, None, None]
    np.testing.assert_array_equal(out, np.broadcast_to(want, (3, 2, 4)))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "tl.zeros((0,), tl.float32)",
            "zeros: the shape must be a positive int or a tuple or list of",
        ),
        ("tl.zeros((n,), tl.float32)", "compile-time ints, got i32"),
        (
            "tl.zeros((4,), float)",
            "zeros: the dtype must be a dtype such as tl.float32, got <class",
        ),
        (
            "tl.full((4,), b, tl.int32)",
            "full: the fill value must be a scalar, got vector<4 x i32>",
        ),
        ("tl.full((4,), 300, tl.int8)", "the integer 300 does not fit in i8"),
        ("tl.zeros((2048, 1024), tl.int8)", "has 2097152 elements, more than 1048576"),
        (
            "tl.arange(0, n)",
            "the end of arange must be a compile-time int, got a runtime value of i32",
        ),
        ("tl.arange(0, 4.0)", "the end of arange must be an int, got 4.0 (float)"),
        ("tl.broadcast_to(b, (2, 2))", "shapes (4,) and (2, 2) do not broadcast"),
        (
            "tl.broadcast_to(b, (1,))",
            "broadcast: vector<4 x i32> does not broadcast to the shape (1,)",
        ),
        ("tl.broadcast(b, tl.arange(0, 2))", "shapes (4,) and (2,) do not broadcast"),
        (
            "tl.expand_dims(b, 2)",
            "expand_dims: the axis must be from -2 to 1 for vector<4 x i32>, got 2",
        ),
        ("tl.expand_dims(b, (0, 0))", "expand_dims: axis (0, 0) names a position twice"),
        ("tl.expand_dims(b, n)", "the axis of expand_dims must be a compile-time int"),
        ("tl.trans(b)", "trans needs a block of rank 2 or more, got vector<4 x i32>"),
        (
            "tl.permute(b[None, :], 0, 0)",
            "permute: the order must name each axis of block<1x4 x i32> once",
        ),
        ("tl.trans(n)", "trans needs a block, got i32"),
        ("b[1]", "a block takes only ':' and None as subscripts"),
        ("b[:, :]", "the subscript has 2 ':' but vector<4 x i32> has 1 axes"),
        ("b[..., ...]", "a subscript takes one '...'"),
        ("n[:, None]", "only blocks can be subscripted, got i32"),
        ("p[0]", "only blocks can be subscripted, got ptr<f32>; read memory with tl.load(x + i)"),
        ("tl.reshape(b, (2, 2))", "has no 'reshape' yet: it is not supported"),
        ("b.reshape(2, 2)", "a value of vector<4 x i32> has no 'reshape' yet: it is not supported"),
        ("b.shap", "a value of vector<4 x i32> has no attribute 'shap'; did you mean 'shape'?"),
        ("tl.zeros_like(p)", "zeros_like needs a block or scalar of numbers, got ptr<f32>"),
    ],
)
def test_refusals(expression, message, module_from):
    kernel = module_from(
        f"@triton.jit\ndef kernel(p, n):\n    b = tl.arange(0, 4)\n    {expression}\n"
    ).kernel
    with pytest.raises(TypeError) as caught:
        kernel.trace(np.zeros(4, np.float32), 3)
    assert message in caught.value.message
