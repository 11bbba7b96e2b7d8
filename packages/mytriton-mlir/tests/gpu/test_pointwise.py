"""Pointwise operations and conversions on the PTX emulator: functions against NumPy's ``float64``,
the rest against the interpreter."""

import math

import numpy as np
import pytest

from mytriton.ir.numerics import decode, storage_dtype
from mytriton.ir.parser import parse
from mytriton.ir.types import SCALAR_NAMES, STORAGE_ONLY, ScalarType
from mytriton_mlir.gpu import backend, launch

N = 256
FLOATS = ("f16", "bf16", "f32", "f64")
INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")

UNARY = """
kernel k(x: ptr<@S>, y: ptr<@D>) {
%0 = arange {start=0, end=256} : vector<256 x i32>
%1 = addptr x, %0 : vector<256 x ptr<@S>>
%2 = load %1, none, none : vector<256 x @S>
%3 = @OP : vector<256 x @D>
%4 = addptr y, %0 : vector<256 x ptr<@D>>
store %4, %3, none
}
"""
BINARY = """
kernel k(x: ptr<@S>, z: ptr<@S>, y: ptr<@D>) {
%0 = arange {start=0, end=256} : vector<256 x i32>
%1 = addptr x, %0 : vector<256 x ptr<@S>>
%2 = load %1, none, none : vector<256 x @S>
%3 = addptr z, %0 : vector<256 x ptr<@S>>
%4 = load %3, none, none : vector<256 x @S>
%5 = @OP : vector<256 x @D>
%6 = addptr y, %0 : vector<256 x ptr<@D>>
store %6, %5, none
}
"""


def unary(op, source, result):
    text = UNARY.replace("@S", source).replace("@D", result)
    return text.replace("@OP", op if " " in op else f"{op} %2")


def binary(op, source, result):
    text = BINARY.replace("@S", source).replace("@D", result)
    return text.replace("@OP", op if " " in op else f"{op} %2, %4")


def empty(name):
    return np.zeros(N, storage_dtype(ScalarType(name)))


