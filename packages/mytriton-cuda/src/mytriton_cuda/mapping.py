"""Which mapping to threads a kernel gets: one thread per element, as in the articles, unless the user
names ``num_warps``, a block is larger than a thread block, or there is a matrix product."""

from __future__ import annotations

import os
from types import MappingProxyType

from mytriton.plugin_api import LaunchSpec, Source, SSAFunction, VariableError, largest_block, walk
from mytriton_cuda_info import INFO

from .emit import MAX_THREADS, Emitted, emit, emit_blocked

#: What arguments are specialised on (``ArgSpec.divisible_by_16``).
DIVISOR = 16
MAPPINGS = ("", "element", "blocked")


#: How to launch an exported image.
CALLING = (
    "one block of `threads` threads (axis x) a program of the grid, with `shared_bytes` of dynamic "
    "shared memory where the text declares it extern; arguments in order, an array as its address"
)


def choose(function: SSAFunction, launch: LaunchSpec) -> str:
    """``"element"`` or ``"blocked"``. ``MYTRITON_CUDA_MAPPING=blocked`` is for tests."""
    wanted = os.environ.get("MYTRITON_CUDA_MAPPING", "")
    if wanted not in MAPPINGS:
        raise VariableError(f"MYTRITON_CUDA_MAPPING must be element or blocked, got {wanted!r}")
    if wanted == "blocked" or "num_warps" in launch.options:
        return "blocked"
    product = any(item.opcode == "dot" for item in walk(function.body))
    return "blocked" if product or largest_block(function) > MAX_THREADS else "element"


def write(function: SSAFunction, launch: LaunchSpec, mapping: str) -> Emitted:
    """The text in one of the mappings."""
    if mapping == "element":
        return emit(function)
    known = {a.name: DIVISOR for a in launch.arguments if a.divisible_by_16}
    return emit_blocked(function, launch.options.get("num_warps"), known)


def lowered(function: SSAFunction, launch: LaunchSpec) -> Source:
    """The text, and what launching it takes."""
    mapping = choose(function, launch)
    emitted = write(function, launch, mapping)
    resources = {
        "threads": emitted.threads,
        "shared_bytes": emitted.shared_bytes + emitted.dynamic_bytes,
        "dynamic_shared": emitted.dynamic_bytes,
        "parameters": tuple(param.ty for param in function.params),
        "spans": MappingProxyType(emitted.spans),
        "calling": CALLING,
        "mapping": mapping,
        # One element at a time is accessed at any alignment.
        "specialised": mapping == "blocked",
    }
    return Source(emitted.text, INFO.language, emitted.entry, MappingProxyType(resources))
