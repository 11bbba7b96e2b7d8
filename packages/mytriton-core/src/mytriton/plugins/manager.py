"""The registry of this process: records, loading, probing, observers. One lock, no imports early.

``MANAGER`` is the only instance. Nothing in here runs at ``import mytriton``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..locks import ForkLock
from ..tracebacks import hide
from . import discovery, messages, sources, variables
from .discovery import Entry, Record
from .errors import (
    DuplicateBackendError,
    MytritonBackendError,
    MytritonPluginWarning,
    PluginInterfaceError,
)
from .log import note
from .types import Availability, BackendInfo, Event, State
from .versions import Distribution

if TYPE_CHECKING:
    import pluggy

    from ..runtime.argview import ArgView

_warned: set[object] = set()
#: How observers are called in pluggy, so that no backend is taken for one.
_OBSERVER = "plugin:"


def warn_once(key: object, message: str, category: type[Warning]) -> None:
    """Warn at the user's line, once per process (or ``refresh_backends()``) for each ``key``."""
    if key in _warned:
        return
    _warned.add(key)
    warnings.warn(message, category, stacklevel=sources.user_level())


class Manager:
    """Backends and other plugins of this process. Every method may be called from any thread."""

    def __init__(self) -> None:
        self.lock = ForkLock()
        self._scan: discovery.Scan | None = None
        self._builtin: Record | None = None
        self._registered: dict[str, Record] = {}
        self._pm: pluggy.PluginManager | None = None
        self._observers: list[tuple[str, Any]] | None = None

    # ------------------------------------------------------------------ what there is

    def scanned(self) -> discovery.Scan:
        """The entry points, read once."""
        with self.lock:
            if self._scan is None:
                self._scan = discovery.scan()
            return self._scan

    def records(self) -> list[Record]:
        """Every backend, by name: built in, registered here, installed."""
        with self.lock:
            if self._builtin is None:
                self._builtin = discovery.builtin_record()
            installed = [r for r in self.scanned().backends if r.name not in self._registered]
            found = [self._builtin, *self._registered.values(), *installed]
            return sorted(found, key=lambda r: (r.name, not r.in_process, r.dist))

    def find(self, name: str, *, rescan: bool = True) -> Record | None:
        """The record that a name means. ``rescan`` looks again for one that was installed since."""
        with self.lock:
            found = next((r for r in self.records() if r.name == name), None)
            if found is None and rescan and self._rescan():
                found = next((r for r in self.records() if r.name == name), None)
            return found

    def _rescan(self) -> bool:
        """Read the entry points again, keeping what is loaded. Whether there is anything new."""
        known = {(r.name, r.dist, r.version) for r in self.scanned().backends}
        import importlib

        importlib.invalidate_caches()
        fresh = discovery.scan()
        if {(r.name, r.dist, r.version) for r in fresh.backends} == known:
            return False
        old = {(r.name, r.entry): r for r in self.scanned().backends if r.plugin is not None}
        fresh.backends = [old.get((r.name, r.entry), r) for r in fresh.backends]
        self._scan = fresh
        sources.bump()
        return True

    def blocked(self, record: Record) -> str:
        """Why a record is switched off (``"disabled by ..."``), or ``""``."""
        if record.in_process:
            return ""
        return self._blocked_entry(record.name)

    def _blocked_entry(self, name: str) -> str:
        text = os.environ.get("MYTRITON_DISABLE_BACKENDS", "")
        disabled = variables.split_names(text)
        if variables.normalise_name(name) in disabled or "*" in disabled:
            return f"disabled by MYTRITON_DISABLE_BACKENDS={text}"
        if not variables.flag("MYTRITON_PLUGIN_AUTOLOAD", True):
            return "not loaded because MYTRITON_PLUGIN_AUTOLOAD=0"
        return ""

    def state(self, record: Record) -> State:
        """The state of a record here and now; READY and the like only once it is loaded."""
        return State.BLOCKED if self.blocked(record) else record.state

    # ------------------------------------------------------------------ loading

    def pluggy(self) -> pluggy.PluginManager:
        """The pluggy manager, made at first use."""
        with self.lock:
            if self._pm is None:
                import pluggy

                from . import hookspecs

                self._pm = pluggy.PluginManager("mytriton")
                self._pm.add_hookspecs(hookspecs)
            return self._pm

    def load(self, record: Record) -> bool:
        """Import and register a backend. ``False`` leaves the reason in the record.

        Raises what the plugin raised when ``MYTRITON_STRICT_PLUGINS=1``.
        """
        with self.lock:
            if record.plugin is not None and record.state is not State.DISCOVERED:
                return record.error is None
            if record.state is not State.DISCOVERED:
                return False
            record.info()
            if record.error is None:
                self._load(record)
            if record.error is not None and variables.flag("MYTRITON_STRICT_PLUGINS"):
                raise record.error.again() from record.cause
            return record.error is None

    def _load(self, record: Record) -> None:
        try:
            plugin = record.plugin if record.plugin is not None else record.entry.load()
        except (Exception, SystemExit) as e:
            record.fail(State.BROKEN, messages.load_error(record, e), e)
            return
        try:
            self._register(plugin, record.name, record.dist or record.name, backend=record.name)
            for other in self._every_record():
                if other is not record and other.plugin is plugin:
                    raise PluginInterfaceError(
                        f"plugin {record.dist or record.name}: one module provides the backends"
                        f" {other.name!r} and {record.name!r}; give each a module of its own",
                        backend=record.name,
                    )
            record.plugin = plugin
            if record._info is None:
                found = self.call(record, "mytriton_backend_info")
                if found is None:
                    raise PluginInterfaceError(
                        f"plugin {record.dist or record.name}: it has neither an entry point in"
                        " mytriton.backend_info nor the hook mytriton_backend_info",
                        backend=record.name,
                    )
                record.adopt_info(found)
        except MytritonBackendError as e:
            record.fail(State.BROKEN, e, e.__cause__)
        except (Exception, SystemExit) as e:
            record.fail(State.BROKEN, messages.load_error(record, e), e)
        if record.error is None:
            if not record.in_process:  # one that is may be in the user's own file
                hide("pluggy")
                hide(plugin.__name__ if isinstance(plugin, ModuleType) else plugin.__module__)
            # Until it is probed; nobody sees this.
            record.state = State.READY
        elif record.plugin is plugin:
            self._unregister(plugin)

    def _register(self, plugin: Any, name: str, owner: str, *, backend: str) -> None:
        from . import interface

        interface.check(plugin, owner, backend=backend)
        pm = self.pluggy()
        if pm.is_registered(plugin):
            return
        try:
            # A module that was replaced since may still be there under the plain name.
            pm.register(plugin, name if not backend else f"{name}#{id(plugin)}")
            pm.check_pending()
        except Exception as e:
            self._unregister(plugin)
            raise PluginInterfaceError(f"plugin {owner}: {e}", backend=backend) from e

    def _unregister(self, plugin: Any) -> None:
        # pluggy 1.6 leaves a plugin that failed half registered; 1.7 does not, and then asserts.
        try:
            self.pluggy().unregister(plugin)
        except (AssertionError, ValueError):
            pass

    def probe(self, record: Record) -> Availability:
        """What a loaded backend can do here; asked once. Sets the record's state."""
        emulate = variables.flag("MYTRITON_EMULATE")
        with self.lock:
            answer = record.probes.get(emulate)
            if answer is None:
                answer = record.probes[emulate] = self._probe(record)
            if not answer.can_lower:
                record.state = State.UNAVAILABLE
            else:
                record.state = State.READY if answer.can_launch else State.LOWER_ONLY
            record.reason, record.hint = answer.reason, answer.hint
            return answer

    def _probe(self, record: Record) -> Availability:
        try:
            answer = self.call(record, "mytriton_probe")
        except (Exception, SystemExit) as e:
            record.cause = e
            return Availability(False, False, (), f"mytriton_probe raised {type(e).__name__}: {e}")
        if isinstance(answer, Availability):
            return answer
        kind = type(answer).__name__
        return Availability(False, False, (), f"mytriton_probe returned {kind}, not Availability")

    def call(self, record: Record, hook: str, **arguments: Any) -> Any:
        """Call a hook of one backend, wrappers of observers included; ``None`` if it has none."""
        pm = self.pluggy()
        if not pm.is_registered(record.plugin):
            # It was loaded before a refresh; whoever still holds it may still use it.
            with self.lock:
                self._register(record.plugin, record.name, record.dist, backend=record.name)
        others = [
            plugin
            for name, plugin in pm.list_name_plugin()
            if plugin is not None and plugin is not record.plugin and not name.startswith(_OBSERVER)
        ]
        return pm.subset_hook_caller(hook, others)(**arguments)

    def _every_record(self) -> Iterable[Record]:
        if self._builtin is not None:
            yield self._builtin
        yield from self._registered.values()
        if self._scan is not None:
            yield from self._scan.backends

    # ------------------------------------------------------------------ observers

    def observers(self) -> list[tuple[str, Any]]:
        """Plugins that are not backends, loaded at first use; one that fails is left out."""
        with self.lock:
            if self._observers is None:
                self._observers = []
                for entry in self.scanned().observers:
                    self._load_observer(entry)
            return self._observers

    def _load_observer(self, entry: Entry) -> None:
        if self._blocked_entry(entry.name):
            return
        assert self._observers is not None
        try:
            plugin = entry.load()
            self._register(plugin, _OBSERVER + entry.name, entry.dist.name, backend="")
        except (Exception, SystemExit) as e:
            if variables.flag("MYTRITON_STRICT_PLUGINS"):
                raise
            what = f"plugin {entry.name!r} ({entry.dist.name} {entry.dist.version}) is left out"
            reason = e if isinstance(e, MytritonBackendError) else f"{type(e).__name__}: {e}"
            warn_once(("observer", entry), f"{what}: {reason}", MytritonPluginWarning)
        else:
            self._observers.append((entry.name, plugin))

    def shared(self, hook: str, **arguments: Any) -> Iterable[Any]:
        """Call a hook of everyone who has it, one after the other; failures warn once."""
        self.observers()
        pm = self.pluggy()
        implementations = getattr(pm.hook, hook).get_hookimpls()
        plugins = [impl.plugin for impl in implementations]
        for plugin in reversed(plugins):
            caller = pm.subset_hook_caller(hook, [p for p in plugins if p is not plugin])
            try:
                yield caller(**arguments)
            except Exception as e:
                name = (pm.get_name(plugin) or "?").removeprefix(_OBSERVER).partition("#")[0]
                text = f"{hook} of plugin {name!r} raised {type(e).__name__}: {e}; it is ignored"
                warn_once(("shared", name, hook), text, MytritonPluginWarning)

    # ------------------------------------------------------------------ registering here

    def register_here(
        self, name: str, plugin: Any, info: BackendInfo | None, replace: bool
    ) -> None:
        """See ``selection.register_backend``."""
        name = variables.normalise_name(name)
        entry = Entry(name, getattr(plugin, "__name__", repr(plugin)), Distribution("", ""))
        record = Record(name, entry, plugin=plugin, in_process=True)
        with self.lock:
            if name in discovery.RESERVED:
                raise DuplicateBackendError(messages.reserved(record), backend=name)
            if not discovery._NAME.match(name):
                raise PluginInterfaceError(messages.bad_name(record), backend=name)
            rival = next((r for r in self.records() if r.name == name), None)
            if rival is not None and not replace:
                if rival.plugin is plugin:
                    return
                text = (
                    f"backend {name!r} exists already: {rival.origin}."
                    " Pass replace=True to use yours instead"
                )
                raise DuplicateBackendError(text, backend=name)
            if rival is not None and rival.plugin is not None:
                self._unregister(rival.plugin)
                rival.plugin, rival.state = None, State.DISCOVERED
            self._registered.pop(name, None)
            if info is not None:
                record.adopt_info(info)
            if record.error is None:
                self._registered[name] = record
                self._load(record)
            if record.error is not None:
                self._registered.pop(name, None)
                raise record.error
            sources.bump()

    def unregister_here(self, name: str) -> None:
        """See ``selection.unregister_backend``."""
        with self.lock:
            record = self._registered.pop(variables.normalise_name(name), None)
            if record is not None:
                self._unregister(record.plugin)
                sources.bump()

    def refresh(self) -> None:
        """Forget what was found, loaded and warned about; registered backends stay."""
        import importlib

        with self.lock:
            importlib.invalidate_caches()
            self._scan = self._pm = self._observers = self._builtin = None
            _warned.clear()
            for record in self._registered.values():
                record.probes.clear()
                self._register(record.plugin, record.name, record.name, backend=record.name)
            sources.bump()


MANAGER = Manager()


def emit_event(event: Event) -> None:
    """Tell every plugin, and ``MYTRITON_LOG``, that something happened. A plugin that raises is
    warned about once."""
    note(event)
    for _ in MANAGER.shared("mytriton_event", event=event):
        pass


def observing() -> bool:
    """Whether anybody implements ``mytriton_event``: whether an ``Event`` is worth building."""
    MANAGER.observers()
    return bool(MANAGER.pluggy().hook.mytriton_event.get_hookimpls())


def adapt_argument(value: Any) -> ArgView | None:
    """Ask the plugins to describe an array core does not recognise; ``None`` if none does."""
    for view in MANAGER.shared("mytriton_adapt_argument", value=value):
        if view is not None:
            return view  # type: ignore[no-any-return]
    return None
