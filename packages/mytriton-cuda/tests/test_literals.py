"""Constants keep every bit."""

from __future__ import annotations

import math
import re
import struct

import numpy as np
import pytest

from mytriton.plugin_api import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U32,
    U64,
    Constant,
    ScalarType,
)  # fmt: skip
from mytriton_cuda import nvrtc
from mytriton_cuda.emit.scalars import literal, value_type


@pytest.mark.parametrize(
    ("value", "ty", "expected"),
    [
        (-(2**31), I32, "(-2147483647 - 1)"),
        (2**31 - 1, I32, "2147483647"),
        (-(2**63), I64, "(-9223372036854775807LL - 1)"),
        (2**63 - 1, I64, "9223372036854775807LL"),
        (2**64 - 1, U64, "18446744073709551615ULL"),
        (2**32 - 1, U32, "4294967295u"),
        (-128, I8, "-128"),
        (-32768, I16, "-32768"),
        (255, U8, "255"),
        (1, F32, "1.0f"),
        (-0.0, F32, "-0.0f"),
        (-0.0, F64, "-0.0"),
        (1e-45, F32, "1e-45f"),
        (5e-324, F64, "5e-324"),
        (0.1, F32, "0.1f"),
        (0.1, F64, "0.1"),
        (1e30, F32, "1e+30f"),
        (math.inf, F32, "__uint_as_float(0x7f800000u)"),
        (-math.inf, F32, "__uint_as_float(0xff800000u)"),
        (math.nan, F32, "__uint_as_float(0x7fc00000u)"),
        (math.inf, F64, "__longlong_as_double(0x7ff0000000000000ULL)"),
        (65504, F16, "65504.0f"),
        (6e-8, F16, "5.9604645e-08f"),
        (0.1, BF16, "0.100097656f"),
        (math.inf, BF16, "__uint_as_float(0x7f800000u)"),
    ],
)  # fmt: skip
def test_text(value: float, ty: ScalarType, expected: str) -> None:
    assert literal(Constant(value, ty)) == expected


@pytest.mark.nvrtc
def test_nvrtc_reads_back_every_bit() -> None:
    rng = np.random.default_rng(3)
    singles = [
        *rng.integers(0, 2**32, 300).astype(np.uint32).view(np.float32),
        *np.float32([1e-45, 1.1754942e-38]),
    ]
    doubles = [*rng.integers(0, 2**63, 300).astype(np.uint64).view(np.float64), 5e-324]
    constants = [Constant(float(v), F32) for v in singles if math.isfinite(v)]
    constants += [Constant(float(v), F64) for v in doubles if math.isfinite(v)]
    lines = [
        f"    {'a' if c.ty == F32 else 'b'}[{n}] = {literal(c)};" for n, c in enumerate(constants)
    ]
    text = 'extern "C" __global__ void k(float* a, double* b) {\n' + "\n".join(lines) + "\n}\n"
    ptx = nvrtc.load().compile(text, kind="ptx").data.decode()
    moved = {int(v, 16) for v in re.findall(r"0[fd]([0-9A-Fa-f]{8,16})\b", ptx)}
    moved |= {int(v) & (2**64 - 1) for v in re.findall(r"-?\b\d+\b", ptx)}
    moved |= {int(v) & (2**32 - 1) for v in re.findall(r"-?\b\d+\b", ptx)}
    for constant in constants:
        layout = "<I" if constant.ty == F32 else "<Q"
        bits = struct.unpack(
            layout, struct.pack(layout.replace("I", "f").replace("Q", "d"), constant.value)
        )[0]
        assert bits in moved, (constant, literal(constant))


def test_every_type_has_a_name() -> None:
    assert [value_type(t) for t in (I8, U8, I64, F16, F64)] == [
        "signed char", "unsigned char", "long long", "float", "double",
    ]  # fmt: skip
