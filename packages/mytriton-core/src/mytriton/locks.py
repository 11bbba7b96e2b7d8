"""A lock that survives a fork."""

from __future__ import annotations

import os
import threading
import weakref


class ForkLock:
    """A reentrant lock that nobody holds in a forked child, whichever thread held it in the parent:
    the child has no such thread, and would wait for ever. What it guards must be sound at any moment."""

    def __init__(self) -> None:
        self._renew()
        _all.add(self)

    def _renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


_all: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _in_child() -> None:
    for lock in _all:
        lock._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
