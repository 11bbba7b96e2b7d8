"""Whether a plugin keeps to the hook specifications (MT-B09), checked before it is registered."""

from __future__ import annotations

import inspect
from typing import Any

from . import hookspecs
from .errors import PluginInterfaceError
from .variables import closest

#: What ``HookimplMarker("mytriton")`` leaves on a function.
_MARK = "mytriton_impl"

HOOKS: dict[str, tuple[str, ...]] = {
    name: tuple(inspect.signature(spec).parameters)
    for name, spec in vars(hookspecs).items()
    if hasattr(spec, "mytriton_spec")
}


def check(plugin: Any, owner: str, *, backend: str = "") -> None:
    """Raise ``PluginInterfaceError`` for the first thing that is wrong with ``plugin``.

    ``backend`` is the backend it provides; empty for an observer, which has no required hooks and
    may implement only the hooks that are everybody's, and wrap the others.
    """
    found = set()
    for attribute in dir(plugin):
        value = inspect.getattr_static(plugin, attribute, None)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        options = getattr(value, _MARK, None) if callable(value) else None
        if options is None:
            if attribute in HOOKS and callable(value):
                raise _error(owner, backend, f"{attribute} is defined but not marked @hookimpl")
            continue
        name = options.get("specname") or attribute
        _check_hook(name, getattr(plugin, attribute), owner, backend)
        if not backend and name not in hookspecs.SHARED and not _wraps(options):
            raise _error(
                owner, backend, f"{name} belongs to a backend; an observer can only wrap it"
                " (@hookimpl(wrapper=True))"
            )  # fmt: skip
        if not _wraps(options):
            found.add(name)
    if backend:
        for name in hookspecs.REQUIRED:
            if name not in found:
                raise _error(owner, backend, f"the required hook {name} is missing")


def _check_hook(name: str, function: Any, owner: str, backend: str) -> None:
    if name not in HOOKS:
        near = closest(name, HOOKS)
        hint = f" (closest: {near})" if near else ""
        raise _error(owner, backend, f"hook {name!r} does not exist{hint}")
    spec = HOOKS[name]
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in spec or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            what = f"argument {str(parameter)!r} of {name} is not in the spec ({', '.join(spec)})"
            raise _error(owner, backend, what)


def _wraps(options: dict[str, Any]) -> bool:
    return bool(options.get("wrapper") or options.get("hookwrapper"))


def _error(owner: str, backend: str, what: str) -> PluginInterfaceError:
    return PluginInterfaceError(f"plugin {owner}: {what}", backend=backend)
