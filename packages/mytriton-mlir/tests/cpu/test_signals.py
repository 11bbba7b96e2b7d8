"""Handlers of signals run during a launch, whatever its programs cost; each program runs once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import os, signal, threading, time
import numpy as np
import mytriton as triton
import mytriton.language as tl

triton.config.backend = "mlir-cpu"

@triton.jit
def heavy_kernel(x, trips, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offs)
    w = v
    for k in range(trips):
        w = w * 0.5
    tl.store(x + offs, v + 1.0 + w * 0.0)

@triton.jit
def idle_kernel(x, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offs, 1.0, mask=(offs < n) & (tl.load(x + offs, mask=offs < n) < 0))

def interrupted(launch, after=0.3):
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        launch()
    except KeyboardInterrupt:
        return True
    finally:
        timer.join()

def right():
    x = np.zeros(64 * 512, "f")
    heavy_kernel[(512,)](x, 3, BLOCK=64)
    return (x == 1).all()
"""

WAYS = {
    "threads": {"MYTRITON_NUM_THREADS": "2"},
    "one thread": {"MYTRITON_NUM_THREADS": "1"},
    "through Python": {"MYTRITON_NATIVE_LAUNCH": "0"},
    "without libLLVM": {"MYTRITON_LIBLLVM": "none"},
}


def says(tmp_path, code, way):
    script = tmp_path / "script.py"
    script.write_text(PRELUDE + textwrap.dedent(code))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=100, env=os.environ | way
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_launch_of_unexpected_cost_is_interrupted(tmp_path, way):
    code = """
    x = np.zeros(64 * 100_000, "f")
    for grid in (4, 4, 4, 100_000, 100_000):
        heavy_kernel[(grid,)](x, 1, BLOCK=64)
    # Four cheap programs, of which none has been seen to take long; then very many of those.
    print(interrupted(lambda: heavy_kernel[(100_000,)](x, 3_000_000, BLOCK=64)), right())
    print(interrupted(lambda: heavy_kernel[(100_000,)](x, 3_000_000, BLOCK=64)), right())
    """
    assert says(tmp_path, code, way) == ["True"] * 4


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_largest_grid_is_interrupted(tmp_path, way):
    code = """
    x = np.zeros(1000, "f")
    print(interrupted(lambda: idle_kernel[(2**31 - 1, 1000)](x, 1000, BLOCK=256)), right())
    """
    assert says(tmp_path, code, way) == ["True"] * 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_programs_run_once_however_often_a_launch_pauses(tmp_path, way):
    code = """
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(right()))
    x = np.zeros(64 * 3000, "f")
    heavy_kernel[(3000,)](x, 1, BLOCK=64)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    heavy_kernel[(3000,)](x, 300_000, BLOCK=64)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print((x == 2).all(), len(seen) > 1, all(seen))
    """
    assert says(tmp_path, code, way) == ["True"] * 3
