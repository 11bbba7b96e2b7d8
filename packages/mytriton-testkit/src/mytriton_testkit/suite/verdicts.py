"""What a backend declared for a case, what it did, and the verdict that follows."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Verdict(str, enum.Enum):
    """One word for each case."""

    PASS = "PASS"
    #: Declared, and the numbers are wrong.
    FAIL = "FAIL"
    #: Declared, and something other than a decline was raised.
    ERROR = "ERROR"
    #: Declared, and then declined.
    OVERCLAIM = "OVERCLAIM"
    #: Not declared, and yet right: the table is stale.
    UNDERCLAIM = "UNDERCLAIM"
    #: Not declared, run nevertheless, and wrong: the worst there is.
    SILENT_WRONG = "SILENT-WRONG"
    #: Not declared, and declined by feature id.
    DECLINED = "DECLINED"
    #: Not declared, and refused in a way nobody can act on.
    BAD_DECLINE = "BAD-DECLINE"
    #: A known bug, seen again.
    XFAIL = "XFAIL"
    #: A known bug that is gone.
    XPASS = "XPASS"
    #: The table says nothing about a feature the case needs.
    UNDECLARED = "UNDECLARED"
    CRASH = "CRASH"
    TIMEOUT = "TIMEOUT"
    #: From an edition after the one the backend is certified for; never fails.
    NEW = "NEW"

    def __str__(self) -> str:
        return self.value


GOOD = frozenset({Verdict.PASS, Verdict.XFAIL, Verdict.DECLINED, Verdict.NEW})
#: Nothing is wrong with the code of the backend, only with what it says about itself.
DECLARATION = frozenset({Verdict.XPASS, Verdict.UNDERCLAIM, Verdict.UNDECLARED})


class Outcome(str, enum.Enum):
    """What the backend did."""

    RIGHT = "right"
    WRONG = "wrong"
    DECLINED = "declined"
    ERROR = "error"
    CRASH = "crash"
    TIMEOUT = "timeout"

    def __str__(self) -> str:
        return self.value


class Declared(str, enum.Enum):
    """What its table says about the features of a case, taken together."""

    YES = "yes"
    GAP = "gap"
    UNDECLARED = "undeclared"

    def __str__(self) -> str:
        return self.value


@dataclass
class Observation:
    """An outcome with its evidence."""

    outcome: Outcome
    message: str = ""
    #: Type of the exception, for ``error``.
    error: str = ""
    #: Feature ids named, for ``declined``.
    missing: frozenset[str] = frozenset()
    max_ulp: float = 0.0
    max_abs: float = 0.0
    #: Traceback or the like; kept out of the report unless it fails.
    detail: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class KnownBug:
    """An entry ``[[known_bug]]`` of a profile."""

    case: str
    #: ``mismatch``, ``error:TypeName``, ``crash`` or ``timeout``.
    outcome: str
    reason: str
    issue: str = ""

    def explains(self, seen: Observation) -> bool:
        """Whether what was seen is this bug and not another one."""
        if self.outcome == "mismatch":
            return seen.outcome is Outcome.WRONG
        if self.outcome.startswith("error:"):
            return seen.outcome is Outcome.ERROR and seen.error == self.outcome[6:]
        return seen.outcome.value == self.outcome


_OF_DECLARED = {
    Outcome.RIGHT: Verdict.PASS,
    Outcome.WRONG: Verdict.FAIL,
    Outcome.DECLINED: Verdict.OVERCLAIM,
    Outcome.ERROR: Verdict.ERROR,
    Outcome.CRASH: Verdict.CRASH,
    Outcome.TIMEOUT: Verdict.TIMEOUT,
}
_OF_GAP = {
    Outcome.RIGHT: Verdict.UNDERCLAIM,
    Outcome.WRONG: Verdict.SILENT_WRONG,
    Outcome.DECLINED: Verdict.DECLINED,
    Outcome.ERROR: Verdict.BAD_DECLINE,
    Outcome.CRASH: Verdict.CRASH,
    Outcome.TIMEOUT: Verdict.TIMEOUT,
}


def judge(
    declared: Declared, seen: Observation, bug: KnownBug | None = None, newer: bool = False
) -> Verdict:
    """The verdict. ``newer``: the case is from a later edition than the one certified."""
    if newer:
        return Verdict.NEW
    if declared is Declared.UNDECLARED:
        return Verdict.UNDECLARED
    if declared is Declared.GAP:
        return _OF_GAP[seen.outcome]
    if bug is None:
        return _OF_DECLARED[seen.outcome]
    if seen.outcome is Outcome.RIGHT:
        return Verdict.XPASS
    if bug.explains(seen):
        return Verdict.XFAIL
    return Verdict.FAIL if seen.outcome is Outcome.DECLINED else _OF_DECLARED[seen.outcome]
