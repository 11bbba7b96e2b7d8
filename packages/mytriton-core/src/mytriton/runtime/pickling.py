"""Kernels pickle as functions do: by where they are defined. The other process imports the module
and compiles for itself."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any


def reference(kernel: Any) -> tuple[Any, ...]:
    """What ``__reduce__`` of a kernel, or of what is wrapped round one, returns. Raises
    ``pickle.PicklingError`` when the other process could not find it."""
    module, name = str(kernel.__module__), str(kernel.__qualname__)
    if "<locals>" in name:
        raise pickle.PicklingError(
            f"kernel {kernel.__name__!r} is defined inside a function ({module}.{name}), where another "
            "process cannot find it: define it at the top level of a module"
        )
    try:
        found = _named(module, name)
    except (ImportError, AttributeError) as error:
        raise pickle.PicklingError(
            f"kernel {kernel.__name__!r} is not found as {module}.{name} ({error}): define it at the top "
            "level of a module, under its own name"
        ) from None
    for depth, layer in enumerate(_layers(found)):
        if layer is kernel:
            return restore, (module, name, depth)
    raise pickle.PicklingError(
        f"kernel {kernel.__name__!r} is not what {module}.{name} is now: kernels are pickled by name"
    )


def restore(module: str, name: str, depth: int) -> Any:
    """The kernel in this process. ``depth``: how many wrappers there are round it."""
    try:
        found = _named(module, name)
    except (ImportError, AttributeError) as error:
        hint = ""
        if module == "__main__":
            hint = "; this process runs another program: define the kernel in a module both import"
        raise pickle.UnpicklingError(
            f"kernel {module}.{name} is not found in this process ({error}){hint}"
        ) from error
    for number, layer in enumerate(_layers(found)):
        if number == depth:
            return layer
    raise pickle.UnpicklingError(
        f"{module}.{name} is another kernel in this process: its source differs"
    )


def _named(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module) or import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _layers(found: Any) -> Iterator[Any]:
    """What the name stands for, and the kernels inside it: tuners and heuristics are round one."""
    yield found
    while not getattr(found, "__mytriton_kernel__", False) and hasattr(found, "fn"):
        found = found.fn
        yield found
