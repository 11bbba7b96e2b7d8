"""A kernel compiled ahead of time, as files that another program can load.

python examples/recipes/export_kernel.py mlir-cpu out
"""

from __future__ import annotations

import sys

from processes import square_kernel

if __name__ == "__main__":
    backend, folder = sys.argv[1:] or ("interpreter", "exported")
    made = square_kernel.export(
        folder,
        backend=backend,
        grid=("cdiv(n, BLOCK)",),
        x="f32[1000000]",
        out="f32[1000000]",
        n="i32",
        BLOCK=1024,
    )
    for what, path in made.files.items():
        print(f"{what}: {path}")
