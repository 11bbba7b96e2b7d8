"""What Python raises while a kernel prints ends the launch, and is raised from it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import contextlib, io, os, signal, sys, threading, time
import numpy as np
import mytriton as triton
import mytriton.language as tl

@triton.jit
def saying_kernel(x, out):
    p = tl.program_id(0)
    tl.device_print(" x", tl.load(x + p % 4))
    tl.store(out + p % 4, 1.0)

@triton.jit(debug=True)
def checked_kernel(x, out):
    p = tl.program_id(0)
    tl.device_print(" x", p)
    tl.device_assert(tl.load(x + p % 4) < 0, "too large")

def tell(*values):
    print(*values, file=sys.__stdout__, flush=True)

x, out = np.arange(4, dtype="f"), np.zeros(4, "f")

def say(count, kernel=saying_kernel):
    kernel[(count,)](x, out)

def raised(launch):
    try:
        launch()
    except BaseException as error:
        return error

def heard(count=3):
    with contextlib.redirect_stdout(io.StringIO()) as file:
        say(count)
    return file.getvalue().splitlines()

WANTED = [f"pid ({p}, 0, 0) idx () x: {p % 4}.0" for p in range(5000)]

class Full:
    count = 0
    def write(self, text):
        Full.count += 1
        raise OSError(28, f"full {Full.count}")
    def flush(self):
        pass
"""

WAYS = {
    "threads": {"MYTRITON_NUM_THREADS": "2"},
    "one thread": {"MYTRITON_NUM_THREADS": "1"},
    "through Python": {"MYTRITON_NATIVE_LAUNCH": "0"},
    "without libLLVM": {"MYTRITON_LIBLLVM": "none"},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def says(tmp_path, code, way):
    script = tmp_path / "script.py"
    script.write_text(PRELUDE + textwrap.dedent(code))
    env = os.environ | {"MYTRITON_BACKEND": "mlir-cpu"} | way
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=100, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@every_way
def test_a_launch_that_prints_is_interrupted(tmp_path, way):
    code = """
    heard()
    for after in (0.3, 0.05):
        timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
        with contextlib.redirect_stdout(open(os.devnull, "w")):
            timer.start()
            start = time.perf_counter()
            error = raised(lambda: say(2_000_000))
        late = time.perf_counter() - start > 5
        tell(type(error).__name__, late, heard() == WANTED[:3])
    """
    assert says(tmp_path, code, way) == ["KeyboardInterrupt", "False", "True"] * 2


@every_way
def test_an_error_of_standard_output_is_raised(tmp_path, way):
    code = """
    for count in (1, 1000, 1000):
        Full.count = 0
        with contextlib.redirect_stdout(Full()):
            error = raised(lambda: say(count))
        tell(type(error).__name__, error.args == (28, "full 1"), Full.count)
        tell(heard() == WANTED[:3])
    """
    assert says(tmp_path, code, way) == ["OSError", "True", "1", "True"] * 3


def test_a_closed_pipe_is_raised(tmp_path):
    code = """
    source, sink = os.pipe()
    os.close(source)
    with contextlib.redirect_stdout(os.fdopen(sink, "w", buffering=1)):
        tell(type(raised(lambda: say(1000))).__name__)
    tell(heard() == WANTED[:3])
    os._exit(0)  # the pipe cannot be closed properly
    """
    assert says(tmp_path, code, {}) == ["BrokenPipeError", "True"]


def test_another_thread_is_told_of_its_own_launch(tmp_path):
    code = """
    found = []
    with contextlib.redirect_stdout(Full()):
        thread = threading.Thread(target=lambda: found.append(raised(lambda: say(10))))
        thread.start()
        thread.join()
    tell(type(found[0]).__name__, heard() == WANTED[:3])
    """
    assert says(tmp_path, code, WAYS["threads"]) == ["OSError", "True"]


def test_an_assertion_fails_after_a_launch_that_could_not_print(tmp_path):
    code = """
    with contextlib.redirect_stdout(Full()):
        tell(type(raised(lambda: say(10, checked_kernel))).__name__)
    with contextlib.redirect_stdout(io.StringIO()):
        tell(type(raised(lambda: say(10, checked_kernel))).__name__)
    """
    assert says(tmp_path, code, WAYS["threads"]) == ["OSError", "DeviceAssertionError"]


def test_lines_come_in_the_order_of_the_programs(tmp_path):
    code = """
    tell(all(heard(5000) == WANTED for k in range(4)))
    """
    assert says(tmp_path, code, WAYS["threads"]) == ["True"]


def test_a_handler_prints_through_a_kernel(tmp_path):
    code = """
    class Sink(io.StringIO):
        calls = 0
        def write(self, text):
            Sink.calls += 1
            if Sink.calls == 3:
                signal.raise_signal(signal.SIGUSR1)
            return super().write(text)
    signal.signal(signal.SIGUSR1, lambda *_: say(3))
    with contextlib.redirect_stdout(Sink()) as sink:
        say(5)
    tell(len(sink.getvalue().splitlines()))
    """
    assert says(tmp_path, code, WAYS["threads"]) == ["8"]


def test_a_launch_that_prints_keeps_no_memory(tmp_path):
    code = """
    class Sink:
        def write(self, text): pass
        def flush(self): pass
    with contextlib.redirect_stdout(Sink()):
        for k in range(2):
            before = sys.getallocatedblocks()
            say(5000)
            with contextlib.redirect_stdout(Full()):
                for k in range(1000):
                    raised(lambda: say(3))
        tell(sys.getallocatedblocks() - before < 500)
    """
    assert says(tmp_path, code, {}) == ["True"]
