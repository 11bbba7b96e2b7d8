"""MLIR backends of mytriton: ``mlir`` for NVIDIA GPUs, ``mlir-cpu`` for this computer.

Importing this package, and taking the two functions below from it, loads neither MLIR nor NumPy.
"""

from __future__ import annotations

from .gpu.binary import extract_gpu_binary
from .gpu.stages import gpu_to_cubin_stages

__all__ = ["__version__", "extract_gpu_binary", "gpu_to_cubin_stages"]

__version__ = "0.1.0"
