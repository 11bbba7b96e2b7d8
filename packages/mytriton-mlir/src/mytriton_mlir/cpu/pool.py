"""The worker threads: native ones, which never hold the GIL and never wait for one another.

A launch is one call, ``run(descriptor)``: function, state of the pool, cost record, number of
programs, the first that has not been run, then the kernel's arguments. Small launches run at once in
the calling thread. Others are cut into chunks that the caller and the workers take from a shared
counter; the caller waits only for workers that have taken one. A launch that finds the pool in use by
another thread runs alone.

Python looks at signals between its own instructions only. So a launch that takes long returns now and
then, by the status ``PAUSED``, and is called again. What a program costs is not known beforehand, nor
need it be the same for all of them: chunks are as long as the one before allows.

Workers start when the first launch that is worth sharing asks for them, by the status ``NO_WORKERS``.
They end before a ``fork`` (a process with threads gets a warning from Python 3.12 on, and a child has
none of them), and start again, in the parent as in the child, when a launch next asks.

The code is LLVM IR: it is compiled once a process, by ``libLLVM`` alone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from typing import Any

from mytriton.plugin_api import VariableError

from ..llvm import LLVMError, Loaded, llvm, missing
from . import cache, talk
from . import pool_ir as ir
from .engine import Alone
from .target import host


class Pool:
    """The workers of this process, and the function that launches through them."""

    def __init__(self) -> None:
        entry = "mytriton_pool"
        self._loaded: Loaded = load_ir(ir.source(entry), entry, passes="always-inline")
        self._worker = llvm().address(f"{entry}_worker")
        #: ``run(descriptor) -> status``; releases the GIL.
        self.run_address = self._loaded.address
        self.run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(self.run_address)
        self._again = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self.run_address)
        stop = llvm().address(f"{entry}_stop")
        self._stop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(stop)
        #: Threads a launch may use, the calling one included.
        self.threads = wanted_threads() if _supported() else 1
        self.state = 0
        self._cell = ctypes.c_int64()
        #: Where the address of the state is found at any time: a fork changes it.
        self.state_cell = ctypes.addressof(self._cell)
        self.reset()

    def reset(self) -> None:
        """Forget the workers (a child of ``fork`` has none of its parent's) and begin anew."""
        memory = ctypes.create_string_buffer(ir.STATE_BYTES + 64)
        # Never freed: a worker may look at it at any time.
        _kept.append(memory)
        self.state = -(-ctypes.addressof(memory) // 64) * 64
        self._cell.value = self.state
        self._lock = threading.Lock()
        self._handles: list[int] = []
        ctypes.c_int64.from_address(self.state + ir.NEXT).value = 1 << 62
        self._announce()

    @property
    def started(self) -> int:
        """How many workers are running."""
        return len(self._handles)

    def _set(self, field: int, value: int) -> None:
        ctypes.c_int32.from_address(self.state + field).value = value

    def _announce(self) -> None:
        """Tell launches how many workers there are, and whether to ask for some."""
        workers = self.threads - 1
        self._set(ir.LIMIT, min(workers, self.started))
        self._set(ir.WANTED, int(workers > 0 and not self.started))

    def resize(self, threads: int) -> None:
        """Use ``threads`` threads from now on, the calling one included."""
        with self._lock:
            self.threads = threads if _supported() else 1
            if self.started:
                self._fill()
            self._announce()

    def finish(self, status: int, descriptor: bytes) -> None:
        """What is left to do when ``run(descriptor)`` gave a ``status`` that is not 0."""
        address = ctypes.cast(ctypes.c_char_p(descriptor), ctypes.c_void_p).value
        self.go_on(status, address or 0)

    def go_on(self, status: int, descriptor: int) -> None:
        """The same, given the address of the descriptor. Handlers of signals run here, in between;
        what they raise ends the launch, of which nothing is running then."""
        while status < 0:
            if status == ir.NO_WORKERS:  # twice only when another thread forks meanwhile
                self.start()
            status = self._again(descriptor)
        if status:
            raise talk.error_of(status, descriptor + talk.ARGUMENTS)

    def start(self) -> None:
        """Start the workers that are missing."""
        with self._lock:
            self._fill()
            self._announce()

    def _fill(self) -> None:
        create = ctypes.CDLL(None).pthread_create
        create.argtypes = [ctypes.c_void_p] * 4
        while self.started < self.threads - 1:
            thread = ctypes.c_uint64()
            if create(ctypes.byref(thread), None, self._worker, self.state):
                self.threads = self.started + 1  # no more to be had: fewer will do
                return
            self._handles.append(thread.value)

    def stop(self) -> None:
        """End the workers; the next launch that is worth sharing starts them again. Does nothing
        while a launch of another thread is using them."""
        if not self._handles or not self._lock.acquire(blocking=False):
            return
        try:
            if not self._handles or not self._stop(self.state):
                return
            join = ctypes.CDLL(None).pthread_join
            join.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
            for handle in self._handles:
                join(handle, None)
            self._handles.clear()
            for field in (ir.STOP, ir.IDS, ir.SLEEPERS):
                self._set(field, 0)
            self._announce()
            self._set(ir.BUSY, 0)
        finally:
            self._lock.release()


def load_ir(source: str, entry: str, passes: str = "") -> Loaded:
    """Code of our own, from the disk or compiled."""
    key = cache.key(f"{passes}\n{source}", host())
    code = cache.get(key)
    if code is not None:
        try:
            return llvm().load(code, entry)
        except LLVMError:
            cache.drop(key)
    from .compile import ir_to_object

    code = ir_to_object(source, passes)
    cache.put(key, code)
    return llvm().load(code, entry)


def _supported() -> bool:
    return sys.platform == "linux" and platform.machine().lower() in ir.FUTEX


def wanted_threads() -> int:
    """``MYTRITON_NUM_THREADS``, or the processors this process may use. Raises ``VariableError``."""
    text = os.environ.get("MYTRITON_NUM_THREADS", "")
    if not text:
        usable = getattr(os, "sched_getaffinity", None)
        return len(usable(0)) if usable else os.cpu_count() or 1
    if not text.isdigit() or int(text) < 1:
        raise VariableError(f"MYTRITON_NUM_THREADS must be a positive number, got {text!r}")
    return int(text)


_kept: list[Any] = []
_pool: Pool | Alone | None = None
_pool_lock = threading.Lock()


def pool() -> Pool | Alone:
    """The pool of this process; without ``libLLVM`` the one that has no workers."""
    global _pool
    if _pool is None:
        with _pool_lock:
            if _pool is None:
                _pool = Alone() if missing() else Pool()
    return _pool


def set_num_threads(threads: int) -> None:
    """Use ``threads`` threads for launches from now on. Raises ``ValueError`` below 1."""
    if threads < 1:
        raise ValueError(f"the number of threads must be at least 1, got {threads}")
    pool().resize(threads)


def _before_fork() -> None:
    if _pool is not None:
        _pool.stop()


def _after_fork() -> None:
    global _pool_lock
    _pool_lock = threading.Lock()
    if _pool is not None:
        _pool.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
