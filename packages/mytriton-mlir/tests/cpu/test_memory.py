"""What a specialisation costs a process, and that it is given back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import gc, os
import numpy as np
import mytriton as triton
import mytriton.language as tl

@triton.jit
def k(x, out, n, S: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.exp(tl.load(x + offs, mask=offs < n)) * S, mask=offs < n)

x, out = np.ones(100, "f"), np.zeros(100, "f")

def run(start, count):
    for scale in range(start, start + count):
        k.with_backend("mlir-cpu")[(1,)](x, out, 100, S=scale, BLOCK=128)

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024

run(0, 30)
start = resident()
run(100, 60)
full = resident()
for k_ in range(4):
    k.clear_cache()
    run(200 + 100 * k_, 60)
print((full - start) / 60, resident() - full)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads /proc")
def test_a_specialisation_costs_little_and_is_freed(tmp_path):
    """1,000 of them: a thousand times the first number. README.md says what it is."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, timeout=300,
        env=os.environ | {"MYTRITON_NUM_THREADS": "1"},
    )  # fmt: skip
    each, growth = map(float, done.stdout.split())
    assert each < 100, f"{each:.0f} KB each"
    # Without clear_cache(), 240 more would be 240 times that.
    assert growth < 60 * 100, f"{growth:.0f} KB more after four rounds of 60"
