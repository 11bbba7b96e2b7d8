"""The anti-fallback guard: while a case runs, the interpreter cannot execute anything.

It is there for accidents and convenience: a backend whose author means to deceive can run the
interpreter in another process, or patch the suite.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any


class FallbackError(RuntimeError):
    """A backend other than the interpreter entered the interpreter."""


_TRIED: list[str] = []


def _refuse(name: str) -> None:
    _TRIED.append(name)
    raise FallbackError(f"the backend entered the interpreter ({name})")


def _trap(*args: Any, **kwargs: Any) -> None:
    from mytriton_testkit.suite.poison import _refuse

    _refuse("@NAME@")


class _NoImport:
    """A finder that refuses to load the interpreter a second time, unpoisoned."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == PACKAGE or name.startswith(PACKAGE + "."):
            _refuse(f"import of {name}")


PACKAGE = "mytriton.interpreter"


def _load_all() -> None:
    """Import every module of the interpreter: one that is imported later is a second copy."""
    package = importlib.import_module(PACKAGE)
    for module in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
        importlib.import_module(module.name)


@contextmanager
def poisoned(active: bool = True) -> Iterator[list[str]]:
    """Make every way into the interpreter's execution raise ``FallbackError``.

    The code of its functions is replaced, so that a reference taken before is no way around.
    Gives a list that names the entries tried: a backend that swallows the exception is still
    caught. Constant folding does not execute programs and goes on working.
    """
    if not active:
        yield []
        return
    _load_all()
    from mytriton.interpreter import machine, plan

    owner = machine.Machine
    targets: list[Any] = [
        machine.run, plan.make_plan, owner.__init__, owner.run_grid, owner.run_range,
        owner.run_block,
    ]  # fmt: skip
    functions: list[FunctionType] = [f for f in targets if isinstance(f, FunctionType)]
    kept = [f.__code__ for f in functions]
    finder = _NoImport()
    _TRIED.clear()
    sys.meta_path.insert(0, finder)
    try:
        for function in functions:
            function.__code__ = _trap_named(f"{function.__module__}.{function.__qualname__}")
        yield _TRIED
    finally:
        for function, code in zip(functions, kept, strict=True):
            function.__code__ = code
        sys.meta_path[:] = [f for f in sys.meta_path if f is not finder]


def _trap_named(name: str) -> Any:
    code = _trap.__code__
    constants = tuple(name if c == "@NAME@" else c for c in code.co_consts)
    return code.replace(co_consts=constants)
