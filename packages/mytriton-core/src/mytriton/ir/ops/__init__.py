"""The operations of the language, one declaration each. Importing this package registers them."""

from . import bits, compare, control, math, matrix, memory, output, pointwise, reduce, structure

__all__ = [
    "bits", "compare", "control", "math", "matrix", "memory", "output", "pointwise", "reduce",
    "structure",
]  # fmt: skip
