"""The native launcher in processes of their own: where anything is not as it expects it withdraws by
itself; with logging, after a fork."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mytriton_mlir.cpu import native

pytestmark = pytest.mark.skipif(
    not native._possible(), reason="no native launcher for this interpreter"
)


def script_says(code, **env):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env=os.environ | env, check=True,
    )  # fmt: skip
    return done.stdout.strip()


PROBE = """
import numpy as np, mytriton, mytriton_mlir.cpu.native as native
{setup}
from mytriton_mlir.cpu import pool
import mytriton.language as tl, linecache, sys
source = '''
import mytriton as triton, mytriton.language as tl
@triton.jit
def twice(x, out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)) * 2)
'''
open("k_.py", "w").write(source)
sys.path.insert(0, "")
from k_ import twice
x, out = np.ones(8, "f4"), np.zeros(8, "f4")
for _ in range(8):
    result = twice[(1,)](x, out, BLOCK=8)
print(result.backend, out.tolist() == [2.0] * 8, bool(twice.direct))
"""


@pytest.mark.parametrize(
    "setup",
    [
        "import os; os.environ['MYTRITON_NATIVE_LAUNCH'] = '0'",
        "native._offsets_hold = lambda: False",
        "native._possible = lambda: False",
        "native.ir.DESCR = 48",
        "native.ir.TUPLE_ITEMS = 32",
        "def broken(*a): raise OSError\nnative._load = broken",
        "import mytriton_mlir.cpu.native_test as t; t.works = lambda n: False",
        "import mytriton_mlir.cpu.native_test as t; t._FLAGS['mask'] = 0",
    ],
)
def test_without_it_launches_go_through_python(setup, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert script_says(PROBE.format(setup=setup)) == "mlir-cpu True False"


def test_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert script_says(PROBE.format(setup="")) == "mlir-cpu True True"


def test_launches_that_are_logged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(setup="")], capture_output=True, text=True, timeout=120,
        env=os.environ | {"MYTRITON_LOG": "launch"}, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "mlir-cpu True False"
    assert done.stderr.count("mytriton launch: twice on mlir-cpu") == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_a_fork(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        """
import os, sys
import numpy as np
import mytriton as triton
import mytriton.language as tl
from mytriton_mlir.cpu import pool

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n) * 2, mask=offs < n)

n = 1 << 20
x, out = np.arange(n, dtype="f4"), np.zeros(n, "f4")

def check():
    for size in (100, n, 100, n, n):
        out[:] = 0
        double[(triton.cdiv(size, 1024),)](x, out, size, BLOCK=1024)
        assert np.array_equal(out[:size], 2 * x[:size])

for _ in range(3):
    check()
assert double.direct
child = os.fork()
if child == 0:
    check()
    os._exit(0 if pool.pool().started == 2 else 3)
_, status = os.waitpid(child, 0)
check()
print(os.waitstatus_to_exitcode(status), pool.pool().started)
"""
    )
    env = os.environ | {"MYTRITON_NUM_THREADS": "3"}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, env=env
    )
    assert done.stdout.split() == ["0", "2"], done.stderr
