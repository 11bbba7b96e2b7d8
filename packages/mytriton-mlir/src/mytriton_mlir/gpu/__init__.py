"""The ``mlir`` backend: the GPU dialect of MLIR, and NVIDIA GPUs through it."""
