"""The profile of a backend: suite edition, level, known bugs, tolerances.

It is a TOML file that the plugin ships as package data. The backend's info module names it,
``CONFORMANCE_PROFILE = "acme_foo:mytriton-conformance.toml"`` (package and file in it); without
that, a file ``mytriton-conformance.toml`` in the info module's own package is taken.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..case import EDITIONS, LEVELS, Case
from .errors import ProfileError, UsageError, closest
from .verdicts import KnownBug

FILE = "mytriton-conformance.toml"
STAGES = ("emit", "compile", "emulated", "execute")
_OUTCOME = re.compile(r"mismatch|crash|timeout|error:[A-Za-z_]\w*")


@dataclass(frozen=True)
class Profile:
    """Empty values mean the default: newest edition, level ``standard``, highest stage."""

    path: str = ""
    digest: str = ""
    edition: str = ""
    level: str = ""
    stage: str = ""
    known_bugs: tuple[KnownBug, ...] = ()
    #: Feature id -> ulp.
    tolerance: Mapping[str, float] = field(default_factory=dict)

    def bug_of(self, case: Case) -> KnownBug | None:
        """The known bug that covers a case, by its id or a former one."""
        for bug in self.known_bugs:
            if any(glob_match(bug.case, name) for name in (case.id, *case.aliases)):
                return bug
        return None

    def ulp(self, case: Case, needs: Iterable[str]) -> float:
        """The bound for a case, widened as the profile says and never beyond its ceiling."""
        wanted = max((self.tolerance.get(f, 0.0) for f in needs), default=0.0)
        return max(case.tolerance.ulp, min(wanted, case.tolerance.ceiling))


def glob_match(pattern: str, name: str) -> bool:
    """``*`` and ``?`` only: the brackets of case ids mean themselves."""
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), name) is not None


def load_profile(path: str | Path) -> Profile:
    """Read and check the form of a profile. Raises ``ProfileError``, ``UsageError``."""
    try:
        data = Path(path).read_bytes()
    except OSError as e:
        raise UsageError(f"cannot read the profile {path}: {e.strerror}") from e
    try:
        table = _toml(data.decode("utf-8"))
    except ValueError as e:
        raise ProfileError(str(path), [f"not TOML: {e}"]) from e
    return _parse(str(path), table, hashlib.sha256(data).hexdigest()[:16])


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _parse(path: str, table: dict[str, Any], digest: str) -> Profile:
    problems: list[str] = []
    _unknown(problems, "", table, ("suite", "known_bug", "tolerance"))
    suite = table.get("suite", {})
    _unknown(problems, "[suite]", suite, ("edition", "level", "stage"))
    for key, allowed in (("edition", EDITIONS), ("level", LEVELS), ("stage", STAGES)):
        if key in suite and suite[key] not in allowed:
            near = closest(str(suite[key]), allowed)
            problems.append(f"[suite] {key} = {suite[key]!r} is none of {', '.join(allowed)}{near}")
    bugs = [_bug(problems, n, entry) for n, entry in enumerate(table.get("known_bug", ()), 1)]
    tolerance: dict[str, float] = {}
    for feature, entry in table.get("tolerance", {}).items():
        if not isinstance(entry, dict) or not isinstance(entry.get("ulp"), (int, float)):
            problems.append(f'[tolerance] "{feature}" needs {{ ulp = NUMBER }}')
            continue
        _unknown(problems, f'[tolerance] "{feature}"', entry, ("ulp",))
        tolerance[feature] = float(entry["ulp"])
    if problems:
        raise ProfileError(path, problems)
    return Profile(
        path, digest, suite.get("edition", ""), suite.get("level", ""), suite.get("stage", ""),
        tuple(b for b in bugs if b is not None), tolerance,
    )  # fmt: skip


def _unknown(problems: list[str], where: str, table: Any, known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            problems.append(f"{where} unknown key {key!r}{closest(key, known)}".strip())


def _bug(problems: list[str], number: int, entry: dict[str, Any]) -> KnownBug | None:
    where = f"[[known_bug]] {number} ({entry.get('case', 'no case')})"
    _unknown(problems, where, entry, ("case", "outcome", "reason", "issue"))
    missing = [key for key in ("case", "outcome", "reason") if not entry.get(key)]
    if missing:
        problems.append(f"{where} has no {' and no '.join(missing)}")
        return None
    if not _OUTCOME.fullmatch(entry["outcome"]):
        problems.append(
            f"{where} outcome {entry['outcome']!r} is none of"
            " mismatch, error:TypeName, crash, timeout"
        )
        return None
    return KnownBug(entry["case"], entry["outcome"], entry["reason"], entry.get("issue", ""))


def check_profile(
    profile: Profile, cases: Sequence[Case], needs: Mapping[str, frozenset[str]]
) -> None:
    """Every entry must mean something for the cases of the edition. Raises ``ProfileError``."""
    problems = []
    names = [name for case in cases for name in (case.id, *case.aliases)]
    for bug in profile.known_bugs:
        if not any(glob_match(bug.case, name) for name in names):
            problems.append(f"[[known_bug]] {bug.case!r} matches no case{closest(bug.case, names)}")
    features = frozenset().union(*needs.values()) if needs else frozenset()
    for feature, ulp in profile.tolerance.items():
        ceilings = [c.tolerance.ceiling for c in cases if feature in needs.get(c.id, ())]
        if feature not in features:
            problems.append(f'[tolerance] "{feature}" is no feature{closest(feature, features)}')
        elif ulp > max(ceilings):
            problems.append(
                f'[tolerance] "{feature}": {ulp:g} ulp is above the ceiling, {max(ceilings):g}'
            )
    if problems:
        raise ProfileError(profile.path, problems)


def find_profile(info_module: str, backend: str) -> Path | None:
    """The profile an info module (or the plugin module of a registered backend) points to.

    Imports the info module, which is data, and no other. Raises ``ProfileError`` when it points
    nowhere.
    """
    module = sys.modules.get(info_module) or importlib.import_module(info_module)
    named = getattr(module, "CONFORMANCE_PROFILE", None)
    if isinstance(named, Mapping):
        named = named.get(backend)
    if named is not None:
        package, _, file = str(named).rpartition(":")
        found = _inside(package, file) if package else None
        if found is None or not found.is_file():
            raise ProfileError(
                info_module,
                [f"CONFORMANCE_PROFILE = {named!r} names no 'package:file' that exists"],
            )
        return found
    folders = getattr(module, "__path__", None)
    if folders:
        for folder in folders:
            if (Path(folder) / FILE).is_file():
                return Path(folder) / FILE
    return None


def _inside(package: str, file: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in folders:
        if (Path(folder) / file).is_file():
            return Path(folder) / file
    return None
