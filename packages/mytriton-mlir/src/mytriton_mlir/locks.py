"""The locks that making code takes, and what a fork does with them.

LLVM and MLIR have locks of their own, and things half made. A child forked meanwhile would wait for
threads that it does not have. So a fork waits until nobody makes code.
"""

from __future__ import annotations

import os
import threading

#: Building one variant of a kernel, from its text to a function.
BUILD = threading.RLock()
#: MLIR's context, and LLVM's target machine, which are for one thread at a time.
GENERATE = threading.RLock()
#: The JIT that links code into the process. Reentrant: the garbage collector may free a kernel while
#: another is being loaded.
LINK = threading.RLock()

#: In the order in which they are taken.
_ALL = (BUILD, GENERATE, LINK)


def _before_fork() -> None:
    for lock in _ALL:
        lock.acquire()


def _after_fork() -> None:
    for lock in reversed(_ALL):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
