"""The wheels hold what they must and work without the source tree.

These tests are about installed wheels, so they run in the environments `*wheel` of tox.ini, which
set MYTRITON_WHEELHOUSE. Anywhere else they are skipped, and say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WHEELHOUSE = os.environ.get("MYTRITON_WHEELHOUSE", "")

pytestmark = pytest.mark.skipif(
    not WHEELHOUSE, reason="needs the wheels: run `tox run -e wheels,wheel`"
)

PACKAGES = sorted(path.parent for path in (ROOT / "packages").glob("*/pyproject.toml"))
by_package = pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)


def import_name(package: Path) -> str:
    return package.name.replace("-core", "").replace("-", "_")


def wheel_of(package: Path) -> zipfile.ZipFile:
    found = list(Path(WHEELHOUSE).glob(f"{package.name.replace('-', '_')}-*.whl"))
    assert len(found) == 1, f"{package.name}: {found or 'no wheel'}; run `tox run -e wheels`"
    return zipfile.ZipFile(found[0])


@by_package
def test_wheel_holds_every_file_of_the_source_and_nothing_else(package: Path) -> None:
    source = package / "src"
    in_tree = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with wheel_of(package) as wheel:
        in_wheel = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert in_wheel == in_tree
    assert f"{import_name(package)}/py.typed" in in_wheel


@by_package
def test_wheel_metadata(package: Path) -> None:
    with wheel_of(package) as wheel:
        names = wheel.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        headers = Parser().parsestr(wheel.read(metadata).decode("utf-8"))
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert headers["Name"] == package.name
    assert headers["License-Expression"] == "MIT"
    assert headers["Requires-Python"] == ">=3.10"
    assert headers["Description-Content-Type"] == "text/markdown"
    assert not [r for r in headers.get_all("Requires-Dist", []) if "://" in r]


def test_what_is_installed_is_this_wheel_and_not_a_namesake_from_an_index() -> None:
    site = Path(sysconfig.get_path("purelib"))
    with wheel_of(ROOT / "packages" / "mytriton-core") as wheel:
        for name in wheel.namelist():
            if ".dist-info/" not in name:
                assert (site / name).read_bytes() == wheel.read(name), name


def test_import_from_an_empty_directory_takes_the_installed_wheel(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import mytriton; print(mytriton.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    site = Path(sysconfig.get_path("purelib")).resolve()
    assert site in Path(done.stdout.strip()).resolve().parents
    assert list(tmp_path.iterdir()) == []
