"""``kernel.inspect``: stages, where their lines come from, the page, the files of MYTRITON_DUMP."""

import json
import re

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.cli import main
from mytriton.inspection.model import Line
from mytriton.inspection.stages import diff


@triton.jit
def add_one(x):
    return x + 1.0


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask)
    value = add_one(value) * 1.0
    tl.store(out + offsets, value, mask=mask)


FIRST = kernel.source.parse().lineno


def inspected(**options):
    options = {"backend": "interpreter", **options}
    return kernel.inspect("f32[1000]", "f32[1000]", 1000, BLOCK=64, **options)


def line_of(text):
    source = kernel.source.text().splitlines()
    return FIRST - 1 + next(k for k, line in enumerate(source) if text in line)


def test_the_stages_come_in_the_order_of_the_pipeline():
    names = [stage.name for stage in inspected()]
    assert names[:3] == ["source", "tree", "ssa"]
    assert names[-2:] == ["optimised", "facts"]
    assert "1-fold" in names


def test_arrays_and_descriptions_give_the_same_stages():
    array = np.zeros(1000, np.float32)
    given = kernel.inspect(array, array, 1000, BLOCK=64, backend="interpreter", grid=(16,))
    assert given["optimised"] == inspected()["optimised"]


def test_every_source_line_that_does_something_is_marked_in_the_ssa():
    found = inspected()
    for text in ("tl.program_id", "mask = ", "tl.load", "tl.store"):
        marked = found.marked(line_of(text))
        assert marked["source"] and marked["tree"] and marked["ssa"] and marked["optimised"], text


def test_the_load_is_marked_where_the_load_is_printed():
    found = inspected()
    (row,) = [k for k, line in enumerate(found["ssa"].splitlines(), 1) if " = load " in line]
    assert row in found.marked(line_of("tl.load"))["ssa"]


def test_an_inlined_function_of_this_file_is_marked_at_its_own_line():
    found = inspected()
    own = add_one.source.parse().body[0].lineno
    assert found.marked(own)["ssa"]


def test_a_pass_is_shown_as_what_went_and_what_came():
    stage = next(s for s in inspected() if s.name == "1-fold")
    assert stage.kind == "diff"
    gone = [line.text for line in stage.lines if line.mark == "-"]
    assert any("mul" in text and "1.0" in text for text in gone)


def test_a_diff_keeps_equal_lines_and_marks_the_others():
    old, new = [Line("a"), Line("b")], [Line("a"), Line("c", 3)]
    assert list(diff(old, new)) == [Line("a"), Line("b", None, "-"), Line("c", 3, "+")]


def test_facts_tell_contiguity():
    facts = inspected()["facts"]
    assert re.search(r"vector<64 x i32>  contiguity 64 ", facts)


def test_an_unknown_stage_names_those_there_are():
    with pytest.raises(KeyError, match="no stage 'ptx'; stages: source, tree"):
        inspected()["ptx"]


def test_the_page_stands_alone_and_holds_the_data(tmp_path):
    page = inspected().save(tmp_path / "out.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)\s*=|https?://|@import", page)
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    stages = json.loads(data[1])["stages"]
    assert [stage["name"] for stage in stages] == [stage.name for stage in inspected()]


def test_text_that_ends_a_script_cannot_end_the_page(kernel_from):
    source = (
        'def kernel(out):\n    tl.static_assert(True, "</script><b>")\n    tl.store(out, 1.0)\n'
    )
    page = kernel_from(source).inspect("f32[1]", backend="interpreter").html()
    assert page.count("</script>") == 2
    assert "\\u003c/script>\\u003cb>" in page


def test_text_that_opens_a_comment_cannot_keep_the_script_open(kernel_from):
    source = (
        'def kernel(out):\n    tl.static_assert(True, "<!-- <script>")\n    tl.store(out, 1.0)\n'
    )
    inspection = kernel_from(source).inspect("f32[1]", backend="interpreter")
    assert "<!--" not in inspection.html()
    data = re.search(r'json">(.*?)</script>', inspection.html(), re.S)
    assert data and json.loads(data[1]) == json.loads(json.dumps(inspection.data()))


