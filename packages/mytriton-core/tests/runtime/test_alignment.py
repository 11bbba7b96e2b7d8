"""Backends that ask get alignment in the specialisation; others never see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.plugin_api import (
    Availability,
    BackendInfo,
    Capability,
    LaunchSpec,
    Source,
    hookimpl,
)
from mytriton.plugins import selection
from mytriton.runtime.arguments import divisible_by_16


class Everything(dict[str, Capability]):
    def get(self, key: str, default: Any = None) -> Any:
        return Capability("yes")


class Recorder:
    """A backend on host arrays that runs nothing."""

    def __init__(self, specialise: tuple[str, ...]) -> None:
        self.specialise = specialise
        self.resources: dict[str, Any] = {}
        self.specs: list[LaunchSpec] = []
        self.metadata: dict[str, Any] = {}

    @hookimpl
    def mytriton_backend_info(self) -> BackendInfo:
        return BackendInfo("recorder", "", capabilities=Everything(), specialise=self.specialise)

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability()

    @hookimpl
    def mytriton_lower(self, function: Any, launch: LaunchSpec) -> Source:
        self.specs.append(launch)
        return Source("text of kernel", "text", "kernel", self.resources)

    @hookimpl
    def mytriton_compile(self, source: Source, launch: LaunchSpec) -> Any:
        return self

    def launch(self, grid: Any, args: Any) -> None: ...


def recorder(*specialise: str) -> Iterator[Recorder]:
    made = Recorder(specialise)
    triton.register_backend("recorder", made, replace=True)
    yield made
    selection.unregister_backend("recorder")


@pytest.fixture
def asking() -> Iterator[Recorder]:
    yield from recorder("align16")


@pytest.fixture
def silent() -> Iterator[Recorder]:
    yield from recorder()


def kernel() -> Any:
    @triton.jit
    def copy(x, out, n, scale):
        tl.store(out, tl.load(x + n) * scale)

    return copy.with_backend("recorder")


def arrays() -> tuple[np.ndarray, np.ndarray]:
    raw = np.zeros(512, np.uint8)
    aligned = raw[-raw.ctypes.data % 16 :][:256].view(np.float32)
    return aligned, aligned[1:]


def test_facts(asking: Recorder) -> None:
    aligned, odd = arrays()
    copy = kernel()
    copy[(1,)](aligned, odd, 32, 16.0)
    (spec,) = asking.specs
    assert [a.divisible_by_16 for a in spec.arguments] == [True, False, True, False]


def test_other_facts_are_another_specialisation(asking: Recorder) -> None:
    aligned, odd = arrays()
    copy = kernel()
    for x, n in ((aligned, 32), (aligned, 48), (odd, 32), (aligned, 33), (odd, 64), (aligned, 0)):
        copy[(1,)](x, aligned, n, 1.0)
    assert len(asking.specs) == 3


def test_backends_that_do_not_ask(silent: Recorder) -> None:
    aligned, odd = arrays()
    copy = kernel()
    for x, n in ((aligned, 32), (odd, 33)):
        copy[(1,)](x, aligned, n, 1.0)
    (spec,) = silent.specs
    assert not any(a.divisible_by_16 for a in spec.arguments)


def test_sources_that_do_not_depend_on_it(asking: Recorder) -> None:
    aligned, odd = arrays()
    asking.resources["specialised"] = False
    copy = kernel()
    for x, n in ((aligned, 32), (odd, 33)):
        copy[(1,)](x, aligned, n, 1.0)
    assert len(asking.specs) == 1


def test_values() -> None:
    aligned, odd = arrays()
    assert divisible_by_16(aligned)
    assert not divisible_by_16(odd)
    assert divisible_by_16(np.int64(-32))
    assert not divisible_by_16(True)
    assert not divisible_by_16(32.0)
