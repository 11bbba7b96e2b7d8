"""What the text looks like beyond the articles, and what is declined."""

import re

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.ir.types import BF16, F16, F32, F64, I8, I32, I64, U8, U64
from mytriton.ir.values import Constant
from mytriton.plugin_api import UnsupportedFeature
from mytriton_mlir.gpu.names import kernel_name, plain
from mytriton_mlir.gpu.scalars import constant_name, literal

pytestmark = pytest.mark.codegen

X = np.ones(1000, np.float32)
I = np.ones(1000, np.int32)


def ops(text, pattern):
    return re.findall(pattern, text)


@triton.jit
def axes_kernel(out):
    tl.store(out + tl.program_id(2) * 100 + tl.program_id(1) * 10 + tl.program_id(0), 1.0)


def test_axes(text_of):
    text = text_of(axes_kernel, X)
    assert ops(text, r"gpu\.block_id [xyz]") == [f"gpu.block_id {a}" for a in "xyz"]
    assert "thread_id" not in text


@triton.jit
def start_kernel(x, out):
    offs = tl.arange(5, 13)
    tl.store(out + offs, tl.load(x + offs))


def test_arange_start(text_of):
    assert "arith.addi %thread_id_x, %c_i32_5 : i32" in text_of(start_kernel, X, X)


@triton.jit
def pointwise_kernel(x, y, out, B: tl.constexpr):
    offs = tl.arange(0, B)
    a = tl.load(x + offs)
    b = tl.load(y + offs)
    top = tl.maximum(a, b)
    low = tl.minimum(-a, b)
    tl.store(out + offs, tl.where(a < b, tl.exp(top), low / b))


def test_pointwise(text_of):
    text = text_of(pointwise_kernel, X, X, X, B=64)
    for line in (
        "arith.cmpf ogt, ", "arith.cmpf uno, ", "arith.negf ", "math.exp ", "arith.divf ",
        "arith.cmpf olt, ", "arith.select ",
    ):  # fmt: skip
        assert line in text
    halves = text_of(pointwise_kernel, *(X.astype(np.float16),) * 3, B=64)
    assert ops(halves, r"math\.exp \S+ : (\S+)") == ["f32"]
    assert ops(halves, r"arith\.divf \S+ \S+ : (\S+)") == ["f32"]
    assert ops(halves, r"arith\.negf \S+ : (\S+)") == ["f16"]


@triton.jit
def divide_kernel(x, y, out):
    tl.store(out, tl.load(x).to(tl.int32) // tl.load(y))


@triton.jit
def quotient_kernel(x, y, out, B: tl.constexpr):
    offs = tl.arange(0, B)
    tl.store(out + offs, tl.load(x + offs) // tl.load(y + offs))


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "i1", "u1"])
def test_division_is_guarded(text_of, dtype):
    from mytriton.ir.parser import parse
    from mytriton_mlir.gpu.kernel import emit

    name = dtype[0] + str(8 * int(dtype[1]))
    function = parse(
        f"kernel k(x: ptr<{name}>, n: {name}) {{\n"
        f"%0 = load x, none, none : {name}\n%1 = div %0, n : {name}\nstore x, %1, none\n}}\n"
    )
    text = emit(function).text
    word = "divsi" if dtype[0] == "i" else "divui"
    (divisor,) = ops(text, rf"arith\.{word} \S+, (\S+) :")
    assert divisor == "%v1_divisor"
    assert f"{divisor} = arith.select" in text
    by_constant = emit(
        parse(
            f"kernel k(x: ptr<{name}>) {{\n"
            f"%0 = load x, none, none : {name}\n%1 = div %0, 7 : {name}\nstore x, %1, none\n}}\n"
        )
    ).text
    assert "select" not in by_constant


def test_bool_memory(text_of):
    @triton.jit
    def kernel(x, flag, out, B: tl.constexpr):
        offs = tl.arange(0, B)
        tl.store(out + offs, tl.load(x + offs, mask=offs < 3) & flag)

    mask = np.ones(8, np.bool_)
    text = text_of(kernel, mask, True, mask, B=8)
    assert "%x: memref<?xi8>, %flag: i1, %out: memref<?xi8>" in text
    assert "arith.cmpi ne, %loaded" in text
    assert "arith.extui" in text


