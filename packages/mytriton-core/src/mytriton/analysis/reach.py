"""How far the accesses of a kernel reach that happen in every launch: those that stand under no ``if``
and in no loop, at offsets and under masks that are linear in program ids and lanes (``affine``).

Their extreme lanes are computed from the arguments and the grid, without running anything. Every lane
that is given is touched by the launch; not every lane that is touched is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..ir.evaluate import elementwise, is_defined
from ..ir.expr import Param
from ..ir.numerics import held_dtype
from ..ir.registry import Effect, get
from ..ir.types import I32, I64, ScalarType, Type, scalar_of, shape_of
from ..ir.values import (
    Constant,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
)
from .affine import Affine, Binary, Linear, Mask, Scalar, affine

Program = tuple[int, int, int]
#: Elements beyond which no address is.
_FAR = 1 << 60


class _UnknownError(Exception):
    """A scalar that only running the kernel would tell, or that wraps."""


@dataclass(frozen=True)
class Reach:
    """One access."""

    item: SSAItem
    argument: str
    form: Linear
    shape: tuple[int, ...]
    mask: Mask | None


@dataclass(frozen=True)
class Touched:
    """A lane of it: the element, counted from the argument's base, and who touches it."""

    reach: Reach
    index: int
    program: Program


def reaches(function: SSAFunction) -> list[Reach]:
    """The accesses that every launch makes, in their order."""
    accesses = [item for item in function.body if _accesses(item)]
    if not accesses:
        return []
    known = affine(function)
    return [found for item in accesses if (found := _reach(item, known)) is not None]


def _accesses(item: SSAItem) -> bool:
    if isinstance(item, SSAForRange) or item.regions:
        return False
    return bool(get(item.opcode).effects & (Effect.READ | Effect.WRITE)) and bool(item.inputs)


def _reach(item: SSAItem, known: Affine) -> Reach | None:
    operands = dict(zip((name.rstrip("?") for name in get(item.opcode).operands), item.inputs))
    pointer, mask = operands.get("ptr"), operands.get("mask")
    form = known.of(pointer) if pointer is not None else None
    if form is None or not isinstance(form.root, Param) or isinstance(pointer, Constant):
        return None
    found = None if mask is None else known.mask(mask)
    if mask is not None and (found is None or found.conditions):
        return None
    assert pointer is not None
    return Reach(item, form.root.name, form, shape_of(pointer.ty), found)


class Launch:
    """Evaluates scalars for one launch. ``values``: the integer arguments by name."""

    def __init__(self, function: SSAFunction, values: Mapping[str, int], grid: Program) -> None:
        self._values, self._grid = values, grid
        self._makers = {v.id: op for op in function.body for v in op.results}
        self._known: dict[tuple[int, Program], int] = {}

    def touched(self, reach: Reach) -> Iterator[Touched]:
        """The first and the last lanes of the first and the last programs that have any."""
        try:
            ends = [{0, self._last(reach, axis)} for axis in range(3)]
            for x, y, z in product(*ends):
                yield from self._lanes(reach, (x, y, z))
        except (_UnknownError, RecursionError):  # or a scalar of hundreds of operations
            return

    def _last(self, reach: Reach, axis: int) -> int:
        """The last program along an axis that has lanes, as far as a search finds it: those beyond
        what is masked have none."""
        low, high = 0, self._grid[axis] - 1

        def empty(at: int) -> bool:
            program = [0, 0, 0]
            program[axis] = at
            try:
                return next(self._lanes(reach, (program[0], program[1], program[2])), None) is None
            except _UnknownError:  # its offsets wrap, farther out than any array
                return True

        if reach.mask is None or not empty(high):
            return high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if empty(middle) else (middle, high)
        return low

    def _lanes(self, reach: Reach, program: Program) -> Iterator[Touched]:
        base = self._number(reach.form.base, program)
        strides = [self._number(stride, program) for stride in reach.form.strides]
        strides = [0] * (len(reach.shape) - len(strides)) + strides
        ends = []
        for axis, extent in enumerate(reach.shape):
            bounds = reach.mask.bounds if reach.mask is not None else ()
            missing = len(reach.shape) - len(bounds)
            if axis >= missing:
                limits = (self._number(b, program) for b in bounds[axis - missing])
                extent = min((extent, *limits))
            if extent <= 0:
                return
            ends.append({0, extent - 1})
        for lane in product(*ends):
            index = base + sum(s * k for s, k in zip(strides, lane, strict=True))
            low, high = I32.int_range() if reach.form.narrow else (-_FAR, _FAR)
            if not low <= index <= high:
                raise _UnknownError  # blocks wrap on the way there
            yield Touched(reach, index, program)

    def _number(self, scalar: Scalar, program: Program) -> int:
        if isinstance(scalar, int):
            return scalar
        if isinstance(scalar, Binary):
            lhs, rhs = self._number(scalar.lhs, program), self._number(scalar.rhs, program)
            return _combined(scalar.op, lhs, rhs)
        if isinstance(scalar, Param):
            return self._argument(scalar)
        if isinstance(scalar, SSAValue) and (maker := self._makers.get(scalar.id)) is not None:
            return self._value(maker, scalar, program)
        raise _UnknownError

    def _argument(self, param: Param) -> int:
        value = self._values.get(param.name)
        if type(value) is not int:
            raise _UnknownError
        return value

    def _value(self, maker: SSAItem, value: SSAValue, program: Program) -> int:
        if not isinstance(maker, SSAOp):
            raise _UnknownError
        if maker.opcode == "program_id":
            return program[maker.attrs["axis"]]
        if maker.opcode == "num_programs":
            return self._grid[maker.attrs["axis"]]
        key = value.id, program
        if key not in self._known:
            operands = [self._operand(operand, program) for operand in maker.operands]
            self._known[key] = _computed(maker, value.ty, operands)
        return self._known[key]

    def _operand(self, operand: SSAOperand, program: Program) -> int:
        if isinstance(operand, Constant) and type(operand.value) is int:
            return operand.value
        if isinstance(operand, (Param, SSAValue)):
            return self._number(operand, program)
        raise _UnknownError


def _computed(op: SSAOp, ty: Type, operands: list[int]) -> int:
    """What an operation on scalars gives. Offsets may be computed in any width (language.md section
    3), so that a result which depends on the width is not known."""
    definition = get(op.opcode)
    types = [operand_type(operand) for operand in op.operands]
    plain = definition.pure and definition.elementwise and definition.numpy is not None
    if not plain or not all(_is_int(each) for each in (ty, *types)):
        raise _UnknownError
    low, high = scalar_of(ty).int_range()
    if definition.exact and not definition.defined:  # most of all there are, without NumPy
        found = int(definition.exact(*operands))
        if not low <= found <= high:
            raise _UnknownError
        return found
    arrays = [np.asarray(n, held_dtype(scalar_of(t))) for n, t in zip(operands, types) if t]
    if not is_defined(definition, op.attrs, types, ty, arrays):
        raise _UnknownError
    found = int(elementwise(definition, op.attrs, types, ty, arrays))
    wide = [np.asarray(n, np.int64) for n in operands]
    if int(elementwise(definition, op.attrs, [I64] * len(types), I64, wide)) != found:
        raise _UnknownError
    return found


def _is_int(ty: Type | None) -> bool:
    return isinstance(ty, ScalarType) and ty.is_integer()


def _combined(symbol: str, lhs: int, rhs: int) -> int:
    return lhs + rhs if symbol == "+" else lhs - rhs if symbol == "-" else lhs * rhs
