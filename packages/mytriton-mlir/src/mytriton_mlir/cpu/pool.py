"""The worker threads: native ones, which never hold the GIL and never wait for one another.

A launch is one call, ``run(descriptor)``: function, state of the pool, cost record, number of
programs, then the kernel's arguments. Small launches run at once in the calling thread. Others are
cut into chunks that the caller and the workers take from a shared counter; the caller waits only
for workers that have taken one. A launch that finds the pool in use by another thread runs alone.

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
from .engine import Alone
from .target import host

#: Offsets in the state, each on a cache line of its own.
_SEQ, _NEXT, _ACTIVE, _JOB, _STATUS, _SLEEPERS, _BUSY, _LIMIT, _IDS, _WANTED, _STOP = range(
    0, 11 * 64, 64
)
_STATE_BYTES = 12 * 64

#: What ``run`` answers, having done nothing, when workers are wanted and none has been started.
NO_WORKERS = -1

#: Cycles below which a launch is not shared (about 8 us), and from which sleeping workers are woken.
SHARE_CYCLES = 20_000
WAKE_CYCLES = 250_000
#: Cycles a worker looks for work before it sleeps.
SPIN_CYCLES = 250_000
CHUNKS = 32

_FUTEX = {"x86_64": 202, "aarch64": 98}


def _source(entry: str) -> str:
    arch = "x86_64" if platform.machine().lower() in ("x86_64", "amd64") else "aarch64"
    pause = 'call void asm sideeffect "pause", ""()'
    if arch == "aarch64":
        pause = 'call void asm sideeffect "yield", ""()'
    futex = _FUTEX[arch]

    def field(name: str, offset: int) -> str:
        return f"  %{name} = getelementptr i8, ptr %s, i64 {offset}\n"

    return f"""
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i64 @llvm.readcyclecounter()
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

define ptr @{entry}_worker(ptr %s) {{
entry:
{field("next", _NEXT)}{field("active", _ACTIVE)}{field("fnp", _JOB)}{field("argsp", _JOB + 8)}\
{field("totalp", _JOB + 16)}{field("chunkp", _JOB + 24)}{field("statusp", _STATUS)}\
{field("sleepers", _SLEEPERS)}{field("limitp", _LIMIT)}{field("ids", _IDS)}{field("stop", _STOP)}
  %id = atomicrmw add ptr %ids, i32 1 seq_cst
  br label %idle
idle:
  %last = phi i32 [ 0, %entry ], [ %now, %finished ], [ %now, %skip ], [ %last, %slept ]
  %begin = call i64 @llvm.readcyclecounter()
  br label %spin
spin:
  %now = load atomic i32, ptr %s seq_cst, align 4
  %same = icmp eq i32 %now, %last
  br i1 %same, label %pause, label %job
pause:
  {pause}
  %t = call i64 @llvm.readcyclecounter()
  %spent = sub i64 %t, %begin
  %tired = icmp ugt i64 %spent, {SPIN_CYCLES}
  br i1 %tired, label %sleep, label %spin
sleep:
  %in = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %w = call i64 (i64, ...) @syscall(i64 {futex}, ptr %s, i32 128, i32 %last, ptr null, ptr null, i32 0)
  %out = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %slept
slept:
  br label %idle
job:
  %ending = load atomic i32, ptr %stop seq_cst, align 4
  %go = icmp eq i32 %ending, 0
  br i1 %go, label %look, label %leave
leave:
  ret ptr null
look:
  %limit = load atomic i32, ptr %limitp monotonic, align 4
  %mine = icmp ult i32 %id, %limit
  br i1 %mine, label %start, label %skip
skip:
  br label %idle
start:
  %joined = atomicrmw add ptr %active, i32 1 seq_cst
  br label %take
take:
  %chunk = load i64, ptr %chunkp, align 8
  %i = atomicrmw add ptr %next, i64 %chunk seq_cst
  %total = load i64, ptr %totalp, align 8
  %left = icmp slt i64 %i, %total
  br i1 %left, label %work, label %finished
work:
  %fn = load ptr, ptr %fnp, align 8
  %args = load ptr, ptr %argsp, align 8
  %size = load i64, ptr %chunkp, align 8
  %e = add i64 %i, %size
  %end = call i64 @llvm.smin.i64(i64 %e, i64 %total)
  %st = call i32 %fn(ptr %args, i64 %i, i64 %end)
  %or = atomicrmw or ptr %statusp, i32 %st seq_cst
  br label %take
finished:
  %left_ = atomicrmw sub ptr %active, i32 1 seq_cst
  br label %idle
}}

