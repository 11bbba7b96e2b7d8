"""Build every distribution of the workspace into one wheelhouse.

    python build_wheels.py WHEELHOUSE [DISTRIBUTION ...]

Each wheel is built from its own sdist, so a file missing from the sdist fails here.
Needs the `build` package.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def distributions() -> list[Path]:
    found = [*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("examples/*/pyproject.toml")]
    return sorted(path.parent for path in found)


def main(argv: list[str]) -> int:
    if not argv:
        print(__doc__, file=sys.stderr)
        return 2
    wheelhouse = Path(argv[0])
    wanted = set(argv[1:])
    projects = [d for d in distributions() if not wanted or d.name in wanted]
    if not projects or wanted - {d.name for d in projects}:
        names = ", ".join(d.name for d in distributions())
        print(f"no such distribution; the workspace has: {names}", file=sys.stderr)
        return 2
    wheelhouse.mkdir(parents=True, exist_ok=True)
    for project in projects:
        with tempfile.TemporaryDirectory() as tmp:
            command = [sys.executable, "-m", "build", "--outdir", tmp, str(project)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(done.stdout, done.stderr, f"{project.name}: the build failed", sep="\n")
                return 1
            stem = project.name.replace("-", "_")
            for old in wheelhouse.glob(f"{stem}-*.whl"):
                old.unlink()
            for wheel in Path(tmp).glob("*.whl"):
                shutil.copy2(wheel, wheelhouse)
                print(f"{wheel.name}  {wheel.stat().st_size / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
