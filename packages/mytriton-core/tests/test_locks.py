"""Locks in forked children."""

import os
import subprocess
import sys
import threading

import pytest

from mytriton.locks import ForkLock


def test_it_is_reentrant_and_keeps_other_threads_out():
    lock, entered = ForkLock(), threading.Event()

    def other():
        with lock:
            entered.set()

    thread = threading.Thread(target=other)
    with lock, lock:
        thread.start()
        assert not entered.wait(0.1)
    assert entered.wait(30)
    thread.join()


CHILD = """
import os, threading
from mytriton.locks import ForkLock

lock, held, done = ForkLock(), threading.Event(), threading.Event()

def hold():
    with lock:
        held.set()
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    with lock:
        os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
done.set()
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_does_not_wait_for_a_thread_of_its_parent():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("7\n", "")
