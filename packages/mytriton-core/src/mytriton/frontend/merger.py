"""Merging what the two sides of a branch leave: results of the branch, or an error kept for later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import OpRuleError
from ..ir.expr import If, LoopCarry, LoopResult, Node, Param
from ..ir.types import I32, is_pointer, scalar_of, shape_of
from ..language.symbolic import binary, literal, tensor
from .merge import (
    MISSING,
    Poison,
    Side,
    common_type,
    conflict,
    is_runtime,
    lacking,
    leaves,
    rebuild,
    same,
)

if TYPE_CHECKING:
    from .tracer import Tracer

#: Names of the tracer's own that take part in merging: whether the function has returned, and what.
RETURNED, RESULT = "$returned", "$result"


class Placed:
    """A merged value whose runtime leaves are results of the branch still to be built."""

    def __init__(self, shape: Any, parts: list[Any]) -> None:
        self.shape = shape
        #: For each leaf a compile-time value, or the index of a result.
        self.parts = parts

    def place(self, results: Sequence[LoopResult]) -> Any:
        found = (tensor(results[p.index]) if isinstance(p, _Slot) else p for p in self.parts)
        return rebuild(self.shape, found)


class _Slot:
    def __init__(self, index: int) -> None:
        self.index = index


class Merger:
    """Merges the names of two sides; ``outputs`` collects what each side yields."""

    def __init__(self, tracer: Tracer, then: Side, other: Side) -> None:
        self.tracer = tracer
        self.then = then
        self.other = other
        self.outputs: tuple[list[Node], list[Node]] = ([], [])

    def name(self, name: str) -> Any:
        a, b = self.then.env.get(name, MISSING), self.other.env.get(name, MISSING)
        if name not in (RETURNED, RESULT):
            gone = [side.env.get(RETURNED) is True for side in (self.then, self.other)]
            if gone[0] != gone[1]:
                # Nobody reads the name where the function has returned.
                a, b = (self._abandoned(a, b), b) if gone[0] else (a, self._abandoned(b, a))
        if isinstance(a, Poison) or isinstance(b, Poison):
            return self._incomplete(name, a, b)
        one, two = list(leaves(a)), list(leaves(b))
        if _structure(a) != _structure(b):
            return conflict(name, self.then, self.other, a, b)
        parts: list[Any] = []
        mark = len(self.outputs[0])
        for x, y in zip(one, two, strict=True):
            part = x if same(x, y) else self._leaf(x, y)
            if part is MISSING:
                del self.outputs[0][mark:], self.outputs[1][mark:]
                return conflict(name, self.then, self.other, x, y)
            parts.append(part)
        return Placed(a, parts)

    def _abandoned(self, left: Any, live: Any) -> Any:
        """What a side that returned hands out for a name: what it has, if that fits, else zeros."""
        if isinstance(live, Poison):
            return left
        if not any(isinstance(leaf, tensor) for leaf in leaves(live)):
            return live
        pairs = None
        if _structure(left) == _structure(live):
            pairs = list(zip(leaves(left), leaves(live), strict=True))
        if pairs and all(same(x, y) or self._fits(x, y) for x, y in pairs):
            return left
        try:
            return rebuild(live, (unread(self.tracer, leaf) for leaf in leaves(live)))
        except OpRuleError:
            return left

    @staticmethod
    def _fits(a: Any, b: Any) -> bool:
        return is_runtime(a) and is_runtime(b) and common_type(a, b) is not None

    def _incomplete(self, name: str, a: Any, b: Any) -> Any:
        for value in (a, b):
            if isinstance(value, Poison) and value is not MISSING:
                return value
        if name == RETURNED:
            return Placed(None, [self._leaf(*(False if x is MISSING else x for x in (a, b)))])
        if name == RESULT:
            return self._result(a, b)
        if a is MISSING:
            return lacking(name, self.other, self.then)
        return lacking(name, self.then, self.other)

    def _result(self, a: Any, b: Any) -> Any:
        """A side that did not return has no result yet: it hands out zeros nobody reads."""
        value = b if a is MISSING else a
        zeros = rebuild(value, (unread(self.tracer, leaf) for leaf in leaves(value)))
        pair = (zeros, b) if a is MISSING else (a, zeros)
        parts = [
            x if same(x, y) else self._leaf(x, y) for x, y in zip(*map(leaves, pair), strict=True)
        ]
        return Placed(value, parts)

    def _leaf(self, a: Any, b: Any) -> Any:
        """The result two runtime leaves become, or ``MISSING`` when they have no common type."""
        if not (is_runtime(a) and is_runtime(b)):
            return MISSING
        ty = common_type(a, b)
        if ty is None:
            return MISSING
        for outputs, value in zip(self.outputs, (a, b), strict=True):
            outputs.append(value.expr if isinstance(value, tensor) else literal(value, ty))  # type: ignore[arg-type]
        return _Slot(len(self.outputs[0]) - 1)


def unread(tracer: Tracer, leaf: Any) -> Any:
    """A leaf of the type of ``leaf`` that nobody reads."""
    if not isinstance(leaf, tensor):
        return leaf
    from ..language import core

    shape = shape_of(leaf.type)
    if is_pointer(leaf.type):
        root = _argument(leaf.expr)
        if root is None:
            line = tracer.lines.get(RESULT, 0)
            raise OpRuleError(
                f"the pointer returned at line {line} is not returned on every path; assign it to a name "
                "and return that at the end"
            )
        return binary("+", tensor(root), core.zeros(shape, I32)) if shape else tensor(root)
    ty = scalar_of(leaf.type)
    return core.zeros(shape, ty) if shape else tensor(literal(False if ty.is_bool() else 0, ty))


def _argument(node: Any) -> Param | None:
    """The kernel argument a pointer is computed from."""
    while not isinstance(node, Param):
        if isinstance(node, LoopCarry):
            node = node.initial
        elif isinstance(node, LoopResult):
            loop = node.loop
            values = loop.then_outputs if isinstance(loop, If) else loop.carried_inputs
            node = values[node.index]
        else:
            found = [o for o in node.operands if o is not None and is_pointer(o.type)]
            if not found:
                return None
            node = found[0]
    return node


def _structure(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(_structure(item) for item in value))
    return None
