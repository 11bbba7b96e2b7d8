"""What is installed: entry points and metadata turned into records. Imports no plugin.

Groups: ``mytriton.backends`` (hook API 1; ``mytriton.backends.v2`` and so on only to say that a
backend is too new), ``mytriton.backend_info`` (data only), ``mytriton.plugins`` (observers and
argument adapters), ``mytriton.devices`` (device providers).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

from . import messages, variables
from .errors import (
    BackendIncompatibleError,
    DuplicateBackendError,
    MytritonBackendError,
    PluginInterfaceError,
)
from .known import CORE_DIST
from .types import HOOK_API, Availability, BackendInfo, State
from .versions import Distribution, core_version, describe, unmet_requirement

BACKENDS = "mytriton.backends"
INFOS = "mytriton.backend_info"
OBSERVERS = "mytriton.plugins"
DEVICES = "mytriton.devices"
INTERPRETER = "interpreter"
#: Names no plugin can take.
RESERVED = (INTERPRETER, "auto", "none")

_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")
_GENERATION = re.compile(r"mytriton\.backends\.v(\d+)\Z")
#: Seconds the import of an info module may take before it is reported.
INFO_BUDGET = 0.05


@dataclass(frozen=True)
class Entry:
    """One entry point."""

    name: str
    value: str
    dist: Distribution

    def load(self) -> Any:
        """Import what the entry point names. Anything the module raises passes through."""
        import importlib

        module, _, attribute = self.value.partition(":")
        found: Any = importlib.import_module(module.strip())
        for part in filter(None, attribute.partition("[")[0].strip().split(".")):
            found = getattr(found, part)
        return found


@dataclass
class Record:
    """One backend that is installed, built in, or registered by the running program."""

    name: str
    entry: Entry
    state: State = State.DISCOVERED
    #: Why it is not better than it is, and what to do about it.
    reason: str = ""
    hint: str = ""
    #: What naming this backend raises, while it is in a bad state.
    error: MytritonBackendError | None = None
    #: The exception below ``error``, when there is one.
    cause: BaseException | None = None
    info_entry: Entry | None = None
    #: The module or object with the hooks, once imported.
    plugin: Any = None
    #: Given by the running program or by core: never looked up in metadata.
    in_process: bool = False
    #: Answers of ``mytriton_probe``, by the value of ``MYTRITON_EMULATE``.
    probes: dict[bool, Availability] = field(default_factory=dict)
    #: Remarks for the author, shown by ``mytriton doctor``.
    notes: list[str] = field(default_factory=list)
    _info: BackendInfo | None = None

    @property
    def dist(self) -> str:
        return self.entry.dist.name

    @property
    def version(self) -> str:
        return self.entry.dist.version

    @property
    def label(self) -> str:
        """``"cuda 0.3.1"``: how reports name it."""
        return f"{self.name} {self.version}" if self.version else self.name

    @property
    def origin(self) -> str:
        """``"cuda 0.3.1 [mytriton-cuda]"``."""
        if self.name == INTERPRETER and self.dist == CORE_DIST:
            return f"{self.name} [built in]"
        return f"{self.label} [{self.dist or 'registered here'}]"

    def fail(self, state: State, error: MytritonBackendError, cause: BaseException | None) -> None:
        """Remember what is wrong."""
        error.__cause__ = cause
        self.state, self.error, self.cause = state, error, cause
        self.reason, self.hint = error.message, error.hint

    def info(self) -> BackendInfo | None:
        """The backend's data, from its info module; ``None`` when it ships none (the hook tells
        then, once loaded) or is in a bad state. Never raises: a broken one makes it BROKEN."""
        if self._info is None and self.state is State.DISCOVERED and self.info_entry is not None:
            started = time.perf_counter()
            try:
                self.adopt_info(self.info_entry.load())
            except (Exception, SystemExit) as e:
                self.fail(State.BROKEN, messages.load_error(self, e), e)
                return None
            taken = time.perf_counter() - started
            if taken > INFO_BUDGET:
                self.notes.append(messages.slow_info(self, self.info_entry.value, taken))
        return self._info

    def adopt_info(self, found: Any) -> None:
        """Take ``found`` as the backend's data; BROKEN or INCOMPATIBLE when it cannot be."""
        if callable(found) and not isinstance(found, type):
            found = found()
        if not isinstance(found, BackendInfo):
            kind = type(found).__name__
            self._reject(f"its backend info must be a BackendInfo, got {kind}")
        elif variables.normalise_name(found.name) != self.name:
            self._reject(
                f"its backend info is called {found.name!r}, its entry point {self.name!r}"
            )
        elif found.hook_api[0] != HOOK_API[0] or found.hook_api[1] > HOOK_API[1]:
            text = messages.hook_api(self, ".".join(map(str, found.hook_api)))
            self.fail(State.INCOMPATIBLE, BackendIncompatibleError(text, backend=self.name), None)
        else:
            self._info = found

    def _reject(self, what: str) -> None:
        error = PluginInterfaceError(f"plugin {self.dist or self.name}: {what}", backend=self.name)
        self.fail(State.BROKEN, error, None)


