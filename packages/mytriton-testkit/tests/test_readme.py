"""The testkit's README, which is also a page of the book, says what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from mytriton_testkit.case import EDITIONS
from mytriton_testkit.cases import all_cases
from mytriton_testkit.init import project
from mytriton_testkit.suite.profile import Profile, check_profile, load_profile
from mytriton_testkit.suite.verdicts import Verdict

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
OPTIONS = sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", README)))


def checked(tmp_path: Path, text: str) -> Profile:
    """The profile in a text, every entry of which must mean something."""
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    profile = load_profile(tmp_path / "p.toml")
    cases = all_cases()
    exp = {c.id: frozenset({"op.exp"}) for c in cases if c.id.startswith("math.exp[")}
    check_profile(profile, cases, exp)
    return profile


def test_the_profile_of_the_readme_means_something(tmp_path: Path) -> None:
    [text] = re.findall(r"^```toml\n(.*?)^```", README, re.S | re.M)
    profile = checked(tmp_path, text)
    assert (profile.edition, len(profile.known_bugs)) == (EDITIONS[-1], 1)


def test_so_does_the_profile_of_the_skeleton_with_its_comments_as_entries(tmp_path: Path) -> None:
    text = project("acme-foo")["src/acme_foo/mytriton-conformance.toml"]
    entries = re.sub(r"^# ?(?=\[|\S+ = )", "", text, flags=re.M)
    profile = checked(tmp_path, entries)
    assert (profile.edition, len(profile.known_bugs)) == (EDITIONS[-1], 1)
    assert profile.tolerance == {"op.exp": 8.0}


def test_every_verdict_and_edition_is_named() -> None:
    names = set(re.findall(r"[A-Z][A-Z-]+", README))
    assert {verdict.value for verdict in Verdict} - names == set()
    assert [edition for edition in EDITIONS if f"`{edition}`" not in README] == []


def test_options_that_are_named_exist(tmp_path: Path) -> None:
    def helped(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", *words, "--help"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    command = "mytriton_testkit"
    pages = [helped(command, *sub) for sub in ((), ("list",), ("merge",), ("replay",), ("init",))]
    known = "\n".join([*pages, helped("pytest")])
    assert len(OPTIONS) > 10
    assert [option for option in OPTIONS if not re.search(rf"{option}\b", known)] == []
