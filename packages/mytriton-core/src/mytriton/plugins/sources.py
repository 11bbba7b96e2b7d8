"""Who may choose the backend: context manager, environment, configuration; and the key of it all.

Order: ``kernel.with_backend(...)``, ``@jit(backend=)``, ``use_backend(...)``,
``MYTRITON_BACKEND``, ``mytriton.config.backend``, ``[tool.mytriton] backend`` of the project file.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from .direct import ABSENT
from .variables import split_names

_Context = tuple[ContextVar[Any], Any]
_Entry = tuple[Mapping[Any, Any], Hashable, Any]

#: Selection in force in this context, and the line that put it there (not part of any key).
_CONTEXT: ContextVar[str | None] = ContextVar("mytriton_backend", default=None)
_PLACE: ContextVar[str] = ContextVar("mytriton_backend_place", default="")
#: How the backend that is named for one launch was named, where it was not by ``with_backend``.
_HOW: ContextVar[str] = ContextVar("mytriton_backend_how", default="")
_generation = 0
# As this file was found on sys.path, which may be relative: so are the frames' names.
_PACKAGE = os.path.dirname(os.path.dirname((lambda: 0).__code__.co_filename)) + os.sep
#: Variables that change which backend runs.
_WATCHED = (
    "MYTRITON_BACKEND",
    "MYTRITON_EMULATE",
    "MYTRITON_DISABLE_BACKENDS",
    "MYTRITON_SANITIZE",
)


def bump() -> None:
    """The set of backends changed: every selection made before is stale."""
    global _generation
    _generation += 1


def as_text(backend: str | Sequence[str] | None) -> str | None:
    """A name, a list of names or ``"a,b"`` as one text. Raises ``TypeError`` for anything else."""
    if backend is None or isinstance(backend, str):
        return backend
    if isinstance(backend, Sequence) and all(isinstance(name, str) for name in backend):
        return ",".join(backend)
    raise TypeError(f"a backend is chosen by name or by a list of names, got {backend!r}")


class Config:
    """Settings of this process. ``backend`` is a name, a list of names, or ``None``."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        # A dictionary: see ``watched``.
        self._held: dict[str, str | None] = {"backend": None}

    @property
    def backend(self) -> str | None:
        return self._held["backend"]

    @backend.setter
    def backend(self, value: str | Sequence[str] | None) -> None:
        self._held["backend"] = as_text(value)

    def __repr__(self) -> str:
        return f"config(backend={self.backend!r})"


config = Config()


# Reading os.environ encodes the key each time; the launch path reads the mapping below it.
def _raw_keys() -> tuple[Any, ...]:
    encode = getattr(os.environ, "encodekey", None)
    return tuple(encode(n) if encode else n for n in _WATCHED)


_K0, _K1, _K2, _K3 = _raw_keys()


def selection_key() -> Hashable:
    """Equal values mean that a launch of the same specialisation selects the same backend.

    Called on every launch. Never raises.
    """
    try:
        get = os.environ._data.get  # type: ignore[attr-defined]
    except AttributeError:
        return (
            _CONTEXT.get(),
            *map(os.environ.get, _WATCHED),
            config._held["backend"],
            _generation,
        )
    return (
        _CONTEXT.get(), get(_K0), get(_K1), get(_K2), get(_K3), config._held["backend"], _generation
    )  # fmt: skip


def watched() -> tuple[list[_Context], list[_Entry]] | None:
    """What ``selection_key`` reads, as places to look at and the objects that are there now: while
    they are, the key is equal. ``None`` where the environment cannot be looked at that way."""
    try:
        environment = os.environ._data  # type: ignore[attr-defined]
        places = [(environment, key) for key in _raw_keys()]
    except AttributeError:
        return None
    places += [(config._held, "backend"), (globals(), "_generation")]
    entries = [(held, key, held.get(key, ABSENT)) for held, key in places]
    return [(_CONTEXT, _CONTEXT.get())], entries


#: Which warnings were given already, by file: what ``__warningregistry__`` is to ``warnings.warn``.
_REGISTRIES: dict[str, dict[Any, Any]] = {}


