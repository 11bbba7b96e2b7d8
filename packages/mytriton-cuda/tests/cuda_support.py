"""What the tests share: kernels compiled to text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from mytriton_cuda.emit import Emitted, emit

sys.path.insert(0, str(Path(__file__).parent))


def emitted(kernel: Any, *args: Any, level: int = 1, **kwargs: Any) -> Emitted:
    """The kernel at an optimisation level, for these arguments."""
    compiled = kernel.compile(*args, **kwargs)
    return emit(compiled.function if level else compiled.unoptimised)


def text(kernel: Any, *args: Any, **kwargs: Any) -> str:
    return emitted(kernel, *args, **kwargs).text


def f32(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)
