"""The version of core, and what a distribution says about itself, read without importing it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .known import CORE_DIST, normalise_dist


@dataclass(frozen=True)
class Distribution:
    """An installed distribution: what its metadata says."""

    name: str
    version: str
    #: ``Requires-Dist`` lines about core.
    core_requirements: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def core_version() -> str:
    """The version of mytriton-core that is running."""
    from importlib import metadata

    try:
        return metadata.version(CORE_DIST)
    except metadata.PackageNotFoundError:
        import mytriton

        return str(getattr(mytriton, "__version__", "0.1.0"))


def describe(dist: Any) -> Distribution:
    """Name, version and requirements of an ``importlib.metadata.Distribution``.

    Reads the headers itself: parsing the whole file as an e-mail costs ten times as much, and
    listing a hundred backends must not be felt.
    """
    text = dist.read_text("METADATA") or dist.read_text("PKG-INFO") or ""
    name = version = ""
    requirements = []
    for line in text.splitlines():
        if not line:
            break
        key, _, value = line.partition(":")
        if key == "Name":
            name = value.strip()
        elif key == "Version":
            version = value.strip()
        elif key == "Requires-Dist" and _is_about_core(value):
            requirements.append(value.strip())
    return Distribution(name or str(dist.name), version or "?", tuple(requirements))


def _is_about_core(requirement: str) -> bool:
    head = requirement.strip()[: len(CORE_DIST)]
    return len(head) == len(CORE_DIST) and normalise_dist(head) == CORE_DIST


def unmet_requirement(dist: Distribution) -> str:
    """The requirement on core that the running version does not meet, or ``""``."""
    running = core_version()
    doubtful = [text for text in dist.core_requirements if not _plainly_met(text, running)]
    if not doubtful:
        return ""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in doubtful:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if normalise_dist(requirement.name) != CORE_DIST:
            continue
        marker = requirement.marker
        if marker is not None and not marker.evaluate({"extra": ""}):
            continue
        if not requirement.specifier.contains(running, prereleases=True):
            return ",".join(sorted(map(str, requirement.specifier), reverse=True))
    return ""


_PLAIN = re.compile(r"[A-Za-z0-9._-]+\s*\(?\s*((?:(?:>=|<)\s*\d+(?:\.\d+)*\s*,?\s*)*)\)?\s*\Z")
_BOUND = re.compile(r"(>=|<)\s*(\d+(?:\.\d+)*)")
_FINAL = re.compile(r"\d+(?:\.\d+)*\Z")


def _plainly_met(requirement: str, running: str) -> bool:
    """Whether a requirement of the usual form (``>=0.3,<0.4``, no marker) is met by a final
    version. Spares importing packaging, which takes longer than reading a hundred distributions."""
    match = _PLAIN.match(requirement)
    if match is None or not _FINAL.match(running):
        return False
    have = _numbers(running)
    for operator, bound in _BOUND.findall(match[1]):
        want = _numbers(bound)
        size = max(len(have), len(want))
        left, right = (v + (0,) * (size - len(v)) for v in (have, want))
        if (left >= right) is not (operator == ">="):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