@dataclass
class Scan:
    """Everything the entry points say."""

    backends: list[Record] = field(default_factory=list)
    observers: list[Entry] = field(default_factory=list)
    devices: list[Entry] = field(default_factory=list)


def builtin_record() -> Record:
    """The interpreter, which is a backend like any other but for its name."""
    from .builtin_info import INFO

    entry = Entry(INTERPRETER, "mytriton.plugins.builtin", Distribution(CORE_DIST, core_version()))
    record = Record(INTERPRETER, entry, in_process=True)
    record._info = INFO
    return record


def scan() -> Scan:
    """Read the entry points and classify what they name from metadata alone."""
    groups = _read_groups()
    infos: dict[tuple[str, str], Entry] = {}
    for entry in groups.get(INFOS, ()):
        infos.setdefault((entry.name, entry.dist.name), entry)
    found = Scan([], groups.get(OBSERVERS, []), groups.get(DEVICES, []))
    supported = groups.get(BACKENDS, [])
    by_name: dict[str, list[Entry]] = {}
    for entry in supported:
        by_name.setdefault(entry.name, []).append(entry)
    for name, entries in by_name.items():
        for entry in entries:
            record = Record(name, entry, info_entry=infos.get((name, entry.dist.name)))
            _classify(record, entries)
            found.backends.append(record)
    present = {(entry.name, entry.dist.name) for entry in supported}
    for group, entries in groups.items():
        if not (match := _GENERATION.match(group)):
            continue
        for entry in entries:
            if (entry.name, entry.dist.name) in present:
                continue
            present.add((entry.name, entry.dist.name))
            record = Record(entry.name, entry)
            text = messages.hook_api(record, match[1])
            error = BackendIncompatibleError(text, backend=record.name)
            record.fail(State.INCOMPATIBLE, error, None)
            found.backends.append(record)
    found.backends.sort(key=lambda r: (r.name, r.dist))
    return found


def _classify(record: Record, rivals: list[Entry]) -> None:
    name = record.name
    if name in RESERVED:
        text = messages.reserved(record)
        error: MytritonBackendError = DuplicateBackendError(text, backend=name)
        record.fail(State.CONFLICT, error, None)
    elif not _NAME.match(name):
        error = PluginInterfaceError(messages.bad_name(record), backend=name)
        record.fail(State.BROKEN, error, None)
    elif len(rivals) > 1:
        text = messages.duplicate(name, [(e.dist.name, e.dist.version) for e in rivals])
        record.fail(State.CONFLICT, DuplicateBackendError(text, backend=name), None)
    elif unmet := unmet_requirement(record.entry.dist):
        text = messages.core_version_unmet(record, unmet)
        record.fail(State.INCOMPATIBLE, BackendIncompatibleError(text, backend=name), None)


def _read_groups() -> dict[str, list[Entry]]:
    """The entry points of our groups, each once, whatever the path says twice."""
    from importlib import metadata

    everything = metadata.entry_points()
    described: dict[int, Distribution] = {}
    groups: dict[str, list[Entry]] = {}
    for group in sorted(everything.groups):
        if group not in (BACKENDS, INFOS, OBSERVERS, DEVICES) and not _GENERATION.match(group):
            continue
        seen = set()
        kept = groups.setdefault(group, [])
        for point in everything.select(group=group):
            source = getattr(point, "dist", None)
            if id(source) not in described:
                described[id(source)] = describe(source) if source else Distribution("?", "?")
            dist = described[id(source)]
            name = variables.normalise_name(point.name)
            key = (name, point.value, dist.name)
            if key not in seen:
                seen.add(key)
                kept.append(Entry(name, point.value, dist))
    return groups
