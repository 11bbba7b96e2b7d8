"""Who is chosen: the table of design.md section 4, precedence, lists, ranking, contexts."""

from __future__ import annotations

import contextvars
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from mytriton.plugins import selection, sources
from mytriton.plugins.errors import (
    BackendDeclinedError,
    BackendLoadError,
    BackendNotInstalledError,
    BackendSkippedWarning,
    BackendUnavailableError,
    NoBackendClaimedError,
    UnknownBackendError,
    UnknownVariableWarning,
)
from mytriton.plugins.selection import choose, config, explain, named, selection_key, use_backend
from mytriton.plugins.types import State

LOWER_ONLY = "Availability(can_launch=False, reason='no driver', hint='install the driver')"
UNAVAILABLE = "Availability(False, False, reason='no bindings', hint='pip install bindings')"


@pytest.fixture
def pick(tools: Any) -> Any:
    """``pick("cuda")``: what a launch with an array on that device chooses; ``"x"`` runs,
    ``"x (text)"`` is compiled only, otherwise the code of the error."""

    def picker(*kinds: str, **how: Any) -> str:
        from mytriton.plugins.errors import MytritonBackendError

        try:
            choice = choose(tools.function(), tools.launch(*(kinds or ("cpu",))), **how)
        except MytritonBackendError as e:
            return e.code
        return choice.backend.name + ("" if choice.launches else " (text)")

    return picker


@pytest.fixture
def everything(fake: Any) -> None:
    """The four backends of the design, ready, as made-up distributions."""
    fake("cuda", "mytriton-cuda", ("cuda",), 95)
    fake("mlir", "mytriton-mlir", ("cuda",), 90)
    fake("mlir-cpu", "mytriton-mlir-cpu", ("cpu",), 90)  # its dist is checked below
    fake("acme", "acme-fast", ("cpu", "cuda"), 100)


# ------------------------------------------------------------------ the table


