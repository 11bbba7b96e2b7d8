"""What a trace read from outside the kernel: globals, closure cells, attributes, macros.

Each value read is part of the specialisation: before compiled code is reused the values are looked
up again, so a changed global means a new specialisation, never stale code.
"""

from __future__ import annotations

import builtins
import dataclasses
import struct
import types
from typing import Any

from ..ir.types import BlockType, PointerType, ScalarType

_MISSING = object()

TYPES = (ScalarType, PointerType, BlockType)

#: Types whose objects cannot change in place: one that is still there is the same.
SETTLED = (types.ModuleType, type, int, float, str, bytes, bool, type(None))


class Opaque(TypeError):
    """Raised for a value whose changes cannot be seen: code that depends on it is traced again
    before each launch and reused only when the program is the same."""


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
        return (type(value), fingerprint(value.__mytriton_fingerprint__()))
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes") and value.shape == ():
        return (type(value), value.dtype.str, value.tobytes())
    if type(value).__hash__ is None:
        raise TypeError(f"{type(value).__name__} values can change in place")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = tuple(fingerprint(getattr(value, f.name)) for f in dataclasses.fields(value))
        return (type(value), held)
    # Equality of a type of its own making may be looser than ours: what it prints as counts too.
    own = "__eq__" in {name for cls in type(value).__mro__[:-1] for name in vars(cls)}
    return (type(value), value, repr(value)) if own else (type(value), value)


def function_fingerprint(function: types.FunctionType) -> Any:
    """Code of a Python function plus everything it reads: globals, closure cells, attributes of
    modules and classes, contents of lists and dicts. Raises ``Opaque`` when it reads something
    whose changes cannot be seen."""
    return _of_function(function, frozenset())


def _of_function(function: types.FunctionType, seen: frozenset[int]) -> Any:
    if id(function) in seen:
        return function.__qualname__
    seen = seen | {id(function)}
    names = _names(function.__code__)
    read = [
        (name, _of_read(function.__globals__[name], names, seen))
        for name in names
        if name in function.__globals__
    ]
    read += [
        (name, _of_read(_cell(cell), names, seen))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ())
    ]
    defaults = _of_read((function.__defaults__, function.__kwdefaults__), names, seen)
    attributes = _of_read(dict(vars(function)), names, seen) if vars(function) else None
    return (function.__code__, defaults, attributes, tuple(read))


def _names(code: types.CodeType) -> list[str]:
    """Global and attribute names a code object mentions, those of nested code included."""
    names: dict[str, None] = {}
    codes = [code]
    while codes:
        current = codes.pop()
        names.update(dict.fromkeys(current.co_names))
        codes.extend(c for c in current.co_consts if isinstance(c, types.CodeType))
    return list(names)


def _of_read(value: Any, names: list[str], seen: frozenset[int]) -> Any:
    """Fingerprint of a value a macro reads. ``names`` are the attributes it may ask for."""
    if isinstance(value, types.FunctionType):
        if value.__module__ and value.__module__.partition(".")[0] in _TRUSTED:
            return id(value)
        return _of_function(value, seen)
    if isinstance(value, (types.ModuleType, type)):
        return _of_namespace(value, names, seen)
    if isinstance(value, (list, tuple, set, frozenset)):
        return (type(value), tuple(_of_read(v, names, seen) for v in value))
    if isinstance(value, dict):
        pairs = value.items()
        return (dict, tuple((fingerprint(k), _of_read(v, names, seen)) for k, v in pairs))
    if value is _MISSING or isinstance(value, types.BuiltinFunctionType):
        return id(value)
    if not _atomic(value):
        raise Opaque(f"{type(value).__name__} objects can change in place")
    return fingerprint(value)


#: Modules whose functions and attributes do not change while a program runs.
_TRUSTED = frozenset({"mytriton", "numpy", "math", "operator", "builtins", "functools", "torch"})


def _of_namespace(value: Any, names: list[str], seen: frozenset[int]) -> Any:
    module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    if module.partition(".")[0] in _TRUSTED or id(value) in seen:
        return id(value)
    seen = seen | {id(value)}
    missing = object()
    read = ((n, getattr(value, n, missing)) for n in names)
    found = tuple((n, _of_read(v, names, seen)) for n, v in read if v is not missing)
    return (id(value), found)


def _atomic(value: Any) -> bool:
    """Whether a value cannot change in place, as far as its type tells."""
    if value is None or isinstance(value, (str, bytes, bool, int, float, complex)):
        return True
    return hasattr(value, "__mytriton_fingerprint__") or _belongs_here(value)


def _belongs_here(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in ("mytriton", "numpy") and not hasattr(
        value, "__setitem__"
    )


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
        if now is self.value and isinstance(now, SETTLED):
            return True
        try:
            return bool(fingerprint(now) == self.print)
        except TypeError:
            return False


class Environment:
    """The names a kernel sees from outside: closure cells before globals before builtins."""

    def __init__(self, function: types.FunctionType, caller: Environment | None = None) -> None:
        self.globals = function.__globals__
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        #: What an inlined function reads counts for the kernel that calls it.
        self._root: Environment = caller._root if caller is not None else self
        self._opaque = False
        self.dependencies: dict[tuple[int, str], Dependency] = (
            {} if caller is None else caller.dependencies
        )

    @property
    def opaque(self) -> bool:
        """Whether the trace ran code whose inputs cannot all be seen (see ``Opaque``)."""
        return self._root._opaque

    @opaque.setter
    def opaque(self, value: bool) -> None:
        self._root._opaque = value

    def lookup(self, name: str) -> Any:
        """The value of ``name``. Raises ``KeyError`` when there is none, ``TypeError`` when the
        value is one that can change in place."""
        cell = self.cells.get(name)
        if cell is not None:
            if (value := _cell(cell)) is _MISSING:  # assigned later, if ever
                raise KeyError(name)
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
        if owner.__class__ is types.ModuleType and owner.__name__.split(".")[0] == "mytriton":
            return value
        if isinstance(owner, (tuple, *TYPES)) or hasattr(type(owner), "__mytriton_runtime__"):
            return value  # a value of the kernel's own, or one that never changes
        if not isinstance(owner, (types.ModuleType, type)) and not _atomic(owner):
            # A property may compute anything.
            self.opaque = self.opaque or isinstance(getattr(type(owner), name, None), property)
        if isinstance(value, (types.MethodType, types.BuiltinFunctionType)):
            return value
        return self._note(owner, name, value)

    def _note(self, container: Any, name: str, value: Any) -> Any:
        key = (id(container), name)
        if key not in self.dependencies:
            try:
                self.dependencies[key] = Dependency(container, name, value)
            except Opaque:
                self.opaque = True
        return value

    def names(self) -> list[str]:
        """Every name there is, for close matches in messages."""
        return [*self.cells, *self.globals, *dir(builtins)]
