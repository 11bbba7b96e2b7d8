"""Threads: results, concurrency, fork, failure to start, and the variable."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton_mlir.cpu import pool


@triton.jit
def work_kernel(x, out, n, trips, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs, mask=offs < n)
    for k in range(trips):
        v = v * 0.5 + 1.0
    tl.store(out + offs, v, mask=offs < n)


def launch(x, trips=50, block=256):
    out = np.empty_like(x)
    work_kernel.with_backend("mlir-cpu")[(triton.cdiv(x.size, block),)](
        x, out, x.size, trips, BLOCK=block
    )
    return out


@pytest.fixture
def threads():
    before = pool.pool().threads
    yield pool.set_num_threads
    pool.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_program_runs_once(threads, count):
    threads(count)
    x = np.arange(100_000, dtype="f")
    want = launch(x, trips=3)
    for _ in range(200):
        np.testing.assert_array_equal(launch(x, trips=3), want)


def test_launches_from_many_python_threads(threads):
    threads(3)
    wrong = []

    def loop(seed):
        x = np.random.default_rng(seed).random(50_000, dtype="f")
        want = launch(x)
        for _ in range(50):
            if not np.array_equal(launch(x), want):
                wrong.append(seed)

    workers = [threading.Thread(target=loop, args=(k,)) for k in range(6)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def test_a_long_launch_blocks_no_other(threads):
    threads(2)
    x = np.zeros(4096, "f")
    launch(x)
    done = threading.Event()

    def long():
        launch(x, trips=20_000_000)
        done.set()

    worker = threading.Thread(target=long)
    worker.start()
    time.sleep(0.02)
    short = 0
    while not done.is_set() and short < 20:
        launch(x, trips=1)
        short += 1
    worker.join()
    assert short == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@triton.jit(debug=True)
def failing_kernel(x, out, trips, bad):
    p = tl.program_id(0)
    v = tl.load(x)
    for k in range(trips):
        v = v * 0.5 + 1.0
    tl.store(out + p, v)
    tl.device_assert(p != bad, "unlucky")


def test_a_failure_stops_the_other_threads(threads):
    threads(2)
    x, out = np.ones(1, "f"), np.zeros(200_000, "f")
    failing = failing_kernel.with_backend("mlir-cpu")
    counts = []
    for _ in range(6):
        out[:] = 0
        # Programs of some 10 us: what a launch does in the time between two pauses is far more.
        with pytest.raises(triton.MytritonError, match=r"program \(5, 0, 0\).*unlucky"):
            failing[(out.size,)](x, out, 5000, 5)
        counts.append(np.count_nonzero(out))
    # The system may let the thread that fails wait while another goes on, but not every time.
    assert 6 <= min(counts) < 1000


def test_a_forked_child_launches():
    x = np.arange(1 << 20, dtype="f")
    want = launch(x)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(launch(x), want) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(launch(x), want)


def test_the_variable(monkeypatch):
    monkeypatch.setenv("MYTRITON_NUM_THREADS", "3")
    assert pool.wanted_threads() == 3
    monkeypatch.setenv("MYTRITON_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="positive number"):
        pool.wanted_threads()
    with pytest.raises(ValueError, match="at least 1"):
        pool.set_num_threads(0)


def test_a_process_that_used_workers_ends():
    code = (
        "import numpy as np; from test_pool import launch\n"
        "x = np.ones(1 << 20, 'f')\n"
        "for _ in range(20): launch(x)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=60, cwd=os.path.dirname(__file__),
        env=os.environ | {"MYTRITON_NUM_THREADS": "4"},
    )  # fmt: skip


FORKS = """
import multiprocessing, os, sys, threading, warnings
warnings.simplefilter("error")
import numpy as np
from mytriton_mlir.cpu import pool
from test_pool import launch

x = np.arange(1 << 20, dtype="f")

def child(seed):
    workers = pool.pool()
    before = workers.started
    for _ in range(3):
        out = launch(x + seed)
    return before, workers.started, float(out.sum(dtype="d"))

if __name__ == "__main__":
    want = [float(launch(x + k).sum(dtype="d")) for k in range(4)]
    workers = pool.pool()
    assert workers.started == 2, workers.started
    with multiprocessing.get_context("fork").Pool(2) as processes:
        found = processes.map(child, range(4), chunksize=1)
    assert [total for *_, total in found] == want, found
    assert {after for _, after, _ in found} == {2}, found
    assert workers.started == 0
    launch(np.ones(10, "f"), trips=1)
    assert workers.started == 0  # not worth it
    assert float(launch(x).sum(dtype="d")) == want[0]
    assert workers.started == 2
    # A child of a child, and many forks in a row.
    for _ in range(20):
        one = os.fork()
        if not one:
            assert child(0)[0] == 0
            two = os.fork()
            if not two:
                os._exit(child(1) != (0, 2, want[1]))
            os._exit(os.waitpid(two, 0)[1] != 0)
        assert os.waitpid(one, 0)[1] == 0
        launch(x)
    print("right")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are for Linux")
def test_fork_warns_nobody(tmp_path):
    """Python 3.12 and later warn when a process with threads forks; that is an error here."""
    script = tmp_path / "script.py"
    script.write_text(FORKS)
    here = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120,
        env=os.environ | {"MYTRITON_NUM_THREADS": "3", "PYTHONPATH": here},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "right\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_waits_for_no_launch(threads):
    threads(2)
    x = np.arange(1 << 16, dtype="f")
    want = launch(x)
    done = threading.Event()

    def long():
        launch(np.zeros(4096, "f"), trips=5_000_000)
        done.set()

    worker = threading.Thread(target=long)
    worker.start()
    time.sleep(0.05)
    child = os.fork()
    early = not done.is_set()
    if child == 0:
        os._exit(0 if np.array_equal(launch(x), want) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    worker.join()
    assert early
    np.testing.assert_array_equal(launch(x), want)


def test_workers_come_and_go_while_others_launch(threads):
    threads(3)
    x = np.arange(100_000, dtype="f")
    want = launch(x)
    wrong, ended = [], threading.Event()

    def loop():
        while not ended.is_set():
            if not np.array_equal(launch(x), want):
                wrong.append(1)

    others = [threading.Thread(target=loop) for _ in range(3)]
    for other in others:
        other.start()
    for k in range(200):
        pool.pool().stop()
        if k % 10 == 0:
            pool.set_num_threads(2 + k // 10 % 3)
        time.sleep(0.001)
    ended.set()
    for other in others:
        other.join()
    assert not wrong
