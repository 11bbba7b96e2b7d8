"""``mytriton-conformance init``: a new backend plugin that installs and is certified as it stands."""

from __future__ import annotations

import keyword
import os
import re
from importlib import resources
from pathlib import Path
from typing import Any

#: File of the template -> path in the project.
FILES = {
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
    "tox.ini.txt": "tox.ini",
    "ci.yml.txt": ".github/workflows/ci.yml",
    "gitignore.txt": ".gitignore",
    "info.py.txt": "src/@PACKAGE@_info.py",
    "package.py.txt": "src/@PACKAGE@/__init__.py",
    "plugin.py.txt": "src/@PACKAGE@/plugin.py",
    "lowering.py.txt": "src/@PACKAGE@/lowering.py",
    "runtime.py.txt": "src/@PACKAGE@/runtime.py",
    "profile.toml.txt": "src/@PACKAGE@/mytriton-conformance.toml",
    "test_conformance.py.txt": "tests/test_conformance.py",
}
_DIST = re.compile(r"[a-z][a-z0-9]*([-_.][a-z0-9]+)*")
_BACKEND = re.compile(r"[a-z][a-z0-9-]*")
_TAKEN = ("interpreter", "auto", "none", "cuda", "mlir", "mlir-cpu")
#: Installing one of these names would replace what the plugin needs.
_OURS = ("mytriton", "mytriton-core", "mytriton-testkit", "mytriton-cuda", "mytriton-mlir")
#: ``mytriton-conformance list`` lists cases.
_COMMANDS = ("list", "merge", "replay", "init")


def names_of(dist: str, backend: str = "") -> dict[str, str]:
    """What the placeholders stand for. Raises ``UsageError`` for names that cannot be."""
    from ..suite.errors import UsageError
    from ..suite.versions import version_of

    if not _DIST.fullmatch(dist):
        raise UsageError(f"{dist!r} is no name for a distribution; one like acme-foo is")
    backend = backend or re.split(r"[-_.]", dist)[-1]
    if not _BACKEND.fullmatch(backend) or backend in (*_TAKEN, *_COMMANDS):
        raise UsageError(f"{backend!r} cannot be the name of your backend; choose with --backend")
    if re.sub(r"[-_.]+", "-", dist) in _OURS:
        raise UsageError(f"{dist!r} is a distribution of this project; choose one like acme-foo")
    package = re.sub(r"[-.]", "_", dist)
    if owner := _owner(package, dist):
        text = f"would hide the module {package!r} of {owner}; choose one like acme-foo"
        raise UsageError(f"{dist!r} {text}")
    core = version_of("mytriton-core") or "0.1.0"
    major, minor = core.split(".")[:2]
    return {
        "@DIST@": dist,
        "@PACKAGE@": package,
        "@BACKEND@": backend,
        "@BOUNDS@": f">={major}.{minor},<{major}.{int(minor) + 1}",
        "@EDITION@": _edition(),
    }


def _owner(package: str, dist: str) -> str:
    """Who else has a module of this name: Python, or an installed distribution (other than an
    earlier version of the same plugin)."""
    import sys
    from importlib.metadata import entry_points, packages_distributions

    if package in sys.stdlib_module_names or keyword.iskeyword(package):
        return "Python"
    plugins = {e.dist.name for e in entry_points(group="mytriton.backends") if e.dist is not None}
    for owner in packages_distributions().get(package, ()):
        if owner not in plugins or _normal(owner) != _normal(dist):
            return owner
    return "mytriton-core" if package == "mytriton" else ""


def _normal(dist: str) -> str:
    return re.sub(r"[-_.]+", "-", dist).lower()


def _edition() -> str:
    from ..case import EDITIONS

    return EDITIONS[-1]


def project(dist: str, backend: str = "") -> dict[str, str]:
    """The files of a project by path."""
    names = names_of(dist, backend)
    folder: Any = resources.files(__package__) / "template"
    found = {}
    for source, path in FILES.items():
        text = (folder / source).read_text(encoding="utf-8")
        for mark, value in names.items():
            text, path = text.replace(mark, value), path.replace(mark, value)
        found[path] = text
    return found


def create(dist: str, folder: str = "", backend: str = "") -> int:
    """Write a project; refuses to overwrite anything."""
    from ..suite.errors import UsageError
    from ..suite.files import check_file, write

    root = Path(folder or dist)
    files = project(dist, backend)
    present = [path for path in files if os.path.lexists(root / path)]
    if present:
        raise UsageError(f"{root / present[0]} exists; nothing was written")
    for path in files:
        check_file(root / path)
    for path, text in files.items():
        write(root / path, text)
    name = names_of(dist, backend)["@BACKEND@"]
    print(f"{len(files)} files in {root}. Next:")
    print(f"  pip install -e {root}")
    print("  mytriton backends")
    print(f"  mytriton-conformance {name}")
    return 0
