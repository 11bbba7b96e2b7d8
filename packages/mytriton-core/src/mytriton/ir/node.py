"""Base of expression nodes: immutable plain data shared by identity.

An expression is a graph: ``v = v + v`` forty times is 41 nodes but 2**40 paths. Comparing, hashing,
copying and printing therefore never follow paths: each node caches a digest of its structure
(computed once, iteratively), and printing names a node it meets again once the text would grow.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ..errors import Span
    from .types import Type

#: Above this many printed nodes a graph prints shared nodes once, as ``#1=...`` and ``#1#``.
FULL_REPR_LIMIT = 2000


@cache
def field_names(cls: type) -> tuple[str, ...]:
    """The dataclass fields of a node class, in order."""
    return tuple(f.name for f in fields(cls))


@cache
def attribute_names(cls: type[Node]) -> tuple[str, ...]:
    """The fields of a node class that are no operands, in order."""
    return tuple(name for name in field_names(cls) if name not in cls.OPERANDS)  # type: ignore[arg-type]


@cache
def _getter(cls: type[Node]) -> Any:
    """What gives the operands of a node of this class as a tuple."""
    names = cls.OPERANDS
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda node: ()
    one = attrgetter(names[0])
    return lambda node: (one(node),)


class Node:
    """An expression node. Fields are its data; everything else is carried beside them and takes no
    part in comparison: ``span`` (user source), ``type`` (inferred), ``home`` (the region of the
    program it was built in)."""

    __slots__ = ("_digest", "_type", "home", "span")

    #: Registry name of the operation, and which fields are operands; other fields are attributes.
    OPCODE: ClassVar[str] = ""
    OPERANDS: ClassVar[tuple[str, ...]] = ()
    #: Order in which operands are lowered, when it is not left to right.
    ORDER: ClassVar[tuple[int, ...]] = ()

    span: Span | None
    home: Any
    _type: Type
    _digest: bytes

    @property
    def opcode(self) -> str:
        return self.OPCODE

    @property
    def operands(self) -> tuple[Node | None, ...]:
        found: tuple[Node | None, ...] = _getter(type(self))(self)  # type: ignore[arg-type]
        return found

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the operation: fields that are no operands, left out when ``None``."""
        found = {}
        for name in attribute_names(type(self)):  # type: ignore[arg-type]
            if (value := getattr(self, name)) is not None:
                found[name] = value
        return found

    @property
    def type(self) -> Type:
        """The inferred type; only nodes made by a trace have one."""
        return self._type

    @classmethod
    def restored(cls, parts: tuple[Any, ...]) -> Node:
        """A node from its ``digest_parts`` (unpickling)."""
        return cls(*parts)

    def beside(self, **values: Any) -> Node:
        """Set values carried beside the fields (``span``, ``home``, ``_type``); returns self."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    def digest_parts(self) -> tuple[Any, ...]:
        """What identifies the structure: the fields, nodes among them by their own digest."""
        names = field_names(type(self))  # type: ignore[arg-type]
        return tuple(getattr(self, name) for name in names)

    def repr_parts(self) -> Iterable[tuple[str, Any]]:
        """Fields to print. Trailing fields that are ``None`` by default are left out."""
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if not (value is None and f.default is None and type(self).HIDE_DEFAULTS):
                yield f.name, value

    HIDE_DEFAULTS: ClassVar[bool] = True

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return digest(self) == digest(other)

    def __hash__(self) -> int:
        return int.from_bytes(digest(self)[:8], "little", signed=True)

    def __repr__(self) -> str:
        return render([self])[0]

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: Any) -> Node:
        return self

    def __reduce__(self) -> Any:
        return _unflatten, (_flatten([self]), 0)


def _leaves(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _leaves(item)


def _atom(value: Any) -> bytes:
    if isinstance(value, Node):
        return b"n" + value._digest
    if isinstance(value, (tuple, list)):
        return b"(" + b",".join(_atom(v) for v in value) + b")"
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    return f"{type(value).__name__}:{value!r}".encode()


def digest(root: Node) -> bytes:
    """Sixteen bytes that two nodes share exactly when they are structurally equal."""
    stack = [root]
    while stack:
        node = stack[-1]
        if hasattr(node, "_digest"):
            stack.pop()
            continue
        parts = node.digest_parts()
        waiting = [n for n in _leaves(parts) if not hasattr(n, "_digest")]
        if waiting:
            stack.extend(waiting)
            continue
        body = type(node).__name__.encode() + b"|" + b"|".join(_atom(p) for p in parts)
        object.__setattr__(node, "_digest", hashlib.blake2b(body, digest_size=16).digest())
        stack.pop()
    return root._digest


def _expanded_size(roots: list[Node]) -> int:
    sizes: dict[int, int] = {}
    stack: list[Node] = list(roots)
    while stack:
        node = stack[-1]
        if id(node) in sizes:
            stack.pop()
            continue
        children = [n for _, v in node.repr_parts() for n in _leaves(v)]
        waiting = [n for n in children if id(n) not in sizes]
        if waiting:
            stack.extend(waiting)
            continue
        sizes[id(node)] = min(1 + sum(sizes[id(n)] for n in children), FULL_REPR_LIMIT + 1)
        stack.pop()
    return sum(sizes[id(n)] for n in roots)


def _shared(roots: list[Node]) -> set[int]:
    """Identities of nodes with operands that are reached more than once."""
    count: dict[int, int] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        count[id(node)] = count.get(id(node), 0) + 1
        if count[id(node)] == 1:
            stack.extend(n for _, v in node.repr_parts() for n in _leaves(v))
    return {key for key, n in count.items() if n > 1}


def render(roots: list[Any]) -> list[str]:
    """``repr`` of several nodes of one graph, iterative and linear in what it prints."""
    nodes = [r for r in roots if isinstance(r, Node)]
    shared = _shared(nodes) if _expanded_size(nodes) > FULL_REPR_LIMIT else set()
    labels: dict[int, int] = {}
    return ["".join(_render(root, shared, labels)) for root in roots]


def _render(root: Any, shared: set[int], labels: dict[int, int]) -> Iterator[str]:
    stack: list[Any] = [_Todo(root)]
    while stack:
        todo = stack.pop()
        if isinstance(todo, str):
            yield todo
            continue
        value = todo.value
        if isinstance(value, (tuple, list)):
            stack.extend(reversed(_sequence_parts(value)))
        elif not isinstance(value, Node):
            yield repr(value)
        elif id(value) in labels:
            yield f"#{labels[id(value)]}#"
        else:
            parts: list[Any] = []
            for i, (name, item) in enumerate(value.repr_parts()):
                parts += [", " if i else "", f"{name}=", _Todo(item)]
            if id(value) in shared and parts:
                labels[id(value)] = len(labels) + 1
                yield f"#{labels[id(value)]}="
            yield f"{type(value).__name__}("
            stack.append(")")
            stack.extend(reversed(parts))


def _sequence_parts(value: Any) -> list[Any]:
    opening, closing = ("[", "]") if isinstance(value, list) else ("(", ")")
    parts: list[Any] = [opening]
    for i, item in enumerate(value):
        parts += [", " if i else "", _Todo(item)]
    if isinstance(value, tuple) and len(value) == 1:
        parts.append(",")
    return [*parts, closing]


class _Todo:
    """A value still to be printed (strings on the stack are finished text)."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Ops(list[Any]):
    """The list of top-level operations of a trace: an ordinary list that prints its shared graph
    in linear space."""

    def __repr__(self) -> str:
        return "[" + ", ".join(render(list(self))) + "]"

    def __reduce__(self) -> Any:
        nodes = [item for item in self if isinstance(item, Node)]
        return _unflatten_all, (_flatten(nodes),) if len(nodes) == len(self) else (
            list,
            (list(self),),
        )


