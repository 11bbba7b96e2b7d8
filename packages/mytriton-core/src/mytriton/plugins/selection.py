"""Which backend runs a launch. The runtime calls ``selection_key`` on every launch and ``choose``
on the first one of each specialisation and key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ArgumentError
from ..ir.values import SSAFunction
from . import log, messages, sources, strict, variables
from .candidates import Candidate, evaluate, evaluate_all
from .claims import launch_features
from .discovery import Record
from .errors import (
    BackendNotInstalledError,
    BackendSkippedWarning,
    BackendUnavailableError,
    MytritonBackendError,
    NoBackendClaimedError,
    UnknownBackendError,
    UnknownVariableWarning,
)
from .known import KNOWN, installs_for, is_first_party
from .loaded import LoadedBackend
from .manager import MANAGER, emit_event, warn_once
from .report import Considered, SelectionReport, arguments_text
from .sources import config, selection_key, use_backend
from .types import BackendInfo, Event, LaunchSpec, State

__all__ = [
    "Choice", "checked", "choose", "config", "explain", "named", "refresh_backends", "register_backend",
    "selection_key", "unregister_backend", "use_backend",
]  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """The backend for a launch. ``launches`` is ``False`` for text only; ``automatic`` when no
    single backend was named, so that another may be tried if this one breaks its claim."""

    backend: LoadedBackend
    launches: bool
    trace: SelectionReport
    automatic: bool = False


def choose(
    function: SSAFunction,
    launch: LaunchSpec,
    *,
    explicit: str | None = None,
    decorator: str | None = None,
    kernel: str = "",
    emit: bool = False,
    exclude: Iterable[str] = (),
) -> Choice:
    """The backend for a launch of ``function``, by the sources in force.

    ``emit`` asks for text only: the backend need not be able to launch, and arrays may be
    anywhere. ``exclude`` leaves out backends that broke their claim (MT-B10).

    Raises UnknownBackendError, BackendNotInstalledError, BackendLoadError,
    BackendIncompatibleError, DuplicateBackendError, BackendUnavailableError, BackendDeclinedError
    or PluginInterfaceError about a backend that was named, NoBackendClaimedError when nothing
    suits, ``ValueError`` for a ``MYTRITON_*`` switch that is neither on nor off.
    """
    _check_variables()
    outcome = _decide(function, launch, explicit, decorator, kernel, emit, frozenset(exclude))
    if outcome.error is not None:
        outcome.error.report = outcome.report
        raise outcome.error
    assert outcome.chosen is not None
    assert outcome.chosen.backend is not None
    if len(outcome.report.requested) != 1:
        _mention_better(outcome)
    report, backend = outcome.report, outcome.chosen.backend
    emit_event(Event("selection", report.kernel, backend.name, {"report": report}))
    return Choice(backend, report.launches, report, len(report.requested) != 1)


def explain(
    kernel: Any,
    launch: Any = None,
    *args: Any,
    backend: str | None = None,
    emit: bool = False,
    **arguments: Any,
) -> SelectionReport:
    """What a launch would run on, and why, without running it; every backend is looked at.

    ``explain(kernel, grid, *args, **kwargs)`` takes what the launch takes; arguments may also be
    descriptions (``x="f32[1000]"``). ``explain(function, launch)`` takes an ``SSAFunction`` and a
    ``LaunchSpec``. ``backend`` stands for ``kernel.with_backend(...)``. Raises what the launch
    would raise about the kernel, its arguments, launch options and variables, and none about
    backends.
    """
    _check_variables()
    log.wanted()
    decorator = None
    if isinstance(kernel, SSAFunction):
        function, spec = kernel, launch
    else:
        decorator = kernel.backend
        values = dict(zip(kernel.arg_names, args, strict=False)) | arguments
        function, spec = kernel.specialise(values)
        if isinstance(launch, tuple) and all(type(n) is int for n in launch):
            spec = replace(spec, grid=(*launch, 1, 1)[:3])
    named, spec, who = checked(function, spec, backend, decorator, emit=emit)
    with sources.naming(who):
        outcome = _decide(function, spec, named, decorator, "", emit, frozenset())
    seen = {(c.name, c.label) for c in outcome.report.candidates}
    rest = [
        Considered(r.label, r.name, "not asked", "another one was named")
        for r in MANAGER.records()
        if (r.name, r.label) not in seen
    ]
    return replace(outcome.report, candidates=(*outcome.report.candidates, *rest))


def checked(
    function: SSAFunction,
    launch: LaunchSpec,
    explicit: str | None,
    decorator: str | None,
    kernel: str = "",
    *,
    emit: bool = False,
) -> tuple[str | None, LaunchSpec, str]:
    """What a launch names as ``explicit`` without the checks in it, the launch with the checks that
    were asked for, and by whom, where they name the backend (else ``""``).

    Full checks take the place of the backend that would have launched, unless ``sanitize()`` and a
    name stand together. With ``emit``, ``MYTRITON_SANITIZE`` does not count. Raises
    ``ArgumentError`` where arrays lie on a device.
    """
    mode, named = strict.decode(explicit)
    everywhere = mode is None
    if everywhere and not emit:
        mode = strict.variable()
    if mode is None:
        return named, launch, ""
    if elsewhere := [a.name for a in launch.arguments if a.device_kind not in ("", "cpu")]:
        raise ArgumentError(
            f"kernel {kernel or function.name!r} cannot be sanitized: {', '.join(elsewhere)} lie on a "
            "device; pass NumPy arrays or CPU tensors"
        )
    looked_at = replace(launch, options={**launch.options, strict.SANITIZE: mode})
    if mode == "bounds" or (named and not everywhere):
        return named, looked_at, ""
    if everywhere and sources.requested(named, decorator)[0]:
        asked = _decide(function, launch, named, decorator, kernel, emit, frozenset())
        if not asked.report.launches:  # an error, or text: there is nothing to check
            return named, launch, ""
    return "interpreter", looked_at, "MYTRITON_SANITIZE" if everywhere else "sanitize()"


@dataclass
class _Outcome:
    report: SelectionReport
    chosen: Candidate | None
    candidates: list[Candidate]
    error: MytritonBackendError | None


def _decide(
    function: SSAFunction,
    launch: LaunchSpec,
    explicit: str | None,
    decorator: str | None,
    kernel: str,
    emit: bool,
    exclude: frozenset[str],
) -> _Outcome:
    kernel = kernel or function.name
    # Text alone is asked for by methods of the kernel, which have a parameter for the backend.
    how = "backend=" if emit else "with_backend"
    requested, who = sources.requested(explicit, decorator, how)
    report = SelectionReport(kernel, who, requested, _needs(function, launch), launch)
    chosen = error = None
    candidates: list[Candidate] = []
    automatic = not requested
    absent: list[Considered] = []
    if requested:
        wanted = [name for name in requested if name != "auto"]
        alone = len(requested) == 1
        try:
            # All of them first: a name that means nothing is an error wherever it stands.
            records = [_lookup(name, who, alone=alone) for name in wanted]
            for name, record in zip(wanted, records, strict=True):
                if record is None:
                    hint = KNOWN[name].advice
                    absent.append(Considered(name, name, "not installed", hint=hint))
                elif name not in exclude and chosen is None:
                    named = who if alone else ""
                    candidates.append(
                        evaluate(
                            record, function, launch, kernel, emit=emit, named=named, listed=True
                        )
                    )
                    chosen = candidates[-1] if candidates[-1].claim is not None else None
            if chosen is None and alone and candidates:
                error = candidates[0].error
            automatic = "auto" in requested and chosen is None
        except MytritonBackendError as e:
            error = e
    if automatic and error is None:
        seen = {c.record.name for c in candidates}
        left = [r for r in MANAGER.records() if r.name not in exclude and r.name not in seen]
        candidates += evaluate_all(left, function, launch, kernel, emit=emit)
        chosen = next((c for c in candidates if c.claim is not None), None)
    considered = (*absent, *(c.considered(c is chosen) for c in candidates))
    report = replace(
        report,
        candidates=considered,
        chosen=chosen.record.name if chosen else "",
        launches=bool(chosen and chosen.launches),
    )
    if chosen is None and error is None:
        error = NoBackendClaimedError(_nobody(report), requested_by=who)
    if error is not None:
        report = replace(report, error=str(error))
    return _Outcome(report, chosen, candidates, error)


def _needs(function: SSAFunction, launch: LaunchSpec) -> tuple[str, ...]:
    return tuple(sorted(function.features() | launch_features(launch)))


def _lookup(name: str, who: str, *, alone: bool) -> Record | None:
    """The record of a name that was asked for; ``None`` for a known one that is absent from a list.

    Raises UnknownBackendError, BackendNotInstalledError.
    """
    record = MANAGER.find(name, rescan=alone or name not in KNOWN)
    if record is not None or (name in KNOWN and not alone):
        return record
    if name in KNOWN:
        hint = KNOWN[name].advice
        text = messages.not_installed(name, who)
        raise BackendNotInstalledError(text, backend=name, requested_by=who, hint=hint)
    text = messages.unknown(name, who, MANAGER.records())
    raise UnknownBackendError(text, backend=name, requested_by=who)


def _nobody(report: SelectionReport) -> str:
    launch = report.launch
    of = f" of those asked for by {report.source}" if report.requested else ""
    lines = [
        f"no backend{of} can run {report.kernel!r} for this launch."
        f" Needs: {', '.join(report.needs) or 'nothing'}; {arguments_text(launch)}."
    ]
    lines += [f"  {candidate}" for candidate in report.candidates]
    if not report.requested:
        installed = {candidate.name for candidate in report.candidates}
        for kind in sorted(launch.device_kinds - {"cpu"}):
            if any(kind in KNOWN[name].device_kinds for name in installed if name in KNOWN):
                continue
            if installs := installs_for(kind):
                lines.append(f"  to run on {kind!r}: {installs[0]}")
    return "\n".join(lines)


def _mention_better(outcome: _Outcome) -> None:
    """Warn, once each, about installed backends that would have been chosen but cannot run."""
    assert outcome.chosen is not None
    report, chosen = outcome.report, outcome.chosen
    for candidate in outcome.candidates:
        if candidate is chosen:
            if report.requested:
                break
            continue
        record = candidate.record
        if not candidate.worth_mentioning or not (
            report.requested
            or (is_first_party(record.name, record.dist) and candidate.priority > chosen.priority)
        ):
            continue
        what = candidate.considered(False)
        about = record.name if what.verdict != "declined" else (record.name, report.kernel)
        text = f"{report.kernel!r} runs on {chosen.record.name}, not on {what}"
        warn_once(("better", about, what.reason), text, BackendSkippedWarning)


def _check_variables() -> None:
    """Mention ``MYTRITON_*`` variables that nobody reads, and names in one that mean nothing, once
    each."""
    for name, what in idle_names().items():
        text = f"MYTRITON_DISABLE_BACKENDS: {what}. All names: mytriton info"
        warn_once(("disabled", name), text, UnknownVariableWarning)
    found = variables.suspects()
    if not found:
        return
    known = set(variables.VARIABLES)
    for record in MANAGER.records():
        info = record.info()
        known.update(info.variables if info is not None else ())
    for name in found:
        if name not in known:
            near = variables.closest(name, known)
            hint = f"; closest: {near}" if near else ""
            text = f"nothing reads the variable {name}{hint}. All of them: mytriton info"
            warn_once(("variable", name), text, UnknownVariableWarning)


def idle_names() -> dict[str, str]:
    """The names in ``MYTRITON_DISABLE_BACKENDS`` that switch nothing off, and why not."""
    given = [n for n in variables.names("MYTRITON_DISABLE_BACKENDS") if n != "*"]
    if not given:
        return {}
    built_in = {r.name for r in MANAGER.records() if r.in_process}
    installed = {r.name for r in MANAGER.records()} - built_in
    installed |= {variables.normalise_name(e.name) for e in MANAGER.scanned().observers}
    found = {}
    for name in given:
        if name in built_in:
            found[name] = f"{name!r} is part of this program and cannot be switched off"
            if name == "interpreter":
                found[name] = "the interpreter is part of mytriton-core and cannot be switched off"
        elif name not in installed and name not in KNOWN:
            near = variables.closest(name, {*installed, *KNOWN})
            hint = f"; closest: {near}" if near else ""
            found[name] = f"no backend or plugin is called {name!r}{hint}"
    return found


def named(name: str, *, requested_by: str = "") -> LoadedBackend:
    """The backend called ``name``, loaded, able to lower at least.

    Raises what ``choose`` raises about a named backend, MT-B05 and MT-B08 excepted.
    """
    name = variables.normalise_name(name)
    record = _lookup(name, requested_by, alone=True)
    assert record is not None
    if reason := MANAGER.blocked(record):
        text = messages.blocked(record, requested_by, reason)
        raise BackendUnavailableError(text, backend=name, requested_by=requested_by)
    if not MANAGER.load(record):
        assert record.error is not None
        raise record.error.again(requested_by)
    backend = LoadedBackend(record)
    if backend.state is State.UNAVAILABLE:
        text = messages.unavailable(record, requested_by, record.reason, record.hint, False)
        raise BackendUnavailableError(
            text, backend=name, requested_by=requested_by, hint=record.hint
        ) from record.cause
    return backend


def register_backend(
    name: str, plugin: Any, *, info: BackendInfo | None = None, replace: bool = False
) -> None:
    """Make ``plugin``, a module or object with hooks, a backend of this process.

    For programs without installed metadata (frozen applications) and for tests. It never outranks
    a first-party backend unless it is named. Its data comes from ``info`` or from the hook
    ``mytriton_backend_info``. Raises DuplicateBackendError when the name is reserved, or taken and
    not ``replace``; PluginInterfaceError, BackendLoadError or BackendIncompatibleError otherwise.
    """
    MANAGER.register_here(name, plugin, info, replace)


def unregister_backend(name: str) -> None:
    """Undo ``register_backend``; nothing happens when there is no such backend."""
    MANAGER.unregister_here(name)


def refresh_backends() -> None:
    """Look for installed backends again, and forget failures, probes and warnings given."""
    sources.forget_project()
    MANAGER.refresh()
