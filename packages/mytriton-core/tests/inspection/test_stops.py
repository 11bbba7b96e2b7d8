"""Inspecting a kernel that a backend cannot compile: the stages before, and why it stops there."""

from collections.abc import Mapping
from types import ModuleType, SimpleNamespace

import pytest

import mytriton as triton
import mytriton.language as tl
import mytriton.plugin_api as mt
from mytriton.plugins import selection


@triton.jit
def kernel(x, out):
    tl.store(out, tl.exp(tl.load(x)))


FRONT = ["source", "tree", "ssa"]
WORKS = ("op.load", "op.store", "op.exp", "dtype.f32")


@pytest.fixture
def toy():
    """Register a backend that lowers and compiles as told."""

    def register(*, features=WORKS, lower=None, artifact=None, available=True):
        def lowered(function, launch):
            return lower() if lower else mt.Source("one\ntwo\n", "Toy code", function.name)

        def compiled(source, launch):
            if isinstance(artifact, Exception):
                raise artifact
            return artifact

        def probed():
            return mt.Availability(can_lower=available, reason="" if available else "no toy here")

        plugin = ModuleType("toy_plugin")
        hooks = {"lower": lowered, "compile": compiled, "probe": probed}
        for name, hook in hooks.items():
            setattr(plugin, f"mytriton_{name}", mt.hookimpl(hook))
        info = mt.BackendInfo("toy", "a toy", capabilities=mt.capability_table(features))
        selection.register_backend("toy", plugin, info=info, replace=True)

    yield register
    selection.unregister_backend("toy")


def made(**metadata):
    return SimpleNamespace(metadata=metadata, launch=lambda grid, args: None)


def inspected():
    return kernel.inspect("f32[1]", "f32[1]", backend="toy")


def names(found):
    return [stage.name for stage in found]


def test_a_backend_that_lacks_an_operation_shows_what_comes_before(toy):
    toy(features=("op.load", "op.store", "dtype.f32"))
    found = inspected()
    assert names(found)[:3] == FRONT and names(found)[-1] == "facts"
    assert found.backend == "toy"
    (note,) = found.notes
    assert note.startswith("stops at SSA: ") and "op.exp" in note


def test_a_backend_that_cannot_work_here_shows_what_comes_before(toy):
    toy(available=False)
    found = inspected()
    assert names(found)[:3] == FRONT
    assert "no toy here" in found.notes[0]


def test_a_backend_that_breaks_its_claim_shows_what_comes_before(toy):
    def lower():
        raise mt.UnsupportedFeature("op.exp")

    toy(lower=lower)
    found = inspected()
    assert names(found)[-1] == "facts"
    assert found.notes[0].startswith("stops at SSA: ") and "op.exp" in found.notes[0]


def test_a_compiler_that_refuses_leaves_the_text(toy):
    toy(artifact=RuntimeError("toycc: line 2\nmore"))
    found = inspected()
    assert found["toy"] == "one\ntwo\n"
    assert found.notes == ("stops at Toy code: toycc: line 2",)


class Lazy(Mapping):
    """Texts of which one cannot be made."""

    def __getitem__(self, name):
        if name == "llir":
            raise RuntimeError("no LLVM")
        return {"asm": "\tnop\n"}[name]

    def __iter__(self):
        return iter(("llir", "asm"))

    def __len__(self):
        return 2


def test_a_stage_that_cannot_be_made_is_left_out(toy):
    toy(artifact=made(asm=Lazy(), vector_bits=128))
    found = inspected()
    assert names(found)[-2:] == ["toy", "asm"]
    assert found.notes == ("stops at llir: no LLVM",)
    assert found.resources == {"bits a vector": 128}


def test_the_page_tells_why_it_stops(toy):
    toy(artifact=RuntimeError("toycc: refused"))
    assert "stops at Toy code: toycc: refused" in inspected().html()
    assert "note: stops at Toy code: toycc: refused" in str(inspected())


def test_a_backend_nobody_knows_is_a_mistake():
    with pytest.raises(mt.MytritonBackendError, match="interpeter"):
        kernel.inspect("f32[1]", "f32[1]", backend="interpeter")


def test_a_dump_leaves_out_what_cannot_be_made(toy, tmp_path, monkeypatch):
    import numpy as np

    toy(artifact=made(asm=Lazy()))
    monkeypatch.setenv("MYTRITON_DUMP", str(tmp_path))
    kernel.with_backend("toy")[(1,)](np.zeros(1, np.float32), np.zeros(1, np.float32))
    (folder,) = tmp_path.iterdir()
    written = [path.name.partition("-")[2] for path in sorted(folder.iterdir())]
    assert written[-2:] == ["toy.txt", "asm.s"]
