"""The backend under test: which it is, what it declares, how far it can be tested here."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..case import LEVELS, Case
from .errors import NotAvailableError, SuiteError, UsageError
from .profile import STAGES, Profile, find_profile, load_profile
from .verdicts import Declared


@dataclass
class Target:
    """A backend, as the suite sees it."""

    name: str
    dist: str
    version: str
    hook_api: tuple[int, int]
    capabilities: Mapping[str, Any]
    device_kinds: tuple[str, ...]
    devices: tuple[Any, ...]
    stages: tuple[str, ...]
    profile: Profile
    plugin: str = ""
    _seen: dict[str, Any] = field(default_factory=dict, repr=False)

    def capability(self, feature: str) -> Any:
        """The entry of the table, or ``None``. A table may be slow to ask."""
        if feature not in self._seen:
            self._seen[feature] = self.capabilities.get(feature)
        return self._seen[feature]

    def declared(self, needs: Iterable[str], core: frozenset[str]) -> Declared:
        """What the table says. A feature that only the suite knows counts as ``yes`` unless the
        table has an opinion; one that core computes must be there."""
        states = {f: self.capability(f) for f in needs}
        if any(c is None and f in core for f, c in states.items()):
            return Declared.UNDECLARED
        if any(c is not None and c.state != "yes" for c in states.values()):
            return Declared.GAP
        return Declared.YES

    def reasons(self, needs: Iterable[str]) -> list[str]:
        """Why features are missing: ``"op.exp planned: no libm (issue 3)"``."""
        found = []
        for feature in sorted(needs):
            c = self.capability(feature)
            if c is not None and c.state != "yes":
                issue = f" ({c.issue})" if c.issue else ""
                found.append(f"{feature} {c.state}: {c.reason}{issue}")
        return found


def register_plugin(name: str, module: str) -> None:
    """Register the module of a backend that is not installed; nothing when ``module`` is empty.

    ``package.module:attribute`` names an object in a module.
    """
    if not module:
        return
    import mytriton

    path, _, attribute = module.partition(":")
    plugin: Any = importlib.import_module(path)
    for part in filter(None, attribute.split(".")):
        plugin = getattr(plugin, part)
    mytriton.register_backend(name, plugin, info=getattr(plugin, "INFO", None), replace=True)


def load_cases(modules: Sequence[str] = ()) -> list[Case]:
    """Every case: those of the suite, and ``all_cases()`` or ``cases()`` of further modules.

    Raises ``SuiteError`` for a case that is defined twice or is at no level.
    """
    found: list[Case] = []
    for name in modules or ("mytriton_testkit.cases",):
        module = importlib.import_module(name)
        make = getattr(module, "all_cases", None) or module.cases
        found.extend(make())
    seen: set[str] = set()
    for case in found:
        for name in (case.id, *case.aliases):
            if name in seen:
                raise SuiteError(f"two cases are called {name!r}")
            seen.add(name)
        if case.level not in LEVELS:
            raise SuiteError(f"{case.id}: no level is called {case.level!r}")
    return found


def find_target(name: str, *, plugin: str = "", profile: str = "") -> Target:
    """Look at a backend. Raises ``NotAvailableError``, ``ProfileError``, ``UsageError``."""
    from mytriton.plugins import selection
    from mytriton.plugins.errors import MytritonBackendError
    from mytriton.plugins.manager import MANAGER
    from mytriton.plugins.variables import normalise_name

    name = normalise_name(name)
    try:
        register_plugin(name, plugin)
    except MytritonBackendError as e:
        raise NotAvailableError(str(e)) from e
    except (ImportError, AttributeError) as e:
        raise UsageError(f"--plugin {plugin}: {e}") from e
    except (Exception, SystemExit) as e:
        raise UsageError(f"--plugin {plugin}: {type(e).__name__} at import: {e}") from e
    _survives(name)
    try:
        loaded = selection.named(name, requested_by="mytriton-conformance")
    except MytritonBackendError as e:
        raise NotAvailableError(str(e)) from e
    record = MANAGER.find(name)
    info = loaded.info
    found = load_profile(profile) if profile else _own_profile(record, name, plugin)
    return Target(
        name, loaded.dist, loaded.version, info.hook_api, info.capabilities, info.device_kinds,
        loaded.availability.devices, _stages(loaded), found, plugin,
    )  # fmt: skip


def _survives(name: str) -> None:
    """Import and probe an installed backend in another process first: one that hangs or ends the
    process would take this one with it. Raises ``NotAvailableError``."""
    from mytriton.cli.doctor import examine
    from mytriton.plugins.manager import MANAGER
    from mytriton.plugins.types import State

    record = MANAGER.find(name)
    if record is None or record.in_process or record.state is not State.DISCOVERED:
        return
    if name == "interpreter" or MANAGER.blocked(record):
        return
    report = examine(name)
    if report["step"] != "done":
        raise NotAvailableError(f"{report['reason']}. See: mytriton doctor {name}")


def _own_profile(record: Any, name: str, plugin: str) -> Profile:
    entry = record.info_entry
    module = entry.value.partition(":")[0] if entry is not None else plugin.partition(":")[0]
    if not module:
        return Profile()
    path = find_profile(module, name)
    return load_profile(path) if path is not None else Profile()


def _stages(loaded: Any) -> tuple[str, ...]:
    """The stages possible here. ``compile`` needs a toolchain, which only trying tells."""
    from mytriton.plugins import variables

    answer = loaded.availability
    found = ["emit", "compile"]
    if "cpu" in loaded.info.device_kinds:
        if answer.can_launch:
            found.append("execute")
        return tuple(found)
    if _emulated(loaded):
        found.append("emulated")
    # What launches under MYTRITON_EMULATE=1 is the emulator.
    if answer.can_launch and not variables.flag("MYTRITON_EMULATE"):
        found.append("execute")
    return tuple(found)


def _emulated(loaded: Any) -> bool:
    """Whether the backend could launch on an emulator of its kind of device."""
    from mytriton.plugins.devices import EMULATOR
    from mytriton.plugins.manager import MANAGER

    names = {entry.name for entry in MANAGER.scanned().devices}
    return any(kind + EMULATOR in names for kind in loaded.info.device_kinds)


def choose_stage(target: Target, wanted: str) -> str:
    """The stage to run: the one asked for, else the profile's, else the highest available.

    Raises ``NotAvailableError`` when it is not possible here.
    """
    stage = wanted or target.profile.stage
    if not stage:
        # Compiling without launching is possible only where the toolchain is: never assumed.
        possible = [s for s in STAGES if s in target.stages and s != "compile"]
        return possible[-1]
    if stage not in STAGES:
        raise UsageError(f"no stage is called {stage!r}; stages: {', '.join(STAGES)}")
    if stage not in target.stages:
        raise NotAvailableError(
            f"backend {target.name!r} cannot be tested at stage {stage!r} here;"
            f" possible: {', '.join(target.stages)}. See: mytriton doctor {target.name}"
        )
    return stage
