"""What a trace read from outside the kernel: globals, closure cells, attributes, macros.

Each value read is part of the specialisation: before compiled code is reused the values are looked
up again, so a changed global means a new specialisation, never stale code.
"""

from __future__ import annotations

import builtins
import struct
import types
from collections.abc import Iterator
from typing import Any

_MISSING = object()


def fingerprint(value: Any) -> Any:
    """A hashable stand-in that differs whenever compiled code could: types are exact, floats
    compare by bits, functions by code and by everything they read. Raises ``TypeError`` for values
    that can change in place."""
    if value is None or isinstance(value, (str, bytes)) or type(value) in (bool, int):
        return (type(value), value)
    if type(value) is float:
        return (float, struct.pack("<d", value))
    if isinstance(value, (tuple, frozenset)):
        return (type(value), tuple(fingerprint(v) for v in value))
    if isinstance(value, types.FunctionType):
        return ("function", function_fingerprint(value))
    if hasattr(value, "__mytriton_fingerprint__"):
        return value.__mytriton_fingerprint__()
    if type(value).__hash__ is None:
        raise TypeError(f"{type(value).__name__} values can change in place")
    return (type(value), value)


def function_fingerprint(function: types.FunctionType, seen: frozenset[int] = frozenset()) -> Any:
    """Code of a Python function plus the values of the globals and closure cells it reads."""
    if id(function) in seen:
        return function.__qualname__
    seen = seen | {id(function)}
    read = []
    for name, value in _read_by(function):
        if isinstance(value, types.FunctionType):
            read.append((name, function_fingerprint(value, seen)))
            continue
        try:
            read.append((name, fingerprint(value)))
        except TypeError:
            read.append((name, id(value)))
    defaults = tuple(map(repr, (function.__defaults__, function.__kwdefaults__)))
    return (function.__code__, defaults, tuple(read))


def _read_by(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes.extend(c for c in code.co_consts if isinstance(c, types.CodeType))
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        yield name, _cell(cell)


def _cell(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


class Dependency:
    """One value read while tracing, and how to read it again."""

    __slots__ = ("container", "name", "print", "value")

    def __init__(self, container: Any, name: str, value: Any) -> None:
        self.container = container
        self.name = name
        self.value = value
        self.print = fingerprint(value)

    def read(self) -> Any:
        container = self.container
        if type(container) is dict:
            return container.get(self.name, getattr(builtins, self.name, _MISSING))
        if isinstance(container, types.CellType):
            return _cell(container)
        return getattr(container, self.name, _MISSING)

    def holds(self) -> bool:
        """Whether the value is still what it was when the kernel was traced."""
        now = self.read()
        if now is self.value and not isinstance(now, types.FunctionType):
            return not hasattr(now, "__mytriton_fingerprint__") or fingerprint(now) == self.print
        try:
            return bool(fingerprint(now) == self.print)
        except TypeError:
            return False


class Environment:
    """The names a kernel sees from outside: closure cells before globals before builtins."""

    def __init__(self, function: types.FunctionType) -> None:
        self.globals = function.__globals__
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        self.dependencies: dict[tuple[int, str], Dependency] = {}

    def lookup(self, name: str) -> Any:
        """The value of ``name``. Raises ``KeyError`` when there is none, ``TypeError`` when the
        value is one that can change in place."""
        cell = self.cells.get(name)
        if cell is not None and (value := _cell(cell)) is not _MISSING:
            return self._note(cell, name, value)
        if name in self.globals:
            return self._note(self.globals, name, self.globals[name])
        if hasattr(builtins, name):
            # A global of that name defined later would shadow it.
            return self._note(self.globals, name, getattr(builtins, name))
        raise KeyError(name)

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``, noted as read."""
        value = getattr(owner, name)
        if isinstance(owner, types.ModuleType) and owner.__name__.split(".")[0] == "mytriton":
            return value
        if isinstance(value, (types.MethodType, types.BuiltinFunctionType)):
            return value
        return self._note(owner, name, value)

    def _note(self, container: Any, name: str, value: Any) -> Any:
        key = (id(container), name)
        if key not in self.dependencies:
            self.dependencies[key] = Dependency(container, name, value)
        return value

    def names(self) -> list[str]:
        """Every name there is, for close matches in messages."""
        return [*self.cells, *self.globals, *dir(builtins)]