def test_a_notebook_shows_the_page():
    assert inspected()._repr_html_().startswith("<iframe srcdoc=")


def test_the_command_prints_one_stage(tmp_path, capsys):
    file = tmp_path / "k.py"
    file.write_text(
        "import mytriton as triton\nimport mytriton.language as tl\n\n@triton.jit\n"
        "def k(out, n):\n    tl.store(out, n)\n"
    )
    code = main(
        ["inspect", f"{file}:k", "--arg", "out=i32[1]", "--arg", "n=i32", "--stage", "ssa",
         "--backend", "interpreter"]
    )  # fmt: skip
    assert code == 0
    assert capsys.readouterr().out == "kernel k(out: ptr<i32>, n: i32) {\n  store out, n, none\n}\n"


def test_the_command_refuses_an_unknown_stage(tmp_path, capsys):
    file = tmp_path / "k.py"
    file.write_text(
        "import mytriton as triton\nimport mytriton.language as tl\n\n@triton.jit\n"
        "def k(out):\n    tl.store(out, 1)\n"
    )
    code = main(["inspect", f"{file}:k", "--arg", "out=i32[1]", "--stage", "no"])
    assert code == 2
    assert "no stage 'no'" in capsys.readouterr().err


def test_a_dump_has_every_stage_under_stable_names(tmp_path, monkeypatch, kernel_from):
    monkeypatch.setenv("MYTRITON_DUMP", str(tmp_path))
    source = "def kernel(x, out):\n    tl.store(out, tl.load(x) * 1.0)\n"
    arrays = np.ones(1, np.float32), np.zeros(1, np.float32)
    kernel_from(source).with_backend("interpreter")[(1,)](*arrays)
    (folder,) = tmp_path.glob("kernel-*")
    assert re.fullmatch(r"kernel-interpreter-[0-9a-f]{12}", folder.name)
    names = sorted(path.name for path in folder.iterdir())
    assert names[:3] == ["00-source.py", "01-tree.txt", "02-ssa.ssa"]
    assert any(name.endswith("-optimised.ssa") for name in names)


def test_the_log_has_one_line_an_event(monkeypatch, capsys, kernel_from):
    monkeypatch.setenv("MYTRITON_LOG", "selection,compile,launch")
    logged = kernel_from("def kernel(out):\n    tl.store(out, 1.0)\n").with_backend("interpreter")
    for _ in range(2):
        logged[(1,)](np.zeros(1, np.float32))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "mytriton selection", "mytriton compile", "mytriton launch", "mytriton launch",
    ]  # fmt: skip
    assert lines[2] == "mytriton launch: kernel on interpreter, grid (1, 1, 1)"


def test_logs_and_dumps_that_are_asked_for_later(monkeypatch, capsys, kernel_from, tmp_path):
    kernel = kernel_from("def kernel(out):\n    tl.store(out, 1.0)\n").with_backend("interpreter")
    out = np.zeros(1, np.float32)
    for _ in range(5):
        kernel[(1,)](out)
    monkeypatch.setenv("MYTRITON_LOG", "launch")
    kernel[(2,)](out)
    kernel[(3,)](out)
    monkeypatch.delenv("MYTRITON_LOG")
    kernel[(4,)](out)
    assert capsys.readouterr().err.splitlines() == [
        f"mytriton launch: kernel on interpreter, grid ({n}, 1, 1)" for n in (2, 3)
    ]
    monkeypatch.setenv("MYTRITON_DUMP", str(tmp_path / "dump"))
    kernel[(1,)](out)
    assert [p.name.partition("-")[0] for p in (tmp_path / "dump").iterdir()] == ["kernel"]


def test_an_unknown_word_in_the_log_variable_is_refused(monkeypatch):
    from mytriton.plugins.log import wanted

    monkeypatch.setenv("MYTRITON_LOG", "compile,lunch")
    with pytest.raises(
        ValueError, match="takes selection, cache, compile, launch or all, got 'lunch'"
    ):
        wanted()
