"""Closing structured operations: results, placement in the program."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..ir.expr import ForRange, If, LoopResult, Node, Reduce, Structured, While
from ..ir.registry import Effect, get
from ..ir.types import Type

if TYPE_CHECKING:
    from .tracer import Tracer


def is_listed(node: Node) -> bool:
    """Whether a traced node belongs in the list a launch returns: stores, loops and branches do,
    loads that program order pinned do not."""
    if isinstance(node, Structured):
        return isinstance(node, (ForRange, If, While))
    return bool(get(node.opcode).effects & (Effect.WRITE | Effect.IO))


def listed(scope: Any) -> list[Node]:
    """The listed nodes of a scope."""
    return [node for node in scope.trace if is_listed(node)]


def close_structured(
    tracer: Tracer, node: ast.AST, item: Structured, types: Sequence[Type], scopes: Sequence[Any]
) -> tuple[LoopResult, ...]:
    """Give ``item`` its results and its place in the program. Its scopes are closed already."""
    return place(tracer.builder, item, types, scopes, tracer.span(node))


def place(
    builder: Any, item: Structured, types: Sequence[Type], scopes: Sequence[Any], span: Any
) -> tuple[LoopResult, ...]:
    results = tuple(LoopResult(item, i) for i in range(len(types)))
    for result, ty in zip(results, types, strict=True):
        builder.leaf(result, ty)
    blocks = tuple((scope, tuple(scope.trace)) for scope in scopes)
    item.beside(results=results, blocks=blocks, span=span, home=builder.scope)
    builder.scope.trace.append(item)
    return results


__all__ = ["Reduce", "close_structured", "is_listed", "listed", "place"]
