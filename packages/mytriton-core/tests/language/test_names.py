"""Names of the language: dtypes and their queries, compile-time values, what importing loads."""

import subprocess
import sys

import pytest

import mytriton.language as tl
from mytriton.ir.types import BlockType, PointerType

DTYPES = {
    "int1": (1, 1), "int8": (8, 1), "int16": (16, 2), "int32": (32, 4), "int64": (64, 8),
    "uint8": (8, 1), "uint16": (16, 2), "uint32": (32, 4), "uint64": (64, 8), "float16": (16, 2),
    "bfloat16": (16, 2), "float32": (32, 4), "float64": (64, 8), "float8e4nv": (8, 1),
    "float8e5": (8, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_dtype_queries(name):
    ty = getattr(tl, name)
    bits, size = DTYPES[name]
    short = name.replace("bfloat16", "bf16").replace("float", "fp")
    assert (ty.primitive_bitwidth, ty.itemsize) == (bits, size)
    assert tl.dtype(short) == ty
    assert hash(tl.dtype(short)) == hash(ty)
    queries = [f"is_{n.replace('bfloat16', 'bf16').replace('float', 'fp')}" for n in DTYPES]
    assert [q for q in queries if getattr(ty, q)()] == [f"is_{short}"]
    assert ty.is_floating() == ("float" in name)
    assert ty.is_fp8() == ("float8" in name)
    assert ty.is_standard_floating() == ("float" in name and "float8" not in name)
    assert ty.is_int() == ("int" in name)
    assert ty.is_int_unsigned() == (name.startswith("uint") or name == "int1")
    assert ty.is_int_signed() == (name.startswith("int") and name != "int1")
    assert not (ty.is_ptr() or ty.is_block() or ty.is_const())
    assert not (ty.is_fp8e4b15() or ty.is_fp8e4b8() or ty.is_fp8e5b16())


def test_widths_of_the_parts_of_a_type():
    assert [tl.dtype(n).fp_mantissa_width for n in ("fp16", "bf16", "fp32", "fp64", "fp8e5")] == [
        10, 7, 23, 52, 2,
    ]  # fmt: skip
    assert tl.float32.exponent_bias == 127 and tl.float16.exponent_bias == 15
    assert tl.uint16.int_bitwidth == 16 and tl.int1.int_bitwidth == 1
    assert (tl.int8.get_int_min_value(), tl.uint8.get_int_max_value()) == (-128, 255)
    for ty, name in ((tl.float32, "int_bitwidth"), (tl.int32, "fp_mantissa_width")):
        with pytest.raises(AttributeError, match=f"it has no {name}"):
            getattr(ty, name)


def test_types_of_pointers_and_blocks():
    pointer = tl.pointer_type(tl.float32)
    assert pointer == PointerType(tl.float32)
    assert pointer.is_ptr() and not pointer.is_floating() and pointer.scalar is pointer
    block = BlockType((4, 8), pointer)
    assert block.is_block() and not block.is_ptr()
    assert block.scalar == block.element_ty == pointer
    assert block.shape == block.get_block_shapes() == (4, 8)


@pytest.mark.parametrize("width", [1, 8, 16, 32, 64])
def test_integer_types_by_width(width):
    assert tl.get_int_dtype(width, signed=True) == getattr(tl, f"int{width}")
    assert tl.get_int_dtype(bitwidth=width, signed=False) == getattr(
        tl, f"{'u' * (width > 1)}int{width}"
    )


def test_no_integer_type_has_12_bits():
    with pytest.raises(ValueError, match="no integer type has 12 bits"):
        tl.get_int_dtype(12, True)


def test_dtypes_no_backend_has_can_be_compared_with(module_from, refused):
    kernel = module_from(
        "@triton.jit\ndef kernel(x, out):\n"
        "    if x.dtype.element_ty == tl.float8e4b8:\n        tl.store(out, 1)\n"
        "    elif x.dtype.element_ty.is_fp32():\n        tl.store(out, 2)\n"
    ).kernel
    import numpy as np

    out = np.zeros(1, np.int32)
    kernel.with_backend("interpreter")[(1,)](np.zeros(1, np.float32), out)
    assert out[0] == 2
    assert "float8e5b16 is not supported" in refused("tl.zeros((4,), tl.float8e5b16)")


def test_constexpr_computes_as_the_value_it_holds():
    x = tl.constexpr(7)
    for got, want in [
        (x + 1, 8), (1 + x, 8), (x - 2, 5), (2 - x, -5), (x * x, 49), (x / 2, 3.5), (14 / x, 2.0),
        (x // 2, 3), (-x // 2, -4), (15 // x, 2), (x % 4, 3), (x**2, 49), (2**x, 128), (x << 1, 14),
        (x >> 1, 3), (x & 3, 3), (x | 8, 15), (x ^ 1, 6), (-x, -7), (+x, 7), (~x, -8), (abs(-x), 7),
    ]:  # fmt: skip
        assert isinstance(got, tl.constexpr)
        assert got.value == want and type(got.value) is type(want)


def test_constexpr_compares_and_converts():
    x = tl.constexpr(3)
    for got, want in [(x < 4, True), (x <= 3, True), (x > 3, False), (3 >= x, True), (x == 3, True),
                      (x != tl.constexpr(3), False)]:  # fmt: skip
        assert got is want
    assert hash(x) == hash(3) and int(x) == 3 and float(x) == 3.0 and list(range(x)) == [0, 1, 2]
    assert bool(x) and not tl.constexpr(0)
    assert f"{x:02d} {x}" == "03 3" and repr(x) == "constexpr[3]"
    assert tl.constexpr((4, 5))[tl.constexpr(1)] == 5 and len(tl.constexpr((4, 5))) == 2
    assert tl.constexpr(tl.constexpr(3)).value == 3
    assert tl.constexpr(tl.float32).value is tl.float32


def test_constexpr_globals_meet_runtime_values(module_from):
    import numpy as np

    module = module_from(
        "A = tl.constexpr(3)\nB = A + 1\nD = tl.constexpr(tl.float16)\n\n"
        "def macro(v):\n    return A * v + (v < B)\n\n"
        "@triton.jit\ndef kernel(out, n):\n"
        "    tl.store(out, macro(n) + B * n)\n    tl.store(out + 1, n.to(D).dtype.is_fp16())\n"
    )
    out = np.zeros(2, np.int32)
    module.kernel.with_backend("interpreter")[(1,)](out, 2)
    np.testing.assert_array_equal(out, [15, 1])


def test_every_name_exists_and_is_documented():
    for name in tl.__all__:
        value = getattr(tl, name)
        if getattr(value, "__mytriton_builtin__", False):
            assert value.__doc__, name
    for name in tl.math.__all__:
        value = getattr(tl.math, name)
        assert value.__mytriton_builtin__ and value.__doc__, name
    assert set(tl.math.__all__) <= set(dir(tl.extra.libdevice))


def test_importing_the_language_loads_no_numpy():
    code = "import sys, mytriton.language as tl; tl.float32; tl.constexpr(3) + 1; print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'mytriton.language' has no attribute 'sotre'"):
        tl.sotre
    with pytest.raises(AttributeError, match="has no 'sort' yet: it is not supported"):
        tl.sort
