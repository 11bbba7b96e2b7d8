"""Code generation from several threads at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from mytriton_mlir.cpu.llvm import once

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
