"""The anti-fallback guard: while a case runs, the interpreter cannot execute anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class FallbackError(RuntimeError):
    """A backend other than the interpreter entered the interpreter."""


@contextmanager
def poisoned(active: bool = True) -> Iterator[list[str]]:
    """Make every way into the interpreter's execution raise ``FallbackError``.

    Gives a list that names the entries tried: a backend that swallows the exception is still
    caught. Constant folding does not execute programs and goes on working.
    """
    tried: list[str] = []
    if not active:
        yield tried
        return
    from mytriton.interpreter import machine, plan

    def trap(name: str) -> Any:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            tried.append(name)
            raise FallbackError(f"the backend entered the interpreter ({name})")

        return refuse

    targets: list[tuple[Any, str]] = [
        (machine, "run"), (machine, "make_plan"), (plan, "make_plan"),
        (machine.Machine, "__init__"), (machine.Machine, "run_grid"),
        (machine.Machine, "run_range"), (machine.Machine, "run_block"),
    ]  # fmt: skip
    kept = [(owner, name, getattr(owner, name)) for owner, name in targets]
    try:
        for owner, name in targets:
            setattr(owner, name, trap(f"{owner.__name__}.{name}"))
        yield tried
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)
