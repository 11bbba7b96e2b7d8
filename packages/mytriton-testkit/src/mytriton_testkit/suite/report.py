"""The result of a run: per case, per feature, in total; certified or why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .verdicts import DECLARATION, GOOD, Verdict

SCHEMA = "mytriton.conformance/1"
MESSAGE = 2000


@dataclass
class CaseResult:
    """One row of the report."""

    id: str
    edition: str
    level: str
    features: tuple[str, ...]
    declared: str
    verdict: Verdict
    outcome: str
    message: str = ""
    reason: str = ""
    issue: str = ""
    max_ulp: float = 0.0
    max_abs: float = 0.0
    seconds: float = 0.0
    detail: str = field(default="", repr=False)

    @property
    def good(self) -> bool:
        return self.verdict in GOOD

    def as_dict(self, backend: str) -> dict[str, Any]:
        data = asdict(self)
        data["verdict"] = self.verdict.value
        data["features"] = list(self.features)
        data["message"] = self.message[:MESSAGE]
        for name in ("max_ulp", "max_abs"):
            if not abs(data[name]) < float("inf"):
                data[name] = None
        data["seconds"] = round(self.seconds, 4)
        del data["detail"]
        if not self.good:
            data["repro"] = f"mytriton-conformance {backend} --in-process -k '{self.id}'"
            data["detail"] = self.detail[-MESSAGE:]
        return data


@dataclass
class FeatureRow:
    """What is known about one feature."""

    declared: str
    cases: int = 0
    passed: int = 0
    reason: str = ""
    issue: str = ""


@dataclass
class Report:
    """Everything about one run."""

    backend: str
    dist: str
    version: str
    edition: str
    level: str
    stage: str
    cases: list[CaseResult] = field(default_factory=list)
    features: dict[str, FeatureRow] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    devices: list[dict[str, Any]] = field(default_factory=list)
    hook_api: tuple[int, int] = (0, 0)
    profile: dict[str, str] = field(default_factory=dict)
    #: Core features (all cases of level ``core`` need them), for the rule about the level.
    core_features: tuple[str, ...] = ()
    #: ``-k`` was given, or a debugging mode: such a run certifies nothing.
    partial: bool = False
    lenient: bool = False
    suite_errors: list[str] = field(default_factory=list)
    fuzz: dict[str, Any] | None = None
    seconds: float = 0.0

    @property
    def totals(self) -> dict[str, int]:
        """Number of cases per verdict, verdicts that do not occur left out."""
        found = Counter(c.verdict.value for c in self.cases)
        return {v.value: found[v.value] for v in Verdict if found[v.value]}

    @property
    def executed(self) -> int:
        """Cases the backend really took part in."""
        return sum(c.outcome not in ("", "abandoned") for c in self.cases)

    def failures(self) -> list[CaseResult]:
        """The rows that fail the run."""
        tolerated = DECLARATION if self.lenient else frozenset()
        return [c for c in self.cases if not c.good and c.verdict not in tolerated]

    def level_problems(self) -> list[str]:
        """Core features that are not declared, or that no case of level ``core`` shows to work."""
        wrong: dict[str, list[str]] = {}
        core = [c for c in self.cases if c.level == "core" and c.verdict is not Verdict.NEW]
        for feature in self.core_features:
            row = self.features.get(feature)
            state = row.declared if row is not None else "undeclared"
            needing = [c for c in core if feature in c.features]
            if state not in ("yes", "implied"):
                wrong.setdefault(state, []).append(feature)
            elif not any(c.verdict in (Verdict.PASS, Verdict.XFAIL) for c in needing):
                wrong.setdefault("without a case that passes", []).append(feature)
        return [f"core features {what}: {', '.join(names)}" for what, names in wrong.items()]

    def why_not(self) -> list[str]:
        """Reasons why the backend is not certified; empty when it is."""
        reasons = [f"SUITE: {text}" for text in self.suite_errors]
        if not self.executed:
            reasons.append("EMPTY: no case was executed")
        bad = Counter(c.verdict.value for c in self.cases if not c.good)
        reasons += [f"{verdict}: {count} case(s)" for verdict, count in sorted(bad.items())]
        reasons += [f"LEVEL: {text}" for text in self.level_problems() if not self.partial]
        if self.fuzz and self.fuzz.get("failures"):
            reasons.append(f"FUZZ: {len(self.fuzz['failures'])} program(s)")
        if self.partial:
            reasons.append("PARTIAL: not every case was selected")
        return reasons

    @property
    def certified(self) -> bool:
        return not self.why_not()

    @property
    def exit_code(self) -> int:
        """0 certified (or a selection of cases that is right), 1 verdicts, 2 declarations only,
        3 nothing executed, 5 the suite is wrong."""
        if self.suite_errors:
            return 5
        if not self.executed:
            return 3
        failures = self.failures()
        if any(c.verdict not in DECLARATION for c in failures):
            return 1
        if self.fuzz and self.fuzz.get("failures"):
            return 1
        if not self.partial and self.level_problems():
            # What is undeclared may be all that is missing.
            only = all(c.verdict in DECLARATION for c in failures) and bool(failures)
            undeclared = all("undeclared" in text for text in self.level_problems())
            return 2 if only and undeclared else 1
        return 2 if failures else 0

    def as_dict(self) -> dict[str, Any]:
        """The JSON form, schema ``mytriton.conformance/1``."""
        return {
            "schema": SCHEMA,
            "certified": self.certified,
            "why_not": self.why_not(),
            "exit_code": self.exit_code,
            "backend": {
                "name": self.backend, "dist": self.dist, "version": self.version,
                "hook_api": list(self.hook_api), "devices": self.devices,
            },
            "edition": self.edition,
            "level": self.level,
            "stage": self.stage,
            "partial": self.partial,
            "profile": self.profile,
            "versions": self.versions,
            "totals": self.totals,
            "executed": self.executed,
            "seconds": round(self.seconds, 3),
            "cases": [c.as_dict(self.backend) for c in self.cases],
            "features": {name: asdict(row) for name, row in sorted(self.features.items())},
            "fuzz": self.fuzz,
            "suite_errors": self.suite_errors,
        }  # fmt: skip


def feature_rows(
    cases: Sequence[CaseResult], states: Iterable[tuple[str, str, str, str]]
) -> dict[str, FeatureRow]:
    """Rows from ``(feature, declared, reason, issue)`` and the results."""
    rows = {
        name: FeatureRow(declared, 0, 0, reason, issue) for name, declared, reason, issue in states
    }
    for name, case in _pairs(cases):
        row = rows.setdefault(name, FeatureRow("undeclared"))
        row.cases += 1
        row.passed += case.verdict in (Verdict.PASS, Verdict.XPASS)
    return rows


def _pairs(cases: Sequence[CaseResult]) -> Iterator[tuple[str, CaseResult]]:
    for case in cases:
        for name in case.features:
            yield name, case
