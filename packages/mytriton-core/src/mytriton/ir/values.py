"""Typed SSA: values, operations, regions, functions.

An item is an ``SSAOp`` or a structured region (``SSAForRange``). Both answer ``inputs``,
``results``, ``regions`` and ``rebuild``, so walkers and passes treat them alike and a new region
operation needs no new pass code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import Span
from .compare import same_items
from .expr import Param
from .numerics import constant_bits, format_constant, round_constant
from .types import ScalarType, Type


class SSAValue:
    """A named result: ``%id``. Passes keep the number a value was lowered with."""

    __slots__ = ("id", "ty")

    def __init__(self, id: int, ty: Type) -> None:
        self.id = id
        self.ty = ty

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SSAValue) and self.id == other.id and self.ty == other.ty

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"SSAValue(id={self.id}, ty={self.ty})"

    def __str__(self) -> str:
        return f"%{self.id}"


class Constant:
    """A scalar constant of a fixed type. Equal when type and bits are (NaN equals itself,
    ``-0.0`` differs from ``0.0``)."""

    __slots__ = ("key", "ty", "value")

    def __init__(self, value: bool | int | float, ty: ScalarType) -> None:
        self.value = round_constant(value, ty)
        self.ty = ty
        #: Type name and bits: what tells constants apart.
        self.key = (ty.name, constant_bits(self.value, ty))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Constant({self.value!r}, {self.ty})"

    def __str__(self) -> str:
        return format_constant(self.value, self.ty)


SSAOperand = SSAValue | Param | Constant | None


@dataclass(eq=False, slots=True)
class SSAOp:
    """One operation. ``result`` is a value, a tuple of values (several results) or ``None``."""

    opcode: str
    operands: tuple[SSAOperand, ...]
    result: SSAValue | tuple[SSAValue, ...] | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)
    regions: tuple[Region, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same_items([self], [other])

    __hash__ = None  # type: ignore[assignment]

    @property
    def results(self) -> tuple[SSAValue, ...]:
        if self.result is None:
            return ()
        return self.result if isinstance(self.result, tuple) else (self.result,)

    @property
    def inputs(self) -> tuple[SSAOperand, ...]:
        """Every operand, in order (the same as ``operands``; region items have it too)."""
        return self.operands

    def rebuild(self, inputs: Sequence[SSAOperand], regions: Sequence[Region]) -> SSAOp:
        """The same operation with other operands and regions (results stay)."""
        return SSAOp(self.opcode, tuple(inputs), self.result, self.attrs, tuple(regions), self.span)


@dataclass(eq=False, slots=True)
class Region:
    """A nested list of items with block arguments; ``yields`` is its terminator."""

    args: tuple[SSAValue, ...]
    body: list[SSAItem]
    yields: tuple[SSAOperand, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Region):
            return NotImplemented
        same = self.args == other.args and self.yields == other.yields
        return same and same_items(self.body, other.body)

    __hash__ = None  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class SSAForRange:
    """``for index in range(start, stop, step) iter_args(args = inputs)``: a structured loop.

    ``yields[i]`` becomes ``carried_args[i]`` of the next trip and, after the last, ``results[i]``.
    """

    index: SSAValue
    start: SSAOperand
    stop: SSAOperand
    step: SSAOperand
    carried_inputs: tuple[SSAOperand, ...]
    carried_args: tuple[SSAValue, ...]
    body: list[SSAItem]
    yields: tuple[SSAOperand, ...]
    results: tuple[SSAValue, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    opcode = "for"
    attrs: Any = field(default_factory=dict, init=False, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same_items([self], [other])

    __hash__ = None  # type: ignore[assignment]

    @property
    def inputs(self) -> tuple[SSAOperand, ...]:
        return (self.start, self.stop, self.step, *self.carried_inputs)

    @property
    def regions(self) -> tuple[Region, ...]:
        return (Region((self.index, *self.carried_args), self.body, self.yields),)

    def rebuild(self, inputs: Sequence[SSAOperand], regions: Sequence[Region]) -> SSAForRange:
        (region,) = regions
        return SSAForRange(
            region.args[0], inputs[0], inputs[1], inputs[2], tuple(inputs[3:]),
            region.args[1:], region.body, region.yields, self.results, self.span,
        )  # fmt: skip


SSAItem = SSAOp | SSAForRange


@dataclass(eq=False, slots=True)
class SSAFunction:
    """A kernel in SSA: name, parameters (``expr.Param``), body. Equality ignores spans."""

    name: str
    params: tuple[Param, ...]
    body: list[SSAItem]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SSAFunction):
            return NotImplemented
        same = self.name == other.name and self.params == other.params
        return same and same_items(self.body, other.body)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from .printer import print_module

        return print_module(self)

    def features(self) -> frozenset[str]:
        """The feature ids a backend needs to run this function (see ``ir.features``)."""
        from .features import features

        return features(self)


def walk(items: Sequence[SSAItem]) -> Iterator[SSAItem]:
    """Every item in program order, outer before inner."""
    stack: list[Iterator[SSAItem]] = [iter(items)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
            continue
        yield item
        regions = item.regions
        for region in reversed(regions):
            stack.append(iter(region.body))


def operand_type(operand: SSAOperand) -> Type | None:
    """The type of an operand; ``None`` for an absent one."""
    return None if operand is None else operand.ty


def next_id(function: SSAFunction) -> int:
    """One more than the largest value number in ``function``: where a pass that adds values starts."""
    top = -1
    for item in walk(function.body):
        for value in item.results:
            top = max(top, value.id)
        for region in item.regions:
            for arg in region.args:
                top = max(top, arg.id)
    return top + 1
