"""Looking at one backend for one launch: may it, can it, should it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..ir.values import SSAFunction
from . import messages, variables
from .claims import default_claim, missing_features, wrong_device
from .discovery import Record
from .errors import (
    BackendDeclinedError,
    BackendUnavailableError,
    MytritonBackendError,
    MytritonPluginWarning,
)
from .known import is_first_party
from .loaded import LoadedBackend
from .manager import MANAGER, warn_once
from .report import Considered
from .types import BackendInfo, Claim, Decline, LaunchSpec, State

HOST = frozenset({"cpu"})


@dataclass
class Candidate:
    """A backend in a selection, and what came of it."""

    record: Record
    verdict: str
    reason: str = ""
    hint: str = ""
    claim: Claim | None = None
    launches: bool = False
    missing: frozenset[str] = frozenset()
    #: What naming this backend raises.
    error: MytritonBackendError | None = None
    backend: LoadedBackend | None = None
    #: Whether passing it over needs saying: it is broken, unavailable, or lacks a feature.
    worth_mentioning: bool = False

    @property
    def priority(self) -> int:
        info = self.record._info
        return info.priority if info is not None else 50

    def considered(self, chosen: bool) -> Considered:
        """The row of the report. A chain of two errors is cut short: the code stands for it."""
        record = self.record
        state = record.state in (State.BROKEN, State.CONFLICT, State.INCOMPATIBLE)
        return Considered(
            record.label, record.name, "chosen" if chosen else self.verdict, self.reason,
            "" if state else self.hint, self.claim.score if self.claim else None, self.missing,
            self.error.code if self.error is not None else "",
        )  # fmt: skip


def evaluate(
    record: Record,
    function: SSAFunction,
    launch: LaunchSpec,
    kernel: str,
    *,
    emit: bool = False,
    named: str = "",
    listed: bool = False,
) -> Candidate:
    """Whether ``record`` takes the launch.

    ``named`` says who named it alone: then it may compile without launching, and it is loaded
    before its table is looked at. ``listed`` is for one named alone or in a list. Imports the
    plugin only if its data does not rule it out. Raises only under ``MYTRITON_STRICT_PLUGINS``.
    """
    look = _Look(record, function, launch, kernel, emit, named, listed)
    return look.settled() or look.asked()


def evaluate_all(
    records: Iterable[Record],
    function: SSAFunction,
    launch: LaunchSpec,
    kernel: str,
    *,
    emit: bool,
) -> list[Candidate]:
    """Automatic selection: every candidate, best claim first, then those that do not claim.

    First-party backends are asked first. If one claims, no third-party backend can win, so none
    is imported.
    """
    ours: list[Record] = []
    theirs: list[Record] = []
    for record in records:
        (ours if is_first_party(record.name, record.dist) else theirs).append(record)
    found = [evaluate(r, function, launch, kernel, emit=emit) for r in ours]
    claimed = any(c.claim is not None for c in found)
    for record in theirs:
        if claimed and record.state in (State.DISCOVERED, State.READY, State.LOWER_ONLY):
            reason = "a first-party backend claims; name this one to use it"
            found.append(Candidate(record, "not asked", reason))
        else:
            found.append(evaluate(record, function, launch, kernel, emit=emit))
    return sorted(found, key=_rank)


def _rank(candidate: Candidate) -> tuple[bool, bool, int, int, str]:
    record = candidate.record
    return (
        candidate.claim is None,
        not is_first_party(record.name, record.dist),
        -(candidate.claim.score if candidate.claim else 0),
        -candidate.priority,
        record.name,
    )


@dataclass
class _Look:
    record: Record
    function: SSAFunction
    launch: LaunchSpec
    kernel: str
    emit: bool
    named: str
    listed: bool

    def settled(self) -> Candidate | None:
        """A verdict that needs no import."""
        record = self.record
        if reason := MANAGER.blocked(record):
            text = messages.blocked(record, self.named, reason)
            return Candidate(record, "blocked", reason, error=self._unavailable(text))
        if record.state is State.DISCOVERED:
            info = record.info()
            if info is not None and not self.named:
                return self.misplaced(info) or self.lacking(info)
        if record.error is not None:
            return self.failed()
        return None

    def asked(self) -> Candidate:
        """A verdict of the backend itself."""
        record = self.record
        if not MANAGER.load(record):
            return self.failed()
        backend = LoadedBackend(record)
        answer = MANAGER.probe(record)
        if not answer.can_lower:
            return self.unavailable(False)
        info = backend.info
        if declined := self.misplaced(info) or self.lacking(info):
            return declined
        launches = not self.emit and (self._usable(info) or self._emulated(info))
        if not launches and not self.emit and not self.named:
            # Compile-only does not count unless one backend was named.
            return self.misplaced(info, strict=True) or self.declined("it would only compile")
        if launches and not answer.can_launch:
            return self.unavailable(True)
        claim = self.claim(backend)
        if isinstance(claim, Decline):
            cause = record.cause if claim.reason.startswith("mytriton_claim ") else None
            return self.declined(claim.reason, claim.missing, cause)
        return Candidate(
            record, "claims" if launches else "compiles only", claim.note, claim=claim,
            launches=launches, backend=backend,
        )  # fmt: skip

    # ------------------------------------------------------------------ where the arrays are

    def _kinds(self) -> frozenset[str]:
        return self.launch.device_kinds or HOST

    def _usable(self, info: BackendInfo) -> bool:
        return self._kinds() <= set(info.device_kinds)

    def _emulated(self, info: BackendInfo) -> bool:
        """A device backend that launches host arrays on the emulator, because it was named."""
        return self.listed and self._kinds() == HOST and variables.flag("MYTRITON_EMULATE")

    def misplaced(self, info: BackendInfo, strict: bool = False) -> Candidate | None:
        """Declined because of where the arrays are."""
        if self.emit:
            return None
        device = HOST.isdisjoint(info.device_kinds)
        if device and variables.flag("MYTRITON_EMULATE") and self._kinds() != HOST:
            return self.declined("MYTRITON_EMULATE=1 takes host arrays only", mention=False)
        if self._usable(info):
            return None
        if self._kinds() == HOST and (self._emulated(info) or (self.named and not strict)):
            return None
        reason = wrong_device(self.launch, info)
        if not reason:
            reason = f"no array is on {' or '.join(map(repr, info.device_kinds))}"
        return self.declined(reason, mention=False)

    # ------------------------------------------------------------------ features and claims

    def lacking(self, info: BackendInfo) -> Candidate | None:
        """Declined by core's rule: a plugin's own claim can only narrow it."""
        rule = default_claim(self.function, self.launch, info)
        if isinstance(rule, Claim):
            return None
        if self.record.plugin is not None:
            self._check_overclaim()
        return self.declined(rule.reason, rule.missing)

    def _ask(self) -> Claim | Decline | None:
        record = self.record
        try:
            answer = MANAGER.call(
                record, "mytriton_claim", function=self.function, launch=self.launch
            )
        except (Exception, SystemExit) as e:
            record.cause = e
            text = f"mytriton_claim raised {type(e).__name__}: {e}"
            warn_once(
                ("claim", record.name, self.kernel),
                f"backend {record.name!r}: {text}; it is left out", MytritonPluginWarning,
            )  # fmt: skip
            return Decline(text)
        if answer is None or isinstance(answer, Decline):
            return answer
        if isinstance(answer, Claim) and 1 <= answer.score <= 100:
            return answer
        what = f"score {answer.score}" if isinstance(answer, Claim) else type(answer).__name__
        return Decline(f"mytriton_claim returned {what}, not a Claim of 1 to 100 or a Decline")

    def _check_overclaim(self) -> None:
        if isinstance(self._ask(), Claim):
            info = self.record._info
            assert info is not None
            missing = missing_features(self.function, self.launch, info)
            warn_once(
                ("overclaim", self.record.name, self.kernel),
                messages.undeclared_claim(self.record, self.kernel, missing),
                MytritonPluginWarning,
            )

    def claim(self, backend: LoadedBackend) -> Claim | Decline:
        rule = default_claim(self.function, self.launch, backend.info)
        return self._ask() or rule

    # ------------------------------------------------------------------ verdicts

    def _unavailable(self, text: str, hint: str = "") -> BackendUnavailableError:
        return BackendUnavailableError(
            text, backend=self.record.name, requested_by=self.named, hint=hint
        )

    def failed(self) -> Candidate:
        record = self.record
        assert record.error is not None
        reason = record.reason if record.state is not State.BROKEN else str(record.error)
        return Candidate(
            record, record.state.value, reason, record.hint,
            error=record.error.again(self.named), worth_mentioning=True,
        )  # fmt: skip

    def unavailable(self, can_emit: bool) -> Candidate:
        record = self.record
        text = messages.unavailable(record, self.named, record.reason, record.hint, can_emit)
        error = self._unavailable(text, record.hint)
        error.__cause__ = record.cause
        return Candidate(
            record, "cannot launch" if can_emit else "unavailable", record.reason, record.hint,
            error=error, worth_mentioning=True,
        )  # fmt: skip

    def declined(
        self,
        reason: str,
        missing: frozenset[str] = frozenset(),
        cause: BaseException | None = None,
        *,
        mention: bool = True,
    ) -> Candidate:
        record = self.record
        text = messages.declined(record, self.named, self.kernel, reason)
        error = BackendDeclinedError(text, backend=record.name, requested_by=self.named)
        error.__cause__ = cause
        return Candidate(
            record, "declined", reason, missing=missing, error=error, worth_mentioning=mention
        )
