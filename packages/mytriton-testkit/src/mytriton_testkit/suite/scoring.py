"""From what a worker saw to an outcome: comparison with the reference, clean or unclean declines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..case import Case
from .compare import compare
from .job import LaunchRecord
from .oracle import Oracle
from .pool import JobResult
from .verdicts import Observation, Outcome


def observe(
    oracle: Oracle,
    cases: Mapping[str, Case],
    result: JobResult,
    bound: Callable[[Case, Any], float],
    stage: str,
    needs: Mapping[str, frozenset[str]],
) -> Observation:
    """What happened, launch by launch; the first that is not right decides.

    Raises ``SuiteError`` when the reference itself is in doubt.
    """
    if result.end == "timeout":
        return Observation(Outcome.TIMEOUT, result.message, detail=result.detail)
    if result.end == "abandoned":
        return Observation(Outcome.ERROR, result.message, "NotRun")
    if result.end:
        return Observation(Outcome.CRASH, result.message, detail=result.detail)
    total = Observation(Outcome.RIGHT)
    for number, record in enumerate(result.records):
        seen = _observe_launch(oracle, cases, record, bound, stage, needs)
        total.max_ulp = max(total.max_ulp, seen.max_ulp)
        total.max_abs = max(total.max_abs, seen.max_abs)
        if seen.outcome is not Outcome.RIGHT:
            if number:
                other = record.launch
                what = "other values" if other.case == cases_first(result) else other.case
                seen.message = f"second launch, warm cache, with {what}: {seen.message}"
            return seen
    return total


def cases_first(result: JobResult) -> str:
    """The case of the first launch."""
    return str(result.job.launches[0].case)


def _observe_launch(
    oracle: Oracle,
    cases: Mapping[str, Case],
    record: LaunchRecord,
    bound: Callable[[Case, Any], float],
    stage: str,
    needs: Mapping[str, frozenset[str]],
) -> Observation:
    if record.kind == "declined":
        if not record.missing:
            text = f"declined without naming a feature: {record.message}"
            return Observation(Outcome.ERROR, text, "Decline")
        return Observation(Outcome.DECLINED, record.message, missing=record.missing)
    if record.kind == "error":
        return Observation(Outcome.ERROR, record.message, record.error, detail=record.detail)
    if stage in ("emit", "compile"):
        return Observation(Outcome.RIGHT)
    case = cases[record.launch.case]
    reference = oracle.reference(record.launch)
    seen = Observation(Outcome.RIGHT)
    problems = list(record.damage)
    for name in reference.inputs:
        if name in record.changed:
            problems.append(f"stored to {name}, which the kernel only reads")
    ulp = bound(case, needs.get(case.id, frozenset()))
    for name, expected in reference.expected.items():
        got = record.changed.get(name)
        if got is None:
            got = oracle.before(record.launch)[name]
        slack = reference.slack.get(name, 0.0)
        found = compare(name, got, expected, reference.oracle[name], ulp=ulp, slack=slack)
        seen.max_ulp = max(seen.max_ulp, found.max_ulp)
        seen.max_abs = max(seen.max_abs, found.max_abs)
        if found.message:
            problems.append(found.message)
    if problems:
        seen.outcome = Outcome.WRONG
        seen.message = "; ".join(problems)
        if record.forced:
            seen.message = f"asked past its table, {seen.message}"
    return seen