@triton.jit
def sum_twice_kernel(x, out, rows, B: tl.constexpr):
    offs = tl.arange(0, B)
    total = 0.0
    for r in range(rows):
        v = tl.load(x + r * B + offs)
        total += tl.sum(v) - tl.max(v)
    tl.store(out, total)


def test_reductions_share_a_buffer(text_of):
    text = text_of(sum_twice_kernel, X, X, 3, B=64)
    assert text.count("workgroup(") == 1
    assert "%scratch_f32: memref<64xf32, #gpu.address_space<workgroup>>" in text
    # Two inside each tree, and one in front of each tree: the buffer is read until then.
    assert text.count("gpu.barrier") == 6


def test_reduction_scratch_types(text_of):
    from mytriton.ir.parser import parse
    from mytriton_mlir.gpu.kernel import emit

    def scratch(ty):
        text = emit(parse(
            f"kernel k(x: ptr<{ty}>) {{\n%0 = arange {{start=0, end=8}} : vector<8 x i32>\n"
            f"%1 = addptr x, %0 : vector<8 x ptr<{ty}>>\n%2 = load %1, none, none : vector<8 x {ty}>\n"
            f"%3 = sum %2 : {ty}\nstore x, %3, none\n}}\n"
        )).text  # fmt: skip
        return ops(text, r"workgroup\(\S+ memref<8x(\w+),")[0]

    assert {t: scratch(t) for t in ("bool", "i8", "u64", "f16", "bf16", "f64")} == {
        "bool": "i8", "i8": "i8", "u64": "i64", "f16": "f32", "bf16": "f32", "f64": "f64",
    }  # fmt: skip


def test_loop_near_the_end_of_its_type(text_of):
    @triton.jit
    def kernel(out, start, stop, STEP: tl.constexpr):
        count = 0
        for i in range(start, stop, STEP):
            count += 1
        tl.store(out, count)

    text = text_of(kernel, I, 0, 10, STEP=3)
    assert "arith.extsi %stop : i32 to i64" in text
    assert re.search(r"scf\.for %v\d+_wide = .* : i64 {", text)
    text = text_of(kernel, I, 0, 10, STEP=1)
    assert "i64" not in text
    text = text_of(kernel, np.ones(1, np.int64), 0, 1 << 40, STEP=1)
    assert ": i64 {" in text


def test_carried_pointers(text_of):
    @triton.jit
    def kernel(x, out, n):
        p = x
        acc = 0.0
        for i in range(n):
            acc += tl.load(p)
            p = p + 2
        tl.store(out, acc)
        tl.store(p, 1.0)

    text = text_of(kernel, X, X, 4)
    assert re.search(r"iter_args\(.*\) -> \((index, f32|f32, index)\)", text)

    @triton.jit
    def exchanged(x, y, n):
        p = x
        q = y
        for i in range(n):
            t = p
            p = q
            q = t
        tl.store(p, 1.0)
        tl.store(q, 2.0)

    text = text_of(exchanged, X, X, 4)
    assert "-> (memref<?xf32>, index, memref<?xf32>, index)" in text


def test_names_that_collide(text_of):
    @triton.jit
    def kernel(
        v0, v1, idx2, loaded3, c_i32_5, tid_x, thread_id_x, c_f32_0_0, kernel, B: tl.constexpr
    ):
        offs = tl.arange(0, B) + 5
        mask = offs < c_i32_5
        a = tl.load(v0 + offs, mask=mask, other=0.0)
        tl.store(v1 + offs, a + tl.load(idx2 + tid_x) * c_f32_0_0, mask=mask)
        tl.store(loaded3 + thread_id_x, tl.load(kernel))

    text = text_of(kernel, X, X, X, X, 5, 6, 7, 1.5, X, B=16)
    defined = ops(text, r"(%\w+)(?:: (?:memref|[if])| =)")
    assert len(defined) == len(set(defined))


