"""The interpreter as a backend."""

from __future__ import annotations

import numpy as np
import pytest

from mytriton.errors import SanitizerError
from mytriton.interpreter import backend
from mytriton.ir import registry, rules
from mytriton.ir.parser import parse
from mytriton.ir.types import I32

TEXT = "kernel f(o: ptr<i32>) {\n  %0 = program_id {axis=0} : i32\n  store o, %0, none\n}\n"


def test_lowering_gives_the_module_form():
    source = backend.lower(parse(TEXT))
    assert (source.text, source.language, source.entry) == (TEXT, "SSA", "f")


def test_a_compiled_kernel_launches(as_view):
    out = np.zeros(1, np.int32)
    backend.compile(backend.lower(parse(TEXT))).launch((3, 1, 1), [as_view(out, I32)])
    assert out[0] == 2


def test_text_alone_compiles(as_view):
    from dataclasses import replace

    out = np.zeros(1, np.int32)
    source = replace(backend.lower(parse(TEXT)), resources={})
    backend.compile(source).launch((3, 1, 1), [as_view(out, I32)])
    assert out[0] == 2


def test_the_environment_switches_strict_mode_on(as_view, monkeypatch):
    kernel = backend.compile(backend.lower(parse(TEXT)))
    monkeypatch.setenv("MYTRITON_SANITIZE", "1")
    with pytest.raises(SanitizerError):
        kernel.launch((3, 1, 1), [as_view(np.zeros(1, np.int32), I32)])


def test_every_feature_of_the_registry_is_supported():
    missing = {op.feature_id for op in registry.all_ops()} - set(backend.INFO.capabilities)
    assert not missing


def test_an_operation_registered_later_is_supported():
    op = registry.OpDef("test.later", ("x",), rules.same("test.later"), lambda ev, a: a, "Same.")
    assert op.feature_id not in backend.INFO.capabilities
    registry.register(op)
    try:
        assert backend.INFO.capabilities[op.feature_id].state == "yes"
    finally:
        registry.unregister(op.name)


def test_every_type_is_claimed():
    assert "dtype.f8e5" in backend.INFO.capabilities
    assert "dtype.bf16" in backend.INFO.capabilities


def test_the_structured_operations_announced_are_those_executed():
    from mytriton.interpreter.regions import EXECUTORS

    assert set(EXECUTORS) == backend.STRUCTURED
