"""A function prepared for execution: values become slots, operations become steps.

Preparing costs a few microseconds an operation and is done once per compiled kernel, so that
running a program looks nothing up by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ir.expr import Param
from ..ir.numerics import held_dtype
from ..ir.registry import Effect, OpDef, get
from ..ir.types import ScalarType, Type, shape_of
from ..ir.values import (
    Constant,
    Region,
    SSAFunction,
    SSAItem,
    SSAOperand,
    SSAValue,
    operand_type,
    walk,
)
from .access import Access, find_access

#: The slot that always holds ``None``: absent operands read it.
ABSENT = 0


@dataclass(slots=True, eq=False)
class Step:
    """One item of a function. Operands and results are slots of the machine's register list."""

    item: SSAItem
    definition: OpDef
    operands: tuple[int, ...]
    results: tuple[int, ...]
    types: tuple[Type | None, ...]
    result_types: tuple[Type, ...]
    blocks: tuple[Block, ...] = ()
    #: Slots nothing reads after this step: they are cleared, so that a chain of thousands of
    #: operations holds only the arrays it still needs.
    dead: tuple[int, ...] = ()

    @property
    def opcode(self) -> str:
        return self.item.opcode

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self.item.attrs

    @property
    def result_type(self) -> Type | None:
        return self.result_types[0] if self.result_types else None


@dataclass(slots=True, eq=False)
class Block:
    """The body of a function or region."""

    args: tuple[int, ...]
    steps: list[Step]
    yields: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Plan:
    """A function ready to run."""

    function: SSAFunction
    body: Block
    #: What each slot holds before the first step: constants; the rest is ``None``.
    initial: list[Any]
    #: Slot of each parameter, in order.
    params: tuple[int, ...]
    access: Access
    #: Elements of the largest block, which sizes the chunks of programs that run together.
    largest: int
    #: Whether programs print or assert: they then run one at a time.
    talks: bool = False
    #: What strict mode knows about the function (``hazards.Knowledge``), once it was asked.
    knowledge: Any = None


class _Planner:
    def __init__(self, function: SSAFunction) -> None:
        self.initial: list[Any] = [None]
        self.slots: dict[Any, int] = {}
        self.params = tuple(self._new(param.name) for param in function.params)

    def _new(self, key: Any, value: Any = None) -> int:
        slot = self.slots[key] = len(self.initial)
        self.initial.append(value)
        return slot

    def operand(self, operand: SSAOperand) -> int:
        if operand is None:
            return ABSENT
        if isinstance(operand, Param):
            return self.slots[operand.name]
        if isinstance(operand, SSAValue):
            return self.slots[operand.id]
        slot = self.slots.get(operand)
        return self._new(operand, scalar_array(operand)) if slot is None else slot

    def block(self, region: Region) -> Block:
        args = tuple(self._new(arg.id) for arg in region.args)
        steps = [self.step(item) for item in region.body]
        yields = tuple(self.operand(value) for value in region.yields)
        mark_dead(steps, keep={*args, *yields})
        return Block(args, steps, yields)

    def step(self, item: SSAItem) -> Step:
        operands = tuple(self.operand(operand) for operand in item.inputs)
        blocks = tuple(self.block(region) for region in item.regions)
        return Step(
            item,
            get(item.opcode),
            operands,
            tuple(self._new(value.id) for value in item.results),
            tuple(operand_type(operand) for operand in item.inputs),
            tuple(value.ty for value in item.results),
            blocks,
        )


def scalar_array(constant: Constant) -> npt.NDArray[Any]:
    """A constant as the machine holds scalars: shape ``(1,)``, shared by all programs."""
    return np.array([constant.value], held_dtype(constant.ty))


def mark_dead(steps: Sequence[Step], keep: set[int]) -> None:
    """Fill ``dead`` of the steps of a block: slots defined there, after their last use."""
    local = {slot for step in steps for slot in step.results}
    seen = set(keep)
    for step in reversed(steps):
        used = {*step.results, *_reads(step)} & local
        step.dead = tuple(used - seen)
        seen |= used


def _reads(step: Step) -> set[int]:
    found = set(step.operands)
    for block in step.blocks:
        found.update(block.yields)
        for inner in block.steps:
            found |= _reads(inner)
    return found


def _largest_block(function: SSAFunction) -> int:
    largest = 1
    for item in walk(function.body):
        for value in item.results:
            numel = 1
            for extent in shape_of(value.ty):
                numel *= extent
            largest = max(largest, numel)
    return largest


def make_plan(function: SSAFunction) -> Plan:
    """Prepare ``function`` for execution."""
    planner = _Planner(function)
    body = planner.block(Region((), function.body))
    access = find_access(function)
    largest = _largest_block(function)
    talks = any(Effect.IO in get(item.opcode).effects for item in walk(function.body))
    return Plan(function, body, planner.initial, planner.params, access, largest, talks)


def scalar_argument(value: bool | int | float, ty: ScalarType) -> npt.NDArray[Any]:
    """A runtime scalar argument as the machine holds it."""
    return scalar_array(Constant(value, ty))
