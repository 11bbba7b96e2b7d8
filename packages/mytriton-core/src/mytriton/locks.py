"""What a fork does to locks, and what it waits for."""

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


class Busy:
    """What threads do that a forked child could not go on from, imports above all: the child would wait
    for import locks of threads it does not have. A fork waits until the others are through, though not
    for ever: one of them may wait for the thread that forks."""

    #: Seconds.
    PATIENCE = 10.0

    def __init__(self) -> None:
        self._renew({})

    def _renew(self, inside: dict[int, int]) -> None:
        self._changed = threading.Condition()
        #: By thread, how often it has entered.
        self._inside = inside

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] = self._inside.get(me, 0) + 1

    def __exit__(self, *raised: object) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
                self._changed.notify_all()

    def before_fork(self) -> None:
        me = threading.get_ident()
        self._changed.acquire()
        self._changed.wait_for(lambda: not self._inside.keys() - {me}, self.PATIENCE)

    def in_parent(self) -> None:
        self._changed.release()

    def in_child(self) -> None:
        me = threading.get_ident()
        self._renew({me: self._inside[me]} if me in self._inside else {})


#: Compiling, and importing what compiles.
BUSY = Busy()
_all: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _in_child() -> None:
    for lock in _all:
        lock._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
    os.register_at_fork(
        before=BUSY.before_fork, after_in_parent=BUSY.in_parent, after_in_child=BUSY.in_child
    )
