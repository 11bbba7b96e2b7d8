"""What the table of capabilities cannot tell: whether shared memory suffices, and what a function that
combines does."""

from __future__ import annotations

from mytriton.analysis.threads import COMBINE_GATHERS, GATHERING, gathering_in_combine
from mytriton.plugin_api import (
    Decline,
    SSAFunction,
    UnsupportedFeature,
    largest_block,
    not_possible,
    walk,
)

from .kernel import MAX_SHARED, emit


def declined(function: SSAFunction) -> Decline | None:
    """Declines a reduction in a function that combines, and what shared memory has no room for. How
    much a kernel takes, only its text tells: it is written here for those that might take too much."""
    if gathering_in_combine(function) is not None:
        return not_possible("reduce.custom", COMBINE_GATHERS)
    if _most_shared(function) <= MAX_SHARED:
        return None
    try:
        emit(function)
    except UnsupportedFeature as e:
        return not_possible(e.feature, e.reason)
    return None


def _most_shared(function: SSAFunction) -> int:
    """No fewer bytes than the buffers of reductions and products take: 8 for every thread in each,
    and one buffer for each operand and for positions."""
    gathered = (item for item in walk(function.body) if item.opcode in GATHERING)
    return 8 * largest_block(function) * sum(len(item.inputs) + 1 for item in gathered)
