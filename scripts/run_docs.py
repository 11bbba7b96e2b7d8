"""Run the Python blocks of the documentation: ``python scripts/run_docs.py [--update] [PAGE ...]``.

The blocks of a page run one after another in one process, in an empty folder. What a block prints must
be the ``text`` block that follows it, if one does; ``--update`` writes it there. A block that starts
with ``# not run`` is only shown. Pages that are generated are left out.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
#: Made by programs that ran their examples already, or, as the guide for backend authors and the
#: recipes for PyTorch, pages whose blocks are files of a project of their own and have tests elsewhere.
GENERATED = {"language.md", "operations.md", "api.md", "writing-a-backend.md", "recipes.md"}
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?", re.S | re.M)
_MARK = "\x1e--block--"


def pages() -> list[Path]:
    return [p for p in sorted(DOCS.rglob("*.md")) if p.name not in GENERATED]


def _runs(code: str) -> bool:
    return not code.startswith("# not run")


def outputs(page: Path) -> list[str]:
    """What each block of a page that is run prints. Raises ``SystemExit`` when one fails."""
    blocks = [m[1] for m in _BLOCK.finditer(page.read_text()) if _runs(m[1])]
    if not blocks:
        return []
    # In a file, because kernels are found in their source.
    script = "".join(f"{code}\nprint({_MARK!r})\n" for code in blocks)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.py"
        path.write_text(script)
        done = subprocess.run(
            [sys.executable, path.name], cwd=folder, capture_output=True, text=True, timeout=600
        )
    if done.returncode:
        raise SystemExit(f"{page}: a block fails\n{done.stderr}")
    return [part.lstrip("\n") for part in done.stdout.split(_MARK)[:-1]]


def check(page: Path, update: bool) -> list[str]:
    """Complaints about a page; with ``update`` its outputs are rewritten instead."""
    found = iter(outputs(page))
    wrong: list[str] = []

    def one(match: re.Match[str]) -> str:
        code, shown = match[1], match[2]
        if not _runs(code):
            return match[0]
        printed = next(found)
        printed = "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")
        if shown is None or printed == shown.rstrip("\n"):
            return match[0]
        wrong.append(f"{page}: a block prints\n{printed}\nbut the page shows\n{shown}")
        return f"```python\n{code}```\n\n```text\n{printed}\n```\n"

    text = _BLOCK.sub(one, page.read_text())
    if update:
        page.write_text(text)
        return []
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what blocks print")
    parser.add_argument("pages", nargs="*", type=Path)
    options = parser.parse_args()
    wrong = [w for page in options.pages or pages() for w in check(page, options.update)]
    print("\n\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
