"""Arrays at addresses that are no multiple of their element size: ``memory.unaligned``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.ir.types import F32
from mytriton.plugin_api import (
    ArgView,
    Availability,
    BackendInfo,
    Capability,
    LaunchSpec,
    Source,
    UnsupportedFeature,
    hookimpl,
    refuse_unaligned,
)
from mytriton.plugins import selection
from mytriton.plugins.errors import BackendDeclinedError, BackendSkippedWarning


class Aligned(dict[str, Capability]):
    """Everything but arrays at odd addresses."""

    def get(self, key: str, default: Any = None) -> Any:
        if key == "memory.unaligned":
            return Capability("no", "this device faults on them")
        return Capability("yes")


class Strict:
    def __init__(self) -> None:
        self.lowered: list[LaunchSpec] = []
        self.launched: list[Any] = []
        self.metadata: dict[str, Any] = {}

    @hookimpl
    def mytriton_backend_info(self) -> BackendInfo:
        return BackendInfo("strict", "", capabilities=Aligned())

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability()

    @hookimpl
    def mytriton_lower(self, function: Any, launch: LaunchSpec) -> Source:
        self.lowered.append(launch)
        return Source("text of kernel", "text", "kernel", {})

    @hookimpl
    def mytriton_compile(self, source: Source, launch: LaunchSpec) -> Any:
        return self

    def launch(self, grid: Any, args: Any) -> None:
        self.launched.append(args)


@pytest.fixture
def strict() -> Iterator[Strict]:
    made = Strict()
    selection.register_backend("strict", made)
    yield made
    selection.unregister_backend("strict")


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n), mask=offs < n)


def odd(n: int, dtype: Any = np.float32) -> Any:
    """``n`` elements, the first at an address that is one more than a multiple of its size."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(size * (n + 1), np.uint8)
    start = (1 - raw.__array_interface__["data"][0]) % size
    x = raw[start : start + size * n].view(dtype)
    x[:] = np.arange(n)
    return x


def test_declined_by_name_before_anything_is_lowered(strict: Strict) -> None:
    out = np.zeros(8, np.float32)
    with pytest.raises(BackendDeclinedError) as error:
        copy_kernel.with_backend("strict")[(1,)](odd(8), out, 8, BLOCK=8)
    text = str(error.value)
    assert "missing memory.unaligned (not possible: this device faults on them)" in text
    assert "the address of 'x' is no multiple of 4, the size of its f32 elements" in text
    assert "'out'" not in text
    assert strict.lowered == []


def test_aligned_and_unaligned_launches_do_not_share_code(strict: Strict) -> None:
    launch = copy_kernel.with_backend("strict")[(1,)]
    out = np.zeros(8, np.float32)
    launch(np.zeros(8, np.float32), out, 8, BLOCK=8)
    with pytest.raises(BackendDeclinedError, match=r"memory\.unaligned"):
        launch(odd(8), out, 8, BLOCK=8)
    launch(np.zeros(8, np.float32), out, 8, BLOCK=8)
    assert len(strict.lowered) == 1
    assert len(strict.launched) == 2


def test_the_next_backend_of_a_list_takes_it(strict: Strict) -> None:
    out = np.zeros(8, np.float32)
    with pytest.warns(BackendSkippedWarning, match=r"memory\.unaligned"):
        result = copy_kernel.with_backend("strict,interpreter")[(1,)](odd(8), out, 8, BLOCK=8)
    assert result.backend == "interpreter"
    np.testing.assert_array_equal(out, np.arange(8))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float16])
def test_the_interpreter_loads_and_stores_there(dtype: Any) -> None:
    x, out = odd(5, dtype), odd(6, dtype)
    copy_kernel.with_backend("interpreter")[(1,)](x, out, 5, BLOCK=8)
    np.testing.assert_array_equal(out, [0, 1, 2, 3, 4, 5])


def test_an_array_without_elements_is_aligned(strict: Strict) -> None:
    empty = odd(4)[:0]
    copy_kernel.with_backend("strict")[(1,)](empty, np.zeros(8, np.float32), 0, BLOCK=8)
    assert len(strict.launched) == 1


def test_bytes_are_always_aligned(strict: Strict) -> None:
    x = np.zeros(9, np.int8)[1:]
    copy_kernel.with_backend("strict")[(1,)](x, np.zeros(8, np.int8), 8, BLOCK=8)
    assert len(strict.launched) == 1


def test_the_report_lists_the_need(strict: Strict) -> None:
    report = selection.explain(
        copy_kernel, (1,), odd(8), np.zeros(8, np.float32), 8, BLOCK=8, backend="strict"
    )
    assert "memory.unaligned" in report.needs
    assert report.chosen == ""


def test_artifacts_can_refuse_what_came_past_the_table() -> None:
    good, bad = ArgView(64, F32, (4,), (4,)), ArgView(66, F32, (4,), (4,))
    refuse_unaligned(("a", "n"), (good, 3))
    with pytest.raises(UnsupportedFeature, match="the address of 'b' is no multiple of 4") as error:
        refuse_unaligned(("a", "b"), (good, bad))
    assert error.value.feature == "memory.unaligned"
