"""What a launch does with the backend that was selected."""

import warnings

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import CompiledOnlyWarning
from mytriton.plugin_api import (
    Availability,
    BackendInfo,
    Source,
    UnsupportedFeature,
    capability_table,
    hookimpl,
)
from mytriton.plugins import selection
from mytriton.plugins.errors import ClaimBrokenError, ClaimBrokenWarning


@triton.jit
def store_kernel(out, value):
    tl.store(out, value)


FEATURES = ("op.store", "op.cast", "dtype.f32", "dtype.i32")


class Recorder:
    """A backend that notes what it is asked to do."""

    def __init__(self, name, device="cpu", priority=99, breaks=False):
        self.info = BackendInfo(
            name, "records calls", priority=priority, device_kinds=(device,),
            capabilities=capability_table(yes=FEATURES), language="text",
        )  # fmt: skip
        self.breaks = breaks
        self.launches = []
        self.metadata = {}

    @hookimpl
    def mytriton_backend_info(self):
        return self.info

    @hookimpl
    def mytriton_probe(self):
        return Availability()

    @hookimpl
    def mytriton_lower(self, function, launch):
        if self.breaks:
            raise UnsupportedFeature("op.store")
        return Source(f"text of {function.name}", "text", function.name)

    @hookimpl
    def mytriton_compile(self, source, launch):
        return self

    def launch(self, grid, args):
        self.launches.append((grid, args))


@pytest.fixture
def backend():
    made = []

    def make(name, **options):
        plugin = Recorder(name, **options)
        selection.register_backend(name, plugin)
        made.append(name)
        return plugin

    yield make
    for name in made:
        selection.unregister_backend(name)


out = np.zeros(1, np.float32)


def test_a_named_backend_gets_views_and_numbers(backend):
    plugin = backend("recorder")
    result = store_kernel.with_backend("recorder")[(2, 3)](out, 7)
    assert (result.backend, result.src, result.launched) == (
        "recorder",
        "text of store_kernel",
        True,
    )
    ((grid, (view, number)),) = plugin.launches
    assert grid == (2, 3, 1)
    assert (view.pointer, view.shape, str(view.dtype)) == (out.ctypes.data, (1,), "f32")
    assert (number, type(number)) == (7, int)


def test_host_arrays_on_a_named_device_backend_are_compiled_only(backend):
    plugin = backend("gpu", device="strange")
    fresh = triton.jit(store_kernel.fn)
    with pytest.warns(
        CompiledOnlyWarning, match=r"'store_kernel' .* backend 'gpu' .* out are host arrays"
    ):
        result = fresh.with_backend("gpu")[(1,)](out, 1)
    assert (result.launched, result.artifact, result.src) == (False, None, "text of store_kernel")
    assert "compiled only, not launched" in repr(result)
    assert plugin.launches == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once per kernel
        fresh.with_backend("gpu")[(1,)](np.zeros(1, np.int32), 1)


def test_a_broken_claim_is_an_error_when_the_backend_was_named(backend):
    backend("liar", breaks=True)
    with pytest.raises(ClaimBrokenError, match="liar"):
        store_kernel.with_backend("liar")[(1,)](out, 1)


def test_a_broken_claim_in_a_list_tries_the_next(backend):
    backend("liar", breaks=True)
    with pytest.warns(ClaimBrokenWarning, match="liar"):
        result = triton.jit(store_kernel.fn).with_backend("liar,interpreter")[(1,)](out, 4)
    assert (result.backend, out[0]) == ("interpreter", 4)


def test_an_interpreter_launch_never_goes_to_a_strangers_backend_by_itself(backend):
    backend("stranger", priority=100)
    assert triton.jit(store_kernel.fn)[(1,)](out, 1).backend == "interpreter"


def test_the_environment_is_read_at_each_launch(backend, monkeypatch):
    backend("recorder")
    assert store_kernel[(1,)](out, 1).backend == "interpreter"
    monkeypatch.setenv("MYTRITON_BACKEND", "recorder")
    assert store_kernel[(1,)](out, 1).backend == "recorder"
    monkeypatch.delenv("MYTRITON_BACKEND")
    assert store_kernel[(1,)](out, 1).backend == "interpreter"


def test_emit_gives_text_without_arrays(backend):
    backend("gpu", device="strange")
    assert store_kernel.emit(out="f32[1000]", value=3, backend="gpu") == "text of store_kernel"
    assert store_kernel.emit(out="f32[4]", value="f32", backend="interpreter").startswith(
        "kernel store_kernel(out: ptr<f32>, value: f32) {"
    )


def test_an_error_of_a_compile_step_reaches_the_user(backend):
    class Failing(Recorder):
        @hookimpl
        def mytriton_compile(self, source, launch):
            raise OSError("toolchain is gone")

    selection.register_backend("failing", Failing("failing"))
    try:
        with pytest.raises(OSError, match="toolchain is gone"):
            store_kernel.with_backend("failing")[(1,)](out, 1)
    finally:
        selection.unregister_backend("failing")


def test_a_view_without_a_grid_says_how_kernels_are_launched():
    from mytriton.errors import ArgumentError

    @triton.jit
    def view_kernel(x):
        tl.store(x, 1.0)

    with pytest.raises(ArgumentError, match=r"view_kernel\[grid\]"):
        view_kernel.with_backend("interpreter")(np.zeros(1, np.float32))
