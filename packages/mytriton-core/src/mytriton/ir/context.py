"""The type a bare constant takes from its place, so that printed modules need few suffixes."""

from __future__ import annotations

from .registry import lookup
from .types import SCALAR_NAMES, PointerType, ScalarType, Type, element_of
from .values import Constant, SSAForRange, SSAItem, operand_type


def implied_types(item: SSAItem) -> list[Type | None]:
    """For each input of ``item``, the scalar type a constant there has without a suffix.

    Reads only results and operands that are not constants, so a parser can ask before it has
    typed the constants.
    """
    if isinstance(item, SSAForRange):
        first = next((t for t in _known(item) if t is not None), None)
        bound = element_of(first) if first is not None else ScalarType("i32")
        return [bound, bound, bound, *(arg.ty for arg in item.carried_args)]
    definition = lookup(item.opcode)  # unknown operations print and parse too
    rule = definition.constants if definition else "result"
    implied: Type | None = None
    if rule in SCALAR_NAMES:
        implied = ScalarType(rule)
    elif rule == "peer":
        implied = next((element_of(t) for t in _known(item) if t is not None), None)
    elif rule == "pointee":
        element = next((element_of(t) for t in _known(item) if t is not None), None)
        implied = element.element if isinstance(element, PointerType) else None
    elif rule == "own":
        return [None] * len(item.inputs)
    elif item.results:
        implied = element_of(item.results[0].ty)
    types: list[Type | None] = [implied] * len(item.inputs)
    for k, name in enumerate(definition.operands if definition else ()):
        if name in ("mask?", "condition") and k < len(types):
            types[k] = ScalarType("bool")
    return types


def _known(item: SSAItem) -> list[Type | None]:
    inputs = item.inputs[:3] if isinstance(item, SSAForRange) else item.inputs
    return [None if isinstance(o, Constant) else operand_type(o) for o in inputs]


def implied_yields(item: SSAItem, count: int) -> list[Type | None]:
    """The same for what a region of ``item`` yields: the types of the results."""
    types = [value.ty for value in item.results][:count]
    return [*types, *([None] * (count - len(types)))]
