"""A backend that is loaded: what the runtime calls to lower and compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.values import SSAFunction
from . import messages
from .discovery import Record
from .errors import ClaimBrokenError, PluginInterfaceError, UnsupportedFeature
from .manager import MANAGER
from .types import Artifact, Availability, BackendInfo, LaunchSpec, Source, State


class LoadedBackend:
    """A backend whose module is imported. Made by ``selection``; equal when the record is."""

    __slots__ = ("_record", "info")

    def __init__(self, record: Record) -> None:
        assert record._info is not None
        self._record = record
        self.info: BackendInfo = record._info

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def dist(self) -> str:
        """The distribution that provides it; ``""`` for one registered by the program."""
        return self._record.dist

    @property
    def version(self) -> str:
        return self._record.version

    @property
    def state(self) -> State:
        """READY, LOWER_ONLY or UNAVAILABLE (or BLOCKED, if it was switched off since)."""
        MANAGER.probe(self._record)
        return MANAGER.state(self._record)

    @property
    def availability(self) -> Availability:
        """The answer of its probe."""
        return MANAGER.probe(self._record)

    def lower(self, function: SSAFunction, launch: LaunchSpec) -> Source:
        """The text of ``function``. Raises ``ClaimBrokenError`` (MT-B10) when the backend meets a
        feature it claimed, and whatever else the backend raises."""
        try:
            source = self._call("mytriton_lower", function=function, launch=launch)
        except UnsupportedFeature as e:
            raise self._broken(function.name, "lower", e) from e
        return self._expect(source, Source, "mytriton_lower", "a Source")  # type: ignore[no-any-return]

    def compile(self, source: Source, launch: LaunchSpec) -> Artifact:
        """Something to launch. Raises like ``lower``."""
        try:
            artifact = self._call("mytriton_compile", source=source, launch=launch)
        except UnsupportedFeature as e:
            raise self._broken(source.entry, "compile", e) from e
        if not callable(getattr(artifact, "launch", None)):
            self._expect(artifact, (), "mytriton_compile", "an Artifact (with a launch method)")
        return artifact  # type: ignore[no-any-return]

    def passes(self, function: SSAFunction, launch: LaunchSpec) -> Sequence[Any]:
        """Passes the backend wants to run before ``lower``."""
        return tuple(self._call("mytriton_passes", function=function, launch=launch) or ())

    def cache_key(self, launch: LaunchSpec) -> str:
        """Changes whenever the backend would compile the same SSA to something else."""
        own = self._call("mytriton_cache_key", launch=launch)
        return f"{self.name}|{self.dist}|{self.version}|{own or ''}"

    def _call(self, hook: str, **arguments: Any) -> Any:
        return MANAGER.call(self._record, hook, **arguments)

    def _expect(self, value: Any, kind: Any, hook: str, what: str) -> Any:
        if isinstance(value, kind):
            return value
        text = f"{hook} must return {what}, got {type(value).__name__}"
        raise PluginInterfaceError(f"plugin {self.dist or self.name}: {text}", backend=self.name)

    def _broken(self, kernel: str, step: str, e: UnsupportedFeature) -> ClaimBrokenError:
        declared = self.info.capabilities.get(e.feature)
        listed = declared is not None and declared.state == "yes"
        text = messages.claim_broken(self.name, self.dist, kernel, step, e.feature, listed)
        return ClaimBrokenError(text, backend=self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LoadedBackend) and self._record is other._record

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<backend {self._record.origin}>"
