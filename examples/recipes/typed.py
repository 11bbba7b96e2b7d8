"""A typed wrapper: ``mypy --strict`` and ``pyright`` accept it. The parameters of a kernel have no
annotations, because what a kernel gets is seen when it is launched; what calls it has.

mypy --strict examples/recipes/typed.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import mytriton as triton
import mytriton.language as tl

Floats = npt.NDArray[np.float32]


@triton.jit
def axpy_kernel(a: Any, x: Any, y: Any, n: Any, BLOCK: tl.constexpr) -> None:
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = a * tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask)
    tl.store(y + offsets, value, mask=mask)


def axpy(a: float, x: Floats, y: Floats, block: int = 1024) -> str:
    """``y += a * x`` in place; gives the name of the backend that ran it."""
    if x.shape != y.shape:
        raise ValueError(f"shapes differ: {x.shape} and {y.shape}")
    result = axpy_kernel[(triton.cdiv(x.size, block),)](a, x, y, x.size, BLOCK=block)
    return result.backend
