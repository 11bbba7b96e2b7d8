"""The skeleton: complete, and certified as it stands."""

from __future__ import annotations

import ast
import sys
from types import ModuleType

import pytest

from mytriton_testkit.init import FILES, create, names_of, project
from mytriton_testkit.suite.errors import UsageError


def test_every_template_is_used_and_filled():
    from importlib import resources

    there = {p.name for p in (resources.files("mytriton_testkit.init") / "template").iterdir()}
    assert there == set(FILES)
    for path, text in project("acme-foo").items():
        assert "@PACKAGE@" not in text + path
        if path.endswith(".py"):
            ast.parse(text)
            assert max(map(len, text.splitlines())) <= 100


def test_does_not_overwrite(tmp_path):
    create("acme-foo", str(tmp_path / "new"))
    with pytest.raises(UsageError, match="exists; nothing was written"):
        create("acme-foo", str(tmp_path / "new"))


@pytest.mark.parametrize("folder", ["file", "file/deeper", "dangling", "x" * 300])
def test_says_that_a_place_takes_no_files(folder, tmp_path):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(UsageError, match="^cannot write .*pyproject.toml: [^\n]+$"):
        create("acme-foo", str(tmp_path / folder))
    assert (tmp_path / "file").read_text() == "kept"
    assert {path.name for path in tmp_path.iterdir()} == {"file", "dangling"}


@pytest.mark.parametrize(
    "names",
    [("Acme Foo",), ("acme-cuda",), ("acme-foo", "Foo"), ("-x",),
     # Commands of mytriton-conformance, and modules that exist.
     ("acme-list",), ("acme-replay",), ("acme-foo", "init"), ("numpy",), ("json",), ("class",),
     ("mytriton",)],
)  # fmt: skip
def test_refuses_names(names):
    with pytest.raises(UsageError):
        names_of(*names)


def test_says_whose_module_it_would_hide():
    with pytest.raises(UsageError, match="distribution of this project"):
        names_of("mytriton_core", "mine")
    with pytest.raises(UsageError, match="would hide the module 'numpy' of numpy"):
        names_of("numpy", "foo")


def test_names():
    assert names_of("acme-my.foo")["@PACKAGE@"] == "acme_my_foo"
    assert names_of("acme-foo", "bar")["@BACKEND@"] == "bar"


def test_the_table_names_every_feature_of_the_cases():
    """So that a new backend is certified at every level: what it lacks is planned."""
    from mytriton_testkit.cases import all_cases
    from mytriton_testkit.suite.oracle import arguments_of, compiled_of, core_needs_of

    needed = set()
    for case in all_cases():
        arguments = arguments_of(case, 0)
        needed |= core_needs_of(case, compiled_of(case, arguments), arguments)
    namespace: dict[str, object] = {}
    exec(project("acme-foo")["src/acme_foo_info.py"], namespace)
    assert needed - namespace["INFO"].capabilities.keys() == set()


def test_certified_from_its_sources(tmp_path, monkeypatch):
    """Without installing: tests/ of the workspace do that with wheels."""
    from mytriton_testkit import check_backend

    create("acme-foo", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path / "src")
    wrapper = tmp_path / "src" / "acme_wrapper.py"
    wrapper.write_text(
        "from acme_foo.plugin import *\nfrom acme_foo.plugin import mytriton_probe, mytriton_lower,"
        " mytriton_compile\nfrom acme_foo_info import INFO, CONFORMANCE_PROFILE\n"
    )
    report = check_backend("foo", plugin="acme_wrapper")
    for name in [
        n for n, m in sys.modules.items() if isinstance(m, ModuleType) and n.startswith("acme_")
    ]:
        del sys.modules[name]
    assert report.certified, report.why_not()
    assert (report.level, report.exit_code) == ("core", 0)
    assert len(report.cases) > 100
