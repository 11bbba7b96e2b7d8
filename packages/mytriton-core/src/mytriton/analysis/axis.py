"""Axis information: contiguity, divisibility and constancy of integer and pointer blocks.

The lattice is Triton's. Along each axis a value has

* ``contiguity``: it consists of runs of that many consecutive increasing integers;
* ``divisibility``: the first element of each run is a multiple of it (a power of two; bytes of the
  element count for pointers, whose elements are addressed in bytes);
* ``constancy``: it consists of runs of that many equal elements.

All are powers of two that divide the extent where they describe runs. Facts about parameters
(``divisible_by``) come from specialisation: alignment of arrays, multiples of 16 of integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..ir.expr import Param
from ..ir.types import PointerType, Type, element_of, is_pointer, shape_of
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

#: Divisibility of zero: it is a multiple of everything.
HIGHEST = 1 << 30


@dataclass(frozen=True)
class AxisInfo:
    """One entry per axis; scalars have a single entry."""

    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    #: The value, when it is the same known integer everywhere.
    known: int | None = None


def power_of_two_divisor(n: int) -> int:
    """The largest power of two that divides ``n``."""
    return HIGHEST if n == 0 else min(n & -n, HIGHEST)


def unknown(ty: Type) -> AxisInfo:
    """Nothing is known but that a scalar is constant along its single entry."""
    rank = max(1, len(shape_of(ty)))
    return AxisInfo((1,) * rank, (1,) * rank, (1,) * rank)


def axis_info(
    function: SSAFunction, divisible_by: Mapping[str, int] | None = None
) -> dict[int, AxisInfo]:
    """Axis information of every integer and pointer value, by its number.

    ``divisible_by``: for parameters by name, what the value of an integer, or the address in bytes
    of a pointer, is a multiple of.
    """
    state = _State(dict(divisible_by or {}))
    state.region(function.body)
    return state.known


class _State:
    def __init__(self, divisible_by: dict[str, int]) -> None:
        self.divisible_by = divisible_by
        self.known: dict[int, AxisInfo] = {}

    def of(self, operand: SSAOperand) -> AxisInfo:
        if isinstance(operand, Constant):
            if not operand.ty.is_integer():
                return unknown(operand.ty)
            return _constant(int(operand.value), 1)
        if isinstance(operand, Param):
            divisor = power_of_two_divisor(self.divisible_by.get(operand.name, 1))
            return AxisInfo((1,), (divisor,), (1,))
        assert operand is not None
        return self.known.get(operand.id) or unknown(operand.ty)

    def region(self, items: list[SSAItem]) -> None:
        for item in items:
            if isinstance(item, SSAForRange):
                self.loop(item)
                continue
            rule = _RULES.get(item.opcode)
            for result in item.results:
                known = rule(item, self) if rule is not None else unknown(result.ty)
                self.known[result.id] = _clamped(known, result.ty)
            for region in item.regions:
                self.region(region.body)

    def loop(self, loop: SSAForRange) -> None:
        start, step = self.of(loop.start), self.of(loop.step)
        divisor = math.gcd(start.divisibility[0], step.divisibility[0])
        self.known[loop.index.id] = AxisInfo((1,), (divisor,), (1,))
        for arg, initial in zip(loop.carried_args, loop.carried_inputs):
            # What is known of the value before the first trip, without the value itself.
            self.known[arg.id] = _forget(self.of(initial))
        while True:
            self.region(loop.body)
            stable = True
            for arg, end in zip(loop.carried_args, loop.yields):
                met = _meet(self.known[arg.id], self.of(end), arg.ty)
                stable = stable and met == self.known[arg.id]
                self.known[arg.id] = met
            if stable:
                break
        for arg, result in zip(loop.carried_args, loop.results):
            self.known[result.id] = self.known[arg.id]


def _constant(value: int, rank: int, shape: tuple[int, ...] = ()) -> AxisInfo:
    constancy = tuple(power_of_two_divisor(d) for d in shape) or (1,)
    return AxisInfo((1,) * rank, (power_of_two_divisor(value),) * rank, constancy, value)


def _forget(info: AxisInfo) -> AxisInfo:
    return AxisInfo(info.contiguity, info.divisibility, info.constancy)


def _meet(a: AxisInfo, b: AxisInfo, ty: Type) -> AxisInfo:
    """What holds of both. Where one has longer runs, its elements inside them count, too."""
    runs, size = tuple(map(math.gcd, a.contiguity, b.contiguity)), _itemsize(ty)
    divisors = (
        tuple(_at_runs(d, c, run, size) for d, c, run in zip(x.divisibility, x.contiguity, runs))
        for x in (a, b)
    )
    return AxisInfo(
        runs,
        tuple(map(math.gcd, *divisors)),
        tuple(map(math.gcd, a.constancy, b.constancy)),
        a.known if a.known == b.known else None,
    )


def _clamped(info: AxisInfo, ty: Type) -> AxisInfo:
    """Runs cannot be longer than the axis."""
    shape = shape_of(ty) or (1,)
    limits = tuple(power_of_two_divisor(d) for d in shape)
    return AxisInfo(
        tuple(map(min, info.contiguity, limits)),
        info.divisibility,
        tuple(map(min, info.constancy, limits)),
        info.known,
    )


def _every_element(info: AxisInfo) -> int:
    """What every element is a multiple of, not only the first of each run."""
    plain = all(c == 1 for c in info.contiguity)
    return math.gcd(*info.divisibility) if plain else 1


def _broadcast(op: SSAOp, state: _State) -> list[AxisInfo]:
    """Operands as they look broadcast to the result: added axes are constant."""
    shape = shape_of(op.results[0].ty)
    return [_stretched(state.of(o), shape_of(operand_type(o)), shape) for o in op.operands]  # type: ignore[arg-type]


def _stretched(info: AxisInfo, own: tuple[int, ...], shape: tuple[int, ...]) -> AxisInfo:
    if not shape:
        return info
    whole = tuple(power_of_two_divisor(d) for d in shape)
    if not own:
        rank = len(shape)
        return AxisInfo((1,) * rank, info.divisibility * rank, whole, info.known)
    missing = len(shape) - len(own)
    padded = (1,) * missing + own
    constancy = (1,) * missing + info.constancy
    grown = [w if p == 1 and d != 1 else c for p, d, w, c in zip(padded, shape, whole, constancy)]
    return AxisInfo(
        (1,) * missing + info.contiguity,
        (_every_element(info),) * missing + info.divisibility,
        tuple(grown),
        info.known,
    )


def _itemsize(ty: Type) -> int:
    """How far apart the numbers of neighbours in a run are: addresses count bytes."""
    element = element_of(ty)
    return element.element.itemsize if isinstance(element, PointerType) else 1


def _add(op: SSAOp, state: _State) -> AxisInfo:
    a, b = _broadcast(op, state)
    lanes = zip(a.contiguity, a.constancy, b.contiguity, b.constancy)
    # One operand rises while the other stays; only a left operand may rise under a minus.
    if op.opcode == "sub":
        contiguity = tuple(math.gcd(ac, bk) for ac, _, _, bk in lanes)
    else:
        contiguity = tuple(max(math.gcd(ac, bk), math.gcd(ak, bc)) for ac, ak, bc, bk in lanes)
    size = _itemsize(op.results[0].ty)  # offsets count elements, addresses count bytes
    divisibility = tuple(
        math.gcd(_at_runs(ad, ac, run, size), _at_runs(bd, bc, run, size))
        for ad, ac, bd, bc, run in zip(
            a.divisibility,
            a.contiguity,
            (min(HIGHEST, d * size) for d in b.divisibility),
            b.contiguity,
            contiguity,
        )
    )
    known = None
    if a.known is not None and b.known is not None and not is_pointer(op.results[0].ty):
        known = a.known - b.known if op.opcode == "sub" else a.known + b.known
    return AxisInfo(contiguity, divisibility, tuple(map(math.gcd, a.constancy, b.constancy)), known)


def _at_runs(divisibility: int, contiguity: int, run: int, size: int) -> int:
    """Divisibility at the start of every run of ``run`` elements of the result. An operand whose
    own runs are longer is met inside them, ``run`` elements (of ``size`` bytes) apart."""
    return divisibility if contiguity <= run else math.gcd(divisibility, run * size)


def _mul(op: SSAOp, state: _State) -> AxisInfo:
    a, b = _broadcast(op, state)
    constancy = tuple(map(math.gcd, a.constancy, b.constancy))
    known = a.known * b.known if a.known is not None and b.known is not None else None
    rank = len(constancy)
    if known is not None:
        return AxisInfo((1,) * rank, (power_of_two_divisor(known),) * rank, constancy, known)
    # An element inside a run is only known to be a multiple of 1.
    divisibility = tuple(
        min(HIGHEST, (ad if ac == 1 else 1) * (bd if bc == 1 else 1))
        for ad, ac, bd, bc in zip(a.divisibility, a.contiguity, b.divisibility, b.contiguity)
    )
    one, other = (a, b) if b.known == 1 else (b, a)
    if other.known == 1:
        return AxisInfo(one.contiguity, one.divisibility, constancy)
    return AxisInfo((1,) * rank, divisibility, constancy)


def _arange(op: SSAOp, state: _State) -> AxisInfo:
    start, end = op.attrs["start"], op.attrs["end"]
    run = power_of_two_divisor(end - start)
    return AxisInfo((run,), (math.gcd(power_of_two_divisor(start), run),), (1,))


def _expand_dims(op: SSAOp, state: _State) -> AxisInfo:
    info, axis = state.of(op.operands[0]), op.attrs["axis"]

    def widen(values: tuple[int, ...], new: int) -> tuple[int, ...]:
        return (*values[:axis], new, *values[axis:])

    divisor = _every_element(info)
    return AxisInfo(
        widen(info.contiguity, 1),
        widen(info.divisibility, divisor),
        widen(info.constancy, 1),
        info.known,
    )


def _stretch(op: SSAOp, state: _State) -> AxisInfo:
    return _broadcast(op, state)[0]


def _trans(op: SSAOp, state: _State) -> AxisInfo:
    info, order = state.of(op.operands[0]), op.attrs["order"]

    def moved(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(values[axis] for axis in order)

    return AxisInfo(
        moved(info.contiguity), moved(info.divisibility), moved(info.constancy), info.known
    )


def _full(op: SSAOp, state: _State) -> AxisInfo:
    shape = op.attrs["shape"]
    rank = len(shape)
    if not op.attrs["dtype"].is_integer():
        return unknown(op.results[0].ty)
    if op.opcode == "zeros":
        return _constant(0, rank, shape)
    info = state.of(op.operands[0])
    constancy = tuple(power_of_two_divisor(d) for d in shape)
    if operand_type(op.operands[0]) != op.attrs["dtype"]:
        return AxisInfo((1,) * rank, (1,) * rank, constancy)
    return AxisInfo((1,) * rank, info.divisibility * rank, constancy, info.known)


def _cast(op: SSAOp, state: _State) -> AxisInfo:
    source, dtype = operand_type(op.operands[0]), op.attrs["dtype"]
    widens = (
        source is not None
        and not is_pointer(source)
        and element_of(source).is_integer()  # type: ignore[union-attr]
        and dtype.is_integer()
        and dtype.bits >= element_of(source).bits  # type: ignore[union-attr]
    )
    return state.of(op.operands[0]) if widens else unknown(op.results[0].ty)


def _less(op: SSAOp, state: _State) -> AxisInfo:
    """``a < b`` where ``a`` rises from a multiple and ``b`` stays a multiple: all of a group below,
    or none. (Not the other way round: ``16 < b`` splits 16 from 17.)"""
    a, b = _broadcast(op, state)
    rank = len(a.constancy)
    same = map(math.gcd, a.constancy, b.constancy)
    rising = map(math.gcd, a.contiguity, a.divisibility, b.divisibility, b.constancy)
    return AxisInfo((1,) * rank, (1,) * rank, tuple(map(max, same, rising)))


def _both(op: SSAOp, state: _State) -> AxisInfo:
    a, b = _broadcast(op, state)
    rank = len(a.constancy)
    return AxisInfo((1,) * rank, (1,) * rank, tuple(map(math.gcd, a.constancy, b.constancy)))


#: Rules by opcode; an operation without one gives unknown blocks.
_RULES: dict[str, Callable[[SSAOp, _State], AxisInfo]] = {
    "add": _add, "addptr": _add, "sub": _add, "mul": _mul, "arange": _arange,
    "expand_dims": _expand_dims, "zeros": _full, "full": _full, "cast": _cast,
    "cmp_lt": _less, "and": _both, "or": _both, "xor": _both, "cmp_eq": _both, "cmp_ne": _both,
    "cmp_le": _both, "cmp_gt": _both, "cmp_ge": _less, "broadcast": _stretch, "trans": _trans,
}  # fmt: skip


def value_info(info: Mapping[int, AxisInfo], value: SSAValue) -> AxisInfo:
    """The information of a value, or ``unknown`` when there is none."""
    return info.get(value.id) or unknown(value.ty)