def test_names_in_other_letters():
    assert plain("größe") == "gruf6u00dfe".replace("u00df", "udf")
    assert plain("_private") == "arg_private"
    assert kernel_name("_private") == "kernel_private"
    assert kernel_name("__nv_expf") == "kernel_nv_expf"
    assert kernel_name("WARP_SZ") == "WARP_SZ_kernel"
    assert kernel_name("add_kernel") == "add_kernel"


@pytest.mark.parametrize(
    ("value", "ty", "text", "name"),
    [
        (0.0, F32, "0.000000e+00", "c_f32_0_0"),
        (-0.0, F32, "-0.000000e+00", "c_f32_m0_0"),
        (2.5, F64, "2.500000e+00", "c_f64_2_5"),
        (0.1, F32, "1.000000e-01", "c_f32_0_1"),
        (1 / 3, F32, "0x3EAAAAAB", "c_f32_0_33333334"),
        (1 / 3, F64, "0x3FD5555555555555", "c_f64_0_3333333333333333"),
        (1e-45, F32, "1.401298e-45", "c_f32_1em45"),
        (1.17549421e-38, F32, "0x007FFFFF", "c_f32_1_1754942em38"),
        (float("inf"), F16, "0x7C00", "c_f16_inf"),
        (float("-inf"), BF16, "0xFF80", "c_bf16_minf"),
        (float("nan"), F32, "0x7FC00000", "c_f32_nan"),
        (1.0, BF16, "1.000000e+00", "c_bf16_1_0"),
        (256, I32, "256", "c_i32_256"),
        (-(2**31), I32, "-2147483648", "c_i32_m2147483648"),
        (2**64 - 1, U64, "-1", "c_i64_m1"),
        (200, U8, "-56", "c_i8_m56"),
        (-1, I8, "-1", "c_i8_m1"),
        (2**40, I64, "1099511627776", "c_i64_1099511627776"),
    ],
)
def test_constants(value, ty, text, name):
    constant = Constant(value, ty)
    assert literal(constant) == text
    assert constant_name(constant) == name


@triton.jit
def wide_kernel(x, B: tl.constexpr):
    offs = tl.arange(0, B)
    tl.store(x + offs, 1.0)


def test_block_limit(text_of):
    assert "memref.store" in text_of(wide_kernel, X, B=1024)
    with pytest.raises(UnsupportedFeature, match="limit.block>1024"):
        text_of(wide_kernel, X, B=2048)


def test_block_limit_is_declined():
    with pytest.raises(NotImplementedError, match=r"limit\.block>1024"):
        wide_kernel.with_backend("mlir")[(1,)](X.copy(), B=2048)


def test_layouts_that_differ_are_computed_apart(text_of):
    @triton.jit
    def kernel(x, out, B: tl.constexpr):
        r = tl.arange(0, B)
        tile = tl.load(x + r[:, None]) + tl.load(x + r[None, :])
        tl.store(out + r[:, None] * B + r[None, :], tile)
        tl.store(out + r, tl.load(x + r))

    text = text_of(kernel, X, X, B=8)
    assert "%tile_i" in text
    assert "%tile_j" in text


def test_every_line_knows_its_origin():
    from mytriton_mlir.gpu.kernel import emit

    emitted = emit(sum_twice_kernel.compile(X, X, 3, B=64).function)
    lines = emitted.text.splitlines()
    for number, span in emitted.spans.items():
        assert "constant" not in lines[number - 1]
        assert span.filename == __file__
    assert any(
        "math" in line or "memref.load %x" in line
        for k, line in enumerate(lines, 1)
        if k in emitted.spans
    )


def test_long_chains(text_of):
    from mytriton.ir.parser import parse
    from mytriton_mlir.gpu.kernel import emit

    lines = ["%0 = load x, none, none : f32"]
    lines += [f"%{k} = add %{k - 1}, {k}.5 : f32" for k in range(1, 5000)]
    body = "\n".join([*lines, "store x, %4999, none"])
    text = emit(parse(f"kernel k(x: ptr<f32>) {{\n{body}\n}}\n")).text
    assert text.count("arith.addf") == 4999
