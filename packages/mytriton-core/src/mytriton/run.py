"""``python -m mytriton.run script.py [args]``: run a program that imports Triton with mytriton in its
place. ``-m module [args]`` runs a module, as ``python -m`` does."""

from __future__ import annotations

import builtins
import os
import sys
import types
from collections.abc import Sequence
from typing import Any

_USAGE = """\
usage: python -m mytriton.run SCRIPT [ARG ...]
       python -m mytriton.run -m MODULE [ARG ...]

Runs a Python program in which `import triton` gives mytriton.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments name, as ``python`` would. Returns the exit status of a program that
    ends by an exception; one that calls ``sys.exit`` does exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in (["-h"], ["--help"]):
        print(_USAGE, end="")
        return 0
    module = given[:1] == ["-m"]
    if module:
        del given[0]
    if not given or given[0].startswith("-"):
        print(_USAGE, end="", file=sys.stderr)
        return 2
    from .dropin.install import install_as_triton
    from .errors import MytritonError
    from .tracebacks import for_user

    install_as_triton()
    try:
        _run_module(given) if module else _run_script(given)
    except SystemExit:
        raise
    except BaseException as error:
        if isinstance(error, MytritonError):
            for_user(error)
        error.__traceback__ = _outside(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_module(given: list[str]) -> None:
    import runpy

    sys.argv[:] = given
    runpy.run_module(given[0], run_name="__main__", alter_sys=True)


def _run_script(given: list[str]) -> None:
    path = given[0]
    sys.argv[:] = given
    if os.path.isdir(path) or not os.path.exists(path):
        import runpy

        # A folder with a __main__.py; or the error that Python gives.
        if not os.path.exists(path):
            print(f"{sys.executable}: can't open file {path!r}: no such file", file=sys.stderr)
            raise SystemExit(2)
        runpy.run_path(path, run_name="__main__")
        return
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.abspath(path))
    path = os.path.abspath(path)
    with open(path, "rb") as file:
        source = file.read()
    main_module = _fresh_main(path)
    exec(compile(source, path, "exec", dont_inherit=True), main_module.__dict__)


def _fresh_main(path: str) -> types.ModuleType:
    """``__main__`` as Python makes it for a script."""
    from importlib.machinery import SourceFileLoader

    made = types.ModuleType("__main__")
    made.__file__ = path
    made.__loader__ = SourceFileLoader("__main__", path)
    made.__dict__.update(__builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = made
    return made


def _outside(traceback: Any) -> Any:
    """A traceback from the program's own first frame on."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        name = os.path.basename(code.co_filename)
        if code.co_filename != __file__ and name not in ("runpy.py", "<frozen runpy>"):
            break
        traceback = traceback.tb_next
    return traceback


if __name__ == "__main__":
    # As the module that others import: the program's __main__ takes this one's place.
    from mytriton.run import main as run

    sys.exit(run())
