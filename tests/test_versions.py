"""One version for all packages, and one statement of every tool's version."""

from __future__ import annotations

import configparser
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import mytriton

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10; pytest brings it there
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.parent for path in (ROOT / "packages").glob("*/pyproject.toml"))


def toml(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def by_name(requirements: list[Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for text in requirements:
        if isinstance(text, str):
            requirement = Requirement(text)
            found.setdefault(requirement.name.lower(), set()).add(str(requirement.specifier))
    return found


def test_the_packages_are_found() -> None:
    assert {"mytriton-core", "mytriton-testkit"} <= {package.name for package in PACKAGES}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_distribution_is_named_like_its_folder_and_has_the_one_version(package: Path) -> None:
    project = toml(package)["project"]
    assert project["name"] == package.name
    assert project["version"] == mytriton.__version__


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_source_states_the_one_version(package: Path) -> None:
    module = package.name.replace("-core", "").replace("-", "_")
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in (package / "src" / module).glob("*.py")
    )
    assert set(re.findall(r'^__version__\s*(?::[^=]+)?=\s*"([^"]+)"', text, re.M)) == {
        mytriton.__version__
    }


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_installed_version_is_the_one_in_the_tree(package: Path) -> None:
    try:
        installed = version(package.name)
    except PackageNotFoundError:
        if package.name == "mytriton-core":
            raise
        pytest.skip(f"{package.name} is not installed in this environment")
    assert installed == mytriton.__version__


def test_tox_and_changelog_know_the_version() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    assert tox["mytriton"]["version"] == mytriton.__version__
    assert f"\n## [{mytriton.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "package", [p for p in PACKAGES if p.name != "mytriton-core"], ids=lambda package: package.name
)
def test_packages_ask_for_this_minor_version_of_core(package: Path) -> None:
    (specifier,) = by_name(toml(package)["project"]["dependencies"])["mytriton-core"]
    major, minor = Version(mytriton.__version__).release[:2]
    assert set(specifier.split(",")) == {f">={major}.{minor}", f"<{major}.{minor + 1}"}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_metadata_is_complete(package: Path) -> None:
    project = toml(package)["project"]
    assert project["requires-python"] == ">=3.10"
    assert project["license"] == "MIT"
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (package / project["readme"]).is_file()
    for minor in (10, 11, 12, 13):
        assert f"Programming Language :: Python :: 3.{minor}" in project["classifiers"]
    assert "Typing :: Typed" in project["classifiers"]
    assert {"Homepage", "Source", "Issues", "Changelog"} <= set(project["urls"])
    assert list(package.glob("src/*/py.typed"))


def test_readme_of_core_explains_each_dependency() -> None:
    core = ROOT / "packages" / "mytriton-core"
    text = (core / "README.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `([\w-]+)` \|", text, re.M))
    assert explained == set(by_name(toml(core)["project"]["dependencies"]))


def test_dev_extra_and_dependency_groups_agree() -> None:
    groups = toml(ROOT)["dependency-groups"]
    stated: dict[str, set[str]] = {}
    for group in ("lint", "types", "cov", "dev"):
        for name, specifiers in by_name(groups[group]).items():
            if name not in ("numpy", "tomli"):  # in `types` only, for their stubs
                stated.setdefault(name, set()).update(specifiers)
    extras = toml(ROOT / "packages" / "mytriton-core")["project"]["optional-dependencies"]
    dev = by_name(extras["dev"])
    del dev["mytriton-core"]
    assert dev == stated


def test_oldest_constraints_are_the_lower_bounds() -> None:
    pinned = {
        requirement.name: str(requirement.specifier).removeprefix("==")
        for line in (ROOT / "constraints" / "oldest.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
        for requirement in [Requirement(line)]
    }
    bounds = {
        requirement.name: specifier.version
        for text in toml(ROOT / "packages" / "mytriton-core")["project"]["dependencies"]
        for requirement in [Requirement(text)]
        if requirement.marker is None or requirement.marker.evaluate({"python_version": "3.10"})
        for specifier in requirement.specifier
        if specifier.operator == ">="
    }
    assert {name: Version(text) for name, text in pinned.items()} == {
        name: Version(text) for name, text in bounds.items()
    }
