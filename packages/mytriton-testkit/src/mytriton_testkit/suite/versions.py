"""Versions a report states."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any


def version_of(dist: str) -> str:
    """Version of an installed distribution, or ``""``."""
    try:
        return metadata.version(dist)
    except metadata.PackageNotFoundError:
        return ""


def versions_of(target: Any) -> dict[str, str]:
    """Python, platform, core, testkit, NumPy, and what the backend's distribution requires."""
    found = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "mytriton-core": version_of("mytriton-core"),
        "mytriton-testkit": version_of("mytriton-testkit"),
        "numpy": version_of("numpy"),
    }
    if target.dist:
        found[target.dist] = target.version
        for name in _requirements(target.dist):
            if name not in found and (version := version_of(name)):
                found[name] = version
    return found


def _requirements(dist: str) -> list[str]:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        texts = metadata.requires(dist) or []
    except metadata.PackageNotFoundError:
        return []
    found = []
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            found.append(requirement.name)
    return sorted(found)
