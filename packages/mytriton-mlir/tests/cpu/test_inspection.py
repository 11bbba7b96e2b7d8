"""What ``kernel.inspect`` shows of ``mlir-cpu``: lines of MLIR, LLVM IR and assembly by source line."""

import re
import runpy
from pathlib import Path

import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton_mlir.cpu.compile import to_object
from mytriton_mlir.cpu.emitter import emit
from mytriton_mlir.cpu.spans import spans_of
from mytriton_mlir.cpu.target import target
from mytriton_mlir.cpu.texts import code_bytes


@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < cols, other=-float("inf"))
    grown = tl.exp(values - tl.max(values, axis=0))
    total = tl.sum(grown, axis=0)
    tl.store(out + lanes, grown / total, mask=lanes < cols)


@triton.jit
def running(x, out, trips, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(trips):
        total += tl.load(x + k * BLOCK + lanes)
    if trips > 3:
        total = total * 2.0
    tl.store(out + lanes, total)


@triton.jit
def product(x, y, out, N: tl.constexpr):
    rows, cols = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    a = tl.load(x + rows * N + cols)
    b = tl.load(y + rows * N + cols)
    tl.store(out + rows * N + cols, tl.dot(a, b))


CALLS = [
    (softmax, ("f32[1000]", "f32[1000]", 1000), {"BLOCK": 1024}),
    (running, ("f32[1000]", "f32[100]", "i32"), {"BLOCK": 128}),
    (product, ("f32[32,32]",) * 3, {"N": 32}),
]


def inspected(kernel=softmax):
    args, consts = next((args, consts) for found, args, consts in CALLS if found is kernel)
    return kernel.inspect(*args, **consts, backend="mlir-cpu")


def line_of(kernel, text):
    lines = kernel.source.lines
    start = kernel.source.parse().lineno
    return next(k for k, line in enumerate(lines, 1) if k > start and text in line)


@pytest.mark.parametrize(
    ("kernel", "args", "consts"), CALLS, ids=lambda v: getattr(v, "__name__", "")
)
def test_the_traced_text_is_the_text(kernel, args, consts):
    arguments = dict(zip(kernel.arg_names, args, strict=False)) | consts
    function, _ = kernel.specialise(arguments)
    text = emit(function, target())
    spans = spans_of(function, target(), text)
    # Of another text nothing is known; every store of this one is.
    assert spans_of(function, target(), text + "// more\n") == {}
    stores = [k for k, line in enumerate(text.splitlines(), 1) if "llvm.store" in line]
    assert stores and all(k in spans for k in stores)


def test_lines_of_the_text_come_from_the_lines_that_say_so():
    found, text = inspected(), inspected()["mlir"].splitlines()
    for source, operation in (
        ("tl.load", "llvm.intr.masked.load"), ("tl.sum", "vector.reduction <add>"),
        ("tl.exp", "math.fma"), ("grown / total", "arith.divf"),
    ):  # fmt: skip
        marked = found.marked(line_of(softmax, source))["mlir"]
        wanted = [k for k, line in enumerate(text, 1) if operation in line]
        assert wanted and set(wanted) <= set(marked), source


def test_a_loop_and_a_branch_belong_to_their_lines():
    found = inspected(running)
    text = found["mlir"].splitlines()
    marked = found.marked(line_of(running, "for k in"))["mlir"]
    assert any("scf.for" in text[k - 1] for k in marked)
    marked = found.marked(line_of(running, "if trips"))["mlir"]
    assert any("scf.if" in text[k - 1] for k in marked)


@pytest.mark.parametrize(("stage", "operation"), [("llir", "fdiv"), ("asm", "div")])
def test_compiled_stages_are_traced_to_the_source(stage, operation):
    found = inspected()
    text = found[stage].splitlines()
    wanted = {k for k, line in enumerate(text, 1) if re.search(rf"\b\w*{operation}\w*\b", line)}
    divided = line_of(softmax, "grown / total")
    assert wanted & set(found.marked(divided)[stage])
    lines = {line.source for s in found if s.name == stage for line in s.lines}
    assert {line_of(softmax, t) for t in ("tl.load", "tl.exp", "tl.sum")} <= lines


@pytest.mark.parametrize("stage", ["llir", "asm"])
def test_debug_information_is_not_shown(stage):
    assert not re.search(r"!dbg|DILocation|\.loc\b|\.debug_|\.cfi_", inspected()[stage])


def test_figures_tell_vectors_and_code_size():
    figures = inspected().resources
    assert figures["bits a vector"] == target().vector_bits
    function, _ = softmax.specialise({"x": "f32[9]", "out": "f32[9]", "cols": 9, "BLOCK": 1024})
    image = to_object(emit(function, target()), target().features)
    assert 0 < code_bytes(image) < len(image)


def test_code_size_of_what_is_no_elf_file_is_unknown():
    assert code_bytes(b"\xcf\xfa\xed\xfe" + bytes(60)) is None


def test_nothing_is_traced_until_somebody_looks(monkeypatch):
    from mytriton_mlir.cpu import spans

    def never(*_):
        raise AssertionError("traced")

    monkeypatch.setattr(spans, "spans_of", never)
    source = softmax.lower_for("mlir-cpu", {"x": "f32[9]", "out": "f32[9]", "cols": 9, "BLOCK": 16})
    with pytest.raises(AssertionError, match="traced"):
        len(source.resources["spans"])


def test_a_page_of_the_quickstart_is_small():
    path = Path(__file__).parents[4] / "examples" / "quickstart.py"
    if not path.exists():
        pytest.skip("runs from a checkout")
    kernels = runpy.run_path(str(path))
    found = kernels["softmax_kernel"].inspect(
        "f32[64,700]", "f32[64,700]", 700, BLOCK=1024, backend="mlir-cpu"
    )
    assert [stage.name for stage in found][-3:] == ["mlir", "llir", "asm"]
    assert len(found.html()) < 1_000_000
