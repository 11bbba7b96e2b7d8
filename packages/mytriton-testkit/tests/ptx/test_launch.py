"""Arguments, memory, modules and the command line."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import time

import numpy as np
import pytest

from mytriton_testkit.ptx import (
    Device,
    LaunchError,
    Memory,
    PtxSyntaxError,
    launch,
    load_module,
)
from mytriton_testkit.ptx.cli import main

from . import cases
from .one import HEAD, kernel


def test_parameters_are_listed() -> None:
    params = cases.module("packing").kernels["packing"].params
    assert [(p.type.name, p.size, p.offset) for p in params] == [
        ("u8", 1, 0), ("u16", 2, 2), ("b8", 8, 4), ("f64", 8, 16), ("u8", 1, 24),
        ("u64", 8, 32), ("u64", 8, 40),
    ]  # fmt: skip


def test_packed_arguments() -> None:
    device, module = Device(), cases.module("packing")
    out = device.upload(np.zeros(7, "i8"))

    class Pair(ctypes.Structure):
        _fields_ = [("first", ctypes.c_int), ("second", ctypes.c_float)]

    packed = [
        ctypes.c_int8(-3), np.int16(-300), Pair(-77, 12.0), ctypes.c_double(1e10),
        ctypes.c_bool(True), ctypes.c_void_p(out.address), (-(2**40)).to_bytes(8, "little",
                                                                              signed=True),
    ]  # fmt: skip
    device.launch_packed(module, "packing", 1, 1, packed)
    assert device.download(out).tolist() == [-3, -300, -77, 12, 10**10, 1, -(2**40)]
    with pytest.raises(LaunchError, match="has 7 parameters, 6 were given"):
        device.launch_packed(module, "packing", 1, 1, packed[:-1])
    packed[1] = ctypes.c_int32(-300)
    with pytest.raises(LaunchError, match="argument 1 of packing has 4 bytes.*has 2"):
        device.launch_packed(module, "packing", 1, 1, packed)
    with pytest.raises(LaunchError, match="bytes, ctypes or NumPy scalars, not int"):
        device.launch_packed(module, "packing", 1, 1, [1, *packed[1:]])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": 0}, "grid must be"),
        ({"block": 2000}, "more than 1024"),
        ({"block": (1, 1, 65)}, "64 along z"),
        ({"shared_bytes": 300_000}, "shared memory"),
        ({"args": [np.zeros(4, "f4")]}, "has 4 parameters, 1 were given"),
        ({"args": [1.5, 0, 0, 4]}, "takes an integer"),
        ({"args": [0, 0, 0, 2**40]}, "does not fit"),
        ({"args": [0, 0, 0, "four"]}, "cannot take str"),
    ],
)
def test_wrong_launches(changes: dict, message: str) -> None:
    options = {"grid": 1, "block": 32, "args": [np.zeros(4, "f4")] * 3 + [4]} | changes
    with pytest.raises(LaunchError, match=message):
        launch(cases.module("vadd"), **options)


def test_required_block() -> None:
    text = kernel("ret;", params=0).replace("k()", "k() .reqntid 64")
    with pytest.raises(LaunchError, match="requires blocks of"):
        launch(load_module(text), 1, 32)
    launch(load_module(text), 1, 64)


def test_memory() -> None:
    memory = Memory(1 << 12)
    x = np.arange(5000, dtype="f4").reshape(50, 100)
    buffer = memory.upload(x, "x")
    other = memory.upload(np.ones(3, "i8"))
    np.testing.assert_array_equal(memory.download(buffer), x)
    assert memory.download(other, "u1").size == 24
    assert other.address - buffer.end >= buffer.nbytes
    with pytest.raises(LaunchError, match="not in a buffer"):
        memory.read(buffer.end - 4, 8)
    memory.free(buffer)
    with pytest.raises(LaunchError, match="freed before"):
        memory.free(buffer)
    for _ in range(200):
        memory.free(memory.allocate(100_000))
    assert len(memory.views.octets) < 1 << 23
    assert memory.allocate(0).nbytes == 0


def test_module_variables_keep_their_values() -> None:
    text = kernel(
        """ld.global.u64 %a1, [link]; ld.global.u32 %r1, [%a1]; atom.global.add.u32 %r2, [count], %r1;
    ld.const.f32 %f1, [table+4]; cvt.rzi.u32.f32 %r3, %f1; add.u32 %r2, %r2, %r3;
    st.global.b32 [%p0], %r2; ret;""",
        params=1,
        declare=".const .f32 table[2] = {0f3F800000, 40.0};\n.global .u32 step = 5;\n"
        ".global .u32 count;\n.global .u64 link = generic(step);\n",
    )
    device, module = Device(), load_module(text)
    out = device.upload(np.zeros(1, "i4"))
    for wanted in (40, 45, 50):
        device.launch(module, "k", 1, 1, [out])
        assert device.download(out) == [wanted]
    assert device.memory.read(device.variable(module, "count"), 4).view("i4") == [15]


def test_a_grid_larger_than_a_chunk() -> None:
    n = 300_000
    x, y, out = np.arange(n, dtype="f4"), np.ones(n, "f4"), np.zeros(n, "f4")
    launch(cases.module("vadd"), -(-n // 1024), 1024, [x, y, out, n])
    np.testing.assert_array_equal(out, x + 1)


def test_scopes_and_labels() -> None:
    body = """
    mov.u32 %r1, 0;
    { .reg .u32 %r1; .reg .pred p; mov.u32 %r1, 5; setp.eq.u32 p, %t, 0; @p bra L; mov.u32 %r2, %r1;
      L: }
    { .reg .pred p; setp.ne.u32 p, %t, 0; @p bra L; mov.u32 %r2, 9; L: }
    add.u32 %r2, %r2, %r1; mad.wide.u32 %a1, %t, 4, %p0; st.global.b32 [ %a1 + 0 ], %r2; ret;"""
    out = np.zeros(32, "i4")
    launch(load_module(kernel(body, params=1)), 1, 32, [out])
    assert out.tolist() == [9] + [5] * 31


@pytest.mark.parametrize(
    "text", ["hello", HEAD + ".visible .entry k(.param .u64 x) {", HEAD + ".reg .foo %x;",
             HEAD.replace("64", "32"), HEAD + ".visible .entry k() { .reg .foo %x; ret; }"],
)  # fmt: skip
def test_syntax_errors(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        load_module(text)


def test_speed() -> None:
    """The bars are 2 ms and 10 ms; here only a loss of an order of magnitude fails."""
    device = Device()
    x, y, out = (device.upload(np.ones((4, 1024), "f4")) for _ in range(3))
    for name, args, block, bar in (
        ("vadd", [x, y, out, 1024], 256, 0.002),
        ("softmax", [x, out, 1024], 1024, 0.010),
    ):
        module, best = cases.module(name), 1.0
        for _ in range(30):
            start = time.process_time()
            device.launch(module, name, 4, block, args)
            best = min(best, time.process_time() - start)
        assert best < 20 * bar, f"{name}: {best * 1e3:.1f} ms"


# ---------------------------------------------------------------------- the command


def test_command(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    path = str(cases.DATA / "vadd.ptx")
    arguments = ["run", path, "--entry", "vadd", "--grid", "4", "--block", "256"]
    buffers = ["--arg", "f32:1024=iota", "--arg", "f32:1024=1", "--arg", "f32:1024=undef"]
    assert main([*arguments, *buffers, "--arg", "i32=1000"]) == 0
    text = capsys.readouterr().out
    assert "arg2: float32 1024, 1000 elements changed" in text
    assert "1, 2, 3, 4, ..." in text
    assert "global sectors: 375" in text
    extra = ["--arg", "i32=1000", "--json", "--out", str(tmp_path)]
    assert main([*arguments, *buffers, *extra]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["buffers"]["arg2"]["changed"] == 1000
    assert report["counters"]["warp_instructions"] == 544
    np.testing.assert_array_equal(np.load(tmp_path / "arg2.npy")[:1000], np.arange(1000) + 1)
    arguments[5] = "5"
    assert main([*arguments, *buffers, "--arg", "i32=1025"]) == 1
    assert "bounds: ld of 4 bytes" in capsys.readouterr().err
    assert main([*arguments, *buffers]) == 2
    assert main(["list", path]) == 0
    assert "vadd(.u64 vadd_param_0" in capsys.readouterr().out


def test_needs_numpy_only() -> None:
    code = """import sys, importlib.abc
class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("mytriton", "pluggy", "cupy", "torch", "rich", "hypothesis"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import mytriton_testkit.ptx.cli
"""
    subprocess.run([sys.executable, "-c", code], check=True)