@pytest.fixture
def table(fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fake("cuda", "mytriton-cuda", ("cuda",), 95)
    fake("mlir", "mytriton-mlir", ("cuda",), 90)
    fake("cpu2", "acme-cpu", ("cpu",), 90)


@pytest.mark.parametrize(
    ("backend", "host", "device", "other"),
    [
        (None, "interpreter", "cuda", "MT-B05"),
        ("interpreter", "interpreter", "MT-B08", "MT-B08"),
        ("cpu2", "cpu2", "MT-B08", "MT-B08"),
        ("cuda", "cuda (text)", "cuda", "MT-B08"),
        ("mlir", "mlir (text)", "mlir", "MT-B08"),
        ("cuda,interpreter", "interpreter", "cuda", "MT-B05"),
        ("mlir,cuda", "MT-B05", "mlir", "MT-B05"),
        ("mlir-cpu,cuda,cpu2", "cpu2", "cuda", "MT-B05"),
        ("cuda,nobody", "MT-B01", "MT-B01", "MT-B01"),
        ("interpreter,nobody", "MT-B01", "MT-B01", "MT-B01"),
        ("cuda,auto", "interpreter", "cuda", "MT-B05"),
    ],
)
def test_what_happens(
    table: None, pick: Any, monkeypatch: pytest.MonkeyPatch,
    backend: str | None, host: str, device: str, other: str,
) -> None:  # fmt: skip
    if backend is not None:
        monkeypatch.setenv("MYTRITON_BACKEND", backend)
    assert pick("cpu") == host
    assert pick("cuda") == device
    assert pick("tpu") == other
    if backend != "cuda,nobody":
        # Arrays in two places are nobody's.
        assert pick("cpu", "cuda") in ("MT-B05", "MT-B08", "MT-B01")


@pytest.mark.parametrize(
    ("backend", "host", "device"),
    [
        (None, "interpreter", "MT-B05"),
        ("cuda", "cuda", "MT-B08"),
        ("cuda,interpreter", "cuda", "MT-B05"),
        ("interpreter", "interpreter", "MT-B08"),
    ],
)
def test_emulation(
    table: None, pick: Any, monkeypatch: pytest.MonkeyPatch,
    backend: str | None, host: str, device: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("MYTRITON_EMULATE", "1")
    if backend is not None:
        monkeypatch.setenv("MYTRITON_BACKEND", backend)
    assert pick("cpu") == host
    assert pick("cuda") == device


def test_emulation_asks_the_probe_again(
    fake: Any, pick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = "Availability(can_launch=False, reason='no driver')"
    fake("cuda", "mytriton-cuda", ("cuda",), body="""
import os
@hookimpl
def mytriton_probe():
    return Availability(can_launch=os.environ.get("MYTRITON_EMULATE") == "1", reason="no driver")
""", probe=probe)  # fmt: skip
    assert pick("cpu", explicit="cuda") == "cuda (text)"
    assert pick("cuda", explicit="cuda") == "MT-B07"
    monkeypatch.setenv("MYTRITON_EMULATE", "1")
    assert pick("cpu", explicit="cuda") == "cuda"


def test_no_array_counts_as_host(table: None, tools: Any) -> None:
    from mytriton.plugins.types import LaunchSpec

    launch = LaunchSpec(())
    assert choose(tools.function(), launch).backend.name == "interpreter"
    assert not choose(tools.function(), launch, explicit="cuda").launches


def test_mlir_cpu_before_the_interpreter(fake: Any, pick: Any) -> None:
    fake("mlir-cpu", "mytriton-mlir", ("cpu",), 90)
    assert pick("cpu") == "mlir-cpu"


def test_text_only_needs_no_device(fake: Any, pick: Any) -> None:
    fake("cuda", "mytriton-cuda", ("cuda",), probe=LOWER_ONLY)
    assert pick("cpu", explicit="cuda") == "cuda (text)"
    assert pick("cuda", explicit="cuda") == "MT-B07"
    assert pick("cuda", explicit="cuda", emit=True) == "cuda (text)"
    assert named("cuda").state is State.LOWER_ONLY


def test_a_cpu_backend_that_only_lowers_does_not_run(fake: Any, pick: Any) -> None:
    fake("cpu2", probe=LOWER_ONLY)
    assert pick("cpu", explicit="cpu2") == "MT-B07"
    assert pick("cpu", explicit="cpu2", emit=True) == "cpu2 (text)"


def test_unavailable(fake: Any, pick: Any) -> None:
    fake("cuda", "mytriton-cuda", ("cuda",), probe=UNAVAILABLE)
    assert pick("cpu", explicit="cuda") == "MT-B07"
    with pytest.raises(BackendUnavailableError, match=r"no bindings\. pip install bindings"):
        named("cuda")


# ------------------------------------------------------------------ precedence


def test_precedence(fake: Any, pick: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abcdef":
        fake(name, f"acme-{name}")
    monkeypatch.setattr(sources, "_project", ("f", "[tool.mytriton] in /x/pyproject.toml"))
    assert pick() == "f"
    config.backend = "e"
    assert pick() == "e"
    monkeypatch.setenv("MYTRITON_BACKEND", "d")
    assert pick() == "d"
    with use_backend("c"):
        assert pick() == "c"
        assert pick(decorator="b") == "b"
        assert pick(decorator="b", explicit="a") == "a"
    assert pick() == "d"


@pytest.mark.parametrize("empty", ["", "  ", "auto", ",", "AUTO"])
def test_empty_and_auto_are_unset(
    fake: Any, pick: Any, monkeypatch: pytest.MonkeyPatch, empty: str
) -> None:
    fake("a")
    monkeypatch.setenv("MYTRITON_BACKEND", empty)
    assert pick() == "interpreter"
    config.backend = "a"
    assert pick() == "a"
    config.backend = empty
    assert pick() == "interpreter"


def test_auto_in_code_ends_the_search(
    fake: Any, pick: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("a")
    monkeypatch.setenv("MYTRITON_BACKEND", "a")
    with use_backend("auto"):
        assert pick() == "interpreter"
    assert pick(explicit="auto") == "interpreter"


@pytest.mark.parametrize("name", ["Fast_One", "FAST-ONE", " fast-one "])
def test_names_are_normalised(fake: Any, pick: Any, name: str) -> None:
    fake("fast-one")
    assert pick(explicit=name) == "fast-one"


def test_config_takes_a_list_and_nothing_else(fake: Any, pick: Any) -> None:
    fake("a")
    config.backend = ["cuda", "a"]
    assert config.backend == "cuda,a"
    assert pick() == "a"
    with pytest.raises(TypeError, match="by name or by a list of names"):
        config.backend = 3  # type: ignore[assignment]
    with pytest.raises(TypeError, match="by name or by a list of names"):
        use_backend(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ('[tool.mytriton]\nbackend = "a"\n', "a"),
        (
            "[tool.other]\nbackend='z'\n[tool.mytriton]  # ours\nx = 1\nbackend = ['cuda',\n 'a']\n[b]\n",
            "cuda,a",
        ),
        ('[tool.mytriton]\nx = 1\n[tool.z]\nbackend = "z"\n', ""),
        ('backend = "z"\n', ""),
    ],
)
def test_project_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, backend: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    below = tmp_path / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    monkeypatch.setattr(sources, "_project", None)
    found, where = sources.project_backend()
    assert found == backend
    assert where == (f"[tool.mytriton] in {tmp_path / 'pyproject.toml'}" if backend else "")


def test_who_asked(fake: Any, tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def who(**how: Any) -> str:
        with pytest.raises(UnknownBackendError) as caught:
            choose(tools.function(), tools.launch(), **how)
        return caught.value.requested_by

    assert who(explicit="z") == "with_backend"
    assert who(decorator="z") == "@jit(backend=)"
    with use_backend("z"):
        assert who().startswith("use_backend at test_selection.py:")
    monkeypatch.setenv("MYTRITON_BACKEND", "z")
    assert who() == "MYTRITON_BACKEND"
    monkeypatch.delenv("MYTRITON_BACKEND")
    config.backend = "z"
    assert who() == "mytriton.config.backend"


# ------------------------------------------------------------------ contexts and keys


def test_nesting_and_none(fake: Any, pick: Any) -> None:
    fake("a", "acme-a")
    fake("b", "acme-b")
    outer = use_backend("a")
    with outer:
        with use_backend("b"):
            assert pick() == "b"
            with outer:
                assert pick() == "a"
            with use_backend(None):
                assert pick() == "b"
        assert pick() == "a"
    assert pick() == "interpreter"


def test_left_by_an_exception(pick: Any, fake: Any) -> None:
    fake("a")
    with pytest.raises(ZeroDivisionError), use_backend("a"):
        1 / 0
    assert pick() == "interpreter"


def test_threads_do_not_inherit(fake: Any, pick: Any) -> None:
    fake("a")
    found = []
    with use_backend("a"):
        context = contextvars.copy_context()
        for target in (lambda: found.append(pick()), lambda: found.append(context.run(pick))):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    # Python 3.14 can be told to inherit; the default of the versions we support is not to.
    assert found == ["interpreter", "a"]


def test_threads_select_at_once(fake: Any, tools: Any) -> None:
    for name in "abcd":
        fake(name, f"acme-{name}")
    found: dict[str, set[str]] = {}
    barrier = threading.Barrier(8)

    def work(name: str) -> None:
        barrier.wait()
        with use_backend(name):
            for _ in range(20):
                chosen = choose(tools.function(), tools.launch()).backend.name
                found.setdefault(name, set()).add(chosen)

    threads = [threading.Thread(target=work, args=(n,)) for n in "abcdabcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {name: {name} for name in "abcd"}


def test_key_follows_every_source(monkeypatch: pytest.MonkeyPatch) -> None:
    base = selection_key()
    assert selection_key() == base
    seen = [base]
    for name in ("MYTRITON_BACKEND", "MYTRITON_EMULATE", "MYTRITON_DISABLE_BACKENDS"):
        monkeypatch.setenv(name, "1")
        seen.append(selection_key())
        monkeypatch.delenv(name)
    with use_backend("a"):
        seen.append(selection_key())
        inside = selection_key()
    with use_backend("a"):
        assert selection_key() == inside
    config.backend = "b"
    seen.append(selection_key())
    config.backend = None
    assert selection_key() == base
    selection.refresh_backends()
    seen.append(selection_key())
    assert len(set(seen)) == len(seen)


def test_key_survives_a_replaced_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(os, "environ", {"MYTRITON_BACKEND": "z"})
    first = selection_key()
    os.environ["MYTRITON_BACKEND"] = "y"
    assert selection_key() != first


# ------------------------------------------------------------------ ranking and warnings


def test_ranking(fake: Any, pick: Any) -> None:
    fake("mlir-cpu", "mytriton-mlir", priority=70)
    assert pick() == "mlir-cpu"
    fake("acme", "acme-fast", priority=100)
    assert pick() == "mlir-cpu"
    assert pick(explicit="acme") == "acme"


def test_third_parties_among_themselves(fake: Any, pick: Any) -> None:
    fake("low", "acme-1", ("tpu",), 10)
    fake("zeta", "acme-2", ("tpu",), 60)
    fake("alpha", "acme-3", ("tpu",), 60)
    assert pick("tpu") == "alpha"
    fake("scored", "acme-4", ("tpu",), 5, claim="Claim(99)")
    assert pick("tpu") == "scored"


def test_a_name_in_the_wrong_distribution_is_third_party(fake: Any, pick: Any) -> None:
    fake("mlir-cpu", "acme-mlir", priority=100)
    assert pick() == "interpreter"


def test_a_declining_claim_narrows(fake: Any, pick: Any, tools: Any) -> None:
    fake("a", "acme-a", ("tpu",), 90, claim="Decline('odd layout', frozenset({'layout.odd'}))")
    fake("b", "acme-b", ("tpu",), 20)
    assert pick("tpu") == "b"
    with pytest.raises(BackendDeclinedError, match="odd layout"):
        choose(tools.function(), tools.launch("tpu"), explicit="a")
    report = explain(tools.function(), tools.launch("tpu"))
    assert next(c for c in report.candidates if c.name == "a").missing == {"layout.odd"}


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("1 / 0", None),
        ("Claim(0)", "mytriton_claim returned score 0, not a Claim of 1 to 100 or a Decline"),
        ("'yes'", "mytriton_claim returned str, not a Claim of 1 to 100 or a Decline"),
    ],
)
def test_a_bad_claim_is_a_decline(fake: Any, tools: Any, claim: str, text: str | None) -> None:
    if text is None:
        body = "\n@hookimpl\ndef mytriton_claim(function, launch):\n    raise KeyError('oops')\n"
        fake("a", body=body)
        with (
            pytest.warns(
                UserWarning, match="mytriton_claim raised KeyError: 'oops'; it is left out"
            ),
            pytest.raises(BackendDeclinedError) as caught,
        ):
            choose(tools.function(), tools.launch(), explicit="a")
        assert isinstance(caught.value.__cause__, KeyError)
    else:
        fake("a", claim=claim)
        with pytest.raises(BackendDeclinedError, match=text.replace("(", r"\(")):
            choose(tools.function(), tools.launch(), explicit="a")


def test_a_better_one_that_is_unavailable_is_mentioned_once(fake: Any, tools: Any) -> None:
    fake("mlir-cpu", "mytriton-mlir", priority=90, probe=UNAVAILABLE)
    with pytest.warns(BackendSkippedWarning) as caught:
        assert choose(tools.function(), tools.launch()).backend.name == "interpreter"
    assert str(caught[0].message) == (
        "'k' runs on interpreter, not on mlir-cpu 0.3.1 unavailable: no bindings. pip install bindings"
    )
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choose(tools.function("other"), tools.launch())


def test_a_better_one_that_declines_is_mentioned_for_each_kernel(fake: Any, tools: Any) -> None:
    fake("mlir-cpu", "mytriton-mlir", priority=90, claim="Decline('too wide')")
    for name in "ab":
        with pytest.warns(
            BackendSkippedWarning,
            match=f"'{name}' runs on interpreter, not on mlir-cpu 0.3.1 declined: too wide",
        ):
            choose(tools.function(name), tools.launch())


def test_a_broken_one_in_a_list_is_mentioned(install: Any, tools: Any) -> None:
    install("acme-broken")
    with pytest.warns(
        BackendSkippedWarning, match="runs on interpreter, not on broken 2.1.0 broken: MT-B03"
    ):
        assert (
            choose(tools.function(), tools.launch(), explicit="broken,interpreter").backend.name
            == "interpreter"
        )
    with pytest.raises(BackendLoadError):
        choose(tools.function(), tools.launch(), explicit="broken")


def test_a_third_party_is_not_mentioned_nor_imported(fake: Any, tools: Any) -> None:
    import sys

    fake("acme", priority=100, probe=UNAVAILABLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choice = choose(tools.function(), tools.launch())
    assert "fake_acme_acme_fake" not in sys.modules
    assert "acme 0.3.1 not asked: a first-party backend claims" in str(choice.trace)


def test_unknown_variable(tools: Any, install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install("acme-good")
    monkeypatch.setenv("MYTRITON_BACKENDS", "cuda")
    monkeypatch.setenv("MYTRITON_GOOD_LEVEL", "3")
    with pytest.warns(UnknownVariableWarning) as caught:
        choose(tools.function(), tools.launch())
    assert [str(w.message) for w in caught] == [
        "nothing reads the variable MYTRITON_BACKENDS; closest: MYTRITON_BACKEND. All of them: mytriton info"
    ]


def test_a_switch_that_is_none(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYTRITON_EMULATE", "maybe")
    with pytest.raises(ValueError, match="MYTRITON_EMULATE is a switch"):
        choose(tools.function(), tools.launch(), explicit="interpreter")


# ------------------------------------------------------------------ choice, retry, explain


def test_excluded_after_a_broken_claim(fake: Any, tools: Any) -> None:
    fake("mlir-cpu", "mytriton-mlir", priority=90)
    first = choose(tools.function(), tools.launch())
    assert (first.backend.name, first.automatic) == ("mlir-cpu", True)
    again = choose(tools.function(), tools.launch(), exclude={"mlir-cpu"})
    assert again.backend.name == "interpreter"
    assert not choose(tools.function(), tools.launch(), explicit="mlir-cpu").automatic


def test_nothing_left(tools: Any) -> None:
    with pytest.raises(NoBackendClaimedError):
        choose(tools.function(), tools.launch(), exclude={"interpreter"})


def test_explain(table: None, tools: Any) -> None:
    report = explain(tools.function("softmax"), tools.launch("cpu"))
    assert (
        str(report)
        == """\
kernel softmax: backend auto
  needs dtype.f32, op.add, op.load, op.store; x: f32 on cpu; grid (4, 1, 1)
  interpreter 0.1.0 chosen (score 1)
  cuda 0.3.1 declined: x is on 'cpu', arrays on 'cuda' needed
  mlir 0.3.1 declined: x is on 'cpu', arrays on 'cuda' needed
  cpu2 0.3.1 not asked: a first-party backend claims; name this one to use it
  softmax runs on interpreter""".replace("0.1.0", report.candidates[0].label.split()[1])
    )
    report = explain(tools.function(), tools.launch(), backend="cuda")
    assert str(report).splitlines()[0] == "kernel k: backend cuda, asked for by with_backend"
    assert str(report).splitlines()[-1] == "  k is compiled, not launched, by cuda"
    assert {c.name: c.verdict for c in report.candidates}["mlir"] == "not asked"
    report = explain(tools.function(), tools.launch(), backend="mlir-cpu")
    assert report.error.startswith("MT-B02")
    assert report.chosen == ""
    import json

    assert json.loads(json.dumps(report.as_dict()))["chosen"] is None


def test_explain_does_not_raise_or_warn(fake: Any, tools: Any) -> None:
    fake("mlir-cpu", "mytriton-mlir", priority=90, probe=UNAVAILABLE)
    report = explain(tools.function(), tools.launch("tpu"))
    assert report.error.startswith("MT-B05")
    assert explain(tools.function(), tools.launch()).chosen == "interpreter"


def test_named_errors(tools: Any) -> None:
    with pytest.raises(BackendNotInstalledError):
        named("cuda", requested_by="emit")
    with pytest.raises(UnknownBackendError, match="asked for by emit"):
        named("cdua", requested_by="emit")
    assert named("interpreter").info.name == "interpreter"
    assert named("interpreter") == named("interpreter")


# ------------------------------------------------------------------ limits


def test_limits(fake: Any, tools: Any) -> None:
    from mytriton.ir.parser import parse
    from mytriton.plugins.claims import missing_features

    limits = "limits=Limits(block_elements=1024, grid=(8, 1, 1))"
    fake("a", extra=limits, more='"op.arange", "dtype.i32"')
    info = named("a").info
    wide = parse(
        "kernel wide(x: ptr<f32>) {\n  %0 = arange {start=0, end=2048} : vector<2048 x i32>\n}\n"
    )
    launch = tools.launch()
    assert missing_features(wide, launch, info) == {"limit.block>1024"}
    assert missing_features(tools.function(), launch, info) == frozenset()
    from dataclasses import replace

    big = replace(launch, grid=(9, 2, 1))
    assert missing_features(tools.function(), big, info) == {"limit.grid.x>8", "limit.grid.y>1"}
    with pytest.raises(BackendDeclinedError, match="missing limit.block>1024"):
        choose(wide, launch, explicit="a")


def test_installed_while_running(fake: Any, pick: Any, tools: Any, tmp_path: Path) -> None:
    assert pick(explicit="late") == "MT-B01"
    import sys

    site = tmp_path / "late"
    tools.write_dist(site, "acme-late", {"mytriton.backends": {"late": "acme_late"}})
    good = (tools.dists / "acme-good" / "acme_good.py").read_text()
    info = "from mytriton.plugin_api import BackendInfo\n@hookimpl\ndef mytriton_backend_info():\n    return BackendInfo('late', '')\n"
    (site / "acme_late.py").write_text(good + info)
    sys.path.insert(0, str(site))
    before = selection_key()
    assert pick(explicit="late") == "MT-B08"
    assert selection_key() != before