class _Ref:
    """A node of a flattened graph, by position."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __reduce__(self) -> Any:
        return _Ref, (self.index,)


def _flatten(roots: list[Node]) -> tuple[list[Any], list[int]]:
    """A graph as a list of ``(class, fields)`` with operands before their users, for pickling
    without recursion; and the positions of the roots."""
    order: dict[int, int] = {}
    table: list[Any] = []
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if id(node) in order:
            stack.pop()
            continue
        parts = node.digest_parts()
        waiting = [n for n in _leaves(parts) if id(n) not in order]
        if waiting:
            stack.extend(waiting)
            continue
        order[id(node)] = len(table)
        table.append((type(node), tuple(_replace(p, order) for p in parts)))
        stack.pop()
    return table, [order[id(r)] for r in roots]


def _replace(value: Any, order: dict[int, int]) -> Any:
    if isinstance(value, Node):
        return _Ref(order[id(value)])
    if isinstance(value, (tuple, list)):
        return type(value)(_replace(v, order) for v in value)
    return value


def _restore(value: Any, nodes: list[Node]) -> Any:
    if isinstance(value, _Ref):
        return nodes[value.index]
    if isinstance(value, (tuple, list)):
        return type(value)(_restore(v, nodes) for v in value)
    return value


def _unflatten_all(flat: tuple[list[Any], list[int]]) -> Ops:
    table, roots = flat
    nodes: list[Node] = []
    for cls, parts in table:
        nodes.append(cls.restored(tuple(_restore(p, nodes) for p in parts)))
    return Ops(nodes[r] for r in roots)


def _unflatten(flat: tuple[list[Any], list[int]], root: int) -> Any:
    return _unflatten_all(flat)[root]
