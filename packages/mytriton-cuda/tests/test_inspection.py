"""What ``kernel.inspect`` and ``kernel.export`` give of ``cuda``: CUDA C++, PTX, figures."""

import re

import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton_cuda.launch import CudaKernel


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
    found = softmax_kernel.inspect(**ARGUMENTS, backend="cuda")
    assert any("expf" in line for line in marked(found, "cuda", "tl.exp"))
    assert any("out[" in line for line in marked(found, "cuda", "tl.store"))


@pytest.mark.nvrtc
def test_ptx_is_traced_through_the_text_to_the_source():
    found = softmax_kernel.inspect(**ARGUMENTS, backend="cuda")
    for source, instruction in (
        ("tl.load", "ld.global"), ("tl.exp", "ex2.approx"), ("tl.store", "st.global"),
        ("grown / total", "div."), ("tl.sum", "bar.sync"),
    ):  # fmt: skip
        assert any(instruction in line for line in marked(found, "ptx", source)), source
    assert not re.search(r"\.loc\b|\.debug_", found["ptx"])
    assert found.resources["registers a thread"] > 0


@pytest.mark.nvrtc
def test_only_an_inspection_asks_for_lines():
    source = softmax_kernel.lower_for("cuda", ARGUMENTS)
    assert ".loc" not in CudaKernel(source).metadata["asm"]["ptx"]


@pytest.mark.nvrtc
def test_ptx_and_cubin_are_exported(tmp_path):
    made = softmax_kernel.export(tmp_path, backend="cuda", grid=(1,), **ARGUMENTS)
    assert f".entry {made.manifest['entry']}(" in made.files["ptx"].read_text()
    assert made.files["cubin"].read_bytes()[:4] == b"\x7fELF"
    assert made.manifest["threads"] >= 32 and made.manifest["arch"].startswith("sm_")
