"""Values that control flow hands on: as many operands of MLIR as a value has layouts and parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mytriton.plugin_api import (
    PointerType,
    ScalarType,
    SSAOperand,
    SSAValue,
    Type,
    element_of,
    scalar_of,
)

from .pointers import Pointer
from .scalars import memref, value_type

if TYPE_CHECKING:
    from mytriton.analysis.threads import Layout

    from .kernel import Kernel


@dataclass
class Carried:
    """One value in one layout, whichever name it goes by on its way."""

    ty: Type
    #: Which of the values that are handed on it is.
    lane: int
    layout: Layout
    #: For pointers that stay in one array: its memref.
    base: str = ""

    @property
    def element(self) -> ScalarType | None:
        """The element type of a pointer."""
        element = element_of(self.ty)
        return element.element if isinstance(element, PointerType) else None

    def types(self) -> list[str]:
        """The types of the parts."""
        if self.element is None:
            return [value_type(scalar_of(self.ty))]
        return ["index"] if self.base else [memref(self.element), "index"]

    def parts(self, k: Kernel, operand: SSAOperand) -> list[str]:
        """The parts of an operand."""
        if self.element is None:
            return [k.value(operand, self.layout)]
        pointer = k.pointer(operand, self.layout)
        index = pointer.index or k.body.index(0)
        return [index] if self.base else [pointer.base, index]

    def bind(self, k: Kernel, value: SSAValue, names: list[str]) -> None:
        """Say which names a value goes by."""
        if self.element is None:
            k.bind(value, self.layout, names[0])
        else:
            base = self.base or names[0]
            k.bind(value, self.layout, Pointer(base, self.element, names[-1]))

    def names(self, k: Kernel, value: SSAValue) -> list[str]:
        """Names for the parts of a value that begins here, which it is bound to."""
        name = k.name(value, self.layout)
        found = [f"%{name}"]
        if len(self.types()) > 1:
            found.insert(0, f"%{k.body.names.fresh(f'{name}_base')}")
        self.bind(k, value, found)
        return found


def carried(k: Kernel, results: Sequence[SSAValue]) -> list[Carried]:
    """What is handed on to ``results``."""
    found = []
    for lane, result in enumerate(results):
        roots = k.roots.get(result.id, frozenset())
        base = k.base_of(*roots) if len(roots) == 1 else ""
        found += [Carried(result.ty, lane, layout, base) for layout in k.demand.of(result)]
    return found


def all_types(lanes: Sequence[Carried]) -> list[str]:
    """The types of all parts."""
    return [ty for each in lanes for ty in each.types()]


def all_parts(k: Kernel, lanes: Sequence[Carried], operands: Sequence[SSAOperand]) -> list[str]:
    """The parts of the operands that are handed on."""
    return [name for each in lanes for name in each.parts(k, operands[each.lane])]


def all_names(k: Kernel, lanes: Sequence[Carried], values: Sequence[SSAValue]) -> list[str]:
    """Names for the values that take over."""
    return [name for each in lanes for name in each.names(k, values[each.lane])]


def terminate(k: Kernel, lanes: Sequence[Carried], operands: Sequence[SSAOperand]) -> None:
    """``scf.yield``, if there is anything to hand on."""
    if lanes:
        parts, types = all_parts(k, lanes, operands), all_types(lanes)
        k.body.line(f"scf.yield {', '.join(parts)} : {', '.join(types)}")


def opening(k: Kernel, lanes: Sequence[Carried], results: Sequence[SSAValue], word: str) -> str:
    """Name the results, after the value if there is one, else together: ``"%v5 = "``."""
    count = len(all_types(lanes))
    if not count:
        return ""
    if count == 1:
        (each,) = lanes
        name = f"%{k.name(results[each.lane], each.layout)}"
        each.bind(k, results[each.lane], [name])
        return f"{name} = "
    name = "%" + k.body.names.fresh(f"{word}{results[lanes[0].lane].id}")
    place = 0
    for each in lanes:
        width = len(each.types())
        each.bind(k, results[each.lane], [f"{name}#{place + n}" for n in range(width)])
        place += width
    return f"{name}:{count} = "
