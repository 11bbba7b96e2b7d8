"""Who can ask for sanitized launches, what runs them, and what they do not change."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton import use_backend
from mytriton.errors import ArgumentError, CompiledOnlyWarning, SanitizerError
from mytriton.plugin_api import Availability, BackendInfo, Source, capability_table, hookimpl
from mytriton.plugins import selection
from mytriton.plugins.errors import BackendDeclinedError


@triton.jit
def fill(o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + offs, 1.0, mask=offs < n)


FEATURES = (
    "op.store", "op.cast", "op.addptr", "op.arange", "op.program_id", "op.mul", "op.add",
    "op.cmp_lt", "dtype.f32", "dtype.i32", "dtype.bool",
)  # fmt: skip


class Fast:
    """A backend that is always preferred and stores nothing."""

    def __init__(self, device="cpu", more=()):
        self.table = capability_table(yes=(*FEATURES, *more))
        self.device = device
        self.options = []
        self.launches = 0
        self.metadata = {}

    @hookimpl
    def mytriton_backend_info(self):
        return BackendInfo(
            "fast", "", priority=99, device_kinds=(self.device,), capabilities=self.table
        )

    @hookimpl
    def mytriton_probe(self):
        return Availability()

    @hookimpl
    def mytriton_lower(self, function, launch):
        return Source("text", "text", function.name)

    @hookimpl
    def mytriton_compile(self, source, launch):
        self.options.append(dict(launch.options))
        return self

    def launch(self, grid, args):
        self.launches += 1


@pytest.fixture
def fast():
    def make(*args, **options):
        plugin = Fast(*args, **options)
        selection.register_backend("fast", plugin, replace=True)
        return plugin

    yield make
    selection.unregister_backend("fast")


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.delenv("MYTRITON_SANITIZE", raising=False)
    monkeypatch.delenv("MYTRITON_BACKEND", raising=False)


def launch(kernel, n=7, grid=(1,), size=7):
    out = np.zeros(size, np.float32)
    return kernel[grid](out, n, BLOCK=8), out


def test_a_sanitized_launch_runs_on_the_interpreter(fast):
    plugin = fast()
    result, out = launch(fill.sanitize())
    assert (result.backend, result.launched, out.tolist()) == ("interpreter", True, [1.0] * 7)
    assert plugin.launches == 0


def test_findings_are_raised_from_the_launch():
    with pytest.raises(SanitizerError, match=r"store of o\[7\] in program \(0, 0, 0\)"):
        launch(fill.sanitize(), n=8)


def test_the_traceback_of_a_finding_does_not_lead_into_the_interpreter():
    with pytest.raises(SanitizerError) as caught:
        launch(fill.sanitize(), n=8)
    assert "interpreter" not in {entry.path.parent.name for entry in caught.traceback}


def test_sanitized_and_plain_launches_of_one_kernel_do_not_mix():
    kernel = triton.jit(fill.fn).with_backend("interpreter")
    launch(kernel)
    with pytest.raises(SanitizerError):
        launch(kernel.sanitize(), n=8)
    with pytest.raises(IndexError):
        launch(kernel, n=8)
    with pytest.raises(SanitizerError):
        launch(kernel.sanitize(), n=8)


@pytest.mark.parametrize("value", ["1", "true", "nan", "bounds"])
def test_the_variable_sanitizes_every_launch(monkeypatch, value):
    launch(fill)
    monkeypatch.setenv("MYTRITON_SANITIZE", value)
    with pytest.raises(SanitizerError):
        launch(fill, n=8)


@pytest.mark.parametrize("value", ["0", "", "off"])
def test_the_variable_switches_off(monkeypatch, value):
    monkeypatch.setenv("MYTRITON_SANITIZE", value)
    with pytest.raises(IndexError):
        launch(fill.with_backend("interpreter"), n=8)


def test_a_value_the_variable_does_not_know_is_an_error(monkeypatch):
    monkeypatch.setenv("MYTRITON_SANITIZE", "adress")
    with pytest.raises(ValueError, match="MYTRITON_SANITIZE is 0, 1, nan or bounds, got 'adress'"):
        launch(fill)


def test_the_variable_takes_launches_from_the_backend_that_was_named(fast, monkeypatch):
    plugin = fast()
    launch(fill.with_backend("fast"))
    monkeypatch.setenv("MYTRITON_SANITIZE", "1")
    result, _ = launch(fill.with_backend("fast"))
    assert (result.backend, plugin.launches) == ("interpreter", 1)


def test_the_variable_leaves_alone_what_is_only_compiled(fast, monkeypatch):
    fast(device="strange")
    monkeypatch.setenv("MYTRITON_SANITIZE", "1")
    with pytest.warns(CompiledOnlyWarning):
        result, out = launch(triton.jit(fill.fn).with_backend("fast"), n=8)
    assert (result.backend, result.launched, out.any()) == ("fast", False, False)


def test_a_backend_that_cannot_check_declines_by_name(fast):
    plugin = fast()
    with pytest.raises(BackendDeclinedError, match=r"missing sanitize\.full"):
        launch(fill.with_backend("fast").sanitize())
    with pytest.raises(BackendDeclinedError, match=r"missing sanitize\.bounds"):
        launch(fill.with_backend("fast").sanitize(bounds=True))
    assert plugin.launches == 0


def test_bounds_go_to_a_backend_that_can_check_them(fast):
    plugin = fast(more=("sanitize.bounds",))
    result, _ = launch(fill.with_backend("fast").sanitize(bounds=True))
    assert (result.backend, plugin.options) == ("fast", [{"sanitize": "bounds"}])


def test_bounds_alone_find_nothing_else():
    @triton.jit
    def race(o):
        tl.store(o, tl.program_id(0))

    out = np.zeros(1, np.int32)
    race.with_backend("interpreter").sanitize(bounds=True)[(4,)](out)
    with pytest.raises(SanitizerError):
        race.sanitize()[(4,)](out)


@triton.jit
def strange(x, o, count, big):
    pid = tl.program_id(0)
    before = tl.load(count)
    tl.store(count, before + pid)  # in the order of the programs: no fault of bounds
    wild = tl.load(x + 3 // pid + (big + big + 2))
    tl.store(o + pid, wild + before)


def test_bounds_alone_change_no_result():
    found = []
    for kernel in (strange, strange.sanitize(bounds=True)):
        x, o, count = np.arange(4.0), np.zeros(4), np.zeros(1, np.int32)
        with use_backend("interpreter"):
            kernel[(4,)](x, o, count, 2**31 - 1)
        found.append([o.tolist(), count.tolist()])
    # x[3 // pid], where 3 // 0 is 0 on the interpreter, and what the programs before have added.
    assert found == [[[0, 3, 2, 4], [6]]] * 2


def test_nan_and_bounds_exclude_each_other():
    with pytest.raises(ArgumentError, match="leave out nan or bounds"):
        fill.sanitize(nan=True, bounds=True)


def test_wrapped_kernels_are_sanitized_with_what_is_inside():
    @triton.heuristics({"BLOCK": lambda args: 8})
    @triton.jit
    def inner(o, n, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        tl.store(o + offs, 1.0, mask=offs < n)

    out = np.zeros(4, np.float32)
    inner.sanitize()[(1,)](out, 4)
    with pytest.raises(SanitizerError, match="out of bounds"):
        inner.sanitize()[(1,)](out, 5)


def test_a_failed_assertion_does_not_hide_what_was_found():
    @triton.jit(debug=True)
    def asserting(o, x):
        a = tl.load(x + 3 + tl.program_id(0))
        tl.device_assert(a > 0, "positive")
        tl.store(o, a)

    with pytest.raises(SanitizerError, match=r"load of x\[3\]") as caught:
        asserting.sanitize()[(2,)](np.zeros(1, np.float32), np.zeros(3, np.float32))
    assert isinstance(caught.value.__cause__, AssertionError)


def test_sanitized_launches_warn_of_nothing_new():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(triton.jit(fill.fn).sanitize())


def test_checks_and_backend_in_any_order():
    @triton.jit
    def kernel(out):
        tl.store(out + 1, 1.0)

    for view in (
        kernel.sanitize().with_backend("interpreter"), kernel.with_backend("interpreter").sanitize(),
        kernel.with_backend("nobody").sanitize(bounds=True).with_backend("interpreter"),
    ):  # fmt: skip
        with pytest.raises(triton.errors.SanitizerError, match="out of bounds"):
            view[(1,)](np.zeros(1, np.float32))
    tuned = triton.autotune([triton.Config({})], [])(kernel)
    with pytest.raises(triton.errors.SanitizerError, match="out of bounds"):
        tuned.sanitize().with_backend("interpreter")[(1,)](np.zeros(1, np.float32))
