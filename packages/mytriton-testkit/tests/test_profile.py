"""Profiles: read, checked, found."""

from __future__ import annotations

import sys

import pytest

from mytriton_testkit.case import MATH, Case
from mytriton_testkit.suite.errors import ProfileError, UsageError
from mytriton_testkit.suite.profile import check_profile, find_profile, glob_match, load_profile

CASE = Case(
    "unary.exp[f32,n=1]", None, lambda rng: {}, (1,), lambda a: {}, MATH, aliases=("old.exp",)
)
NEEDS = {CASE.id: frozenset({"op.exp", "dtype.f32"})}


@pytest.fixture
def write(tmp_path):
    def make(text):
        path = tmp_path / "mytriton-conformance.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return make


def test_reads_everything(write):
    profile = load_profile(
        write("""
[suite]
edition = "2026.1"
level = "core"
stage = "emit"
[[known_bug]]
case = "unary.exp[*]"
outcome = "error:ValueError"
reason = "no libm"
issue = "https://example.org/1"
[tolerance]
"op.exp" = { ulp = 8 }
""")
    )
    assert (profile.edition, profile.level, profile.stage) == ("2026.1", "core", "emit")
    assert profile.bug_of(CASE).issue == "https://example.org/1"
    assert profile.ulp(CASE, NEEDS[CASE.id]) == 8
    assert profile.ulp(CASE, ["op.add"]) == MATH.ulp
    assert len(profile.digest) == 16
    check_profile(profile, [CASE], NEEDS)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[suite]\nlevle = 'core'", "unknown key 'levle' (closest: level)"),
        (
            "[suite]\nlevel = 'cor'",
            "level = 'cor' is none of core, standard, extended (closest: core)",
        ),
        ("[[known_bug]]\ncase = 'x'\noutcome = 'crash'", "has no reason"),
        ("[[known_bug]]\ncase = 'x'\noutcome = 'bad'\nreason = 'y'", "outcome 'bad' is none of"),
        (
            "[[known_bug]]\ncase='x'\noutcome='crash'\nreason='y'\nexpires='2026'",
            "unknown key 'expires'",
        ),
        ("[tolerance]\n'op.exp' = 4", "needs { ulp = NUMBER }"),
        ("[other]", "unknown key 'other'"),
        ("[", "not TOML"),
    ],
)
def test_refuses(write, text, problem):
    with pytest.raises(ProfileError) as e:
        load_profile(write(text))
    assert problem in str(e.value)
    assert e.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[[known_bug]]\ncase='unary.exq[*]'\noutcome='crash'\nreason='y'",
            "matches no case (closest: ",
        ),
        ("[tolerance]\n'op.exq' = { ulp = 1 }", "is no feature (closest: op.exp)"),
        ("[tolerance]\n'op.exp' = { ulp = 65 }", "65 ulp is above the ceiling, 64"),
    ],
)
def test_stale_entries_are_errors(write, text, problem):
    with pytest.raises(ProfileError) as e:
        check_profile(load_profile(write(text)), [CASE], NEEDS)
    assert problem in str(e.value)


def test_missing_file():
    with pytest.raises(UsageError):
        load_profile("no-such-file.toml")


def test_brackets_mean_themselves():
    assert glob_match("unary.exp[*]", CASE.id)
    assert glob_match("unary.exp[f32,n=?]", CASE.id)
    assert not glob_match("unary.exp[f]", "unary.expf")


def test_found_through_the_info_module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "tk_plugin").mkdir()
    (tmp_path / "tk_plugin" / "__init__.py").write_text("raise ImportError('never imported')")
    (tmp_path / "tk_plugin" / "p.toml").write_text("")
    (tmp_path / "tk_info.py").write_text("CONFORMANCE_PROFILE = 'tk_plugin:p.toml'")
    assert find_profile("tk_info", "tk") == tmp_path / "tk_plugin" / "p.toml"
    (tmp_path / "tk_info2.py").write_text("CONFORMANCE_PROFILE = {'tk': 'tk_plugin:q.toml'}")
    with pytest.raises(ProfileError):
        find_profile("tk_info2", "tk")
    assert find_profile("tk_info2", "other") is None
    (tmp_path / "tk_info3").mkdir()
    (tmp_path / "tk_info3" / "__init__.py").write_text("")
    assert find_profile("tk_info3", "tk") is None
    (tmp_path / "tk_info3" / "mytriton-conformance.toml").write_text("")
    assert find_profile("tk_info3", "tk").parent.name == "tk_info3"
    for name in ("tk_info", "tk_info2", "tk_info3"):
        sys.modules.pop(name, None)
