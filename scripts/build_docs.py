"""Build the book: ``python scripts/build_docs.py``. Warnings are errors, nothing is fetched.

Every block of the pages is run first (``run_docs.py``); generated pages must be what their generators
give now. The pages are then copied to ``build/docs`` together with the testkit's README, and MkDocs makes
``build/site`` of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "docs"
GENERATED = {
    "operations.md": ["-m", "mytriton.reference"],
    "language.md": ["scripts/language_reference.py"],
    "api.md": ["scripts/api_reference.py"],
}


def python(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} fails:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_generated(update: bool) -> None:
    for name, command in GENERATED.items():
        text, path = python(*command), ROOT / "docs" / name
        if update:
            path.write_text(text)
        elif path.read_text() != text:
            raise SystemExit(
                f"docs/{name} is out of date: python {' '.join(command)} > docs/{name}"
            )


def copy_pages() -> None:
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(ROOT / "docs", BUILD)
    readme = (ROOT / "packages/mytriton-testkit/README.md").read_text()
    title, _, rest = readme.partition("\n")
    assert title.startswith("# ")
    (BUILD / "conformance.md").write_text("# Conformance\n" + rest)
    for page in BUILD.rglob("*.md"):
        text = page.read_text().replace("../packages/mytriton-testkit/README.md", "conformance.md")
        page.write_text(text)


def main() -> None:
    update = "--update" in sys.argv[1:]
    check_generated(update)
    python("scripts/run_docs.py", *(["--update"] if update else []))
    copy_pages()
    config = (ROOT / "mkdocs.yml").read_text().replace("docs_dir: docs", f"docs_dir: {BUILD}")
    made = ROOT / "build" / "mkdocs.yml"
    made.write_text(config.replace("site_dir: build/site", f"site_dir: {ROOT / 'build' / 'site'}"))
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "-f", str(made)], check=False
    )
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
