"""Lets `python -m pytest` at the root work with any subset of the packages installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent


def _import_name(package: Path) -> str:
    return package.name.replace("-core", "").replace("-", "_")


MISSING = [
    package
    for package in sorted((ROOT / "packages").iterdir())
    if (package / "pyproject.toml").is_file()
    and importlib.util.find_spec(_import_name(package)) is None
]
collect_ignore = [str(package.relative_to(ROOT)) for package in MISSING]


def pytest_report_header() -> list[str]:
    return [f"NOT collected: {p.relative_to(ROOT)}/tests ({p.name} not installed)" for p in MISSING]
