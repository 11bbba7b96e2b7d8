"""What of a trace is listed: stores, loops and branches."""

from __future__ import annotations

from typing import Any

from ..ir.expr import Node, Reduce, Structured
from ..ir.registry import Effect, get


def is_listed(node: Node) -> bool:
    """Whether a traced node belongs in the list a launch returns: stores, loops and branches do,
    loads that program order pinned do not."""
    if isinstance(node, Structured):
        return not isinstance(node, Reduce)  # which is pure
    return bool(get(node.opcode).effects & (Effect.WRITE | Effect.IO))


def listed(scope: Any) -> list[Node]:
    """The listed nodes of a scope."""
    return [node for node in scope.trace if is_listed(node)]
