"""What ends a run before it has a result."""

from __future__ import annotations

from collections.abc import Iterable


class ConformanceError(Exception):
    """Base; ``exit_code`` is what the command ends with."""

    exit_code = 5


class UsageError(ConformanceError):
    """An option that means nothing here."""

    exit_code = 4


class ProfileError(ConformanceError):
    """A profile with stale or meaningless entries: a declaration problem."""

    exit_code = 2

    def __init__(self, path: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join([f"{path}:", *(f"  {p}" for p in self.problems)]))


class NotAvailableError(ConformanceError):
    """The backend is not installed, incompatible, broken, or cannot do what was asked."""

    exit_code = 3


class SuiteError(ConformanceError):
    """The suite itself is wrong: an oracle disagrees with the case, a worker cannot start."""


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """``" (closest: op.exp)"``, or nothing."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f" (closest: {near[0]})" if near else ""
