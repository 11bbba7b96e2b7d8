"""Operations whose result the language leaves open for some operands: what is known about them
before a kernel runs, and the lanes where it happens."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..analysis.flow import flows
from ..analysis.offsets import address_only
from ..ir.evaluate import defined_lanes
from ..ir.numerics import convert, held_dtype
from ..ir.types import ScalarType, is_pointer, scalar_of, shape_of
from ..ir.values import Constant, SSAOperand, SSAValue, walk
from .plan import Block, Plan, Step
from .pointers import align

Array = npt.NDArray[Any]


@dataclass(slots=True)
class Knowledge:
    """What strict mode knows about a function before it runs."""

    #: Steps (by identity) whose operands must be looked at: division, shifts, casts.
    partial: set[int] = field(default_factory=set)
    #: Steps (by identity) of signed arithmetic that only makes addresses and masks.
    offsets: set[int] = field(default_factory=set)
    #: For each slot, the step that defines it, and for a block argument which block and argument.
    makers: dict[int, tuple[Step, int, int]] = field(default_factory=dict)
    #: Elements that all values of a program hold together.
    elements: int = 1
    #: Whether programs can wait for each other.
    waits: bool = False
    #: For values, by number, the numbers of all they are computed from.
    slices: dict[int, frozenset[int]] = field(default_factory=dict)


def know(plan: Plan) -> Knowledge:
    """The knowledge about a plan, gathered once."""
    if plan.knowledge is None:
        plan.knowledge = _gather(plan)
    found: Knowledge = plan.knowledge
    return found


def _steps(block: Block) -> Iterator[Step]:
    for step in block.steps:
        yield step
        for inner in step.blocks:
            yield from _steps(inner)


def _gather(plan: Plan) -> Knowledge:
    found = Knowledge()
    licensed = address_only(plan.function)
    for step in _steps(plan.body):
        for k, slot in enumerate(step.results):
            found.makers[slot] = step, -1, k
        for b, block in enumerate(step.blocks):
            for k, slot in enumerate(block.args):
                found.makers[slot] = step, b, k
        found.elements += sum(int(np.prod(shape_of(ty))) for ty in step.result_types)
        found.waits = found.waits or step.definition.loop
        if step.definition.defined is not None and not _always_defined(step):
            found.partial.add(id(step))
        if step.definition.exact is not None and _is_offset(step, licensed):
            found.offsets.add(id(step))
    return found


def _is_offset(step: Step, licensed: frozenset[int]) -> bool:
    (result,) = step.item.results
    if is_pointer(result.ty) or result.id not in licensed:
        return False
    ty = scalar_of(result.ty)
    return ty.is_integer() and ty.int_range()[0] < 0


def _always_defined(step: Step) -> bool:
    """Whether an operation is defined for extreme operands, and so for all (``x // 7``)."""
    assert step.result_type is not None
    samples = [
        _samples(operand, scalar_of(ty))
        for operand, ty in zip(step.item.inputs, step.types, strict=True)
        if ty is not None
    ]
    if len(samples) != len(step.types):
        return False
    tried = [a.reshape(-1) for a in np.meshgrid(*samples, indexing="ij")]
    lanes = defined_lanes(step.definition, step.attrs, step.types, step.result_type, tried)
    return bool(lanes.all())


def _samples(operand: SSAOperand, ty: ScalarType) -> Array:
    dtype = held_dtype(ty)
    if isinstance(operand, Constant):
        return np.array([operand.value], dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        return np.array([0.0, np.nan, np.inf, -np.inf]).astype(dtype)
    info = np.iinfo(dtype)
    return np.array([info.min, max(info.min, -1), 0, 1, 8 * dtype.itemsize, info.max], dtype)


def undefined_lanes(step: Step, operands: Sequence[Array]) -> Array:
    """Where the result of an elementwise step is unspecified."""
    assert step.result_type is not None
    rank = len(shape_of(step.result_type))
    arrays = [align(a, rank) for a in operands]
    return ~defined_lanes(step.definition, step.attrs, step.types, step.result_type, arrays)


class Ranges:
    """Smallest and largest element of values (by identity; kept alive)."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, int, int]] = {}

    def clear(self) -> None:
        self._known.clear()

    def of(self, value: Array) -> tuple[int, int]:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = value, int(value.min()), int(value.max())
        return known[1:]

    def overflow(self, step: Step, operands: Sequence[Array], value: Array) -> Array | None:
        """Where signed arithmetic left its type; ``None``: nowhere. Ranges alone mostly say so."""
        exact = step.definition.exact
        assert exact is not None
        assert step.result_type is not None
        ty = scalar_of(step.result_type)
        ends = [exact(*c) for c in itertools.product(*(self.of(o) for o in operands))]
        low, high = min(ends), max(ends)
        least, most = ty.int_range()
        if least <= low and high <= most:
            self._known[id(value)] = value, low, high
            return None
        wide = np.dtype(np.int64 if ty.bits <= 32 else object)
        rank = len(shape_of(step.result_type))
        arrays = [
            align(convert(a, scalar_of(t), ty), rank).astype(wide)
            for a, t in zip(operands, step.types, strict=True)
            if t is not None
        ]
        lanes = np.asarray(exact(*arrays) != value, np.bool_)
        return lanes if lanes.any() else None


def slice_of(plan: Plan, operand: SSAOperand) -> frozenset[int]:
    """Numbers of the values that ``operand`` is computed from, itself included."""
    if not isinstance(operand, SSAValue):
        return frozenset()
    slices = know(plan).slices
    if operand.id not in slices:
        sources: dict[int, list[int]] = {}
        for item in walk(plan.function.body):
            for value, parts, decides in flows(item):
                ids = [p.id for p in (*parts, *decides) if isinstance(p, SSAValue)]
                sources.setdefault(value.id, []).extend(ids)
        seen, stack = {operand.id}, [operand.id]
        while stack:
            fresh = [n for n in sources.get(stack.pop(), ()) if n not in seen]
            seen.update(fresh)
            stack += fresh
        slices[operand.id] = frozenset(seen)
    return slices[operand.id]
