"""Loaded backends, backends registered by the program, observers."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mytriton import plugin_api
from mytriton.plugin_api import (
    Availability,
    BackendInfo,
    Event,
    Source,
    UnsupportedFeature,
    capability_table,
    hookimpl,
)
from mytriton.plugins import selection
from mytriton.plugins.errors import (
    BackendDeclinedError,
    ClaimBrokenError,
    DuplicateBackendError,
    MytritonPluginWarning,
    PluginInterfaceError,
)
from mytriton.plugins.manager import MANAGER, adapt_argument, emit_event, observing

TABLE = capability_table(["op.load", "op.add", "op.store", "dtype.f32"])


class Toy:
    """A backend as an object."""

    def __init__(self, name: str = "toy", **fields: Any) -> None:
        self.info = BackendInfo(name, "a toy", capabilities=TABLE, **fields)
        self.lowered: Any = Source("text", "toy", "k")
        self.compiled: Any = SimpleNamespace(metadata={}, launch=lambda grid, args: None)

    @hookimpl
    def mytriton_backend_info(self) -> BackendInfo:
        return self.info

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability()

    @hookimpl
    def mytriton_lower(self, function: Any, launch: Any) -> Any:
        if isinstance(self.lowered, Exception):
            raise self.lowered
        return self.lowered

    @hookimpl
    def mytriton_compile(self, source: Any, launch: Any) -> Any:
        return self.compiled

    @hookimpl
    def mytriton_cache_key(self, launch: Any) -> str:
        return "toolchain 7"

    @hookimpl
    def mytriton_passes(self, function: Any, launch: Any) -> list[Any]:
        return [len]


@pytest.fixture
def toy() -> Toy:
    made = Toy()
    selection.register_backend("toy", made)
    return made


def test_plugin_api_has_what_it_lists() -> None:
    for name in plugin_api.__all__:
        assert getattr(plugin_api, name) is not None
    with pytest.raises(AttributeError):
        _ = plugin_api.nothing  # type: ignore[attr-defined]


def test_capability_table() -> None:
    table = capability_table(["a"], {"b": "later"}, {"c": "never"})
    assert [(f, c.state, c.reason) for f, c in table.items()] == [
        ("a", "yes", ""), ("b", "planned", "later"), ("c", "no", "never"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="'a' is listed twice"):
        capability_table(["a"], {"a": "later"})


def test_loaded_backend(toy: Toy, tools: Any) -> None:
    backend = selection.choose(tools.function(), tools.launch(), explicit="toy").backend
    launch = tools.launch()
    assert backend.lower(tools.function(), launch) is toy.lowered
    assert backend.compile(toy.lowered, launch) is toy.compiled
    assert backend.passes(tools.function(), launch) == (len,)
    assert backend.cache_key(launch) == "toy|||toolchain 7"
    assert repr(backend) == "<backend toy [registered here]>"
    interpreter = selection.named("interpreter")
    assert interpreter.passes(tools.function(), launch) == ()
    assert interpreter.cache_key(launch).startswith("interpreter|mytriton-core|")


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("lowered", "text", "mytriton_lower must return a Source, got str"),
        ("lowered", None, "mytriton_lower must return a Source, got NoneType"),
        ("compiled", 3, "mytriton_compile must return an Artifact (with a launch method), got int"),
    ],
)
def test_wrong_results(toy: Toy, tools: Any, field: str, value: Any, text: str) -> None:
    setattr(toy, field, value)
    backend = selection.named("toy")
    with pytest.raises(PluginInterfaceError) as caught:
        if field == "lowered":
            backend.lower(tools.function(), tools.launch())
        else:
            backend.compile(toy.lowered, tools.launch())
    assert str(caught.value) == f"MT-B09: plugin toy: {text}"


def test_unsupported_feature_breaks_the_claim(toy: Toy, tools: Any) -> None:
    toy.lowered = UnsupportedFeature("layout.mixed", "blocks of two sizes")
    with pytest.raises(ClaimBrokenError) as caught:
        selection.named("toy").lower(tools.function(), tools.launch())
    assert "it should have declined in mytriton_claim. Report it to toy." in str(caught.value)
    assert str(caught.value.__cause__) == "unsupported: layout.mixed (blocks of two sizes)"


def test_other_exceptions_pass(toy: Toy, tools: Any) -> None:
    toy.lowered = KeyError("a bug")
    with pytest.raises(KeyError, match="a bug"):
        selection.named("toy").lower(tools.function(), tools.launch())


# ------------------------------------------------------------------ registered by the program


def test_registered_never_wins_unnamed(toy: Toy, tools: Any) -> None:
    assert selection.choose(tools.function(), tools.launch()).backend.name == "interpreter"


def test_register_conflicts(toy: Toy) -> None:
    selection.register_backend("toy", toy)
    with pytest.raises(
        DuplicateBackendError,
        match=r"'toy' exists already: toy \[registered here\]\. Pass replace=True",
    ):
        selection.register_backend("toy", Toy())
    other = Toy()
    key = selection.selection_key()
    selection.register_backend("toy", other, replace=True)
    assert selection.selection_key() != key
    assert MANAGER.find("toy").plugin is other  # type: ignore[union-attr]
    selection.unregister_backend("toy")
    assert MANAGER.find("toy") is None
    selection.unregister_backend("toy")


def test_register_over_an_installed_one(install: Any) -> None:
    install("acme-good")
    selection.named("good")
    with pytest.raises(DuplicateBackendError, match=r"good 2\.1\.0 \[acme-good\]"):
        selection.register_backend("good", Toy("good"))
    selection.register_backend("good", Toy("good"), replace=True)
    assert selection.named("good").dist == ""
    selection.unregister_backend("good")
    assert selection.named("good").dist == "acme-good"


def test_register_refuses_what_is_no_backend() -> None:
    with pytest.raises(PluginInterfaceError, match="the required hook mytriton_probe is missing"):
        selection.register_backend("empty", SimpleNamespace())
    with pytest.raises(PluginInterfaceError, match="its backend info is called 'toy'"):
        selection.register_backend("other", Toy())
    with pytest.raises(PluginInterfaceError, match="is not a backend name"):
        selection.register_backend("no way", Toy())
    assert MANAGER.find("empty", rescan=False) is None
    selection.register_backend("other", Toy(), info=BackendInfo("other", "renamed"))
    assert selection.named("other").info.summary == "renamed"


def test_registered_survives_refresh(toy: Toy) -> None:
    selection.refresh_backends()
    assert selection.named("toy").info is toy.info


# ------------------------------------------------------------------ observers


def test_observer(install: Any, tools: Any) -> None:
    install("acme-observer")
    import acme_observer  # type: ignore[import-not-found]

    acme_observer.SEEN.clear()
    assert observing()
    emit_event(Event("launch", "k"))
    backend = selection.named("interpreter")
    backend.lower(tools.function(), tools.launch())
    assert acme_observer.SEEN == ["launch", "lower k"]
    view = adapt_argument(acme_observer.Box(4096, 7))
    assert view is not None
    assert (view.pointer, view.shape, view.device_kind) == (4096, (7,), "box")
    assert adapt_argument(object()) is None


def test_selection_is_an_event(install: Any, tools: Any) -> None:
    install("acme-observer")
    MANAGER.observers()
    import acme_observer

    acme_observer.SEEN.clear()
    selection.choose(tools.function(), tools.launch())
    selection.explain(tools.function(), tools.launch())
    assert acme_observer.SEEN == ["selection"]


def test_no_observer() -> None:
    assert not observing()
    emit_event(Event("launch", "k"))
    assert adapt_argument(object()) is None


def test_observers_are_isolated(install: Any) -> None:
    install("acme-observer", "acme-badobserver")
    import acme_observer

    with pytest.warns(
        MytritonPluginWarning,
        match="mytriton_event of plugin 'badobserver' raised ValueError: no comment; it is ignored",
    ):
        emit_event(Event("launch", "k"))
    with pytest.warns(
        MytritonPluginWarning, match="mytriton_adapt_argument of plugin 'badobserver' raised"
    ):
        assert adapt_argument(object()) is None
    assert adapt_argument(acme_observer.Box(1, 2)) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        emit_event(Event("launch", "k"))
    assert acme_observer.SEEN[-2:] == ["launch", "launch"]


def test_an_observer_cannot_lower(install: Any, tools: Any) -> None:
    install("acme-nosyobserver")
    with pytest.warns(
        MytritonPluginWarning,
        match="plugin 'nosy' .acme-nosyobserver 2.1.0. is left out: MT-B09: plugin acme-nosyobserver: mytriton_lower belongs to a backend",
    ):
        emit_event(Event("launch", "k"))
    source = selection.named("interpreter").lower(tools.function(), tools.launch())
    assert source.language == "SSA"


def test_blocked_observer(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install("acme-badobserver")
    monkeypatch.setenv("MYTRITON_DISABLE_BACKENDS", "badobserver")
    emit_event(Event("launch", "k"))


def test_strict_observer(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install("acme-nosyobserver")
    monkeypatch.setenv("MYTRITON_STRICT_PLUGINS", "1")
    with pytest.raises(PluginInterfaceError):
        emit_event(Event("launch", "k"))


def test_observers_wrap_what_every_backend_does(install: Any, tools: Any) -> None:
    install("acme-observer", "acme-good", "acme-liar")
    backend = selection.named("good")
    selection.named("liar")
    MANAGER.observers()
    source = backend.lower(tools.function(), tools.launch())
    assert source.text == "// good: k\n"


# ------------------------------------------------------------------ the runtime on top


def test_a_kernel_is_launched_by_a_toy(toy: Toy, tools: Any) -> None:
    seen = []
    toy.compiled = SimpleNamespace(metadata={}, launch=lambda grid, args: seen.append((grid, args)))
    choice = selection.choose(tools.function(), tools.launch(), explicit="toy")
    choice.backend.compile(toy.lowered, tools.launch()).launch((1, 1, 1), [np.zeros(3)])
    assert len(seen) == 1


def test_declined_by_the_table(toy: Toy, tools: Any) -> None:
    from mytriton.ir.parser import parse

    function = parse(
        "kernel wide(x: ptr<f32>) {\n  %0 = arange {start=0, end=4} : vector<4 x i32>\n}\n"
    )
    with pytest.raises(BackendDeclinedError, match="missing dtype.i32, op.arange"):
        selection.choose(function, tools.launch(), explicit="toy")
