"""``tl.where`` of pointers. There is no operation that selects addresses: into one array, offsets are
selected; into two, a scalar condition branches."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ..errors import OpRuleError
from ..ir import expr
from ..ir.builder import Builder
from ..ir.types import BOOL, I32, I64, broadcast_shapes, is_pointer
from .compile_time import unwrap
from .symbolic import as_type, binary, build, describe, pair, tensor


def where(condition: Any, x: Any, y: Any) -> tensor:
    """``x`` where ``condition`` holds, else ``y``; one of them, at least, is a pointer. Raises
    ``OpRuleError`` for what is none, and for blocks of pointers into different arrays."""
    x, y = unwrap(x), unwrap(y)
    for value, other in ((x, y), (y, x)):
        if not isinstance(value, tensor) or not is_pointer(value.type):
            raise OpRuleError(
                f"where: a pointer and {describe(value)} have no type in common, got {other.type}"
            )
    chosen = tensor(as_type(condition, BOOL))
    (a, a_offset), (b, b_offset) = _steps(x.expr), _steps(y.expr)
    if a is b:
        offset = build(expr.Where(chosen.expr, *pair(a_offset, b_offset)))
        return binary("+", tensor(a), offset)
    if x.dtype != y.dtype:
        raise OpRuleError(
            f"where: the pointers are {x.type} and {y.type}; select what is loaded from them"
        )
    if chosen.shape:
        raise OpRuleError(
            f"where: pointers into different arrays can only be selected by a scalar condition, got "
            f"{chosen.type}; load from both, and select what was loaded"
        )
    shape = broadcast_shapes(x.shape, y.shape)
    return _branch(chosen, _stretched(x, shape), _stretched(y, shape))


def _stretched(pointer: tensor, shape: tuple[int, ...]) -> tensor:
    """The same pointer, in a block of a shape."""
    if pointer.shape == shape:
        return pointer
    return binary("+", pointer, build(expr.Zeros(shape, I32)))


def _steps(node: expr.Node) -> tuple[expr.Node, Any]:
    """Where a pointer starts, and how far from there it is."""
    offsets = []
    while isinstance(node, expr.AddPtr):
        offsets.append(tensor(node.offset))
        node = node.base
    if len(offsets) > 1:  # each is added to the address: their sum must not wrap
        offsets = [tensor(as_type(offset, I64)) for offset in offsets]
    return node, reduce(lambda p, q: binary("+", p, q), reversed(offsets)) if offsets else 0


def _branch(condition: tensor, x: tensor, y: tensor) -> tensor:
    builder = Builder.current()
    scopes = []
    for value in (x, y):
        scopes.append(builder.open_scope())
        builder.capture(value.expr)
        builder.close_scope()
    captures = tuple({**scopes[0].captures, **scopes[1].captures}.values())
    item = expr.If(condition.expr, captures, [], [], (x.expr,), (y.expr,))
    (result,) = builder.structured(item, [x.type], scopes)
    return tensor(result)


__all__ = ["where"]
