"""Reductions, transposition and products on the PTX emulator."""

import math

import numpy as np
import pytest

from mytriton.ir.numerics import decode, encode, storage_dtype
from mytriton.ir.types import ScalarType, with_shape
from mytriton.plugin_api import PointerType, UnsupportedFeature
from mytriton_mlir.gpu import backend, launch

KINDS = ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")


class Text:
    """Writes a kernel that loads blocks, row by row, and stores others."""

    def __init__(self):
        self.lines, self.params, self.count = [], {}, 0

    def op(self, text, shape, element):
        self.lines.append(f"%{self.count} = {text} : {with_shape(shape, element)}")
        self.count += 1
        return f"%{self.count - 1}"

    def i32(self, text, shape):
        return self.op(text, shape, ScalarType("i32"))

    def places(self, name, shape, ty):
        self.params[name] = ty
        total, known = "", ()
        for axis, extent in enumerate(shape):
            at, own = self.i32(f"arange {{start=0, end={extent}}}", (extent,)), (extent,)
            for _ in range(axis):
                own = (1, *own)
                at = self.i32(f"expand_dims {at} {{axis=0}}", own)
            while len(own) < len(shape):
                own = (*own, 1)
                at = self.i32(f"expand_dims {at} {{axis={len(own) - 1}}}", own)
            at = self.i32(f"mul {at}, {math.prod(shape[axis + 1 :])}", own)
            known = np.broadcast_shapes(known, own)
            total = self.i32(f"add {total}, {at}", known) if total else at
        if not shape:
            return name
        return self.op(f"addptr {name}, {total}", shape, PointerType(ty))

    def load(self, name, shape, ty):
        return self.op(f"load {self.places(name, shape, ty)}, none, none", shape, ty)

    def store(self, name, value, shape, ty):
        self.lines.append(f"store {self.places(name, shape, ty)}, {value}, none")

    def kernel(self):
        params = ", ".join(f"{name}: ptr<{ty}>" for name, ty in self.params.items())
        return "\n".join([f"kernel k({params}) {{", *self.lines, "}", ""])


def numbers(ty, count, seed=0):
    """Small numbers with many ties."""
    rng = np.random.default_rng(seed)
    found = rng.integers(-5 if ty.is_signed() or ty.is_floating() else 0, 6, count)
    if ty.is_floating():
        return encode(found.astype("f8" if ty.name == "f64" else "f4"), ty).astype(
            storage_dtype(ty)
        )
    return found.astype(storage_dtype(ty)) if ty.is_integer() else (found % 2).astype(bool)


def reduced(op, values, axis):
    """What NumPy says a reduction gives, in wide numbers."""
    wide = values.astype("f8") if values.dtype.kind == "f" else values.astype(object)
    if op in ("argmax", "argmin"):
        return getattr(np, op)(wide, axis=axis)
    if op == "xor_sum":
        return np.bitwise_xor.reduce(wide, axis=None if axis is None else axis)
    return getattr(np, op)(wide, axis=axis)


SHAPES = [
    ((16,), None), ((16,), 0), ((4, 8), None), ((4, 8), 0), ((4, 8), 1), ((1, 16), 0), ((16, 1), 0),
    ((2, 4, 8), 1), ((2, 3, 4), 2), ((2, 3, 4), 0), ((1,), 0),
]  # fmt: skip


@pytest.mark.parametrize("op", ["sum", "max", "min", "xor_sum", "argmax", "argmin"])
@pytest.mark.parametrize("kind", KINDS)
def test_reductions(both, op, kind):
    ty = ScalarType(kind)
    if op == "xor_sum" and ty.is_floating():
        return
    shapes = SHAPES if kind in ("i32", "f32") else SHAPES[3:5]
    for shape, axis in shapes:
        text, count = Text(), math.prod(shape)
        # A larger block in the same kernel: some threads have no element.
        text.store("w", text.load("w", (64,), ty), (64,), ty)
        value = text.load("x", shape, ty)
        rest = () if axis is None else shape[:axis] + shape[axis + 1 :]
        gives = ScalarType("i32") if op.startswith("arg") else ty
        attrs = "" if axis is None else f" {{axis={axis}}}"
        result = text.op(f"{op} {value}{attrs}", rest, gives)
        text.store("y", result, rest, gives)
        x = numbers(ty, count)
        y = np.zeros(math.prod(rest), storage_dtype(gives))
        there, _ = both(text.kernel(), {"x": x, "y": y, "w": numbers(ty, 64)})
        expected = reduced(op, decode(x, ty).reshape(shape), axis)
        expected = np.asarray(expected).reshape(-1)
        if gives.is_integer():  # wraps
            expected = (expected & ((1 << gives.bits) - 1)).astype("u8").astype(y.dtype)
        elif gives.is_bool():
            expected = expected.astype(int) % 2 == 1
        assert (decode(there["y"], gives) == expected).all(), (shape, axis)


