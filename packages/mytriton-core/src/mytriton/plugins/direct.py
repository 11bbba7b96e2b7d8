"""What an artifact is told that can do a whole launch by itself, checks included.

Core looks up compiled code at every launch: what kinds the arguments are, which backend is chosen,
whether a global that the kernel read has changed. An artifact with a method ``direct`` gets all that
must hold as data, and gives a function that checks it faster than Python can.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

#: In the place of a value: there is none.
ABSENT = object()


@dataclass(frozen=True)
class DirectParameter:
    """A parameter of the call, and what an argument must be."""

    name: str
    #: ``array``: a NumPy array of this very ``dtype`` object, of whose ``flags.num`` the bits in
    #: ``mask`` are ``flags``. ``i32``: an int (no bool) that fits in 32 bits; ``i64``: one that fits
    #: only in 64. ``f32``: a float. ``bool``. ``constant``: the object ``value``, or an equal int.
    kind: str
    value: Any = None
    #: An int must be 1 (``True``), or must not (``False``).
    one: bool | None = None
    dtype: Any = None
    flags: int = 0
    mask: int = 0
    #: What it is when the call leaves it out, or ``ABSENT``.
    default: Any = ABSENT
    positional: bool = True
    keyword: bool = True


@dataclass(frozen=True)
class DirectLaunch:
    """What must hold for a launch to run one compiled variant.

    ``artifact.direct(launch)`` gives ``None`` or a function ``f(grid, *args, **kwargs)`` that launches
    and returns ``result`` where everything holds, and else returns ``slow(grid, *args, **kwargs)``
    having done nothing. It is called from any thread.
    """

    #: In the order of the call. Those of kind ``constant`` are no arguments of the artifact.
    parameters: tuple[DirectParameter, ...]
    #: Entries of dictionaries, and the objects they must be (or ``ABSENT``).
    watched: tuple[tuple[Mapping[Any, Any], Hashable, Any], ...]
    contexts: tuple[tuple[ContextVar[Any], Any], ...]
    slow: Callable[..., Any]
    #: ``resolve(grid, *values)``, with a value for each parameter: the grid as a tuple, where it is
    #: none of one to three ints (a function, say). Raises what a launch raises. When what it gives is
    #: none of ints either, ``slow`` has a message for it.
    resolve: Callable[..., tuple[Any, ...]]
    #: What a launch returns; also one on an empty grid, which runs nothing.
    result: Any
