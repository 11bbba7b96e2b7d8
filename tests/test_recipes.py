"""The recipes of docs/recipes.md. (Those for PyTorch are tested where PyTorch is: `tox run -e torch`.)"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "examples" / "recipes"


def run(*words, **variables):
    """Run Python on words, in the folder of the recipes' importable modules."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MYTRITON_")}
    done = subprocess.run(
        [sys.executable, *map(str, words)], env=env | variables, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def recipes(monkeypatch):
    monkeypatch.syspath_prepend(str(RECIPES))


def test_every_block_of_the_page_is_part_of_a_file():
    files = [*RECIPES.glob("*.py"), *(ROOT / "examples" / "observer").rglob("*.py")]
    texts = [file.read_text() for file in files]
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs/recipes.md").read_text(), re.S | re.M
    )
    assert len(blocks) >= 6
    for block in blocks:
        assert any(block in text for text in texts), block


def test_processes():
    assert run(RECIPES / "processes.py").split() == "[ 0. 1. 4. 9. 16. 25. 36. 49. 64. 81.]".split()


def test_dask(recipes):
    pytest.importorskip("dask.array", reason="dask is not installed")
    import dask
    import dask.array as da
    from dask_workers import squares, squares_in_tasks

    values = np.linspace(-3.0, 3.0, 1000)
    with dask.config.set(scheduler="threads"):
        found = squares(da.from_array(values, chunks=300)).compute()
    np.testing.assert_array_equal(found, values * values)
    # In processes kernels are pickled.
    tasks = squares_in_tasks([values, values[:7]])
    found = dask.compute(*tasks, scheduler="processes", num_workers=1)
    np.testing.assert_array_equal(found[1], values[:7] ** 2)


def test_a_typed_wrapper_computes(recipes):
    from typed import axpy

    x, y = np.arange(3000, dtype=np.float32), np.ones(3000, np.float32)
    axpy(2.0, x, y)
    np.testing.assert_array_equal(y, 2 * x + 1)
    with pytest.raises(ValueError, match="shapes differ"):
        axpy(1.0, x, y[:5])


def test_export(tmp_path):
    run(RECIPES / "export_kernel.py", "interpreter", tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "square_kernel.json").read_text())
    assert [a["name"] for a in manifest["arguments"]] == ["x", "out", "n"]
    assert manifest["grid"] == ["cdiv(n, BLOCK)", 1, 1]


@pytest.fixture
def observer(tmp_path):
    """The example plugin as if it were installed: its folder and its metadata on the path."""
    source = ROOT / "examples" / "observer"
    info = tmp_path / "site" / "mytriton_observer-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: mytriton-observer\nVersion: 0.1.0\n"
    )
    (group,) = re.findall(
        r'\[project\.entry-points\."(.*?)"\]\n(\w+) = "(.*?)"',
        (source / "pyproject.toml").read_text(),
    )
    (info / "entry_points.txt").write_text(f"[{group[0]}]\n{group[1]} = {group[2]}\n")
    return os.pathsep.join([str(info.parent), str(source / "src")])


def test_the_observer_keeps_what_happens(observer, tmp_path):
    events = tmp_path / "events.jsonl"
    code = (
        "import numpy as np\nfrom processes import square_kernel as k\nx = np.ones(300)\n"
        "for _ in range(2): k.with_backend('interpreter')[(2,)](x, x.copy(), 300, BLOCK=256)\n"
    )
    path = os.pathsep.join([observer, str(RECIPES)])
    run("-c", code, PYTHONPATH=path, OBSERVER_FILE=str(events))
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    assert [row["kind"] for row in rows] == ["selection", "compile", "launch", "launch"]
    assert {(row["kernel"], row["backend"]) for row in rows} == {("square_kernel", "interpreter")}
    assert rows[0]["verdicts"]["interpreter"] == "chosen"
    assert rows[1]["seconds"] > 0 and rows[1]["lines"] > 5
    assert rows[3]["grid"] == [2, 1, 1]


def test_an_observer_can_be_left_out(observer, tmp_path):
    events = tmp_path / "events.jsonl"
    code = "import numpy as np\nfrom processes import apply, square_kernel\napply(square_kernel, np.ones(3))\n"
    path = os.pathsep.join([observer, str(RECIPES)])
    variables = {"MYTRITON_DISABLE_BACKENDS": "observer", "MYTRITON_BACKEND": "interpreter"}
    run("-c", code, PYTHONPATH=path, OBSERVER_FILE=str(events), **variables)
    assert not events.exists()
