"""Declared x observed -> verdict, the whole table."""

from __future__ import annotations

import pytest

from mytriton_testkit.suite.verdicts import Declared, KnownBug, Observation, Outcome, Verdict, judge

OUTCOMES = ("right", "wrong", "declined", "error", "crash", "timeout")
TABLE = {
    ("yes", None): ("PASS", "FAIL", "OVERCLAIM", "ERROR", "CRASH", "TIMEOUT"),
    ("gap", None): ("UNDERCLAIM", "SILENT-WRONG", "DECLINED", "BAD-DECLINE", "CRASH", "TIMEOUT"),
    ("undeclared", None): ("UNDECLARED",) * 6,
    ("yes", "mismatch"): ("XPASS", "XFAIL", "FAIL", "ERROR", "CRASH", "TIMEOUT"),
    ("yes", "error:ValueError"): ("XPASS", "FAIL", "FAIL", "XFAIL", "CRASH", "TIMEOUT"),
    ("yes", "error:KeyError"): ("XPASS", "FAIL", "FAIL", "ERROR", "CRASH", "TIMEOUT"),
    ("yes", "crash"): ("XPASS", "FAIL", "FAIL", "ERROR", "XFAIL", "TIMEOUT"),
    ("yes", "timeout"): ("XPASS", "FAIL", "FAIL", "ERROR", "CRASH", "XFAIL"),
}


@pytest.mark.parametrize(("declared", "bug"), list(TABLE))
def test_table(declared, bug):
    known = KnownBug("x", bug, "because") if bug else None
    for outcome, expected in zip(OUTCOMES, TABLE[declared, bug], strict=True):
        seen = Observation(Outcome(outcome), error="ValueError")
        assert judge(Declared(declared), seen, known) is Verdict(expected), outcome


def test_new_never_fails():
    for declared in Declared:
        for outcome in Outcome:
            assert judge(declared, Observation(outcome), None, newer=True) is Verdict.NEW
