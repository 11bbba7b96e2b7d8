"""Doing one case with one backend. Runs in a worker process, or in the parent for debugging."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..case import Case
from .device import HostArrays, arrays_for
from .oracle import LaunchOf, arguments_of, call_of, passed
from .poison import poisoned

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Setup:
    """What a worker is told once."""

    backend: str
    #: Module to register under the name, for a backend that is not installed.
    plugin: str = ""
    #: Modules with cases that do not come with the testkit.
    case_modules: tuple[str, ...] = ()
    stage: str = "execute"
    #: The tests of the suite itself have a backend that is the interpreter in disguise.
    poison: bool = True
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One case: its own launch, and one more on the warm cache."""

    launches: tuple[LaunchOf, ...]
    #: Where core declines by the table, go on and ask the backend itself.
    force: bool = False


@dataclass
class LaunchRecord:
    """What one launch did. ``kind``: ``ran``, ``declined`` or ``error``."""

    launch: LaunchOf
    kind: str
    #: Arrays that changed, as they are now.
    changed: dict[str, Array] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    message: str = ""
    error: str = ""
    missing: frozenset[str] = frozenset()
    detail: str = ""
    forced: bool = False
    text: str = ""


def perform(
    setup: Setup, cases: Mapping[str, Case], job: Job, phase: Callable[[str], None]
) -> list[LaunchRecord]:
    """Do the launches of a job until one does not run."""
    done: list[LaunchRecord] = []
    for number, launch in enumerate(job.launches):
        if number:
            phase(f"second launch, arguments of {launch.case} with seed {launch.seed}")
        record = _launch(setup, cases[launch.case], launch, job.force)
        done.append(record)
        if record.kind != "ran":
            break
    return done


def _launch(setup: Setup, case: Case, launch: LaunchOf, force: bool) -> LaunchRecord:
    arguments = arguments_of(case, launch.seed)
    if setup.stage in ("emit", "compile"):
        return _attempt(launch, lambda: _compile_only(setup, case, arguments))
    arrays = arrays_for(setup.backend, setup.stage)
    record = _attempt(launch, lambda: _execute(setup, case, launch, arguments, arrays, _normally))
    if record.kind == "declined" and force:
        # Core's rule has refused, as it should. Would the backend have known?
        mine = _attempt(launch, lambda: _execute(setup, case, launch, arguments, arrays, _directly))
        mine.forced = True
        return mine
    return record


def _attempt(launch: LaunchOf, action: Callable[[], LaunchRecord]) -> LaunchRecord:
    from mytriton.plugin_api import UnsupportedFeature
    from mytriton.plugins.errors import BackendDeclinedError, ClaimBrokenError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action()
    except BackendDeclinedError as e:
        rows = getattr(e.report, "candidates", ())
        missing = frozenset().union(*(row.missing for row in rows))
        return LaunchRecord(launch, "declined", message=str(e), missing=missing)
    except (ClaimBrokenError, UnsupportedFeature) as e:
        cause = e if isinstance(e, UnsupportedFeature) else e.__cause__
        if isinstance(cause, UnsupportedFeature):
            missing = frozenset({cause.feature} - {""})
            # Not its own text, which points at the kernel: at the line of the backend that declined.
            why = f" ({cause.reason})" if cause.reason else ""
            text = f"unsupported: {cause.feature}{why}"
            return LaunchRecord(launch, "declined", message=text + place_of(cause), missing=missing)
        return _error(launch, e)
    except (Exception, SystemExit) as e:
        return _error(launch, e)


def _error(launch: LaunchOf, e: BaseException) -> LaunchRecord:
    name = type(e).__name__
    Last.error = e
    try:
        message = f"{name}: {e}{place_of(e)}"
        detail = "".join(traceback.format_exception(type(e), e, e.__traceback__))
    except Exception as broken:
        message = f"{name}: (its text cannot be made: {type(broken).__name__})"
        detail = "".join(traceback.format_tb(e.__traceback__))
    return LaunchRecord(launch, "error", message=message, error=name, detail=detail)


def place_of(e: BaseException) -> str:
    """``" [acme_foo/lowering.py:57]"``: the last line of the backend that ran; empty when the
    exception comes from mytriton or the suite."""
    for frame, line in reversed(list(traceback.walk_tb(e.__traceback__))):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in ("mytriton", "mytriton_testkit"):
            return ""
        if package not in sys.stdlib_module_names and package != "numpy":
            folder, name = os.path.split(frame.f_code.co_filename)
            return f" [{os.path.join(os.path.basename(folder), name)}:{line}]"
    return ""


class Last:
    """The exception of the last launch that raised, for the debugger."""

    error: BaseException | None = None


# ---------------------------------------------------------------------- emit and compile


