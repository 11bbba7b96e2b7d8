"""SSA to CUDA C++. ``emit`` and ``emit_blocked`` are all a caller needs; ``RENDERERS`` is the table of
operations."""

from __future__ import annotations

from collections.abc import Mapping

from mytriton.plugin_api import SSAFunction

from .kernel import MAX_THREADS, PLAIN_SHARED, Emitted, emit
from .renderers import RENDERERS


def emit_blocked(
    function: SSAFunction, warps: int | None = None, divisible_by: Mapping[str, int] | None = None
) -> Emitted:
    """The CUDA C++ of ``function``, several elements per thread of ``warps`` warps.

    ``divisible_by``: what integers, and the addresses of arrays, are known to be multiples of.
    Raises ``UnsupportedFeature`` for an operation or type without a renderer and for reductions that
    need too much shared memory, ``MytritonError`` for a number of warps that is impossible.
    """
    from mytriton.plugin_api import largest_block

    from .blocked import BlockedKernel, default_warps

    chosen = default_warps(largest_block(function)) if warps is None else warps
    return BlockedKernel(function, chosen, divisible_by).emit()


__all__ = ["MAX_THREADS", "PLAIN_SHARED", "RENDERERS", "Emitted", "emit", "emit_blocked"]
