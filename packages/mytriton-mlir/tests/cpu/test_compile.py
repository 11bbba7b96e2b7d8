"""Code generation from several threads at a time, who keeps what was made, and forks meanwhile."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import pytest

from mytriton_mlir.cpu.compile import ir_to_object
from mytriton_mlir.llvm import LLVMError, llvm, once

TOGETHER = """
import threading
from mytriton_mlir.cpu.compile import ir_to_object

body = "".join(f"  %a{i + 1} = mul i64 %a{i}, {i + 3}\\n" for i in range(50))
ready, made = threading.Barrier(4), []

def work(k):
    ready.wait()
    for _ in range(20):
        made.append(ir_to_object(f"define i64 @f{k}(i64 %a0) {{\\n{body}  ret i64 %a50\\n}}\\n"))

threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(made), len(set(made)))
"""


def test_threads_generate_code_together():
    # LLVM ends the process when its target machine is used by two at once.
    done = subprocess.run(
        [sys.executable, "-c", TOGETHER], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.split()) == (0, ["80", "4"]), done.stderr


def test_what_is_made_once_is_made_once_by_threads():
    made = []

    @once
    def thing():
        made.append(threading.get_ident())
        time.sleep(0.05)
        return object()

    found = []
    threads = [threading.Thread(target=lambda: found.append(thing())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_code_is_freed_with_its_last_user():
    code = ir_to_object("define i32 @shared_by_users() {\n  ret i32 41\n}\n")
    first = llvm().load(code, "shared_by_users", 8)
    second = llvm().loaded("shared_by_users")
    assert (second.address, second.code_bytes) == (first.address, 8)
    del first
    assert ctypes.CFUNCTYPE(ctypes.c_int32)(second.address)() == 41
    del second
    assert llvm().loaded("shared_by_users") is None
    with pytest.raises(LLVMError, match="no_such_name"):
        llvm().load(code, "no_such_name")
    # What could not be used left nothing behind.
    assert llvm().load(code, "shared_by_users").address


FORKS = """
import os, threading
import numpy as np
import mytriton as triton
import mytriton.language as tl

@triton.jit
def kernel(out, n, STEP: tl.constexpr):
    for k in tl.static_range(60):
        n = n * k + STEP
    tl.store(out, n)

def launch(step):
    kernel.with_backend("mlir-cpu")[1](np.zeros(1, np.int32), 3, step)

def compile_on():
    step = 0
    while not done:
        step += 1
        launch(step)

done = []
launch(-1)
thread = threading.Thread(target=compile_on)
thread.start()
codes = []
for step in range(12):
    child = os.fork()
    if child == 0:
        launch(-2 - step)
        os._exit(7)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
done.append(True)
thread.join()
print(set(codes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_others_compile_compiles(tmp_path):
    file = tmp_path / "forks.py"
    file.write_text(FORKS)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(file)], capture_output=True, text=True, timeout=120,
        env=os.environ | {"MYTRITON_CACHE_DIR": ""},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "{7}\n"), done.stderr
