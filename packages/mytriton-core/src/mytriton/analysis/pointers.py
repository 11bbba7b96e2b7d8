"""Which parameters a pointer value may point into, and which parameters are read and written."""

from __future__ import annotations

from ..ir.expr import Param
from ..ir.registry import Effect, get
from ..ir.types import is_pointer
from ..ir.values import SSAFunction, SSAItem, SSAOperand, SSAValue, operand_type, walk
from .flow import flows

Roots = frozenset[str]


def pointer_roots(function: SSAFunction) -> dict[int, Roots]:
    """For each pointer value (by id), the names of the parameters it may derive from.

    Loop-carried pointers take the union over their cycle; computed to a fixpoint.
    """
    roots: dict[int, Roots] = {}

    def of(operand: SSAOperand) -> Roots:
        if isinstance(operand, Param):
            return frozenset({operand.name}) if is_pointer(operand.ty) else frozenset()
        return roots.get(operand.id, frozenset()) if isinstance(operand, SSAValue) else frozenset()

    def join(value: SSAValue, found: Roots) -> bool:
        merged = roots.get(value.id, frozenset()) | found
        changed = merged != roots.get(value.id)
        roots[value.id] = merged
        return changed

    items = list(walk(function.body))
    changed = True
    while changed:
        changed = False
        for item in items:
            for value, sources, _ in flows(item):
                if is_pointer(value.ty):
                    changed |= join(value, frozenset().union(*map(of, sources)))
    return roots


def _address(item: SSAItem) -> SSAOperand:
    return next((o for o in item.inputs if o is not None and is_pointer(operand_type(o))), None)  # type: ignore[arg-type]


def accessed_params(function: SSAFunction) -> tuple[Roots, Roots]:
    """Names of the parameters ``(loaded from, stored to)``. An access whose pointer has no known
    root counts for every pointer parameter."""
    roots = pointer_roots(function)
    every = frozenset(p.name for p in function.params if is_pointer(p.ty))
    loaded: Roots = frozenset()
    stored: Roots = frozenset()
    for item in walk(function.body):
        effects = get(item.opcode).effects
        if not effects & (Effect.READ | Effect.WRITE):
            continue
        address = _address(item)
        if isinstance(address, Param):
            names: Roots = frozenset({address.name})
        else:
            names = roots.get(address.id, every) if isinstance(address, SSAValue) else every
        names = names or every
        if effects & Effect.READ:
            loaded |= names
        if effects & Effect.WRITE:
            stored |= names
    return loaded, stored
