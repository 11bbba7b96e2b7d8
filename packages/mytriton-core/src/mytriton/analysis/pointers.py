"""Which parameters a pointer value may point into, and which parameters are read and written."""

from __future__ import annotations

from ..ir.expr import Param
from ..ir.registry import Effect, get
from ..ir.types import is_pointer
from ..ir.values import SSAForRange, SSAFunction, SSAItem, SSAOperand, SSAValue, operand_type, walk

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
            if isinstance(item, SSAForRange):
                lanes = zip(item.carried_args, item.carried_inputs, item.yields, item.results)
                for arg, start, end, result in lanes:
                    if is_pointer(arg.ty):
                        found = of(start) | of(end)
                        changed |= join(arg, found) | join(result, found | of(arg))
                continue
            found = frozenset().union(*map(of, item.inputs)) if item.inputs else frozenset()
            for result in item.results:
                if is_pointer(result.ty):
                    changed |= join(result, found)
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
