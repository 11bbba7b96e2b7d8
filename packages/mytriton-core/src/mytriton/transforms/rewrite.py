"""What the passes share: visiting nested regions without recursion, and replacing operands."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from ..ir.registry import Effect, effects_of, lookup
from ..ir.values import Region, SSAFunction, SSAItem, SSAOp, SSAOperand, SSAValue

#: A visit of one body. It yields the visits of nested bodies, is sent their results, and returns
#: its own.
Visit = Generator[Any, Any, Any]


def run_visit(visit: Visit) -> Any:
    """Run a visit and all it yields on an explicit stack; returns what it returns."""
    stack = [visit]
    value: Any = None
    while True:
        try:
            inner = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
            if not stack:
                return value
        else:
            stack.append(inner)
            value = None


Replacements = Mapping[int, SSAOperand]


def replaced(operands: Sequence[SSAOperand], by: Replacements) -> Sequence[SSAOperand]:
    """``operands`` with replacements made; the same object when there is nothing to replace."""
    for operand in operands:
        if operand.__class__ is SSAValue and operand.id in by:
            return tuple(by.get(o.id, o) if isinstance(o, SSAValue) else o for o in operands)
    return operands


def with_operands(item: SSAItem, by: Replacements) -> SSAItem:
    """``item`` with replacements made in its own operands; the same object when none applies."""
    if not by:
        return item
    inputs = item.inputs
    new = replaced(inputs, by)
    return item if new is inputs else item.rebuild(new, item.regions)


def with_body(region: Region, body: list[SSAItem], by: Replacements) -> Region:
    """``region`` with another body and with replacements made in what it yields; the same object
    when nothing changes."""
    yields = replaced(region.yields, by)
    if body is region.body and yields is region.yields:
        return region
    return Region(region.args, body, tuple(yields))


def with_regions(item: SSAItem, old: Sequence[Region], new: Sequence[Region]) -> SSAItem:
    """``item`` with ``new`` regions; the same object when they are the ``old`` ones."""
    if all(a is b for a, b in zip(old, new, strict=False)):
        return item
    return item.rebuild(item.inputs, new)


def with_function_body(function: SSAFunction, body: list[SSAItem]) -> SSAFunction:
    """``function`` with another body; the same object when the body is its own."""
    return function if body is function.body else SSAFunction(function.name, function.params, body)


def own_effects(item: SSAItem) -> Effect:
    """What an item does by itself, apart from the items nested in it. An operation the registry
    does not know may do anything."""
    definition = lookup(item.opcode)
    return definition.effects if definition else Effect.ATOMIC | Effect.BARRIER


def is_plain_op(item: SSAItem) -> bool:
    """An operation with one result and no regions: what folding and merging deal with."""
    return type(item) is SSAOp and not item.regions and type(item.result) is SSAValue


__all__ = [
    "Visit", "effects_of", "is_plain_op", "own_effects", "replaced", "run_visit", "with_body",
    "with_function_body", "with_operands", "with_regions",
]  # fmt: skip
