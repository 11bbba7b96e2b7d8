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

def code():
    "Pages of machine code that belong to no file, counted by mapping; compiled kernels alive."
    gc.collect()
    with open("/proc/self/maps") as file:
        rows = [line.split() for line in file]
    pages = sum("x" in row[1] and len(row) == 5 for row in rows)
    return pages, sum(type(o).__name__ == "CompiledKernel" for o in gc.get_objects())

run(50, 1)
k.clear_cache()
none = code()  # The native launcher stays.
run(0, 30)
start = resident()
run(100, 60)
full = resident()
held = code()
k.clear_cache()
left = code()
print((full - start) / 60, *none, *held, *left)
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
    each, *counts = map(float, done.stdout.split())
    none, held, left = zip(counts[::2], counts[1::2], strict=True)
    assert each < 100, f"{each:.0f} KB each"
    # Resident memory after that says more about the allocator than about us: count what is held.
    assert held >= (none[0] + 90, 90)
    assert left == none
