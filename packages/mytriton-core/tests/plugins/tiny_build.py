"""A build backend without dependencies, for the projects in ``dists``.

``pip install`` uses it as any other build backend; ``install`` writes what pip would, at once.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path
from typing import Any


def contents(folder: Path) -> tuple[str, dict[str, str]]:
    """Wheel name and the files of the wheel of a project, but for its RECORD."""
    try:
        import tomllib
    except ImportError:
        import tomli as tomllib
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    for requirement in project.get("dependencies", ()):
        metadata += f"Requires-Dist: {requirement}\n"
    points = ""
    for group, entries in project.get("entry-points", {}).items():
        points += f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in entries.items()) + "\n"
    files = {p.name: p.read_text() for p in folder.glob("*.py") if p.name != "tiny_build.py"}
    info = f"{stem}.dist-info"
    files |= {
        f"{info}/METADATA": metadata,
        f"{info}/entry_points.txt": points,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tiny\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    return f"{stem}-py3-none-any.whl", files


def install(folder: Path, target: Path) -> None:
    """Put a project into ``target`` as pip would."""
    for name, text in contents(folder)[1].items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: object = None
) -> str:
    name, files = contents(Path.cwd())
    record = ""
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
            record += f"{path},sha256={digest.decode().rstrip('=')},{len(text.encode())}\n"
        info = name.removesuffix("-py3-none-any.whl") + ".dist-info"
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return name
