"""The engine: settings in, results out, a report at the end. Front ends call ``Run``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mytriton.plugin_api import all_ops

from ..case import EDITIONS, LEVELS, Case
from .errors import SuiteError, UsageError, closest
from .job import Job, Setup
from .oracle import LaunchOf, Oracle, arguments_of, core_needs_of
from .partners import partners_of
from .pool import JobResult, Pool
from .profile import check_profile, glob_match
from .report import CaseResult, Report, feature_rows
from .scoring import observe
from .target import Target, choose_stage, find_target, load_cases
from .verdicts import Declared, Observation, Outcome, Verdict, judge
from .versions import versions_of


@dataclass(frozen=True)
class Settings:
    """What a run is asked for. Empty texts mean: as the profile says, else the default."""

    backend: str
    level: str = ""
    stage: str = ""
    edition: str = ""
    profile: str = ""
    #: Patterns or parts of case ids.
    select: tuple[str, ...] = ()
    workers: int = 0
    timeout: float = 30.0
    in_process: bool = False
    lenient: bool = False
    #: Module of a backend that is not installed.
    plugin: str = ""
    case_modules: tuple[str, ...] = ()
    #: Once per case more, on the warm cache, with other arguments.
    again: bool = True
    allow_interpreter: bool = False


class Run:
    """One backend and the cases it has to answer. Use as a context manager."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.started = time.perf_counter()
        self.target: Target = find_target(
            settings.backend, plugin=settings.plugin, profile=settings.profile
        )
        profile = self.target.profile
        self.edition = _one_of("edition", settings.edition or profile.edition, EDITIONS, -1)
        self.level = _one_of("level", settings.level or profile.level, LEVELS, 1)
        self.stage = choose_stage(self.target, settings.stage)
        self.all_cases = load_cases(settings.case_modules)
        levels = LEVELS[: LEVELS.index(self.level) + 1]
        chosen = [c for c in self.all_cases if c.level in levels]
        self.cases = [c for c in chosen if _selected(c, settings.select)]
        self.partial = len(self.cases) < len(chosen)
        if settings.select and not self.cases:
            near = closest(settings.select[0], [c.id for c in chosen])
            raise UsageError(f"no case matches {' '.join(settings.select)}{near}")
        self._by_id = {c.id: c for c in self.all_cases}
        self.oracle = Oracle(self.all_cases)
        self.suite_errors: list[str] = []
        self.needs: dict[str, frozenset[str]] = {}
        self._core: dict[str, frozenset[str]] = {}
        if profile.known_bugs or profile.tolerance:
            every = {}
            if profile.tolerance:  # Only then do features matter, and finding them is not free.
                every = {c.id: self.needs.get(c.id) or self._needs(c)[1] for c in chosen}
            current = [c for c in chosen if not self._newer(c)]
            check_profile(profile, current, every)
        self._partners = partners_of(self.cases) if settings.again else {}
        self._pool: Pool | None = None
        self.results: dict[str, CaseResult] = {}

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    # ------------------------------------------------------------------ before

    def _needs(self, case: Case) -> tuple[frozenset[str], frozenset[str]]:
        compiled = self.oracle.compiled(case)
        core = core_needs_of(case, compiled, arguments_of(case, 0))
        return core, core | case.features

    def _look_at(self, case: Case) -> None:
        """Find what a case needs, once; a case that does not compile needs nothing."""
        if case.id in self.needs:
            return
        try:
            self._core[case.id], self.needs[case.id] = self._needs(case)
        except Exception as e:
            self._core[case.id] = self.needs[case.id] = frozenset()
            self.suite_errors.append(f"{case.id} does not compile: {type(e).__name__}: {e}")

    def _newer(self, case: Case) -> bool:
        return EDITIONS.index(case.edition) > EDITIONS.index(self.edition)

    def declared(self, case: Case) -> Declared:
        """What the backend's table says about a case."""
        self._look_at(case)
        return self.target.declared(self.needs[case.id], self._core[case.id])

    def setup(self) -> Setup:
        """What workers are told."""
        poison = self.target.name != "interpreter" and not self.settings.allow_interpreter
        return Setup(
            self.target.name, self.settings.plugin, self.settings.case_modules, self.stage,
            poison, tuple(sys.path),
        )  # fmt: skip

    def job(self, case: Case) -> Job:
        """The launches of a case."""
        launches = [LaunchOf(case.id)]
        if case.id in self._partners and self.stage in ("emulated", "execute"):
            launches.append(LaunchOf(self._partners[case.id], seed=1, fence=True))
        return Job(tuple(launches), force=self.declared(case) is Declared.GAP)

    # ------------------------------------------------------------------ running

    def workers(self) -> int:
        """Processes to use: the parent computes the references meanwhile."""
        return self.settings.workers or max(1, min(4, (os.cpu_count() or 1) - 1))

    def pool(self) -> Pool:
        """The workers, started at first use."""
        if self._pool is None:
            self._pool = Pool(self.setup(), self.workers(), self.settings.timeout)
        return self._pool

    def results_of(self, cases: Sequence[Case]) -> Iterator[CaseResult]:
        """Run cases, several at a time; results as they come."""
        if self.settings.in_process:
            for case in cases:
                yield self.one(case)
            return
        by_id = {case.id: case for case in cases}
        clock = time.perf_counter()
        for result in self.pool().stream(map(self.job, cases)):
            now = time.perf_counter()
            yield self._finish(by_id[result.job.launches[0].case], result, now - clock)
            clock = now
        self._check_identity()

    def one(self, case: Case) -> CaseResult:
        """Run one case, in a worker or (for debugging) here."""
        started = time.perf_counter()
        if self.settings.in_process:
            from .inprocess import run_here

            result = run_here(self.setup(), self._by_id, self.job(case))
        else:
            result = self.pool().run(self.job(case))
            self._check_identity()
        return self._finish(case, result, time.perf_counter() - started)

    def _check_identity(self) -> None:
        seen = self.pool().identity
        mine = (self.target.dist, self.target.version)
        if seen not in (("", ""), mine):
            text = f"workers test {' '.join(seen)}, not {' '.join(mine)}"
            if text not in self.suite_errors:
                self.suite_errors.append(text)

    def _finish(self, case: Case, result: JobResult, seconds: float) -> CaseResult:
        row = self.results[case.id] = self.judge(case, result, seconds)
        return row

    def judge(self, case: Case, result: JobResult, seconds: float = 0.0) -> CaseResult:
        """The row of the report for what came back."""
        profile = self.target.profile
        for launch in result.job.launches:
            self._look_at(self._by_id[launch.case])
        declared = self.declared(case)
        needs, bug = self.needs[case.id], profile.bug_of(case)
        try:
            seen = observe(self.oracle, self._by_id, result, profile.ulp, self.stage, self.needs)
        except SuiteError as e:
            self.suite_errors.append(str(e))
            seen = Observation(Outcome.ERROR, str(e), "SuiteError")
        if declared is Declared.YES and self._limited(seen):
            declared = Declared.GAP
        verdict = judge(declared, seen, bug, self._newer(case))
        gap = "; ".join(self.target.reasons(needs))
        if verdict is Verdict.UNDECLARED:
            seen.message = self._undeclared(case)
        row = CaseResult(
            case.id, case.edition, case.level, tuple(sorted(needs)), declared.value, verdict,
            "abandoned" if result.end == "abandoned" else seen.outcome.value, seen.message,
            bug.reason if bug else gap, bug.issue if bug else "", seen.max_ulp, seen.max_abs,
            seconds, seen.detail,
        )  # fmt: skip
        return row

    def _undeclared(self, case: Case) -> str:
        """Which features the table says nothing about, and which of its own may mean them."""
        table = self.target.capabilities
        names = [f for f in sorted(self._core[case.id]) if self.target.capability(f) is None]
        known = {op.feature_id for op in all_ops()}.union(*self._core.values())
        near = [closest(name, [f for f in table if f not in known], 0.8) for name in names]
        listed = ", ".join(map("".join, zip(names, near, strict=True)))
        return f"the capability table says nothing about {listed}; say yes, planned or no"

    def _limited(self, seen: Observation) -> bool:
        """Whether it declined because of something the table cannot say for a whole feature: a
        limit, or a gap that is declared and that only the backend sees."""
        if seen.outcome is not Outcome.DECLINED or not seen.missing:
            return False
        states = (self.target.capability(f) for f in seen.missing - _limits(seen.missing))
        return all(c is not None and c.state != "yes" for c in states)

    # ------------------------------------------------------------------ after

    def report(self) -> Report:
        """The report on the results so far."""
        order = {case.id: n for n, case in enumerate(self.cases)}
        rows = sorted(self.results.values(), key=lambda r: order[r.id])
        target = self.target
        core = [
            self._core[c.id]
            for c in self.cases
            if c.id in self._core and c.level == "core" and not self._newer(c)
        ]
        report = Report(
            target.name, target.dist, target.version, self.edition, self.level, self.stage, rows,
            feature_rows(rows, self._states()), versions_of(target), _devices(target),
            target.hook_api, {"path": target.profile.path, "digest": target.profile.digest},
            tuple(sorted(frozenset().union(*core))),
        )  # fmt: skip
        report.partial = self.partial or len(rows) < len(self.cases)
        report.lenient = self.settings.lenient
        report.suite_errors = list(dict.fromkeys(self.suite_errors))
        report.seconds = time.perf_counter() - self.started
        return report

    def _states(self) -> Iterator[tuple[str, str, str, str]]:
        core = frozenset().union(*self._core.values()) if self._core else frozenset()
        every = frozenset().union(*self.needs.values()) if self.needs else frozenset()
        for name in sorted(every):
            c = self.target.capability(name)
            if c is None:
                yield name, "undeclared" if name in core else "implied", "", ""
            else:
                yield name, c.state, c.reason, c.issue


def _limits(missing: frozenset[str]) -> frozenset[str]:
    return frozenset(f for f in missing if f.startswith("limit."))


def _devices(target: Target) -> list[dict[str, Any]]:
    return [{"kind": d.kind, "name": d.name, "arch": d.arch} for d in target.devices]


def _one_of(what: str, value: str, known: Sequence[str], default: int) -> str:
    if not value:
        return known[default]
    if value not in known:
        raise UsageError(
            f"no {what} is called {value!r}{closest(value, known)}; {', '.join(known)}"
        )
    return value


def _selected(case: Case, select: Sequence[str]) -> bool:
    if not select:
        return True
    names = (case.id, *case.aliases)
    return any(glob_match(pattern, name) or pattern in name for pattern in select for name in names)


def run(settings: Settings, progress: Callable[[CaseResult, int], None] | None = None) -> Report:
    """Run everything the settings ask for."""
    with Run(settings) as engine:
        for row in engine.results_of(engine.cases):
            if progress is not None:
                progress(row, len(engine.cases))
        return engine.report()
