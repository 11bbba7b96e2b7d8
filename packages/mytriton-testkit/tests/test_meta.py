"""Backends that are right or wrong in known ways get the verdicts they deserve."""

from __future__ import annotations

import time

import pytest

from mytriton_testkit import check_backend
from mytriton_testkit.meta import BACKENDS
from mytriton_testkit.suite.errors import NotAvailableError, UsageError

#: A few of each kind.
FEW = ("binary.add[f32", "binary.mul[i32", "unary.neg[f32", "mask.block_and_scalar")


def check(name, select=FEW, **options):
    return check_backend(name, plugin=BACKENDS[name], select=select, **options)


def verdicts(report):
    return set(report.totals)


def test_loopback_is_green():
    report = check("loopback", select=(), level="core", allow_interpreter=True)
    assert report.certified, report.why_not()
    assert report.exit_code == 0
    assert report.executed == len(report.cases) > 100


def test_loopback_is_caught_by_the_guard():
    report = check("loopback")
    assert verdicts(report) == {"ERROR"}
    assert "FallbackError" in report.cases[0].message


def test_null_declines():
    report = check("null")
    assert verdicts(report) == {"DECLINED"}
    assert report.exit_code == 0, "a selection is right, though nothing is certified"
    assert not report.certified
    whole = check("null", select=(), level="core")
    assert whole.exit_code == 1
    assert [r for r in whole.why_not() if r.startswith("LEVEL: core features planned: ")]


def test_liar_fails():
    report = check("liar")
    assert report.exit_code == 1
    assert "FAIL" in verdicts(report)
    assert report.totals["FAIL"] > 0.9 * len(report.cases)
    assert verdicts(report) <= {"FAIL", "PASS"}


def test_fallbacker_is_caught():
    report = check("fallbacker")
    assert (verdicts(report), report.exit_code) == ({"ERROR"}, 1)
    assert all("FallbackError" in c.message for c in report.cases)


def test_crasher_crashes_and_the_run_goes_on():
    report = check("crasher", select=("binary.add[f32,block=128,n=12",))
    assert (verdicts(report), report.exit_code) == ({"CRASH"}, 1)
    assert "SIGSEGV" in report.cases[0].message
    assert "Fatal Python error" in report.cases[0].detail
    assert len(report.cases) > 1


def test_hanger_times_out():
    started = time.perf_counter()
    report = check("hanger", select=("binary.add[f32,block=128,n=300",), timeout=1.0)
    assert (verdicts(report), report.exit_code) == ({"TIMEOUT"}, 1)
    assert time.perf_counter() - started < 240


def test_after_too_many_deaths_the_rest_is_not_run(monkeypatch):
    from mytriton_testkit.suite import pool

    kept = pool.Pool.__init__

    def impatient(self, setup, size, timeout, patience=2):
        kept(self, setup, size, timeout, patience)

    monkeypatch.setattr(pool.Pool, "__init__", impatient)
    report = check("crasher")
    assert report.totals["CRASH"] == 2
    assert report.totals["ERROR"] == len(report.cases) - 2
    assert report.executed == 2


def test_in_process_gives_the_same():
    one, two = check("liar"), check("liar", in_process=True)
    assert [(c.id, c.verdict, c.message) for c in one.cases] == [
        (c.id, c.verdict, c.message) for c in two.cases
    ]


def test_workers_in_parallel():
    report = check_backend("interpreter", select=FEW, workers=3)
    assert verdicts(report) == {"PASS"}


def test_unknown_backend_and_case():
    with pytest.raises(NotAvailableError, match="MT-B01") as e:
        check_backend("interpretre")
    assert e.value.exit_code == 3
    with pytest.raises(UsageError, match="closest: binary.add"):
        check_backend("interpreter", select="binary.addd[f32,block=128,n=1]")
