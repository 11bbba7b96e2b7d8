"""NVIDIA's compiler takes every kernel of these tests, and warns about none."""

from __future__ import annotations

from typing import Any

import cuda_kernels as k
import numpy as np
import pytest
from cuda_support import emitted, f32
from test_text import awkward, eight_bits

import mytriton as triton
import mytriton.language as tl
from mytriton.plugin_api import (
    F32,
    I32,
    Constant,
    Param,
    PointerType,
    SSAFunction,
    SSAOp,
    SSAValue,
    parse_type,
)  # fmt: skip
from mytriton_cuda import nvrtc
from mytriton_cuda.emit import emit, emit_blocked
from mytriton_cuda.emit.names import kernel_name
from mytriton_cuda.launch import FLAGS, usage

pytestmark = pytest.mark.nvrtc


def i32(*shape: int) -> np.ndarray:
    return np.ones(shape, np.int32)


KERNELS: list[tuple[Any, list[Any], dict[str, int]]] = [
    (k.add_kernel, [f32(9), f32(9), f32(9), 9], {"BLOCK": 256}),
    (k.runtime_sum_kernel, [f32(9), f32(1), 9], {}),
    (k.matrix_add_2d_kernel, [f32(9), f32(9), f32(9), 3, 3], {"BM": 16, "BN": 32}),
    (k.matmul_runtime_k_kernel, [f32(9), f32(9), f32(9), 3, 3, 3], {"BM": 4, "BN": 8}),
    (k.softmax_kernel, [f32(9), f32(9), 9], {"BLOCK": 1024}),
    (k.exchange, [i32(2), 5], {}),
    (k.rotation, [i32(3), 5], {}),
    (k.near_the_top, [i32(1), 0, 9], {"STEP": 4}),
    (k.walking_pointer, [f32(9), f32(9), 2], {"BLOCK": 8}),
    (k.exchanged_pointers, [f32(9), f32(9), f32(9), 2], {}),
    (k.reductions_in_a_loop, [f32(9), f32(9), 2], {"BLOCK": 64}),
    (k.sum_of_both_axes, [f32(9), f32(9), f32(9), f32(9)], {"M": 8, "N": 16}),
    (k.sum_of_both_axes, [f32(9), f32(9), f32(9), f32(9)], {"M": 1, "N": 16}),
    (k.normalise_rows, [f32(9), f32(9)], {"M": 8, "N": 16}),
    (k.outer, [i32(64)], {"N": 8}),
    (k.two_widths, [i32(64), i32(16)], {"A": 64, "B": 16}),
    (k.partial_sum, [f32(64), f32(64)], {"WIDE": 64, "NARROW": 8}),
    (k.reverse_in_place, [f32(64)], {"BLOCK": 64}),
    (k.shift_in_loop, [f32(64), 3], {"BLOCK": 32}),
    (k.count_up, [i32(64), 3], {"BLOCK": 64}),
    (k.scalar_in_blocks, [f32(1), f32(64)], {"BLOCK": 64}),
    *((k.squares, [np.ones(8, d), np.ones(8, d)], {"BLOCK": 8}) for d in ("i1", "u2", "i8", "u8", "f2", "f8")),
    (awkward, [f32(8), f32(8), f32(8), 1.0, 2.0, 3.0, 4.0, f32(8), f32(8), 1], {"BLOCK": 8}),
    (eight_bits, [np.ones(8, np.int8), np.ones(8, np.bool_)], {"BLOCK": 8}),
]  # fmt: skip


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_compiles(number: int, arch: str) -> None:
    kernel, args, constants = KERNELS[number]
    got = emitted(kernel, *args, level=number % 2, **constants)
    image = nvrtc.load().compile(got.text, name=got.entry, arch=arch, spans=got.spans)
    assert image.data[:4] == b"\x7fELF"
    assert image.log == ""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_nothing_spills_in_the_blocked_mapping(number: int, arch: str) -> None:
    kernel, args, constants = KERNELS[number]
    got = emit_blocked(kernel.compile(*args, **constants).function, 4)
    image = nvrtc.load().compile(
        got.text, name=got.entry, arch=arch, spans=got.spans, options=FLAGS
    )
    assert usage(image.log)["spill_bytes"] == 0
    assert "warning" not in image.log