def values(name, seed=0):
    """Numbers of all sizes, and the special ones; bit patterns where NumPy lacks the type."""
    ty, rng = ScalarType(name), np.random.default_rng(seed)
    if ty in STORAGE_ONLY:
        return rng.permutation(256).astype("u1")
    if ty.is_bool():
        return rng.integers(0, 2, N).astype(bool)
    if ty.is_integer():
        low, high = ty.int_range()
        found = rng.integers(low, high, N, storage_dtype(ty), endpoint=True)
        found[:8] = [low, high, 0, 1, 7, high // 2, high - 1, low + 1]
        found[100:200] = rng.integers(max(low, -20), 20, 100)
        return rng.permutation(found)
    special = [0, -0.0, math.inf, -math.inf, math.nan, 1e-7, 6e-8, 1e-5, 448, 464, 465, 480,
               57344, 61440, 65504, 1e-3]  # fmt: skip
    found = [rng.standard_normal(200) * 10, rng.integers(-5, 6, 40), special]
    found = rng.permutation(np.concatenate(found))
    if name == "bf16":
        return (found.astype("f4").view("u4") >> 16).astype("u2")
    return found.astype(storage_dtype(ty))


def same(name, there, here):
    """Where two arrays hold the same numbers; one NaN is as good as another."""
    ty = ScalarType(name)
    a, b = decode(there, ty), decode(here, ty)
    if not ty.is_floating():
        return a == b
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("source", SCALAR_NAMES)
@pytest.mark.parametrize("result", SCALAR_NAMES)
def test_casts(both, source, result):
    x, ty = values(source), ScalarType(result)
    text = unary(f"cast %2 {{dtype={result}}}", source, result)
    there, here = both(text, {"x": x, "y": empty(result)})
    agree = same(result, there["y"], here["y"])
    if ScalarType(source).is_floating() and ty.is_integer():
        low, high = ty.int_range()
        whole = np.trunc(decode(x, ScalarType(source)).astype("f8"))
        agree |= ~((whole >= float(low)) & (whole < float(high + 1)))
    assert agree.all(), x[~agree]


@pytest.mark.parametrize("name", ["f8e4nv", "f8e5"])
def test_f64_rounds_once_to_8_bits(both, name):
    # Just beside the middle of two neighbours, closer than f32 could tell.
    codes = np.arange(126, dtype="u1") if name == "f8e4nv" else np.arange(123, dtype="u1")
    numbers = decode(codes, ScalarType(name)).astype("f8")
    middle = (numbers[:-1] + numbers[1:]) / 2
    x = np.resize(np.concatenate([np.nextafter(middle, 0), np.nextafter(middle, 1e9)]), N)
    text = unary(f"cast %2 {{dtype={name}}}", "f64", name)
    there, _ = both(text, {"x": x, "y": empty(name)})
    expected = np.resize(np.concatenate([codes[:-1], codes[1:]]), N)
    np.testing.assert_array_equal(there["y"], expected)


@pytest.mark.parametrize(
    ("source", "result"),
    [
        (a, b)
        for a in SCALAR_NAMES
        for b in SCALAR_NAMES
        if ScalarType(a).bits == ScalarType(b).bits
    ],
)
def test_bitcasts(both, source, result):
    x = values(source)
    text = unary(f"bitcast %2 {{dtype={result}}}", source, result)
    there, _ = both(text, {"x": x, "y": empty(result)})
    np.testing.assert_array_equal(there["y"].view(x.dtype), x)


@pytest.mark.parametrize("source", ["bool", *INTS, *FLOATS])
@pytest.mark.parametrize("op", ["cmp_lt", "cmp_le", "cmp_gt", "cmp_ge", "cmp_eq", "cmp_ne"])
def test_comparisons(both, op, source):
    x, z = values(source), values(source, 1)
    z[::3] = x[::3]
    there, here = both(binary(op, source, "bool"), {"x": x, "z": z, "y": empty("bool")})
    np.testing.assert_array_equal(there["y"], here["y"])


@pytest.mark.parametrize("source", ["bool", *INTS])
@pytest.mark.parametrize("op", ["and", "or", "xor", "rem", "shl", "shr"])
def test_operations_on_integers(both, op, source):
    if source == "bool" and op in ("rem", "shl", "shr"):
        return
    x, z, ty = values(source), values(source, 1), ScalarType(source)
    if op in ("shl", "shr"):
        z = np.random.default_rng(0).integers(0, ty.bits, N).astype(z.dtype)
    there, here = both(binary(op, source, source), {"x": x, "z": z, "y": empty(source)})
    np.testing.assert_array_equal(there["y"], here["y"])


@pytest.mark.parametrize("op", ["rem", "shl", "shr"])
@pytest.mark.parametrize("source", INTS)
def test_undefined_operands_do_no_harm(both, op, source):
    """What is unspecified in one lane leaves the others alone, and never traps."""
    info = np.iinfo(storage_dtype(ScalarType(source)))
    x, z = values(source), np.ones(N, info.dtype)
    x[:4], z[:4] = info.min, [0, -1 if info.min else 0, info.bits % info.max, info.max]
    there, here = both(binary(op, source, source), {"x": x, "z": z, "y": empty(source)})
    np.testing.assert_array_equal(there["y"][4:], here["y"][4:])


@pytest.mark.parametrize("source", ["i32", "u32", "i64", "u64"])
def test_umulhi(both, source):
    x, z = values(source), values(source, 1)
    there, _ = both(binary("umulhi", source, source), {"x": x, "z": z, "y": empty(source)})
    bits = ScalarType(source).bits
    mask = (1 << bits) - 1
    pairs = zip(x.tolist(), z.tolist(), strict=True)
    expected = [((a & mask) * (b & mask)) >> bits for a, b in pairs]
    assert there["y"].view(f"u{bits // 8}").tolist() == expected


@pytest.mark.parametrize("source", ["bool", *INTS])
def test_not(both, source):
    x = values(source)
    there, _ = both(unary("not", source, source), {"x": x, "y": empty(source)})
    np.testing.assert_array_equal(there["y"], ~x)


@pytest.mark.parametrize("source", [*INTS, *FLOATS])
def test_abs(both, source):
    x = values(source)
    there, here = both(unary("abs", source, source), {"x": x, "y": empty(source)})
    assert same(source, there["y"], here["y"]).all()


@pytest.mark.parametrize(
    ("source", "result"), [("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("f64", "f64")]
)
def test_remainder_of_floats(both, source, result):
    x, z = values(source), values(source, 1)
    there, _ = both(binary("rem", source, result), {"x": x, "z": z, "y": empty(result)})
    a, b = (decode(v, ScalarType(source)).astype("f8") for v in (x, z))
    with np.errstate(invalid="ignore"):
        expected = np.fmod(a, b).astype(there["y"].dtype)
    assert same(result, there["y"], expected).all()


#: Units in the last place.
FUNCTIONS = {
    "exp": (np.exp, 2), "exp2": (np.exp2, 2), "log": (np.log, 2), "log2": (np.log2, 2),
    "sqrt": (np.sqrt, 0.5), "rsqrt": (lambda x: 1 / np.sqrt(x), 2), "sin": (np.sin, 2),
    "cos": (np.cos, 2), "tanh": (np.tanh, 2),
    "erf": (np.vectorize(math.erf, otypes=["f8"]), 2), "floor": (np.floor, 0),
    "ceil": (np.ceil, 0), "trunc": (np.trunc, 0), "rint": (np.rint, 0),
}  # fmt: skip


def reals(dtype):
    rng = np.random.default_rng(2)
    special = [0, -0.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 1.5, 2.5, -1.5, 1, 1e-40, -1e-40]
    sizes = 10.0 ** rng.uniform(-37, 37, 63) * rng.choice([-1, 1], 63)
    found = [rng.standard_normal(100) * 4, rng.uniform(-90, 90, 80), sizes, special]
    with np.errstate(over="ignore"):
        return np.concatenate(found).astype(dtype)


@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_functions(both, op, source):
    function, ulp = FUNCTIONS[op]
    x = reals(storage_dtype(ScalarType(source)))
    there, _ = both(unary(op, source, source), {"x": x, "y": empty(source)})
    found = there["y"]
    with np.errstate(all="ignore"):
        exact = function(x.astype("f8" if op == "erf" else np.longdouble))
        rounded = exact.astype(found.dtype)
        off = np.abs(found.astype(np.longdouble) - exact) / np.spacing(np.abs(rounded))
    finite = np.isfinite(rounded) & (rounded != 0)
    assert (
        (off[finite] <= max(ulp, 0.5) + 1e-3).all() if ulp else same(source, found, rounded).all()
    )
    assert same(source, found[~finite], rounded[~finite]).all()


@pytest.mark.parametrize("source", FLOATS)
def test_fma_rounds_once(both, source):
    one = {"f16": 2.0**-10, "bf16": 2.0**-7, "f32": 2.0**-23, "f64": 2.0**-52}[source]
    pair = np.array([1 + one, -1 - 2 * one])
    if source == "bf16":
        pair = (pair.astype("f4").view("u4") >> 16).astype("u2")
    x, z = np.repeat(pair.astype(storage_dtype(ScalarType(source))), N).reshape(2, N)
    text = binary("fma %2, %2, %4", source, source)
    there, _ = both(text, {"x": x, "z": z, "y": empty(source)})
    # (1 + e)**2 - (1 + 2e)
    assert (decode(there["y"], ScalarType(source)) == one * one).all()


def test_the_grid(both):
    text = """
kernel k(y: ptr<i32>) {
%0 = num_programs {axis=0} : i32
%1 = num_programs {axis=1} : i32
%2 = num_programs {axis=2} : i32
%3 = mul %1, 100 : i32
%4 = mul %2, 10000 : i32
%5 = add %3, %4 : i32
%6 = add %5, %0 : i32
store y, %6, none
}
"""
    there, _ = both(text, {"y": np.zeros(1, "i4")}, (2, 3, 4))
    assert there["y"].tolist() == [40302]


@pytest.mark.parametrize("chip", ["sm_80", "sm_90"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
def test_functions_assemble(bindings, ptxas, source, chip):
    for op in FUNCTIONS:
        function = parse(unary(op, source, source))
        ptx = launch.compile_source(backend.mytriton_lower(function, None), chip=chip).decode()
        report = ptxas(ptx, chip)
        assert "0 bytes spill stores, 0 bytes spill loads" in report, op


def test_roots_are_rounded_correctly(bindings):
    function = parse(unary("sqrt", "f32", "f32"))
    ptx = launch.compile_source(backend.mytriton_lower(function, None)).decode()
    assert "sqrt.rn.f32" in ptx
    assert "sqrt.approx" not in ptx
