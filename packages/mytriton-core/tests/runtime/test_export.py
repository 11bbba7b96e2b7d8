"""``kernel.export``: text, code and a manifest, as files."""

import json
from types import ModuleType, SimpleNamespace

import pytest

import mytriton as triton
import mytriton.language as tl
import mytriton.plugin_api as mt
from mytriton.errors import ArgumentError
from mytriton.plugins import selection


@triton.jit
def kernel(x, out, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * scale, mask=at < n)


ARGUMENTS = {"x": "f32[1000]", "out": "f32[1000]", "n": "i32", "scale": "f32", "BLOCK": 64}


@pytest.fixture
def toy():
    """Register a backend whose compiler gives ``asm``, or raises it."""

    def register(asm):
        def lowered(function, launch):
            return mt.Source("text\n", "CUDA C++", "toy_entry", {"calling": "as you like"})

        def compiled(source, launch):
            if isinstance(asm, Exception):
                raise asm
            return SimpleNamespace(metadata={"asm": asm, "arch": "toy-1"}, launch=print)

        def probed():
            return mt.Availability()

        plugin = ModuleType("toy_plugin")
        hooks = {"lower": lowered, "compile": compiled, "probe": probed}
        for name, hook in hooks.items():
            setattr(plugin, f"mytriton_{name}", mt.hookimpl(hook))
        needed = mt.features(kernel.specialise(ARGUMENTS)[0])
        table = mt.capability_table(needed)
        info = mt.BackendInfo("toy", "a toy", capabilities=table, suffix=".cu")
        selection.register_backend("toy", plugin, info=info, replace=True)

    yield register
    selection.unregister_backend("toy")


def test_the_manifest_tells_how_to_call_what_was_written(tmp_path, toy):
    toy({"ptx": "ptx text", "cubin": b"\x7fELF", "llir": "for readers"})
    made = kernel.export(tmp_path / "out", backend="toy", grid=("cdiv(n, BLOCK)",), **ARGUMENTS)
    manifest = json.loads((tmp_path / "out" / "kernel.json").read_text())
    assert manifest == dict(made.manifest)
    assert manifest["arguments"] == [
        {"name": "x", "kind": "array", "type": "ptr<f32>"},
        {"name": "out", "kind": "array", "type": "ptr<f32>"},
        {"name": "n", "kind": "scalar", "type": "i32"},
        {"name": "scale", "kind": "scalar", "type": "f32"},
    ]
    wanted = {
        "kernel": "kernel", "backend": "toy", "language": "CUDA C++", "entry": "toy_entry",
        "constants": {"BLOCK": 64}, "grid": ["cdiv(n, BLOCK)", 1, 1], "calling": "as you like",
        "arch": "toy-1", "mytriton": triton.__version__,
        "files": {"source": "kernel.cu", "ptx": "kernel.ptx", "cubin": "kernel.cubin"},
    }  # fmt: skip
    assert {k: manifest[k] for k in wanted} == wanted


def test_text_and_code_are_files(tmp_path, toy):
    toy({"ptx": "ptx text", "cubin": b"\x7fELF"})
    made = kernel.export(tmp_path, backend="toy", **ARGUMENTS)
    assert made.files["source"].read_text() == "text\n"
    assert made.files["ptx"].read_text() == "ptx text"
    assert made.files["cubin"].read_bytes() == b"\x7fELF"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "kernel.cu", "kernel.cubin", "kernel.json", "kernel.ptx",
    ]  # fmt: skip


def test_a_compiler_that_is_missing_leaves_the_text_with_a_warning(tmp_path, toy):
    toy(RuntimeError("no toycc\nat all"))
    with pytest.warns(RuntimeWarning, match="only text is exported: no toycc$") as caught:
        made = kernel.export(tmp_path, backend="toy", **ARGUMENTS)
    assert caught[0].filename == __file__
    assert sorted(made.files) == ["manifest", "source"]


def test_the_interpreter_exports_the_ssa_it_runs(tmp_path):
    made = kernel.export(tmp_path, backend="interpreter", **ARGUMENTS)
    assert made.files["source"].name == "kernel.ssa"
    assert made.files["source"].read_text().startswith('kernel "kernel"(x: ptr<f32>')


@pytest.mark.parametrize(
    ("grid", "rule"),
    [
        (7, [7, 1, 1]),
        ("n", ["n", 1, 1]),
        (["cdiv(n, BLOCK)", 2], ["cdiv(n, BLOCK)", 2, 1]),
        (
            ("max(1, -(-n // BLOCK) % 3)", "BLOCK * 2"),
            ["max(1, -(-n // BLOCK) % 3)", "BLOCK * 2", 1],
        ),
    ],
)
def test_grids_that_can_be_computed(tmp_path, grid, rule):
    made = kernel.export(tmp_path, backend="interpreter", grid=grid, **ARGUMENTS)
    assert made.manifest["grid"] == rule


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (lambda meta: (1,), "made of numbers and expressions"),
        ((1, 1, 1, 1), "one to three extents"),
        (("cdiv(m, BLOCK)",), "uses 'm'"),
        (("n.bit_length()",), "more than integer arithmetic"),
        (("n //",), "no expression"),
        ((-1,), "made of numbers"),
        ((2**31,), "made of numbers"),
        (("x",), "uses 'x', which is an array; it may use cdiv, min, max, n, BLOCK"),
        (("cdiv(n, scale)",), "uses 'scale', which is a number of type f32"),
        (("n / BLOCK",), "divides with /"),
        (("n * 0.5",), "has 0.5 in it"),
        (("cdiv",), "uses 'cdiv'"),
        (("cdiv(n)",), "calls cdiv with 1 arguments"),
        (("min()",), "calls min with 0 arguments"),
        (("abs(n)",), "calls 'abs'; it may call cdiv, min, max"),
        (("max(n, key=n)",), "more than integer arithmetic"),
        (("n ** 2",), "more than integer arithmetic"),
        (("n if n else 1",), "more than integer arithmetic"),
        (("BLOCK - 65",), "is -1, which is no extent"),
        (("1 // (BLOCK - 64)",), "divides by zero"),
        (("cdiv(n, 0)",), "divides by zero"),
        (("n % (BLOCK - 64)",), "divides by zero"),
        ((True,), "made of numbers"),
        ("", "no expression"),
    ],
)
def test_a_grid_nobody_could_compute_is_refused(tmp_path, grid, message):
    with pytest.raises(ArgumentError, match=message):
        kernel.export(tmp_path, backend="interpreter", grid=grid, **ARGUMENTS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("folder", ["/dev/null", "/proc/nothing/here", 3, None])
def test_a_folder_that_is_none(folder):
    with pytest.raises(ArgumentError, match="export") as caught:
        kernel.export(folder, backend="interpreter", **ARGUMENTS)
    assert len(caught.traceback) == 2


def test_a_list_of_backends(tmp_path):
    made = kernel.export(tmp_path, backend=["interpreter"], **ARGUMENTS)
    assert made.manifest["backend"] == "interpreter"
