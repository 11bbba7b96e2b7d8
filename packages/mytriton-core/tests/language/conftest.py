"""Evaluate one expression of the language on the interpreter."""

import numpy as np
import pytest

HEAD = "from mytriton.language.extra import libdevice\n\n"


def _offsets(shape):
    """The row-major offsets of a block of ``shape``, in the language."""
    if not shape:
        return "0"
    terms, stride = [], 1
    for axis in reversed(range(len(shape))):
        index = ", ".join(":" if k == axis else "None" for k in range(len(shape)))
        terms.append(f"tl.arange(0, {shape[axis]})[{index}] * {stride}")
        stride *= shape[axis]
    return " + ".join(terms)


def _storage(dtype):
    """A NumPy dtype that holds every value of an element type as it is."""
    wide = {"bf16": "float32", "f8e4nv": "float32", "f8e5": "float32", "bool": "bool"}
    kinds = {"f": "float", "i": "int", "u": "uint"}
    return np.dtype(wide.get(dtype) or kinds[dtype[0]] + dtype[1:])


@pytest.fixture
def evaluate(module_from):
    """``evaluate("x + y", x=array, y=array)``: the value as an array, and its type as text.

    Arrays are loaded as blocks of their shape, anything else is passed as it is. Constants of the
    expression's own are given as keywords of the name in capitals (``tl.constexpr``).
    """

    def run(expression, **arguments):
        blocks = {k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}
        params = [
            f"{name}: tl.constexpr" if name.isupper() else name
            for name in (f"p_{name}" if name in blocks else name for name in arguments)
        ]
        loads = "".join(
            f"    {name} = tl.load(p_{name} + {_offsets(array.shape)})\n"
            for name, array in blocks.items()
        )
        head = HEAD + "@triton.jit\ndef kernel(out, " + "".join(f"{p}, " for p in params)
        values = list(arguments.values())
        found = []
        probe = module_from(
            f"{head}SEEN: tl.constexpr):\n{loads}    SEEN(tl.to_tensor({expression}))\n"
        ).kernel
        probe.trace(np.zeros(1), *values, lambda value: found.append(value))
        (value,) = found
        out = np.zeros(value.shape, _storage(str(value.dtype)))
        kernel = module_from(
            f"{head}):\n{loads}    tl.store(out + {_offsets(value.shape)}, {expression})\n"
        ).kernel
        kernel.with_backend("interpreter")[(1,)](out, *values)
        return out, str(value.type)

    return run


@pytest.fixture
def refused(module_from):
    """``refused("x + p")``: the message a kernel with this expression is refused with."""

    def message(expression, **arguments):
        params = ", ".join(arguments)
        kernel = module_from(f"{HEAD}@triton.jit\ndef kernel({params}):\n    {expression}\n").kernel
        with pytest.raises(TypeError) as caught:
            kernel.trace(*arguments.values())
        return caught.value.message

    return message