@pytest.mark.parametrize("op", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_nan_is_ignored_unless_all_are(both, op, kind):
    ty, nan, inf = ScalarType(kind), math.nan, math.inf
    rows = [[nan, 1, 3, nan, 3, 1, 2, nan], [nan] * 8, [nan, -inf, -inf] + [nan] * 5,
            [nan, inf, inf] + [nan] * 5, [0.0, -0.0] * 4, [5, nan, 7, nan, 5, nan, 7, nan],
            [nan] * 7 + [4], [4] + [nan] * 7]  # fmt: skip
    expected = {
        "max": [3, nan, -inf, inf, 0, 7, 4, 4], "min": [1, nan, -inf, inf, 0, 5, 4, 4],
        "argmax": [2, 0, 1, 1, 0, 2, 7, 0], "argmin": [1, 0, 1, 1, 0, 0, 7, 0],
    }[op]  # fmt: skip
    text, gives = Text(), ScalarType("i32") if op.startswith("arg") else ty
    value = text.load("x", (8, 8), ty)
    text.store("y", text.op(f"{op} {value} {{axis=1}}", (8,), gives), (8,), gives)
    x = np.array(rows).astype(storage_dtype(ty)).reshape(-1)
    there, _ = both(text.kernel(), {"x": x, "y": np.zeros(8, storage_dtype(gives))})
    np.testing.assert_array_equal(there["y"].astype("f8"), expected)


@pytest.mark.parametrize("width", [1, 2, 64, 1024])
def test_the_first_of_equals(both, width):
    text, ty = Text(), ScalarType("i32")
    value = text.load("x", (width,), ty)
    text.store("y", text.op(f"argmax {value}", (), ty), (), ty)
    x = np.zeros(width, "i4")
    x[[width // 3, width - 1]] = 9
    there, _ = both(text.kernel(), {"x": x, "y": np.zeros(1, "i4")})
    assert there["y"][0] == width // 3


#: Two-by-two matrices ((a, b), (0, 1)): the product depends on the order, not on the brackets.
AFFINE = """args(%900: i32, %901: i32, %902: i32, %903: i32)
%904 = mul %900, %902 : i32
%905 = mul %900, %903 : i32
%906 = add %905, %901 : i32
yield %904, %906
}"""


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((16,), None), ((16,), 0), ((4, 8), None), ((4, 8), 0), ((4, 8), 1), ((2, 4, 3), 1),
        ((1, 4), 0), ((1,), 0), ((2,), 0), ((512,), 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [0, 1024])
def test_custom_reductions_keep_the_order(both, shape, axis, more):
    text, ty = Text(), ScalarType("i32")
    if more:
        text.store("w", text.load("w", (more,), ty), (more,), ty)
    a, b = text.load("a", shape, ty), text.load("b", shape, ty)
    rest = () if axis is None else shape[:axis] + shape[axis + 1 :]
    ends = with_shape(rest, ty)
    attrs = "" if axis is None else f" {{axis={axis}}}"
    text.lines.append(f"%800, %801 = reduce {a}, {b}{attrs} : {ends}, {ends} {{\n{AFFINE}")
    text.store("p", "%800", rest, ty)
    text.store("q", "%801", rest, ty)
    rng = np.random.default_rng(0)
    x, y = rng.integers(-5, 6, (2, math.prod(shape))).astype("i4")
    out = np.zeros(math.prod(rest), "i4")
    arguments = {"a": x, "b": y, "p": out, "q": out.copy(), "w": np.zeros(more, "i4")}
    there, _ = both(text.kernel(), arguments)
    lines = np.moveaxis(np.stack([x, y]).reshape(2, *shape), 0, -1)
    lines = lines.reshape(1, -1, 2) if axis is None else np.moveaxis(lines, axis, -2)
    with np.errstate(over="ignore"):
        for k, line in enumerate(lines.reshape(-1, lines.shape[-2], 2)):
            p, q = line[0]
            for c, d in line[1:]:
                p, q = p * c, p * d + q
            assert (there["p"][k], there["q"][k]) == (p, q)


def test_a_custom_reduction_with_control_flow_and_values_from_outside(both):
    text = """
kernel k(x: ptr<f16>, y: ptr<f16>, n: i32, scale: f16) {
%0 = arange {start=0, end=64} : vector<64 x i32>
%1 = addptr x, %0 : vector<64 x ptr<f16>>
%2 = load %1, none, none : vector<64 x f16>
%3 = reduce %2 : f16 {
args(%4: f16, %5: f16)
%6 = cmp_gt %4, %5 : bool
%7 = if %6 : f16 {
yield %4
} else {
yield %5
}
%8 = for %9 in range(0, n, 1) iter_args(%10 = %7) : f16 {
%11 = mul %10, scale : f16
yield %11
}
yield %8
}
store y, %3, none
}
"""
    x = np.random.default_rng(0).permutation(64).astype("f2")
    arguments = {"x": x, "y": np.zeros(1, "f2"), "n": 3, "scale": np.float16(1.0)}
    there, _ = both(text, arguments)
    assert there["y"][0] == 63


def test_a_group_of_one_between_products(both):
    """The barriers that a reduction stands for are there, however little it has to do."""
    text, ty, wide = Text(), ScalarType("i8"), ScalarType("i32")
    a = text.load("a", (8, 8), ty)
    first = text.op(f"dot {a}, {a}, none {{out_dtype=i32}}", (8, 8), wide)
    column = text.load("b", (8, 1), wide)
    place = text.op(f"argmax {column} {{axis=1}}", (8,), wide)
    small = text.op(f"cast {first} {{dtype=i8}}", (8, 8), ty)
    second = text.op(f"dot {small}, {a}, none {{out_dtype=i32}}", (8, 8), wide)
    text.store("c", second, (8, 8), wide)
    text.store("p", place, (8,), wide)
    x = np.eye(8, dtype="i1")[::-1].copy()
    arguments = {"a": x.reshape(-1), "b": np.arange(8, dtype="i4"), "c": np.zeros(64, "i4")}
    there, _ = both(text.kernel(), {**arguments, "p": np.ones(8, "i4")})
    np.testing.assert_array_equal(there["c"].reshape(8, 8), x)
    assert not there["p"].any()


def test_a_reduction_inside_of_a_custom_one_is_declined():
    from mytriton.ir.parser import parse

    text = """
kernel k(x: ptr<i32>) {
%0 = arange {start=0, end=8} : vector<8 x i32>
%1 = reduce %0 : i32 {
args(%2: i32, %3: i32)
%4 = arange {start=0, end=4} : vector<4 x i32>
%5 = sum %4 : i32
%6 = add %5, %2 : i32
yield %6
}
store x, %1, none
}
"""
    with pytest.raises(UnsupportedFeature, match=r"reduce\.custom"):
        backend.mytriton_lower(parse(text), None)


def test_what_needs_too_much_shared_memory_is_declined():
    from mytriton.ir.parser import parse

    text, ty = Text(), ScalarType("f64")
    values = [text.load(f"x{n}", (1024,), ty) for n in range(8)]
    names = [f"%{900 + n}" for n in range(16)]
    args = ", ".join(f"{name}: f64" for name in names)
    results = ", ".join(f"%{800 + n}" for n in range(8))
    head = f"{results} = reduce {', '.join(values)} : {', '.join(['f64'] * 8)} {{"
    text.lines += [head, f"args({args})", f"yield {', '.join(names[:8])}", "}"]
    text.store("y", "%800", (), ty)
    with pytest.raises(UnsupportedFeature, match=r"limit\.shared>49152"):
        backend.mytriton_lower(parse(text.kernel()), None)


@pytest.mark.parametrize(
    ("shape", "order"),
    [((4, 8), (1, 0)), ((16, 16), (1, 0)), ((2, 4, 8), (2, 0, 1)), ((2, 3, 4), (1, 2, 0)), ((1, 8), (1, 0))],
)  # fmt: skip
def test_transposition(both, shape, order):
    text, ty = Text(), ScalarType("i32")
    value = text.load("x", shape, ty)
    turned = tuple(shape[k] for k in order)
    result = text.op(f"trans {value} {{order=({', '.join(map(str, order))})}}", turned, ty)
    text.store("y", result, turned, ty)
    text.store("s", text.op(f"sum {result} {{axis={len(shape) - 1}}}", turned[:-1], ty)
               if turned[-1] & (turned[-1] - 1) == 0 else "0", turned[:-1], ty)  # fmt: skip
    if shape == turned:
        text.store("z", text.op(f"sub {value}, {result}", shape, ty), shape, ty)
    x = np.arange(math.prod(shape), dtype="i4")
    zeros = np.zeros_like(x)
    there, _ = both(text.kernel(), {"x": x, "y": zeros, "z": zeros.copy(), "s": zeros.copy()})
    expected = x.reshape(shape).transpose(order)
    np.testing.assert_array_equal(there["y"].reshape(turned), expected)
    if turned[-1] & (turned[-1] - 1) == 0:
        sums = expected.sum(axis=-1).reshape(-1)
        np.testing.assert_array_equal(there["s"][: len(sums)], sums)
    if shape == turned:
        np.testing.assert_array_equal(there["z"].reshape(shape), x.reshape(shape) - expected)


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("f32", "f32"), ("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("f64", "f64"),
        ("i8", "i32"), ("u8", "i32"), ("f8e5", "f32"), ("f8e4nv", "f32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("onto", [False, True])
def test_products(both, kind, result, onto):
    ty, wide = ScalarType(kind), ScalarType(result)
    for left, right in [
        ((16, 16), (16, 16)), ((8, 32), (32, 4)), ((1, 16), (16, 64)), ((32, 32), (32, 32)),
        ((2, 8, 4), (2, 4, 8)), ((16, 1), (1, 16)),
    ]:  # fmt: skip
        text, shape = Text(), (*left[:-1], right[-1])
        a, b = text.load("a", left, ty), text.load("b", right, ty)
        acc = text.load("c", shape, wide) if onto else "none"
        product = text.op(f"dot {a}, {b}, {acc} {{out_dtype={result}}}", shape, wide)
        text.store("c", product, shape, wide)
        x, y = numbers(ty, math.prod(left)), numbers(ty, math.prod(right), 1)
        c = numbers(wide, math.prod(shape), 2)
        there, _ = both(text.kernel(), {"a": x, "b": y, "c": c})
        p, q = (decode(v, ty).astype("f8") for v in (x, y))
        expected = p.reshape(left) @ q.reshape(right) + (c.reshape(shape) if onto else 0)
        np.testing.assert_array_equal(there["c"].reshape(shape), expected)


def test_products_in_a_loop(both):
    text = """
kernel k(x: ptr<f32>, y: ptr<f32>, z: ptr<f32>, n: i32) {
%0 = arange {start=0, end=16} : vector<16 x i32>
%1 = expand_dims %0 {axis=1} : block<16x1 x i32>
%2 = expand_dims %0 {axis=0} : block<1x16 x i32>
%3 = mul %1, 16 : block<16x1 x i32>
%4 = add %3, %2 : block<16x16 x i32>
%5 = zeros {shape=(16, 16), dtype=f32} : block<16x16 x f32>
%6 = for %7 in range(0, n, 1) iter_args(%8 = %5) : block<16x16 x f32> {
%9 = mul %7, 256 : i32
%10 = addptr x, %9 : ptr<f32>
%11 = addptr %10, %4 : block<16x16 x ptr<f32>>
%12 = load %11, none, none : block<16x16 x f32>
%13 = addptr y, %9 : ptr<f32>
%14 = addptr %13, %4 : block<16x16 x ptr<f32>>
%15 = load %14, none, none : block<16x16 x f32>
%16 = trans %15 {order=(1, 0)} : block<16x16 x f32>
%17 = dot %12, %16, %8 {out_dtype=f32} : block<16x16 x f32>
yield %17
}
%18 = addptr z, %4 : block<16x16 x ptr<f32>>
store %18, %6, none
}
"""
    x, y = np.random.default_rng(0).integers(-9, 10, (2, 3, 16, 16)).astype("f4")
    for n in (0, 1, 3):
        arguments = {"x": x.reshape(-1), "y": y.reshape(-1), "z": np.ones(256, "f4"), "n": n}
        there, _ = both(text, arguments)
        expected = sum((x[k] @ y[k].T for k in range(n)), np.zeros((16, 16)))
        np.testing.assert_array_equal(there["z"].reshape(16, 16), expected)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90"])
def test_they_assemble(bindings, ptxas, chip):
    from mytriton.ir.parser import parse

    text, ty = Text(), ScalarType("f16")
    a, b = text.load("a", (32, 32), ty), text.load("b", (32, 32), ty)
    f32 = ScalarType("f32")
    product = text.op(f"dot {a}, {b}, none {{out_dtype=f32}}", (32, 32), f32)
    best = text.op(f"argmax {product} {{axis=1}}", (32,), ScalarType("i32"))
    text.store("c", product, (32, 32), f32)
    text.store("i", best, (32,), ScalarType("i32"))
    source = backend.mytriton_lower(parse(text.kernel()), None)
    report = ptxas(launch.compile_source(source, chip=chip).decode(), chip)
    assert "0 bytes spill stores, 0 bytes spill loads" in report
