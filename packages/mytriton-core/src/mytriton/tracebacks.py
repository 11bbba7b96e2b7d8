"""What a user sees of an error: the frames of their own code, and whose mistake it is."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import ArgumentError, MytritonError


def for_user(error: BaseException) -> BaseException:
    """The error as a user should see it: no frames of this package and of backends, in its
    causes neither."""
    if _whole or os.environ.get("MYTRITON_DEBUG"):
        return error
    seen: BaseException | None = error
    while seen is not None:
        seen.__traceback__ = _outside(seen.__traceback__)
        seen = seen.__cause__
    return error


def users(error: BaseException) -> bool:
    """Whether an error is the user's: one that this package means for them, or one that their own code
    raised when it was called (a grid function, a hook). Any other is a mistake in here, to be shown
    whole."""
    if isinstance(error, (MytritonError, IndexError)):
        return True
    inner, libraries = tuple(_inner), _libraries()
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    while len(frames) > 1 and frames[-1].startswith(libraries) and not frames[-1].startswith(inner):
        frames.pop()
    return bool(frames) and not frames[-1].startswith(inner)


def _libraries() -> tuple[str, ...]:
    import sysconfig

    return tuple(sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "purelib", "platlib"))


#: Whose frames are not the user's: files, or folders with a separator at the end. As this file was
#: found on sys.path, which may be relative: so are the frames' names.
_inner = {os.path.dirname(for_user.__code__.co_filename) + os.sep, "<binder of "}


#: Whether errors keep all their frames.
_whole = False


@contextmanager
def whole_tracebacks() -> Iterator[None]:
    """Errors keep the frames of this package and of backends: for those who look for mistakes there,
    and want nothing else that MYTRITON_DEBUG changes."""
    global _whole
    before, _whole = _whole, True
    try:
        yield
    finally:
        _whole = before


def hide(module: str) -> None:
    """Leave the frames of a module, and of the whole package it is in, out of errors for the user."""
    for name in (module.partition(".")[0], module):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:  # a namespace has none, and is not one plugin's
            package = os.path.basename(file).startswith("__init__.")
            _inner.add(os.path.dirname(file) + os.sep if package else file)


def _outside(traceback: types.TracebackType | None) -> types.TracebackType | None:
    inner = tuple(_inner)
    frames = []
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    kept = None
    for tb in reversed(frames):
        if not tb.tb_frame.f_code.co_filename.startswith(inner):
            kept = types.TracebackType(kept, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return kept


def called(what: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function of the user gives. ``what`` says which one, where it does not take the arguments.
    Raises ``ArgumentError`` for that, and what the function raises."""
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        traceback = error.__traceback__
        if traceback is None or traceback.tb_next is not None or isinstance(error, MytritonError):
            raise
        raise ArgumentError(f"{what} cannot be called so: {error}") from None
