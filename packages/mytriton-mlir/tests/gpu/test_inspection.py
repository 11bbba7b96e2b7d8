"""What ``kernel.inspect`` and ``kernel.export`` give of ``mlir``: the GPU dialect and PTX."""

import re

import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton_mlir.gpu.launch import compile_source


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < cols, other=-float("inf"))
    grown = tl.exp(values - tl.max(values, axis=0))
    total = tl.sum(grown, axis=0)
    tl.store(out + lanes, grown / total, mask=lanes < cols)


ARGUMENTS = {"x": "f32[700]", "out": "f32[700]", "cols": 700, "BLOCK": 512}


def line_of(text):
    start = softmax_kernel.source.parse().lineno
    lines = softmax_kernel.source.lines
    return next(k for k, line in enumerate(lines, 1) if k > start and text in line)


def marked(found, stage, source):
    lines = found[stage].splitlines()
    return [lines[k - 1] for k in found.marked(line_of(source)).get(stage, [])]


def test_lines_of_the_text_are_traced_to_the_source():
    found = softmax_kernel.inspect(**ARGUMENTS, backend="mlir")
    assert any("math.exp" in line for line in marked(found, "mlir", "tl.exp"))
    assert any("memref.store" in line for line in marked(found, "mlir", "tl.store"))


@pytest.mark.usefixtures("bindings")
def test_ptx_is_traced_through_the_text_to_the_source():
    found = softmax_kernel.inspect(**ARGUMENTS, backend="mlir")
    assert found.notes == ()
    for source, instruction in (
        ("tl.load", "ld.global"), ("tl.store", "st.global"), ("grown / total", "div."),
        ("tl.sum", "bar.sync"),
    ):  # fmt: skip
        assert any(instruction in line for line in marked(found, "ptx", source)), source
    assert not re.search(r"\.loc\b|\.debug_", found["ptx"])


@pytest.mark.usefixtures("bindings")
def test_llvm_ir_is_traced_through_the_text_to_the_source():
    found = softmax_kernel.inspect(**ARGUMENTS, backend="mlir")
    assert [stage.name for stage in found][-3:] == ["mlir", "llir", "ptx"]
    assert "define ptx_kernel void @softmax_kernel(" in found["llir"]
    for source, instruction in (
        ("tl.load", "load float"), ("tl.store", "store float"), ("grown / total", "fdiv"),
    ):  # fmt: skip
        assert any(instruction in line for line in marked(found, "llir", source)), source


@pytest.mark.usefixtures("bindings")
def test_llvm_ir_of_a_compiled_kernel():
    made = softmax_kernel.with_backend("mlir").warmup(tl.float32, tl.float32, 700, BLOCK=512)
    assert [name for name in made.asm if name != "cubin"] == [
        "ssa",
        "source",
        "mlir",
        "llir",
        "ptx",
    ]
    assert 'target triple = "nvptx64-nvidia-cuda"' in made.asm["llir"]
    assert "!dbg" not in made.asm["llir"]


@pytest.mark.usefixtures("bindings")
def test_lines_change_nothing_but_directives():
    source = softmax_kernel.lower_for("mlir", ARGUMENTS)
    plain, lined = (compile_source(source, lines=lines).decode() for lines in (False, True))
    assert ".loc" in lined and ".loc" not in plain

    def instructions(text):
        return [row for row in text.splitlines() if re.match(r"\t[a-z@]", row)]

    assert instructions(lined) == instructions(plain)


@pytest.mark.usefixtures("bindings")
def test_ptx_is_exported(tmp_path):
    made = softmax_kernel.export(tmp_path, backend="mlir", grid=(1,), **ARGUMENTS)
    assert f".entry {made.manifest['entry']}(" in made.files["ptx"].read_text()
    assert made.manifest["threads"] == 512 and made.manifest["chip"].startswith("sm_")
