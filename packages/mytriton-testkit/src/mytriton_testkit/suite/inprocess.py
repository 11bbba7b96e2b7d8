"""One case in this process, for a debugger: no isolation, everything else the same."""

from __future__ import annotations

import pdb
import tempfile
from collections.abc import Mapping

from ..case import Case
from .job import Job, Last, Setup, clean_environment, perform
from .pool import JobResult
from .report import CaseResult


def run_here(setup: Setup, cases: Mapping[str, Case], job: Job) -> JobResult:
    """Like ``Pool.run``; a crash is a crash of this process."""
    with (
        tempfile.TemporaryDirectory(prefix="mytriton-conformance-") as cache,
        clean_environment(setup.stage, cache),
    ):
        return JobResult(job, None, perform(setup, cases, job, lambda phase: None))


def debug(row: CaseResult) -> None:
    """Stop at what went wrong in the case that was just run here."""
    print(f"{row.verdict} {row.id}: {row.message}\n{row.detail}")
    if Last.error is not None and row.outcome == "error":
        pdb.post_mortem(Last.error.__traceback__)
    else:
        breakpoint()
