"""Kernels on Dask: chunks of an array, and tasks of a cluster. Workers import this module, so the
kernel belongs into a module they can import, not into ``__main__`` or a notebook.

python examples/recipes/dask_workers.py
"""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from processes import apply, square_kernel


def squares(array: Any) -> Any:
    """``array ** 2``, chunk by chunk, by a kernel."""
    return array.map_blocks(lambda chunk: apply(square_kernel, np.ascontiguousarray(chunk)))


def squares_in_tasks(parts: list[np.ndarray]) -> list[Any]:
    """The same, as delayed calls that take the kernel itself as an argument."""
    return [dask.delayed(apply)(square_kernel, part) for part in parts]


if __name__ == "__main__":
    array = da.arange(1000.0, chunks=300)
    print(squares(array).sum().compute(scheduler="threads"))
    found = dask.compute(*squares_in_tasks([np.arange(10.0)]), scheduler="processes")
    print(found[0])
