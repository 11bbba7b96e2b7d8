"""What a stranger does first after `pip install`: run by `tox -e wheel` from an empty directory.

A script, not a test file, so that no test runner, conftest or import hook stands between
the installed package and the user.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def main() -> None:
    site = Path(sysconfig.get_path("purelib")).resolve()
    home = Path(triton.__file__).resolve()
    if site not in home.parents:
        raise SystemExit(f"mytriton was imported from {home}, not from the installed wheel")
    if list(Path.cwd().iterdir()) != []:
        print(f"note: {Path.cwd()} is not empty")

    x = np.arange(1000, dtype=np.float32)
    y = np.full(1000, 0.5, dtype=np.float32)
    out = np.zeros_like(x)
    add_kernel[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
    np.testing.assert_array_equal(out, x + y)

    command = Path(sysconfig.get_path("scripts")) / "mytriton"
    shown = subprocess.run([command, "--help"], capture_output=True, text=True, check=True).stdout
    if "mytriton" not in shown:
        raise SystemExit(f"mytriton --help printed {shown!r}")
    print(f"smoke: mytriton-core {version('mytriton-core')}, Python {sys.version.split()[0]}: ok")


if __name__ == "__main__":
    main()
