"""Worker processes: a case that crashes or hangs ends its worker, not the run."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from .errors import SuiteError
from .job import Job, LaunchRecord, Setup
from .worker import receive, send


@dataclass
class JobResult:
    """What came back for a job. ``end`` is empty, ``crash`` or ``timeout``."""

    job: Any
    #: What the worker said.
    answer: Any = None
    records: list[LaunchRecord] = field(default_factory=list)
    end: str = ""
    message: str = ""
    detail: str = ""


class Worker:
    """One child process."""

    def __init__(self, setup: Setup) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._expired = False
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in setup.path if p)}
        command = "from mytriton_testkit.suite.worker import main; main()"
        self._child = subprocess.Popen(
            [sys.executable, "-c", command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment,
        )  # fmt: skip
        self.identity: tuple[str, str] = ("", "")
        try:
            self._send(setup)
            kind, content = self._receive()
        except (EOFError, OSError):
            said = self._tail(4000)
            self.close()
            raise SuiteError(f"a worker could not start:\n{said}") from None
        if kind == "failed":
            self.close()
            raise SuiteError(f"a worker could not load the backend:\n{content}")
        self.identity = content

    def _send(self, message: Any) -> None:
        assert self._child.stdin is not None
        send(self._child.stdin, message)  # type: ignore[arg-type]

    def _receive(self) -> Any:
        assert self._child.stdout is not None
        return receive(self._child.stdout)  # type: ignore[arg-type]

    def switch(self, setup: Setup) -> None:
        """Test another plugin from now on."""
        self._send(setup)
        kind, content = self._receive()
        if kind == "failed":
            raise SuiteError(f"a worker could not load the backend:\n{content}")

    def run(self, job: Job, timeout: float) -> JobResult:
        """Do a job. The worker is dead afterwards if ``end`` is not empty."""
        result = self.ask(job, timeout)
        result.records = result.answer or []
        return result

    def ask(self, job: Any, timeout: float) -> JobResult:
        """Send anything the worker understands, and wait for the answer."""
        result = JobResult(job)
        phase = ""
        self._expired = False
        start = self._errors.seek(0, os.SEEK_END)
        timer = threading.Timer(timeout, self._expire)
        timer.start()
        try:
            self._send(job)
            while True:
                kind, content = self._receive()
                if kind == "done":
                    result.answer = content
                    break
                phase = content
        except (EOFError, OSError):
            result.end = "timeout" if self._expired else "crash"
        finally:
            timer.cancel()
        if result.end:
            code = self._end()
            during = f" in the {phase}" if phase else ""
            result.message = f"no answer within {timeout:g} s{during}"
            if result.end == "crash":
                result.message = f"the process died{during}: {_status(code)}"
                if "fence" in phase:
                    result.message += "; the arrays ended where memory ends"
            result.detail = self._tail(2000, start)
            self.close()
        return result

    def _expire(self) -> None:
        self._expired = True
        self._child.kill()

    def _tail(self, size: int, start: int = 0) -> str:
        end = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(start, end - size))
        return self._errors.read().decode("utf-8", "replace")

    def close(self) -> None:
        """End the process."""
        self._end()
        self._errors.close()

    def _end(self) -> int:
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        try:
            return self._child.wait(2)
        except subprocess.TimeoutExpired:
            self._child.kill()
            return self._child.wait()


def _status(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    import signal

    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


class Pool:
    """``size`` workers, started when first needed and again after a crash."""

    def __init__(self, setup: Setup, size: int, timeout: float, patience: int = 20) -> None:
        self._setup = setup
        self._size = size
        self._timeout = timeout
        #: Crashes and hangs after which the rest is not tried.
        self._patience = patience
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self.deaths = 0
        self.identity: tuple[str, str] = ("", "")

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def exhausted(self) -> bool:
        """Whether too many workers died for it to make sense to go on."""
        return self.deaths >= self._patience

    def _worker(self) -> Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        worker = Worker(self._setup)
        self.identity = worker.identity
        return worker

    def run(self, job: Job) -> JobResult:
        """Do one job."""
        if self.exhausted:
            return JobResult(
                job, None, [], "abandoned", f"not run: {self.deaths} workers died before"
            )
        worker = self._worker()
        result = worker.run(job, self._timeout * len(job.launches))
        with self._lock:
            if result.end:
                self.deaths += 1
            else:
                self._idle.append(worker)
        return result

    def switch(self, plugin: str) -> None:
        """Register another plugin under the name of the backend, in running and later workers."""
        self._setup = replace(self._setup, plugin=plugin)
        for worker in self._idle:
            worker.switch(self._setup)

    def stream(self, jobs: Iterable[Job]) -> Iterator[JobResult]:
        """Do all jobs; results come in the order in which they are ready."""
        todo: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        ready: queue.SimpleQueue[JobResult | BaseException] = queue.SimpleQueue()
        stop = threading.Event()

        def drive() -> None:
            while (job := todo.get()) is not None and not stop.is_set():
                try:
                    ready.put(self.run(job))
                except BaseException as e:
                    ready.put(e)
                    return

        for _ in range(self._size):
            threading.Thread(target=drive, daemon=True).start()
        count = 0
        try:
            # Making a job takes time; the workers do the first ones meanwhile.
            for job in jobs:
                todo.put(job)
                count += 1
            for _ in range(self._size):
                todo.put(None)
            for _ in range(count):
                result = ready.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            stop.set()
            for _ in range(self._size):
                todo.put(None)

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            for worker in self._idle:
                worker.close()
            self._idle = []
