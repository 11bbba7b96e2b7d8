"""What is said before and beside a launch: ``explain`` of checked launches, who asked, idle names."""

from __future__ import annotations

from typing import Any

import pytest

from mytriton.plugin_api import Availability, hookimpl
from mytriton.plugins import selection
from mytriton.plugins.errors import UnknownBackendError, UnknownVariableWarning
from mytriton.plugins.selection import choose, explain
from mytriton.plugins.types import BackendInfo

UNAVAILABLE = "Availability(False, False, reason='no bindings', hint='pip install bindings')"


class Mine:
    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability()

    @hookimpl
    def mytriton_lower(self, function: Any, launch: Any) -> Any:
        raise NotImplementedError

    @hookimpl
    def mytriton_compile(self, source: Any, launch: Any) -> Any:
        raise NotImplementedError


def explained(tools: Any, **how: Any) -> Any:
    return explain(tools.function(), tools.launch(), **how)


@pytest.mark.parametrize("mode", ["1", "nan"])
def test_a_checked_launch_runs_on_the_interpreter(
    fake: Any, tools: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    fake("a")
    monkeypatch.setenv("MYTRITON_SANITIZE", mode)
    for how in ({}, {"backend": "a"}, {"backend": "auto"}):
        report = explained(tools, **how)
        assert (report.chosen, report.launches) == ("interpreter", True)
        assert report.source == "MYTRITON_SANITIZE"
        assert report.launch.options["sanitize"] == mode


def test_the_backend_that_is_named_must_launch_nevertheless(
    fake: Any, tools: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("a", probe=UNAVAILABLE)
    monkeypatch.setenv("MYTRITON_SANITIZE", "1")
    assert "MT-B07: backend 'a'" in explained(tools, backend="a").error
    assert "MT-B01: no backend is called 'z'" in explained(tools, backend="z").error


def test_checks_are_for_arrays_of_the_host(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYTRITON_SANITIZE", "bounds")
    with pytest.raises(TypeError, match="'k' cannot be sanitized: x lie on a device"):
        explain(tools.function(), tools.launch("gpu"))
    # Text has nothing to check.
    assert explain(tools.function(), tools.launch("gpu"), emit=True).chosen == "interpreter"


def test_who_asked_for_text(tools: Any) -> None:
    with pytest.raises(UnknownBackendError) as caught:
        choose(tools.function(), tools.launch(), explicit="z", emit=True)
    assert caught.value.requested_by == "backend="
    assert explained(tools, backend="interpreter").source == "with_backend"
    assert explained(tools, backend="interpreter", emit=True).source == "backend="


def test_disabled_names_that_mean_nothing(
    tools: Any, install: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-good", "acme-observer")
    names = "Good, observer, cuda, *, obsrever, mlri_cpu, interpreter"
    monkeypatch.setenv("MYTRITON_DISABLE_BACKENDS", names)
    with pytest.warns(UnknownVariableWarning) as caught:
        choose(tools.function(), tools.launch())
    choose(tools.function(), tools.launch())  # warnings are errors: once is enough
    head, tail = "MYTRITON_DISABLE_BACKENDS: ", ". All names: mytriton info"
    assert [str(w.message).removeprefix(head).removesuffix(tail) for w in caught] == [
        "no backend or plugin is called 'obsrever'; closest: observer",
        "no backend or plugin is called 'mlri-cpu'; closest: mlir-cpu",
        "the interpreter is part of mytriton-core and cannot be switched off",
    ]


def test_a_registered_backend_is_not_switched_off(
    tools: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    selection.register_backend("mine", Mine(), info=BackendInfo("mine", "here"))
    monkeypatch.setenv("MYTRITON_DISABLE_BACKENDS", "mine")
    with pytest.warns(UnknownVariableWarning, match="'mine' is part of this program and cannot"):
        choose(tools.function(), tools.launch())