class use_backend:
    """Choose the backend for the launches inside a ``with`` block.

    ``name`` is a backend, a list in order of preference, ``"auto"`` (as if nothing were named), or
    ``None`` (no change). Holds for this context: a new thread does not inherit it, unless it runs
    in ``contextvars.copy_context()``. An unknown name is reported by the launch, not here. One that
    goes away without having been entered chose nothing, and warns.
    """

    #: The line that made this, until it is entered.
    _unused: tuple[str, int] | None = None

    def __init__(self, name: str | Sequence[str] | None) -> None:
        self.name = as_text(name)
        self._tokens: list[tuple[Token[str | None], Token[str]]] = []
        if self.name is not None:
            frame = _user_frame()
            self._unused = frame.f_code.co_filename, frame.f_lineno

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # While Python ends, objects go away in any order, used or not.
        if self._unused is None or finalizing():
            return
        file, line = self._unused
        call = f"use_backend({self.name!r})"
        text = f"{call} chose nothing: write `with {call}:` round the launches it is for"
        warnings.warn_explicit(
            text, RuntimeWarning, file, line, registry=_REGISTRIES.setdefault(file, {})
        )

    def __enter__(self) -> use_backend:
        self._unused = None
        inherited = self.name is None
        name = _CONTEXT.get() if inherited else self.name
        place = _PLACE.get() if inherited else f"use_backend at {user_place()}"
        self._tokens.append((_CONTEXT.set(name), _PLACE.set(place)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        name, place = self._tokens.pop()
        _CONTEXT.reset(name)
        _PLACE.reset(place)


@contextlib.contextmanager
def naming(how: str) -> Iterator[None]:
    """Inside, what names a backend for one launch is called ``how`` in messages (``"--backend"``);
    ``""``: as it is outside."""
    token = _HOW.set(how or _HOW.get())
    try:
        yield
    finally:
        _HOW.reset(token)


def requested(
    explicit: str | None, decorator: str | None, how: str = "with_backend"
) -> tuple[tuple[str, ...], str]:
    """The names asked for, in order, and by whom; ``((), "auto")`` if by nobody.

    ``how`` is what made ``explicit``, unless ``naming`` says. ``"auto"`` from code ends the search;
    from environment and configuration it means unset.
    """
    for text, who in (
        (explicit, _HOW.get() or how),
        (decorator, "@jit(backend=)"),
        (_CONTEXT.get(), _PLACE.get()),
    ):
        if text is not None and (names := split_names(text)):
            return ((), f"auto ({who})") if names == ("auto",) else (names, who)
    for text, who in (
        (os.environ.get("MYTRITON_BACKEND"), "MYTRITON_BACKEND"),
        (config.backend, "mytriton.config.backend"),
    ):
        if text is not None and (names := split_names(text)) and names != ("auto",):
            return names, who
    text, who = project_backend()
    names = split_names(text)
    return (names, who) if names and names != ("auto",) else ((), "auto")


_SETTING = re.compile(r"""^backend[ \t]*=[ \t]*("[^"\n]*"|'[^'\n]*'|\[[^\]]*\])""", re.M)
_project: tuple[str, str] | None = None


def project_backend() -> tuple[str, str]:
    """``[tool.mytriton] backend`` of the nearest ``pyproject.toml`` at or above the working
    directory, and where that is. Read once."""
    global _project
    if _project is None:
        _project = "", ""
        try:
            folder = os.getcwd()
        except OSError:
            return _project
        while True:
            file = os.path.join(folder, "pyproject.toml")
            if os.path.isfile(file):
                found = _read_project(file)
                if found:
                    _project = found, f"[tool.mytriton] in {file}"
                break
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
    return _project


def forget_project() -> None:
    """Read the project file again when it is next needed."""
    global _project
    _project = None


def _read_project(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError):
        return ""
    # One setting of one table: no TOML reader is needed, and Python 3.10 has none.
    table = re.search(r"^\[tool\.mytriton\][ \t]*(?:#[^\n]*)?$(.*?)(?=^\[|\Z)", text, re.M | re.S)
    value = table and _SETTING.search(table[1])
    return ",".join(re.findall(r"[\"']([^\"']*)[\"']", value[1])) if value else ""


def user_level() -> int:
    """The ``stacklevel`` that makes ``warnings.warn`` in the caller point at the user's line."""
    frame: Any = sys._getframe(1)
    level = 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    return level


def _user_frame() -> Any:
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def user_place() -> str:
    """``train.py:41``: the line outside this package that is running."""
    frame = _user_frame()
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
