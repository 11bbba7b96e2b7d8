"""The pass manager.

A pass has a ``name`` and ``run(function)``, which returns a new function, or the *same object* when
it changed nothing (functions are never changed in place). The verifier runs after every pass that
changed something.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ..errors import PassError, VerificationError
from ..ir.printer import print_module
from ..ir.values import SSAFunction
from ..verify import verify
from .cse import CSE
from .dce import DCE
from .fold import Fold
from .licm import LICM


class Pass(Protocol):
    """What an optimisation pass is. Plugins may bring more."""

    @property
    def name(self) -> str: ...

    def run(self, function: SSAFunction) -> SSAFunction: ...


#: Called after each pass with its name and the function before and after.
Observer = Callable[[str, SSAFunction, SSAFunction], None]

#: Passes that make work for each other, so they take turns until none finds any.
REWRITES: tuple[Pass, ...] = (Fold(), CSE(), LICM())
#: Removal makes no work for the others: it runs once, last.
CLEANUP: Pass = DCE()
DEFAULT_PASSES: tuple[Pass, ...] = (*REWRITES, CLEANUP)
#: Turns the rewrites take at most. Each is idempotent; chains of discoveries longer than this are
#: not worth the compile time.
MAX_ROUNDS = 4


def optimise(
    function: SSAFunction,
    level: int = 1,
    extra_passes: Sequence[Pass] = (),
    on_pass: Observer | None = None,
) -> SSAFunction:
    """Rewrite verified SSA. Level 0 returns it as it is; level 1 runs the default passes, then
    ``extra_passes`` (and, when those changed something, the default ones again).

    Values keep their numbers. Raises ``PassError`` when a pass breaks the SSA or fails.
    """
    if level not in (0, 1):
        raise ValueError(f"the optimisation level is 0 or 1, got {level!r}")
    if level == 0:
        return function
    function = _default(function, on_pass)
    after = function
    for each in extra_passes:
        after = run_pass(each, after, on_pass)
    return after if after is function else _default(after, on_pass)


def _default(function: SSAFunction, on_pass: Observer | None) -> SSAFunction:
    function = _to_fixpoint(REWRITES, function, on_pass)
    return run_pass(CLEANUP, function, on_pass)


def _to_fixpoint(
    passes: Iterable[Pass], function: SSAFunction, on_pass: Observer | None
) -> SSAFunction:
    # A pass that is given what it returned last time has nothing to do: skip it.
    finished: dict[str, SSAFunction] = {}
    for _ in range(MAX_ROUNDS):
        for each in passes:
            if finished.get(each.name) is not function:
                function = finished[each.name] = run_pass(each, function, on_pass)
        if all(done is function for done in finished.values()):
            break
    return function


def run_pass(each: Pass, function: SSAFunction, on_pass: Observer | None = None) -> SSAFunction:
    """Run one pass and verify what it made."""
    try:
        after = each.run(function)
    except Exception as error:
        raise PassError(f"pass {each.name!r} failed: {type(error).__name__}: {error}") from error
    if not isinstance(after, SSAFunction):
        raise PassError(f"pass {each.name!r} returned a {type(after).__name__}, not an SSAFunction")
    if after is not function:
        try:
            verify(after)
        except VerificationError as error:
            raise PassError(_broken(each.name, error, function, after), error.span) from error
    if on_pass is not None:
        on_pass(each.name, function, after)
    return after


def _broken(name: str, error: VerificationError, before: SSAFunction, after: SSAFunction) -> str:
    diff = difflib.unified_diff(
        print_module(before).splitlines(), print_module(after).splitlines(),
        f"before {name}", f"after {name}", lineterm="",
    )  # fmt: skip
    return f"pass {name!r} broke the SSA: {error.message}\n" + "\n".join(diff)
