"""Which mapping to threads a kernel gets: one thread per element, as in the articles, unless the user
names ``num_warps``, a block is larger than a thread block, there is a matrix product, or shared memory
does not suffice."""

from __future__ import annotations

import math
import os
from types import MappingProxyType

from mytriton.analysis.threads import COMBINE_GATHERS, GATHERING, gathering_in_combine
from mytriton.plugin_api import (
    Decline,
    LaunchSpec,
    MytritonError,
    Source,
    SSAFunction,
    UnsupportedFeature,
    VariableError,
    largest_block,
    not_possible,
    operand_type,
    shape_of,
    walk,
)
from mytriton_cuda_info import INFO, MAX_SHARED

from .emit import MAX_THREADS, PLAIN_SHARED, Emitted, emit, emit_blocked

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


def declined(function: SSAFunction, launch: LaunchSpec) -> Decline | None:
    """Declines what the table of capabilities cannot tell: a reduction in a function that combines, and
    what shared memory has no room for. How much a kernel takes, only its text tells: it is written
    here for those that might take too much."""
    if gathering_in_combine(function) is not None:
        return not_possible("reduce.custom", COMBINE_GATHERS)
    if _most_shared(function) <= MAX_SHARED:
        return None
    try:
        lowered(function, launch)
    except UnsupportedFeature as e:
        return not_possible(e.feature, e.reason)
    except MytritonError:
        pass  # lowering is where the user meets it
    return None


def _most_shared(function: SSAFunction) -> int:
    """No fewer bytes than the kernel's reductions and products take in any mapping: 8 for an element,
    4 for its position, half as much again between the rows of factors."""
    elements = 0
    for item in walk(function.body):
        if item.opcode in GATHERING:
            types = [*map(operand_type, item.inputs), *(value.ty for value in item.results)]
            elements += sum(math.prod(shape_of(ty)) for ty in types if ty is not None)
    return 16 * elements


def lowered(function: SSAFunction, launch: LaunchSpec) -> Source:
    """The text, and what launching it takes."""
    mapping = choose(function, launch)
    emitted = write(function, launch, mapping)
    if mapping == "element" and emitted.shared_bytes > PLAIN_SHARED:
        # The blocked mapping asks for more at launch.
        mapping = "blocked"
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
