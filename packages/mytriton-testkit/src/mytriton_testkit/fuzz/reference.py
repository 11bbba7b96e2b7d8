"""A second opinion: evaluates SSA with a bound on how far a right answer may be off.

Shares no code with the interpreter or the op registry: what each operation means is written down
once more, in ``meanings``, after the language page. Programs run one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mytriton.ir.expr import Param
from mytriton.ir.types import PointerType, Type, element_of, shape_of
from mytriton.ir.values import (
    Constant,
    Region,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
)

from ..cases.build import dtype, rounded
from .functions import FUNCTIONS, dot, fma, function, magnitude, reduce_block
from .meanings import (
    BINARY,
    COMPARISONS,
    Array,
    Value,
    bitcast,
    common_type,
    compare,
    convert,
    held_dtype,
    is_float,
    select,
)


class Unsupported(Exception):
    """The reference has no meaning for an operation, or no certain control flow."""


@dataclass(slots=True)
class Address:
    """Pointers into one argument."""

    array: str
    offsets: Array


@dataclass(slots=True)
class Memory:
    """One array argument, flat, with the error of each element."""

    ty: str
    v: Array
    e: Array


# ---------------------------------------------------------------------------- the machine


class _Program:
    """One program of the grid."""

    def __init__(
        self, memory: Mapping[str, Memory], scalars: Mapping[str, Value], pid: Sequence[int],
        grid: Sequence[int],
    ):  # fmt: skip
        self.memory = memory
        self.scalars = scalars
        self.pid = pid
        self.grid = grid
        self.values: dict[int, Any] = {}

    def get(self, operand: SSAOperand) -> Any:
        if isinstance(operand, SSAValue):
            return self.values[operand.id]
        if isinstance(operand, Constant):
            name = operand.ty.name
            return Value(name, np.asarray(operand.value, held_dtype(name)), np.zeros(()))
        if isinstance(operand, Param):
            if isinstance(operand.ty, PointerType):
                return Address(operand.name, np.zeros((), np.int64))
            return self.scalars[operand.name]
        return None

    def run(self, body: Sequence[SSAItem]) -> None:
        for item in body:
            if isinstance(item, SSAForRange):
                self.loop(item)
            elif item.regions:
                found = getattr(self, f"{item.opcode}_region")(item)
                self.values.update(zip((r.id for r in item.results), found, strict=True))
            else:
                found = self.evaluate(item)
                if item.result is not None:
                    self.values[item.results[0].id] = found

    def loop(self, item: SSAForRange) -> None:
        bounds = [self.get(bound) for bound in item.inputs[:3]]
        if any(bound.e > 0 for bound in bounds):
            raise Unsupported("a loop bound that depends on rounding")
        carried = [self.get(value) for value in item.carried_inputs]
        for k in range(*(int(bound.v) for bound in bounds)):
            name = item.index.ty.name  # type: ignore[union-attr]
            self.values[item.index.id] = Value(name, np.asarray(k, dtype(name)), np.zeros(()))
            self.values.update(zip((a.id for a in item.carried_args), carried, strict=True))
            self.run(item.body)
            carried = [self.get(value) for value in item.yields]
        self.values.update(zip((r.id for r in item.results), carried, strict=True))

    def region(self, region: Region, values: Sequence[Any] = ()) -> list[Any]:
        """Run a region with values for its arguments: what it yields."""
        self.values.update(zip((a.id for a in region.args), values, strict=True))
        self.run(region.body)
        return [self.get(value) for value in region.yields]

    def sure(self, condition: Value) -> bool:
        if condition.e > 0:
            raise Unsupported("a condition that depends on rounding")
        return bool(condition.v)

    def if_region(self, item: SSAOp) -> list[Any]:
        then, other = item.regions
        return self.region(then if self.sure(self.get(item.operands[0])) else other)

    def while_region(self, item: SSAOp) -> list[Any]:
        condition, body = item.regions
        carried = [self.get(value) for value in item.operands]
        while self.sure(self.region(condition, carried)[0]):
            carried = self.region(body, carried)
        return carried

    def reduce_region(self, item: SSAOp) -> list[Any]:
        """Combines neighbours from the left, element by element."""
        (x,) = (self.get(value) for value in item.operands)
        axis = item.attrs.get("axis")
        v, e = (a.reshape(-1) if axis is None else np.moveaxis(a, axis, 0) for a in (x.v, x.e))
        rest = v.shape[1:]
        found, error = np.empty(rest, v.dtype), np.empty(rest)
        for at in np.ndindex(*rest):
            places: list[Any] = [(k, *at) for k in range(v.shape[0])]
            held = Value(x.ty, v[places[0]], e[places[0]])
            for place in places[1:]:
                (held,) = self.region(item.regions[0], [held, Value(x.ty, v[place], e[place])])
            found[at], error[at] = held.v, held.e
        return [Value(x.ty, found, error)]

    def evaluate(self, op: SSAOp) -> Any:
        operands = [self.get(o) for o in op.operands]
        if op.opcode == "load":
            return self.load(*operands)
        if op.opcode == "store":
            return self.store(*operands)
        ty: Type = op.results[0].ty
        shape = shape_of(ty)
        if op.opcode == "addptr":
            base, offset = operands
            moved = np.broadcast_to(base.offsets + offset.v.astype(np.int64), shape)
            if np.any(offset.e > 0):
                raise Unsupported("an address that depends on rounding")
            return Address(base.array, moved)
        name = str(element_of(ty))
        zero = np.zeros(shape)
        if op.opcode == "program_id":
            return Value(name, np.asarray(self.pid[op.attrs["axis"]], np.int32), zero)
        if op.opcode == "num_programs":
            return Value(name, np.asarray(self.grid[op.attrs["axis"]], np.int32), zero)
        if op.opcode == "arange":
            return Value(name, np.arange(op.attrs["start"], op.attrs["end"], dtype=np.int32), zero)
        if op.opcode == "zeros":
            return Value(name, np.zeros(shape, held_dtype(name)), zero)
        if op.opcode == "full":
            return convert(operands[0], name).widened(shape)
        if op.opcode == "expand_dims":
            axis = op.attrs["axis"]
            x = operands[0]
            return Value(name, np.expand_dims(x.v, axis), np.expand_dims(x.e, axis))
        if op.opcode == "trans":
            x = operands[0]
            return Value(name, x.v.transpose(op.attrs["order"]), x.e.transpose(op.attrs["order"]))
        if op.opcode == "dot":
            return dot(name, *operands)
        if op.opcode in ("sum", "max", "min", "argmax", "argmin", "xor_sum"):
            x = operands[0]
            wanted = op.attrs.get("axis")
            return reduce_block(
                op.opcode, x, tuple(range(x.v.ndim)) if wanted is None else (wanted,)
            )
        return self.elementwise(op, name, [o.widened(shape) for o in operands])

    def elementwise(self, op: SSAOp, name: str, operands: list[Value]) -> Value:
        if op.opcode == "cast":
            return convert(operands[0], name)
        if op.opcode == "select":
            a, b = (convert(o, name) for o in operands[1:])
            return select(name, convert(operands[0], "bool"), a, b)
        if op.opcode in COMPARISONS:
            common = common_type(operands[0].ty, operands[1].ty)
            return compare(op.opcode, *(convert(o, common) for o in operands))
        if op.opcode == "neg":
            return Value(name, np.negative(operands[0].v), operands[0].e)
        if op.opcode == "not":
            return Value(name, np.invert(operands[0].v), operands[0].e)
        if op.opcode == "abs":
            return magnitude(name, operands[0])
        if op.opcode == "bitcast":
            return bitcast(name, operands[0])
        if op.opcode == "fma":
            return fma(name, *(convert(o, name) for o in operands))
        if op.opcode in FUNCTIONS:
            return function(op.opcode, name, operands[0])
        if op.opcode in BINARY:
            a, b = (convert(o, name) for o in operands)
            return BINARY[op.opcode](name, a, b)
        raise Unsupported(op.opcode)

    def _lanes(self, ptr: Address, mask: Value | None) -> tuple[Array, Array]:
        shape = ptr.offsets.shape
        if mask is None:
            return np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
        sure = np.broadcast_to(mask.v & (mask.e == 0), shape)
        return sure, np.broadcast_to(mask.e > 0, shape)

    def load(self, ptr: Address, mask: Value | None, other: Value | None) -> Value:
        memory = self.memory[ptr.array]
        lanes, maybe = self._lanes(ptr, mask)
        v = np.zeros(ptr.offsets.shape, held_dtype(memory.ty))
        e = np.where(maybe, np.inf, 0.0)
        if other is not None:
            v = np.array(np.broadcast_to(other.v, v.shape))
            e = np.where(maybe, np.inf, np.broadcast_to(other.e, v.shape))
        v[lanes] = memory.v[ptr.offsets[lanes]]
        e[lanes] = memory.e[ptr.offsets[lanes]]
        return Value(memory.ty, v, e)

    def store(self, ptr: Address, value: Value, mask: Value | None) -> None:
        memory = self.memory[ptr.array]
        lanes, maybe = self._lanes(ptr, mask)
        value = value.widened(ptr.offsets.shape)
        memory.v[ptr.offsets[lanes]] = value.v[lanes]
        memory.e[ptr.offsets[lanes]] = value.e[lanes]
        inside = maybe & (ptr.offsets >= 0) & (ptr.offsets < len(memory.e))
        memory.e[ptr.offsets[inside]] = np.inf


def evaluate(
    function: SSAFunction, arguments: Mapping[str, Any], grid: tuple[int, int, int]
) -> dict[str, Memory]:
    """Every array argument after the launch. Raises ``Unsupported``."""
    memory: dict[str, Memory] = {}
    scalars: dict[str, Value] = {}
    for param in function.params:
        given = arguments[param.name]
        if isinstance(param.ty, PointerType):
            name = param.ty.element.name
            flat = np.ascontiguousarray(given).reshape(-1).astype(held_dtype(name))
            memory[param.name] = Memory(name, flat, np.zeros(flat.shape))
        else:
            name = str(param.ty)
            v = rounded(np.float64(given), name) if is_float(name) else np.asarray(given)
            scalars[param.name] = Value(name, v.astype(held_dtype(name)), np.zeros(()))
    x, y, z = grid
    with np.errstate(all="ignore"):
        for k in range(z):
            for j in range(y):
                for i in range(x):
                    _Program(memory, scalars, (i, j, k), grid).run(function.body)
    return memory


def disagreement(reference: Memory, got: Array) -> str:
    """Where ``got`` is further from the reference than it may be; ``""`` when it is not."""
    flat = np.ascontiguousarray(got).reshape(-1)
    with np.errstate(all="ignore"):
        if is_float(reference.ty):
            values = flat.astype(np.float64)
            same = (values == reference.v) & (np.signbit(values) == np.signbit(reference.v))
            same |= np.isnan(values) & np.isnan(reference.v)
            near = (reference.e > 0) & (np.abs(values - reference.v) <= reference.e)
            fine = same | near | np.isinf(reference.e)
        else:
            fine = (flat == reference.v) | (reference.e > 0)
    if fine.all():
        return ""
    at = int(np.argmin(fine))
    return (
        f"[{at}] is {flat[at]!r}, expected {reference.v[at]!r} within {reference.e[at]:.3g} "
        f"({int((~fine).sum())} of {fine.size} elements differ)"
    )
