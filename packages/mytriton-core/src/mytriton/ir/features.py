"""Feature ids: what a backend must be able to do to run a function.

Ids are ``op.<name>`` and ``reduce.<name>`` (from the registry), ``dtype.<name>`` for every element
type that occurs, ``rank.<n>`` for block ranks from 2 up, ``control.for`` and so on. One feature is
of the launch and not of the function: ``UNALIGNED``.
"""

from __future__ import annotations

from . import ops as _ops  # noqa: F401  (registers the operations)
from .registry import get
from .types import PointerType, ScalarType, Type, element_of, shape_of
from .values import SSAFunction, operand_type, walk

#: Arrays whose first element is at an address that is no multiple of its size.
UNALIGNED = "memory.unaligned"


def _of_type(ty: Type | None) -> set[str]:
    if ty is None:
        return set()
    element = element_of(ty)
    scalar = element.element if isinstance(element, PointerType) else element
    found = {f"dtype.{scalar}"}
    rank = len(shape_of(ty))
    if rank > 1:
        found.add(f"rank.{rank}")
    return found


def features(function: SSAFunction) -> frozenset[str]:
    """Every feature id ``function`` needs."""
    found: set[str] = set()
    types: set[Type | None] = {param.ty for param in function.params}
    for item in walk(function.body):
        found.add(get(item.opcode).feature_id)
        types.update(operand_type(operand) for operand in item.inputs)
        types.update(value.ty for value in item.results)
        types.update(v for v in item.attrs.values() if isinstance(v, ScalarType))
        if (axis := item.attrs.get("axis")) and item.opcode == "program_id":
            found.add(f"grid.axis{axis}")
    for ty in types:
        found |= _of_type(ty)
    return frozenset(found)
