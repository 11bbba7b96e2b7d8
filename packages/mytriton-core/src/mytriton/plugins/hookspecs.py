"""Hook specifications, generation 1. Importing this module imports pluggy.

Hooks are called on one plugin at a time, never fanned out over backends, so that one that raises
harms nobody else. A trailing argument may be added in a minor version; nothing is ever removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pluggy

from .types import Artifact, Availability, BackendInfo, Claim, Decline, Event, LaunchSpec, Source

if TYPE_CHECKING:
    from ..ir.values import SSAFunction
    from ..runtime.argview import ArgView

hookspec = pluggy.HookspecMarker("mytriton")
hookimpl = pluggy.HookimplMarker("mytriton")

#: What a backend must implement.
REQUIRED = ("mytriton_probe", "mytriton_lower", "mytriton_compile")
#: What any plugin may implement; the other hooks belong to the backend that is asked, and an
#: observer may only wrap them (``@hookimpl(wrapper=True)``).
SHARED = ("mytriton_adapt_argument", "mytriton_event")


@hookspec(firstresult=True)
def mytriton_backend_info() -> BackendInfo:  # type: ignore[empty-body]
    """What the backend is. Better given as data by the entry-point group
    ``mytriton.backend_info``, which core reads without importing the plugin."""


@hookspec(firstresult=True)
def mytriton_probe() -> Availability:  # type: ignore[empty-body]
    """What works here and now: lowering and launching, each with reason and remedy. Called once,
    never at import; an exception means neither works."""


@hookspec(firstresult=True)
def mytriton_claim(function: SSAFunction, launch: LaunchSpec) -> Claim | Decline | None:
    """Narrow core's rule (arguments on ``device_kinds``, features in the table, limits held) for
    what a table cannot say. ``None`` means the rule decides. A claim for a feature the table
    lacks is rejected."""


@hookspec(firstresult=True)
def mytriton_cache_key(launch: LaunchSpec) -> str:  # type: ignore[empty-body]
    """Whatever else changes the compiled code: toolchain, driver, target. Core adds the version
    of the plugin."""


@hookspec(firstresult=True)
def mytriton_passes(function: SSAFunction, launch: LaunchSpec) -> Sequence[Any]:  # type: ignore[empty-body]
    """Passes to run before lowering; each is verified by core like its own."""


@hookspec(firstresult=True)
def mytriton_lower(function: SSAFunction, launch: LaunchSpec) -> Source:  # type: ignore[empty-body]
    """The text of a kernel. Needs no device and no heavy import. Raises ``UnsupportedFeature``."""


@hookspec(firstresult=True)
def mytriton_compile(source: Source, launch: LaunchSpec) -> Artifact:  # type: ignore[empty-body]
    """Turn the text into something that launches. Called only when a launch is wanted."""


@hookspec(firstresult=True)
def mytriton_adapt_argument(value: Any) -> ArgView | None:
    """Describe an array core does not recognise, or ``None``."""


@hookspec
def mytriton_event(event: Event) -> None:
    """Something happened: a selection, a compilation, a cache hit, a launch."""
