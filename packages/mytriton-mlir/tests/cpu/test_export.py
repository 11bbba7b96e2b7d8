"""Exported object code, called by a program that knows nothing of mytriton but the manifest."""

import ctypes
import json
import shutil
import struct
import subprocess

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl

COMPILER = shutil.which("cc") or shutil.which("gcc")


@triton.jit
def scale_kernel(x, out, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * scale, mask=at < n)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler to link with")
def test_exported_object_code_computes_what_the_kernel_does(tmp_path):
    made = scale_kernel.export(
        tmp_path, backend="mlir-cpu", grid=("cdiv(n, BLOCK)",),
        x="f32[1000]", out="f32[1000]", n="i32", scale="f32", BLOCK=64,
    )  # fmt: skip
    manifest = json.loads(made.files["manifest"].read_text())
    assert [a["name"] for a in manifest["arguments"]] == ["x", "out", "n", "scale"]
    library = tmp_path / "kernel.so"
    subprocess.run(
        [COMPILER, "-shared", "-o", str(library), str(made.files["obj"]), "-lm"], check=True
    )
    entry = ctypes.CDLL(str(library))[manifest["entry"]]
    entry.restype, entry.argtypes = (
        ctypes.c_int32,
        (ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64),
    )

    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    programs = -(-1000 // manifest["constants"]["BLOCK"])
    slots = struct.pack("=QQqdqqq", x.ctypes.data, out.ctypes.data, 1000, 2.5, programs, 1, 1)
    # In two parts: what a thread of the caller's would do.
    assert entry(slots, 0, 5) == 0
    np.testing.assert_array_equal(out[:320], x[:320] * np.float32(2.5))
    assert not out[320:].any()
    assert entry(slots, 5, programs) == 0
    np.testing.assert_array_equal(out, x * np.float32(2.5))


@triton.jit
def scalars_kernel(out, a, flag, n, scale: tl.constexpr):
    x, y = tl.num_programs(0), tl.num_programs(1)
    at = tl.program_id(0) + x * (tl.program_id(1) + y * tl.program_id(2))
    if flag:
        tl.store(out + at, a * scale, mask=at < n)


SLOTS = [
    ("i8", "q", -128), ("u8", "q", 255), ("i16", "q", -3), ("u32", "q", 2**32 - 1), ("i64", "q", -(2**63)),
    ("u64", "Q", 2**64 - 1), ("f32", "d", 0.5), ("f64", "d", 0.1),
]  # fmt: skip


@pytest.mark.skipif(COMPILER is None, reason="no C compiler to link with")
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(("ty", "code", "value"), SLOTS)
def test_scalars_fill_their_slots_as_the_manifest_says(tmp_path, ty, code, value, flag):
    made = scalars_kernel.export(
        tmp_path, backend="mlir-cpu", grid=(2, 1, 3), out=f"{ty}[6]", a=ty, flag="bool", n="i32", scale=1,
    )  # fmt: skip
    assert (
        "int64_t for integers and for bool, 0 or 1; double for floats" in made.manifest["calling"]
    )
    library = tmp_path / "kernel.so"
    subprocess.run(
        [COMPILER, "-shared", "-o", str(library), str(made.files["obj"]), "-lm"], check=True
    )
    entry = ctypes.CDLL(str(library))[made.manifest["entry"]]
    entry.argtypes = (ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
    kind = {"i": "i", "u": "u", "f": "f"}[ty[0]]
    out = np.zeros(6, f"{kind}{int(ty[1:]) // 8}")
    slots = struct.pack(f"=Q{code}qqqqq", out.ctypes.data, value, flag, 5, 2, 1, 3)
    assert entry(slots, 0, 6) == 0
    np.testing.assert_array_equal(out, np.array([value] * 5 + [0], out.dtype) * flag)
