"""The expression tree, one node a line. A node that several others use is printed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import Span
from ..ir.expr import Const, Node, Param

Row = tuple[str, "Span | None"]
#: Levels that are indented; what is deeper says how deep (a long chain would be a page wide).
_LEVELS = 24


def tree_rows(ops: Sequence[Any]) -> Iterator[Row]:
    """Lines of text with the position each node came from. Iterative: trees are deep."""
    labels: dict[int, int] = {}
    shared = _used_twice(ops)
    stack: list[tuple[int, str, Any]] = [(0, "", op) for op in reversed(ops)]
    while stack:
        depth, name, node = stack.pop()
        pad = _indent(depth) + (f"{name}=" if name else "")
        if isinstance(node, (tuple, list)):
            yield f"{pad}[{'' if node else ']'}", None
            stack.extend((depth + 1, "", item) for item in reversed(node))
            continue
        if not isinstance(node, Node) or isinstance(node, (Const, Param)):
            yield f"{pad}{_leaf(node)}", None
            continue
        if id(node) in labels:
            yield f"{pad}#{labels[id(node)]}", node.span
            continue
        label = ""
        if id(node) in shared:
            labels[id(node)] = len(labels) + 1
            label = f"#{labels[id(node)]} = "
        parts = list(node.repr_parts())
        plain = ", ".join(f"{k}={v!r}" for k, v in parts if not _nested(v))
        ty = getattr(node, "_type", None)
        yield f"{pad}{label}{type(node).__name__}({plain})" + (f" : {ty}" if ty else ""), node.span
        stack.extend((depth + 1, k, v) for k, v in reversed(parts) if _nested(v))


def _indent(depth: int) -> str:
    return "  " * depth if depth <= _LEVELS else f"{'  ' * _LEVELS}({depth}) "


def _leaf(node: Any) -> str:
    if isinstance(node, Param):
        return f"{node.name} : {node.ty}"
    return repr(node.value) if isinstance(node, Const) else repr(node)


def _nested(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_nested(item) for item in value)
    return isinstance(value, Node)


def _children(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _children(item)


def _used_twice(ops: Sequence[Any]) -> set[int]:
    count: dict[int, int] = {}
    stack = list(_children(list(ops)))
    while stack:
        node = stack.pop()
        count[id(node)] = count.get(id(node), 0) + 1
        if count[id(node)] == 1:
            stack.extend(child for _, v in node.repr_parts() for child in _children(v))
    return {key for key, n in count.items() if n > 1}
