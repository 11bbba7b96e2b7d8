"""Which array arguments a function reads and writes, and how: the static half of deciding whether
programs may run together."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..analysis.flow import flows
from ..analysis.pointers import Roots, pointer_roots
from ..ir.expr import Param
from ..ir.registry import Effect, get
from ..ir.types import is_pointer
from ..ir.values import SSAFunction, SSAItem, SSAValue, walk


@dataclass(slots=True)
class Access:
    """Access of array parameters, by name."""

    reads: set[str] = field(default_factory=set)
    #: For each written parameter, the operations that may write it.
    writes: dict[str, list[SSAItem]] = field(default_factory=dict)
    #: Parameters written by one plain store that each program executes exactly once.
    written_once: set[str] = field(default_factory=set)
    #: Ids of values that may depend on what was loaded from memory.
    loaded: set[int] = field(default_factory=set)

    @property
    def touched(self) -> set[str]:
        return self.reads | set(self.writes)


def find_access(function: SSAFunction) -> Access:
    """Static access of ``function``. Conservative: what it leaves out cannot happen."""
    roots = pointer_roots(function)
    every = frozenset(p.name for p in function.params if is_pointer(p.ty))
    access = Access(loaded=loaded_values(function))
    for item in walk(function.body):
        effects = get(item.opcode).effects
        touched = _touched(item, roots, every)
        if Effect.READ in effects:
            access.reads |= touched
        if Effect.WRITE in effects:
            for name in touched:
                access.writes.setdefault(name, []).append(item)
    access.written_once = _written_once(function, access)
    return access


def _touched(item: SSAItem, roots: dict[int, Roots], every: Roots) -> set[str]:
    """Parameters that the pointer operands of ``item`` may point into."""
    found: set[str] = set()
    for operand in item.inputs:
        if operand is None or not is_pointer(operand.ty):
            continue
        if isinstance(operand, Param):
            found.add(operand.name)
        elif isinstance(operand, SSAValue):
            found |= roots.get(operand.id, every) or every
    return found


def _written_once(function: SSAFunction, access: Access) -> set[str]:
    outside_regions = {id(item) for item in function.body}
    return {
        name
        for name, items in access.writes.items()
        if len(items) == 1
        and id(items[0]) in outside_regions
        and get(items[0].opcode).effects == Effect.WRITE
    }


def loaded_values(function: SSAFunction) -> set[int]:
    """Ids of the values that may depend on what was loaded from memory."""
    found: set[int] = set()
    items = list(walk(function.body))
    before = -1
    while len(found) != before:  # once more round the loops while something was learnt
        before = len(found)
        for item in items:
            reads = Effect.READ in get(item.opcode).effects
            for value, sources, decides in flows(item):
                # How often a loop runs decides which trip's value leaves it.
                parts = (*sources, *decides)
                if reads or any(isinstance(s, SSAValue) and s.id in found for s in parts):
                    found.add(value.id)
    return found
