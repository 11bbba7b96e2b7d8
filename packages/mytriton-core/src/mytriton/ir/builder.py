"""The builder records a trace: nodes in program order, each with its type, span and home region."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import KernelTypeError, OpRuleError, Span
from . import ops as _ops  # noqa: F401  (registers the operations)
from .expr import Const, LoopResult, Node, Structured
from .registry import Effect, get
from .types import ScalarType, Type

#: Operations and calls that one kernel may come to while it is traced.
MOST_TRACED = 300_000

_set = object.__setattr__
_PURE = Effect.PURE


class Scope:
    """One region of the program while it is traced: the kernel body or a loop body.

    ``trace`` holds, in source order, what program order pins: loads, stores, loops. Pure nodes
    are not listed; they belong to the scope they were built in (``node.home``) and are lowered
    there when something first needs them.
    """

    __slots__ = ("captures", "depth", "parent", "trace")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.trace: list[Node] = []
        #: Outer nodes read inside, in order of first use (keyed by identity).
        self.captures: dict[int, Node] = {}


class Builder:
    """Collects the nodes of one trace. Tracing functions find it through ``Builder.current()``."""

    _active = threading.local()

    def __init__(self) -> None:
        self.scope = Scope(None)
        #: Source position given to nodes that are built now.
        self.span: Span | None = None
        self._outer: Builder | None = None
        self._traced = 0
        #: Result types of operations without attributes, by opcode and identities of the operand
        #: types (which are kept, so that no other type gets their identity).
        self._inferred: dict[Any, tuple[list[Type | None], Any]] = {}
        #: Whether ``tl.device_assert`` is checked; set by the frontend.
        self.debug: bool = False
        #: Calls a ``@triton.jit`` function with symbolic arguments; set by the frontend.
        self.inline: Callable[[Any, list[Any]], Any] | None = None

    @classmethod
    def current(cls) -> Builder:
        """The builder of the running trace. Raises ``RuntimeError`` outside of one."""
        builder: Builder | None = getattr(cls._active, "builder", None)
        if builder is None:
            raise RuntimeError(
                "this function is part of the kernel language: call it inside a @triton.jit kernel"
            )
        return builder

    def __enter__(self) -> Builder:
        self._outer = getattr(Builder._active, "builder", None)
        Builder._active.builder = self
        return self

    def __exit__(self, *exc: object) -> None:
        Builder._active.builder = self._outer

    def open_scope(self) -> Scope:
        """Enter a nested region."""
        self.scope = Scope(self.scope)
        return self.scope

    def close_scope(self) -> None:
        """Leave the innermost region."""
        assert self.scope.parent is not None
        self.scope = self.scope.parent

    def grow(self) -> None:
        """Count what is traced: calls and unrolled loops multiply without looking large. Raises
        ``KernelTypeError``."""
        self._traced += 1
        if self._traced > MOST_TRACED:
            raise KernelTypeError(
                f"more than {MOST_TRACED:,} operations and calls, once calls are written out and loops "
                "unrolled; loop with range(...) over a bound that is an argument",
                self.span,
            )

    def add(self, node: Node) -> Node:
        """Type ``node``, note where it stands, and pin it when it touches memory.

        Raises ``KernelTypeError`` at the current source position when its type rule refuses.
        """
        self.grow()
        opcode, attrs = node.opcode, node.attrs
        definition = get(opcode)
        types = [None if o is None else o.type for o in node.operands]
        # By identity: equal types that are different objects only miss the memo.
        key = None if attrs else (opcode, *map(id, types))
        known = self._inferred.get(key) if key is not None else None
        if known is not None:
            inferred = known[1]
        else:
            try:
                inferred = definition.infer(types, attrs)
            except OpRuleError as error:
                raise KernelTypeError(str(error), self.span) from None
            if key is not None:
                self._inferred[key] = (types, inferred)
        _set(node, "_type", inferred)
        _set(node, "span", self.span)
        _set(node, "home", self.scope)
        if definition.effects is not _PURE:
            self.scope.trace.append(node)
        return node

    def leaf(self, node: Node, ty: Type) -> Node:
        """A node without an operation: loop index, carried value, loop result."""
        return node.beside(_type=ty, span=self.span, home=self.scope)

    def structured(
        self, item: Structured, types: Sequence[Type], scopes: Sequence[Scope]
    ) -> tuple[LoopResult, ...]:
        """Place an operation with regions, traced in ``scopes`` (which are closed); returns its
        results, of these types."""
        results = tuple(LoopResult(item, i) for i in range(len(types)))
        for result, ty in zip(results, types, strict=True):
            self.leaf(result, ty)
        blocks = tuple((scope, tuple(scope.trace)) for scope in scopes)
        item.beside(results=results, blocks=blocks, span=self.span, home=self.scope)
        self.scope.trace.append(item)
        return results

    def constant(self, value: Any, ty: ScalarType) -> Const:
        """A literal that has taken type ``ty`` from its context."""
        node = Const(value)
        _set(node, "_type", ty)
        _set(node, "span", self.span)
        _set(node, "home", None)
        return node

    def capture(self, node: Node) -> None:
        """Note that ``node`` was read by name here: every open loop it lies outside of captures it."""
        if self.scope.parent is None:
            return
        home = getattr(node, "home", None)
        depth = home.depth if home is not None else 0
        scope: Scope | None = self.scope
        while scope is not None and scope.depth > depth:
            scope.captures.setdefault(id(node), node)
            scope = scope.parent
