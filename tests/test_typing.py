"""Type checkers accept kernels: mypy and pyright on the examples, ``mypy --strict`` on a typed wrapper,
and both know every name of ``tl``. Skipped where neither is installed (``tox run -e types`` has both)."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import mytriton.language as tl

ROOT = Path(__file__).parents[1]
EXAMPLES = [
    "examples/quickstart.py", "examples/kernels", "examples/recipes/typed.py",
    "examples/recipes/processes.py", "examples/recipes/export_kernel.py",
]  # fmt: skip
#: What users write in their own project; mytriton's own files are checked by `mypy --strict`.
CONFIG = "[mypy]\nignore_missing_imports = true\nexplicit_package_bases = true\n"


def needs(module):
    return pytest.mark.skipif(
        importlib.util.find_spec(module) is None, reason=f"{module} is not installed"
    )


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """``mypy(options, files)``: what it prints, and whether it found nothing."""
    folder = tmp_path_factory.mktemp("mypy")
    (folder / "mypy.ini").write_text(CONFIG)

    def check(*words):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--config-file", folder / "mypy.ini", "--cache-dir",
             folder / "cache", *words],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout + done.stderr, done.returncode == 0

    return check


def pyright(*files):
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *files],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout + done.stderr, done.returncode == 0


@pytest.fixture
def probe(tmp_path):
    """Write lines into the body of a kernel; gives the file."""

    def write(*lines):
        file = tmp_path / "probe.py"
        head = "import mytriton as triton\nimport mytriton.language as tl\n\n\n"
        body = "".join(f"    {line}\n" for line in lines)
        file.write_text(f"{head}@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n{body}")
        return str(file)

    return write


METHODS = [name for name in vars(tl.load.__globals__["tensor"]) if not name.startswith("_")]
BODY = [
    "v = tl.load(x + tl.arange(0, BLOCK))",
    *(f"v.{name}" for name in METHODS if name != "expr"),
]


@needs("mypy")
def test_mypy_accepts_the_examples(mypy):
    # Redefinition: a kernel may start with `total = 0.0` and add blocks to it.
    options = ["--check-untyped-defs", "--allow-redefinition", "--local-partial-types"]
    text, fine = mypy(*options, *EXAMPLES)
    assert fine, text


@needs("mypy")
def test_strict_mypy_accepts_a_typed_wrapper(mypy):
    text, fine = mypy("--strict", "examples/recipes/typed.py")
    assert fine, text


@needs("mypy")
def test_mypy_knows_every_name_of_the_language(mypy, probe):
    assert len(tl.__all__) > 90 and len(METHODS) > 25
    text, fine = mypy("--check-untyped-defs", probe(*(f"tl.{name}" for name in tl.__all__), *BODY))
    assert fine, text


@needs("mypy")
def test_mypy_finds_what_is_misspelt(mypy, probe):
    lines = ("v = tl.load(x)", "v.summ(axis=0)", "tl.lod(x)", "tl.arange('a', BLOCK)")
    text, fine = mypy("--check-untyped-defs", probe(*lines))
    assert not fine
    for word in ("summ", "lod", "arange"):
        assert word in text


@needs("mypy")
def test_what_kernels_compute_is_a_tensor(mypy, probe):
    lines = ("v = tl.load(x)", "reveal_type(v.to(tl.float32).sum(axis=0) * 2 < v)")
    text, _ = mypy("--check-untyped-defs", probe(*lines))
    assert 'Revealed type is "mytriton.language.symbolic.tensor"' in text


@needs("pyright")
def test_pyright_accepts_the_examples():
    text, fine = pyright(*EXAMPLES)
    assert fine, text


@needs("pyright")
def test_pyright_knows_every_name_of_the_language(probe):
    used = [f"print(tl.{name})" for name in tl.__all__]
    text, fine = pyright(probe(*used, BODY[0], *(f"print({line})" for line in BODY[1:])))
    assert fine, text
