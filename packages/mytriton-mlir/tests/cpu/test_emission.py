"""The text: strip-mined whatever the block, fused, and compilable for every instruction set."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton_mlir.cpu.compile import to_object
from mytriton_mlir.cpu.emitter import emit
from mytriton_mlir.cpu.target import TARGETS, host, target


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    offsets = tl.program_id(0) * cols + columns
    mask = columns < cols
    row = tl.load(x + offsets, mask=mask, other=float("-inf"))
    numerator = tl.exp(row - tl.max(row))
    tl.store(out + offsets, numerator / tl.sum(numerator), mask=mask)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=m) + tl.load(y + offs, mask=m), mask=m)


def text(kernel, which, **arguments):
    function, _ = kernel.specialise(arguments)
    return emit(function, which)


def softmax(which, block, dtype="f32"):
    return text(softmax_kernel, which, x=f"{dtype}[9]", out=f"{dtype}[9]", cols=9, BLOCK=block)


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_vectors_never_grow_with_the_block(name):
    small, large = softmax(TARGETS[name], 1024), softmax(TARGETS[name], 65536)
    widths = {int(w) for w in re.findall(r"vector<(\d+)x", large)}
    assert max(widths) <= 64
    assert len(small.splitlines()) == pytest.approx(len(large.splitlines()), abs=20)


def test_a_shared_value_is_computed_once_and_kept():
    lines = softmax(host(), 256)
    # exp in the strips all of whose lanes take part (a short way and a long one) and in the others.
    assert lines.count("0.0013981999507") <= 2
    assert lines.count("math.absf") == 1


def test_elementwise_kernels_use_no_scratch_memory():
    lines = text(add_kernel, host(), x="f32[9]", y="f32[9]", out="f32[9]", n=9, BLOCK=1024)
    assert "llvm.alloca" not in lines
    assert lines.count("arith.addf") == 2  # full strips and masked ones


@pytest.mark.parametrize("name", sorted(TARGETS))
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
def test_code_for_every_instruction_set(name, dtype):
    which = TARGETS[name]
    lines = softmax(which, 128, dtype)
    if name == "neon":
        code = to_object(lines, triple="aarch64-linux-gnu", cpu="generic")
        assert code[18:20] == b"\xb7\x00"  # EM_AARCH64
    elif name == "avx512":
        code = to_object(lines, triple="x86_64-linux-gnu", cpu="znver4")
        assert code[18:20] == b"\x3e\x00"
    else:
        assert to_object(lines, which.features)


def test_the_variable_chooses(monkeypatch):
    monkeypatch.setenv("MYTRITON_CPU_TARGET", "sse")
    assert target().name == "sse"
    monkeypatch.setenv("MYTRITON_CPU_TARGET", "z80")
    with pytest.raises(ValueError, match="known: avx512"):
        target()
    x = np.zeros(8, np.float32)
    with pytest.raises(triton.ArgumentError, match="known: avx512") as caught:
        add_kernel.with_backend("mlir-cpu")[(1,)](x, x, x, 8, BLOCK=8)
    assert [entry.path.name for entry in caught.traceback] == ["test_emission.py", "jit.py"]


def test_a_stage_that_fails_is_named():
    with pytest.raises(RuntimeError, match="MLIR stage 'parse' failed"):
        to_object("module { nonsense }")