DTYPES = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64")


@pytest.mark.parametrize("target", DTYPES)
def test_every_conversion_compiles(target: str) -> None:
    """One function with a cast from every type, and a sum and a maximum of every type."""
    dst = parse_type(target)
    params, body, number = [], [], 0

    def value(ty: Any) -> SSAValue:
        nonlocal number
        number += 1
        return SSAValue(number - 1, ty)

    where = value(parse_type("vector<32 x i32>"))
    body.append(SSAOp("arange", (), where, {"start": 0, "end": 32}))
    out = Param("out", PointerType(dst))  # type: ignore[arg-type]
    for name in DTYPES:
        src = parse_type(name)
        param = Param(f"p_{name}", PointerType(src))  # type: ignore[arg-type]
        params.append(param)
        place = value(parse_type(f"vector<32 x ptr<{name}>>"))
        body.append(SSAOp("addptr", (param, where), place))
        loaded = value(parse_type(f"vector<32 x {name}>"))
        body.append(SSAOp("load", (place, None, None), loaded))
        cast = value(parse_type(f"vector<32 x {target}>"))
        body.append(SSAOp("cast", (loaded,), cast, {"dtype": dst}))
        for op in ("sum", "max"):
            total = value(dst)
            body.append(SSAOp(op, (cast,), total))
            body.append(SSAOp("store", (out, total, None)))
    got = emit(SSAFunction("convert", (*params, out), body))
    assert nvrtc.load().compile(got.text).log == ""


@triton.jit
def empty(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.empty((BLOCK,), tl.float32))


def test_empty_is_declared_and_not_set() -> None:
    got = emitted(empty, f32(8), BLOCK=8)
    assert any(
        line.endswith(";") and "=" not in line and "float v" in line
        for line in got.text.splitlines()
    )
    nvrtc.load().compile(got.text)


@pytest.mark.parametrize(
    "name", ["int", "exp", "threadIdx", "main", "sinf", "min", "dim3", "printf", "_", "__x", "añb", "std", "y0"]
)  # fmt: skip
def test_kernel_names(name: str) -> None:
    x = Param(name, PointerType(F32))
    function = SSAFunction(name, (x,), [SSAOp("store", (x, Constant(1.0, F32), None))])
    got = emit(function)
    assert got.entry == kernel_name(name)
    image = nvrtc.load().compile(got.text, kind="ptx")
    assert f".entry {got.entry}(".encode() in image.data


def test_error_shows_the_generated_and_the_users_line() -> None:
    got = emitted(k.add_kernel, f32(9), f32(9), f32(9), 9, BLOCK=256)
    broken = got.text.replace("float v9 = (v6 + v8)", "float v9 = (v6 + nothing)")
    with pytest.raises(nvrtc.NvrtcError) as error:
        nvrtc.load().compile(broken, name=got.entry, spans=got.spans)
    message = str(error.value)
    assert 'identifier "nothing" is undefined' in message
    assert "float v9 = (v6 + nothing);" in message
    assert "cuda_kernels.py" in message
    assert "x_values + y_values" in message


def test_bf16_needs_no_instruction_newer_than_sm_80() -> None:
    x = SSAValue(0, parse_type("bf16"))
    y = SSAValue(1, parse_type("bf16"))
    p = Param("p", PointerType(parse_type("bf16")))  # type: ignore[arg-type]
    body = [
        SSAOp("load", (p, None, None), x),
        SSAOp("add", (x, x), y),
        SSAOp("store", (p, y, None)),
    ]
    got = emit(SSAFunction("k", (p, Param("n", I32)), body))
    nvrtc.load().compile(got.text, arch="sm_75")
