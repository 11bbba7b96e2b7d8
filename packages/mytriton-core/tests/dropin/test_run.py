"""``python -m mytriton.run``: a program that imports Triton, run as Python would run it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run a command line in a folder of its own, after writing files there."""

    def start(*arguments: str, **files: str) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            path = tmp_path / name.replace("__slash__", "/").replace("_py", ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
        return subprocess.run(
            [sys.executable, "-m", "mytriton.run", *arguments],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return start


def test_a_script_with_its_arguments(run: Any, tmp_path: Path) -> None:
    done = run(
        "prog.py", "--flag", "-m", "x",
        prog_py="""
            import sys, os, helper, triton
            print(__name__, sys.argv, sys.path[0] == os.getcwd(), helper.WHO)
            print(__file__, sys.modules["__main__"].__dict__ is globals(), __spec__, __package__)
            print(triton.__name__)
        """,
        helper_py="WHO = 'neighbour'",
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "__main__ ['prog.py', '--flag', '-m', 'x'] True neighbour",
        f"{tmp_path / 'prog.py'} True None None",
        "mytriton",
    ]


def test_a_script_in_another_folder_sees_its_neighbours(run: Any) -> None:
    done = run(
        "sub/prog.py", sub__slash__prog_py="import helper", sub__slash__helper_py="print('here')"
    )
    assert (done.stdout, done.stderr) == ("here\n", "")


def test_a_kernel_in_a_script(run: Any) -> None:
    done = run("prog.py", prog_py="""
        import numpy as np
        import triton
        import triton.language as tl

        @triton.jit
        def fill(out, value, BLOCK: tl.constexpr):
            tl.store(out + tl.arange(0, BLOCK), value)

        out = np.zeros(4, np.float32)
        fill[(1,)](out, 2.5, BLOCK=4)
        print(out.tolist())
    """)  # fmt: skip
    assert (done.stdout, done.stderr) == ("[2.5, 2.5, 2.5, 2.5]\n", "")


def test_a_module(run: Any) -> None:
    done = run(
        "-m", "package.tool", "a", "b",
        package__slash____init___py="",
        package__slash__tool_py="""
            import sys, os, triton
            print(__name__, os.path.basename(sys.argv[0]), sys.argv[1:], __package__, triton.__name__)
        """,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == "__main__ tool.py ['a', 'b'] package mytriton\n"


def test_a_folder_with_a_main(run: Any) -> None:
    done = run("app", app__slash____main___py="import triton; print(__name__, triton.__name__)")
    assert (done.stdout, done.stderr) == ("__main__ mytriton\n", "")


@pytest.mark.parametrize(
    ("statement", "status"),
    [("sys.exit(3)", 3), ("sys.exit('told')", 1), ("sys.exit()", 0), ("pass", 0)],
)
def test_the_exit_status(statement: str, status: int, run: Any) -> None:
    assert run("prog.py", prog_py=f"import sys\n{statement}\n").returncode == status


@pytest.mark.parametrize("arguments", [("prog.py",), ("-m", "prog")])
def test_tracebacks_begin_in_the_program(
    arguments: tuple[str, ...], run: Any, tmp_path: Path
) -> None:
    done = run(*arguments, prog_py="def broken():\n    return 1 / 0\nbroken()\n")
    lines = done.stderr.splitlines()
    assert done.returncode == 1
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{tmp_path / "prog.py"}", line 3, in <module>'
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "mytriton" not in done.stderr
    assert "runpy" not in done.stderr


def test_a_syntax_error(run: Any) -> None:
    done = run("prog.py", prog_py="def\n")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "SyntaxError" in done.stderr


def test_an_error_of_a_kernel_shows_its_line(run: Any) -> None:
    done = run("prog.py", prog_py="""
        import numpy as np
        import triton
        import triton.language as tl

        @triton.jit
        def wrong(out):
            tl.store(out, missing)

        wrong[(1,)](np.zeros(1))
    """)  # fmt: skip
    assert done.returncode == 1
    assert "prog.py:8:19: " in done.stderr
    assert "mytriton/runtime" not in done.stderr


def test_no_such_file(run: Any) -> None:
    done = run("nowhere.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "can't open file 'nowhere.py'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status"), [((), 2), (("-m",), 2), (("-x", "f"), 2), (("--help",), 0)]
)
def test_usage(arguments: tuple[str, ...], status: int, run: Any) -> None:
    done = run(*arguments)
    assert done.returncode == status
    assert "usage: python -m mytriton.run SCRIPT" in done.stdout + done.stderr


def test_classes_of_the_program_pickle(run: Any) -> None:
    done = run("prog.py", prog_py="""
        import pickle
        class Thing:
            pass
        print(type(pickle.loads(pickle.dumps(Thing()))) is Thing)
    """)  # fmt: skip
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_the_real_triton_is_said_to_be_there(run: Any) -> None:
    # sitecustomize runs before anything else.
    done = subprocess.run(
        [sys.executable, "-c", "import sys, types; sys.modules['triton'] = types.ModuleType('triton');"
         "from mytriton.run import main; main(['x.py'])"],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 1
    assert "Triton itself is imported already" in done.stderr