def _compile_only(setup: Setup, case: Case, arguments: dict[str, Any]) -> LaunchRecord:
    from mytriton.plugins import selection
    from mytriton.plugins.types import Source

    with poisoned(setup.poison) as tried:
        function, spec = case.kernel.specialise({**arguments, **case.options})
        chosen = selection.choose(function, spec, explicit=setup.backend, emit=True)
        backend = chosen.backend
        source = _lower(backend, function, spec)
        _check_source(source, Source)
        if setup.stage == "compile":
            backend.compile(source, spec)
    return _ran(LaunchOf(case.id), tried, text=source.text)


def _check_source(source: Any, kind: type) -> None:
    if not isinstance(source, kind):
        raise TypeError(f"mytriton_lower gave a {type(source).__name__}")
    for name in ("text", "language", "entry"):
        value = getattr(source, name)
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"Source.{name} is {value!r}")
    if source.entry not in source.text:  # type: ignore[attr-defined]
        raise ValueError(f"Source.text does not mention its entry {source.entry!r}")  # type: ignore[attr-defined]


def _lower(backend: Any, function: Any, spec: Any) -> Any:
    """What core does between optimiser and backend: the backend's own passes, then its text."""
    from mytriton.transforms.passes import run_pass

    for each in backend.passes(function, spec):
        function = run_pass(each, function)
    return backend.lower(function, spec)


# ---------------------------------------------------------------------- execute

Launcher = Callable[[Setup, Case, Mapping[str, Any]], str]


def _execute(
    setup: Setup,
    case: Case,
    launch: LaunchOf,
    arguments: dict[str, Any],
    arrays: HostArrays,
    how: Launcher,
) -> LaunchRecord:
    placed = arrays.place(arguments, launch.fence)
    with poisoned(setup.poison) as tried, process_state() as changed:
        text = how(setup, case, placed)
        arrays.wait()
    record = _ran(launch, tried, text=text)
    for name, value in arrays.fetch().items():
        if value.tobytes() != arguments[name].tobytes():
            record.changed[name] = value
    record.damage = [*arrays.damage(), *changed]
    return record


def _ran(launch: LaunchOf, tried: list[str], text: str) -> LaunchRecord:
    if tried:
        from .poison import FallbackError

        raise FallbackError(f"the backend entered the interpreter ({tried[0]})")
    return LaunchRecord(launch, "ran", text=text)


class WrongBackendError(RuntimeError):
    """Something other than the tested backend answered."""


def _normally(setup: Setup, case: Case, arguments: Mapping[str, Any]) -> str:
    args, rest = call_of(case, arguments)
    result = case.kernel.with_backend(setup.backend)[case.grid](*args, **rest)
    if result.backend != setup.backend:
        raise WrongBackendError(f"asked for {setup.backend!r}, {result.backend!r} ran")
    if not result.launched:
        raise WrongBackendError(f"{setup.backend!r} compiled the kernel and did not launch it")
    return str(result.src)


def _directly(setup: Setup, case: Case, arguments: Mapping[str, Any]) -> str:
    from mytriton.plugins import selection
    from mytriton.runtime.arguments import launch_value
    from mytriton.runtime.grid import normalise

    function, spec = case.kernel.specialise({**arguments, **case.options})
    backend = selection.named(setup.backend)
    source = _lower(backend, function, spec)
    artifact = backend.compile(source, spec)
    names = passed(case, arguments)
    artifact.launch(normalise(case.grid), [launch_value(arguments[n]) for n in names])
    return str(source.text)


# ---------------------------------------------------------------------- environment


@contextmanager
def process_state() -> Iterator[list[str]]:
    """What a launch changed in the process of its caller, who did not ask for it. Put back."""
    changed: list[str] = []
    folder, errors = os.getcwd(), np.geterr()
    try:
        yield changed
    finally:
        try:
            now = os.getcwd()
        except OSError:
            now = ""
        if now != folder:
            changed.append("the launch changed the working directory")
            os.chdir(folder)
        if np.geterr() != errors:
            changed.append("the launch changed NumPy's error state (np.seterr)")
            np.seterr(**errors)


@contextmanager
def clean_environment(stage: str, cache: str) -> Iterator[None]:
    """The variables of a user do not change what is tested; those of a toolchain stay. Errors name the
    line of the backend."""
    from mytriton.tracebacks import whole_tracebacks

    kept = dict(os.environ)
    for name in ("BACKEND", "OPT_LEVEL", "SANITIZE", "EMULATE", "DUMP", "STRICT_PLUGINS"):
        os.environ.pop(f"MYTRITON_{name}", None)
    os.environ["MYTRITON_CACHE_DIR"] = cache
    if stage == "emulated":
        os.environ["MYTRITON_EMULATE"] = "1"
    try:
        with whole_tracebacks():
            yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
