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
