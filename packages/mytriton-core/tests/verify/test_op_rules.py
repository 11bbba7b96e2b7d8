"""The rules of each operation, with their messages: the README's list, generalised where the
language is wider."""

import pytest

from mytriton.errors import VerificationError
from mytriton.ir.parser import parse
from mytriton.verify import verify

PARAMS = "p: ptr<f32>, h: ptr<f16>, n: i32, m: i64, v: f32, d: f64, b: bool, s: f8e5"
BLOCKS = [
    "%90 = zeros {shape=(4,), dtype=f32} : vector<4 x f32>",
    "%91 = zeros {shape=(8,), dtype=i32} : vector<8 x i32>",
    "%92 = zeros {shape=(4,), dtype=bool} : vector<4 x bool>",
    "%93 = zeros {shape=(4, 8), dtype=f32} : block<4x8 x f32>",
    "%94 = zeros {shape=(6,), dtype=f32} : vector<6 x f32>",
    "%95 = arange {start=0, end=4} : vector<4 x i32>",
    "%96 = addptr p, %95 : vector<4 x ptr<f32>>",
]


def kernel(line):
    return parse("\n".join([f"kernel f({PARAMS}) {{", *BLOCKS, line, "}"]))


@pytest.mark.parametrize(
    "line",
    [
        "%0 = add n, m : i64",
        "%0 = add %90, v : vector<4 x f32>",
        "%0 = add %95, 2.5:f32 : vector<4 x f32>",
        "%0 = div n, n : i32",
        "%0 = cmp_lt %95, n : vector<4 x bool>",
        "%0 = and b, %92 : vector<4 x bool>",
        "%0 = exp d : f64",
        "%0 = exp %90 : vector<4 x f32>",
        "%0 = select %92, v, 0.0 : vector<4 x f32>",
        "%0 = addptr p, m : ptr<f32>",
        "%0 = addptr h, %91 : vector<8 x ptr<f16>>",
        "%0 = load %96, %92, 0.0 : vector<4 x f32>",
        "%0 = load %96, b, v : vector<4 x f32>",
        "store %96, 1.0, %92",
        "store p, v, none",
        "%0 = sum %93 {axis=1} : vector<4 x f32>",
        "%0 = max %93 : f32",
        "%0 = expand_dims %95 {axis=1} : block<4x1 x i32>",
        "%0 = expand_dims %93 {axis=0} : block<1x4x8 x f32>",
        "%0 = arange {start=3, end=10} : vector<7 x i32>",
        "%0 = empty {shape=(3, 5), dtype=u8} : block<3x5 x u8>",
        "%0 = full n {shape=(8,), dtype=f32} : vector<8 x f32>",
        "%0 = cast %90 {dtype=i32} : vector<4 x i32>",
        "%0 = cast v {dtype=bool} : bool",
        "%0 = program_id {axis=2} : i32",
        "%0 = neg n : i32",
        "%0 = maximum n, v : f32",
    ],
)
def test_accepted(line):
    verify(kernel(line))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = add p, v : f32",
         "add: cannot combine ptr<f32> and f32; only ptr + offset is pointer arithmetic"),
        ("%0 = add %90, %91 : vector<4 x f32>",
         "add of vector<4 x f32> and vector<8 x i32>: shapes (4,) and (8,) do not broadcast"
         " (axis 0: 4 against 8)"),
        ("%0 = mul s, v : f32",
         "mul of f8e5 and f32: f8e5 is a storage type: cast it to f16 or f32 before computing"),
        ("%0 = cmp_lt n, n : i32", "cmp_lt: the result is i32 but i32, i32 give bool"),
        ("%0 = and v, n : i32", "and needs integers or bools, got f32 and i32"),
        ("%0 = exp n : i32",
         "exp needs a floating-point operand, got i32; multiply it by 1.0 to convert it"),
        ("%0 = exp p : f32", "exp: the operand must be a number, got ptr<f32>"),
        ("%0 = neg b : bool", "neg needs a number, got bool"),
        ("%0 = neg s : f8e5",
         "neg: f8e5 is a storage type: cast it to f16 or f32 first"),
        ("%0 = select n, v, v : f32", "select needs a bool condition, got i32"),
        ("%0 = select p, v, v : f32", "select: a number is needed here, got ptr<f32>"),
        ("%0 = select %92, %91, v : vector<4 x f32>",
         "select: shapes (4,) and (8,) do not broadcast (axis 0: 4 against 8)"),
        ("%0 = addptr n, n : i32", "addptr needs a pointer, got i32"),
        ("%0 = addptr p, v : ptr<f32>", "addptr: the offset must be an integer, got f32"),
        ("%0 = addptr p, p : ptr<f32>", "addptr: the offset must be a number, got ptr<f32>"),
        ("%0 = addptr %96, %91 : vector<4 x ptr<f32>>",
         "addptr of vector<4 x ptr<f32>> and vector<8 x i32>: shapes (4,) and (8,) do not broadcast"
         " (axis 0: 4 against 8)"),
        ("%0 = load v, none, none : f32", "load needs a pointer, got f32"),
        ("%0 = load %96, n, none : vector<4 x f32>", "load: the mask must be bool, got i32"),
        ("%0 = load %96, p, none : vector<4 x f32>", "load: the mask must be bool, got ptr<f32>"),
        ("%0 = load p, %92, none : f32",
         "load: the mask (vector<4 x bool>) does not broadcast to the pointer (ptr<f32>)"),
        ("%0 = load %96, none, 0.0 : vector<4 x f32>", "load: other needs a mask"),
        ("%0 = load %96, %92, n : vector<4 x f32>",
         "load: other is i32, the pointer is vector<4 x ptr<f32>>"),
        ("%0 = load %96, %92, %93 : vector<4 x f32>",
         "load: the other (block<4x8 x f32>) does not broadcast to the pointer"
         " (vector<4 x ptr<f32>>)"),
        ("%0 = load p, none, none : f64", "load: the result is f64 but ptr<f32>, none, none give f32"),
        ("store v, v, none", "store needs a pointer, got f32"),
        ("store p, n, none", "store: the value is i32, the pointer is ptr<f32>"),
        ("store p, p, none", "store: the value is ptr<f32>, the pointer is ptr<f32>"),
        ("store p, %90, none",
         "store: the value (vector<4 x f32>) does not broadcast to the pointer (ptr<f32>)"),
        ("store %96, v, n", "store: the mask must be bool, got i32"),
        ("store %96, %94, none",
         "store: the value (vector<6 x f32>) does not broadcast to the pointer"
         " (vector<4 x ptr<f32>>)"),
        ("%0 = sum v : f32", "sum needs a block, got f32"),
        ("%0 = sum %96 : f32", "sum: the operand must be a number, got vector<4 x ptr<f32>>"),
        ("%0 = sum %94 : f32",
         "sum needs a power-of-two extent, got 6 (axis 0 of vector<6 x f32>)"),
        ("%0 = max %93 {axis=2} : f32", "max: axis 2 is not an axis of block<4x8 x f32>"),
        ("%0 = min %93 {axis=0} : vector<4 x f32>",
         "min: the result is vector<4 x f32> but block<4x8 x f32> give vector<8 x f32>"),
        ("%0 = expand_dims v {axis=0} : vector<1 x f32>", "expand_dims needs a block, got f32"),
        ("%0 = expand_dims %95 {axis=2} : block<4x1 x i32>",
         "expand_dims: the axis must be an int from 0 to 1, got 2"),
        ("%0 = expand_dims %95 {axis=0} : block<4x1 x i32>",
         "expand_dims: the result is block<4x1 x i32> but vector<4 x i32> give block<1x4 x i32>"),
        ("%0 = expand_dims %95 {axis=0} : block<1x4 x f32>",
         "expand_dims: the result is block<1x4 x f32> but vector<4 x i32> give block<1x4 x i32>"),
        ("%0 = arange {start=4, end=4} : vector<4 x i32>",
         "arange: the end must be larger than the start, got 4, 4"),
        ("%0 = arange {start=0, end=2.0} : vector<2 x i32>",
         "arange: the bounds must be compile-time ints, got 0, 2.0"),
        ("%0 = arange {start=2147483647, end=2147483648} : vector<1 x i32>",
         "arange: the bounds must fit in i32, got 2147483647, 2147483648"),
        ("%0 = program_id {axis=3} : i32", "program_id: the axis must be an int from 0 to 2, got 3"),
        ("%0 = program_id {axis=True} : i32",
         "program_id: the axis must be an int from 0 to 2, got True"),
        ("%0 = zeros {shape=(), dtype=f32} : f32",
         "zeros: the shape must be a non-empty tuple of positive ints, got ()"),
        ("%0 = zeros {shape=(4, 0), dtype=f32} : f32",
         "zeros: the shape must be a non-empty tuple of positive ints, got (4, 0)"),
        ("%0 = empty {shape=4, dtype=f32} : f32",
         "empty: the shape must be a non-empty tuple of positive ints, got 4"),
        ("%0 = zeros {shape=(4,), dtype='f32'} : f32",
         "zeros: the dtype must be a scalar type, got 'f32'"),
        ("%0 = zeros {shape=(4,), dtype=f32} : vector<8 x f32>",
         "zeros: the result is vector<8 x f32> but nothing give vector<4 x f32>"),
        ("%0 = full %90 {shape=(4,), dtype=f32} : vector<4 x f32>",
         "full: the fill value must be a scalar, got vector<4 x f32>"),
        ("%0 = full p {shape=(4,), dtype=f32} : vector<4 x f32>",
         "full: the fill value must be a number, got ptr<f32>"),
        ("%0 = full 1.0:f32 {shape=(4,), dtype=f32} : vector<4 x i32>",
         "full: the result is vector<4 x i32> but f32 give vector<4 x f32>"),
        ("%0 = cast v {dtype=7} : f32", "cast: the dtype must be a scalar type, got 7"),
        ("%0 = cast p {dtype=f32} : f32", "cast: the operand must be a number, got ptr<f32>"),
    ],
)  # fmt: skip
def test_refused(line, message):
    with pytest.raises(VerificationError) as caught:
        verify(kernel(line))
    # Hints what to do may follow.
    assert caught.value.message.startswith(message)
