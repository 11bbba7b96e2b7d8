"""Python blocks of the README and of the pages for kernel authors run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "docs/kernels.md"]
CHECK = {
    # The README says what `out` holds afterwards.
    "README.md": "\nassert np.array_equal(out, x + y)\nexpression_ops, ssa_ops, src = result\n",
    "docs/kernels.md": (
        "\nimport numpy as np\nx = np.arange(10, dtype=np.float32)\nout = np.zeros_like(x)\n"
        "scale_kernel[(3,)](x, out, 2.0, 10, BLOCK=4)\nassert np.array_equal(out, 2 * x)\n"
    ),
}


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run(page, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    assert blocks
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks) + CHECK[page])
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        prose = re.sub(r"```.*?```|``.*?``|`[^`]*`", "", page.read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)#: ,]+)(?:#[^)]*)?\)", prose):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_reference_shows_defaults_as_python_writes_them():
    """An empty text is ``''``: without its quotes the signature would end in ``msg: str = ``."""
    page = (ROOT / "docs" / "language.md").read_text()
    signatures = re.findall(r"^`(tl\.\w+\(.*)`$", page, re.M)
    assert signatures
    assert [s for s in signatures if re.search(r"= *[,)\\]", s)] == []
    assert any("sep: str = ' ', end: str = '\\n'" in s for s in signatures)