define i32 @{entry}_stop(ptr %s) {{
{field("busy", _BUSY)}{field("stop", _STOP)}\
  %got = cmpxchg ptr %busy, i32 0, i32 1 seq_cst seq_cst
  %ok = extractvalue {{ i32, i1 }} %got, 1
  br i1 %ok, label %tell, label %not
tell:
  store atomic i32 1, ptr %stop seq_cst, align 4
  %seq = atomicrmw add ptr %s, i32 1 seq_cst
  %w = call i64 (i64, ...) @syscall(i64 {futex}, ptr %s, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
  ret i32 1
not:
  ret i32 0
}}

define i32 @{entry}(ptr %d) {{
entry:
  %fn = load ptr, ptr %d, align 8
  %sp = getelementptr i8, ptr %d, i64 8
  %s = load ptr, ptr %sp, align 8
  %cp = getelementptr i8, ptr %d, i64 16
  %costp = load ptr, ptr %cp, align 8
  %tp = getelementptr i8, ptr %d, i64 24
  %total = load i64, ptr %tp, align 8
  %args = getelementptr i8, ptr %d, i64 32
{field("next", _NEXT)}{field("active", _ACTIVE)}{field("fnp", _JOB)}{field("argsp", _JOB + 8)}\
{field("totalp", _JOB + 16)}{field("chunkp", _JOB + 24)}{field("statusp", _STATUS)}\
{field("sleepers", _SLEEPERS)}{field("busy", _BUSY)}{field("limitp", _LIMIT)}\
{field("wantedp", _WANTED)}
  %none = icmp eq ptr %costp, null
  br i1 %none, label %alone, label %look
look:
  %limit = load atomic i32, ptr %limitp monotonic, align 4
  %wanted = load atomic i32, ptr %wantedp monotonic, align 4
  %any = or i32 %limit, %wanted
  %idle = icmp eq i32 %any, 0
  %one = icmp slt i64 %total, 2
  %no = or i1 %idle, %one
  br i1 %no, label %timed, label %guess
guess:
  %cost = load double, ptr %costp, align 8
  %count = sitofp i64 %total to double
  %estimate = fmul double %cost, %count
  %known = fcmp ogt double %cost, 0.0
  %small = fcmp olt double %estimate, {float(SHARE_CYCLES)}
  %inline = and i1 %known, %small
  br i1 %inline, label %timed, label %lacking
lacking:
  %lack = icmp eq i32 %limit, 0
  br i1 %lack, label %nobody, label %claim
nobody:
  ret i32 {NO_WORKERS}
claim:
  %got = cmpxchg ptr %busy, i32 0, i32 1 seq_cst seq_cst
  %ok = extractvalue {{ i32, i1 }} %got, 1
  br i1 %ok, label %share, label %timed
alone:
  %r0 = call i32 %fn(ptr %args, i64 0, i64 %total)
  ret i32 %r0
timed:
  %b0 = call i64 @llvm.readcyclecounter()
  %r1 = call i32 %fn(ptr %args, i64 0, i64 %total)
  %b1 = call i64 @llvm.readcyclecounter()
  %bd = sub i64 %b1, %b0
  %bf = sitofp i64 %bd to double
  %bt = sitofp i64 %total to double
  %bc = fdiv double %bf, %bt
  store double %bc, ptr %costp, align 8
  ret i32 %r1
share:
  %part = sdiv i64 %total, {CHUNKS}
  %chunk = call i64 @llvm.smax.i64(i64 %part, i64 1)
  store ptr %fn, ptr %fnp, align 8
  store ptr %args, ptr %argsp, align 8
  store i64 %total, ptr %totalp, align 8
  store i64 %chunk, ptr %chunkp, align 8
  store atomic i32 0, ptr %statusp seq_cst, align 4
  store atomic i64 0, ptr %next seq_cst, align 8
  %seq = atomicrmw add ptr %s, i32 1 seq_cst
  br label %maybe
maybe:
  %acc = phi i64 [ 0, %share ], [ %acc2, %did ]
  %done = phi i64 [ 0, %share ], [ %done2, %did ]
  %woken = phi i1 [ false, %share ], [ %woken2, %did ]
  %each = phi double [ %cost, %share ], [ %each2, %did ]
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 4
  %some = icmp sgt i32 %asleep, 0
  %notyet = xor i1 %woken, true
  %can = and i1 %some, %notyet
  br i1 %can, label %weigh, label %take
weigh:
  %at = load atomic i64, ptr %next monotonic, align 8
  %rest = sub i64 %total, %at
  %restf = sitofp i64 %rest to double
  %ahead = fmul double %restf, %each
  %worth = fcmp oge double %ahead, {float(WAKE_CYCLES)}
  br i1 %worth, label %wake, label %take
wake:
  %w = call i64 (i64, ...) @syscall(i64 {futex}, ptr %s, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
  br label %take
take:
  %woken2 = phi i1 [ %woken, %maybe ], [ %woken, %weigh ], [ true, %wake ]
  %i = atomicrmw add ptr %next, i64 %chunk seq_cst
  %left = icmp slt i64 %i, %total
  br i1 %left, label %work, label %close
work:
  %e = add i64 %i, %chunk
  %end = call i64 @llvm.smin.i64(i64 %e, i64 %total)
  %t0 = call i64 @llvm.readcyclecounter()
  %st = call i32 %fn(ptr %args, i64 %i, i64 %end)
  %t1 = call i64 @llvm.readcyclecounter()
  %or = atomicrmw or ptr %statusp, i32 %st seq_cst
  br label %did
did:
  %dt = sub i64 %t1, %t0
  %acc2 = add i64 %acc, %dt
  %dn = sub i64 %end, %i
  %done2 = add i64 %done, %dn
  %accf = sitofp i64 %acc2 to double
  %donef = sitofp i64 %done2 to double
  %each2 = fdiv double %accf, %donef
  br label %maybe
close:
  store atomic i64 {1 << 62}, ptr %next seq_cst, align 8
  store double %each, ptr %costp, align 8
  br label %wait
wait:
  %n = phi i32 [ 0, %close ], [ %n2, %again ]
  %running = load atomic i32, ptr %active seq_cst, align 4
  %free = icmp eq i32 %running, 0
  br i1 %free, label %end_, label %relax
relax:
  %n2 = add i32 %n, 1
  %long = icmp ugt i32 %n2, 4000
  br i1 %long, label %yield, label %brief
brief:
  {pause}
  br label %again
yield:
  %y = call i32 @sched_yield()
  br label %again
again:
  br label %wait
end_:
  %status = load atomic i32, ptr %statusp seq_cst, align 4
  store atomic i32 0, ptr %busy seq_cst, align 4
  ret i32 %status
}}
"""


class Pool:
    """The workers of this process, and the function that launches through them."""

    def __init__(self) -> None:
        entry = "mytriton_pool"
        self._loaded: Loaded = load_ir(_source(entry), entry)
        self._worker = llvm().address(f"{entry}_worker")
        #: ``run(descriptor) -> status``; releases the GIL.
        self.run_address = self._loaded.address
        self.run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(self.run_address)
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
        memory = ctypes.create_string_buffer(_STATE_BYTES + 64)
        # Never freed: a worker may look at it at any time.
        _kept.append(memory)
        self.state = -(-ctypes.addressof(memory) // 64) * 64
        self._cell.value = self.state
        self._lock = threading.Lock()
        self._handles: list[int] = []
        ctypes.c_int64.from_address(self.state + _NEXT).value = 1 << 62
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
        self._set(_LIMIT, min(workers, self.started))
        self._set(_WANTED, int(workers > 0 and not self.started))

    def resize(self, threads: int) -> None:
        """Use ``threads`` threads from now on, the calling one included."""
        with self._lock:
            self.threads = threads if _supported() else 1
            if self.started:
                self._fill()
            self._announce()

    def finish(self, status: int, descriptor: bytes) -> None:
        """What is left to do when ``run(descriptor)`` gave a ``status`` that is not 0."""
        while status == NO_WORKERS:  # again only when another thread forks meanwhile
            self.start()
            status = self.run(descriptor)
        if status:
            address = ctypes.cast(ctypes.c_char_p(descriptor), ctypes.c_void_p).value
            self.fail(status, address or 0)

    def fail(self, status: int, descriptor: int) -> None:
        """Raise what a positive ``status`` of the launch with the descriptor at an address means."""
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
            for field in (_STOP, _IDS, _SLEEPERS):
                self._set(field, 0)
            self._announce()
            self._set(_BUSY, 0)
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
    return sys.platform == "linux" and platform.machine().lower() in _FUTEX


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
