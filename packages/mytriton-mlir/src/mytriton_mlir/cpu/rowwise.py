"""Addresses that are no linear form but a sum of terms, each along some axes only.

``(offs_m % M)[:, None] * stride + offs_k[None, :]`` is one: within a row, lanes follow one another.
``split`` takes a sum apart for the tile at hand; ``is_rowwise`` tells the plan which blocks are sums
of that kind, whose small terms are worth keeping and not they themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt
from mytriton.analysis.affine import Scalar, add, mul

from . import values
from .builder import Val
from .tile import AxisMap, dropped, trailing, transposed

if TYPE_CHECKING:
    from .evaluate import Evaluator
    from .facts import Facts


class Sum:
    """Terms that all lanes share, terms with a value for each lane, the step from lane to lane that
    comes on top of those, and the base of a pointer."""

    def __init__(
        self, terms: list[Val], stride: Scalar = 0, base: Val | None = None,
        lanes: Sequence[Val] = (),
    ) -> None:  # fmt: skip
        self.terms, self.stride, self.base, self.lanes = terms, stride, base, list(lanes)

    def plus(self, other: Sum | None) -> Sum | None:
        """Both sums; ``None`` if one of them is not known."""
        if other is None:
            return None
        stride = add(self.stride, other.stride)
        lanes = [*self.lanes, *other.lanes]
        return Sum([*self.terms, *other.terms], stride, self.base or other.base, lanes)


def split(e: Evaluator, operand: mt.SSAOperand, amap: AxisMap, r: int) -> Sum | None:
    """An integer or pointer block as a sum, for the tile at hand; ``None`` for pointers that are no
    single base and an offset."""
    if operand is None:
        return None
    amap = trailing(amap, mt.shape_of(operand.ty))
    form = e.affine.of(operand)
    pointer = mt.is_pointer(operand.ty)
    if form is not None:
        offset, stride = e.linear(form, amap, r)
        found = Sum([offset], stride)
        if form.root is None:
            return found
        if mt.shape_of(form.root.ty):
            return found.plus(split(e, form.root, amap, r))
        found.base = e.pointer(form.root)
        return found
    if pointer or e.tile.axis in amap:
        item = e.makers.get(operand.id) if isinstance(operand, mt.SSAValue) else None
        known = operand.id in e.buffers  # type: ignore[union-attr]
        if isinstance(item, mt.SSAOp) and not known:
            inner = _split_op(e, item, amap, r)
            if inner is not None:
                return inner
        if pointer:
            return None
    signed = mt.scalar_of(operand.ty).is_signed()
    val = values.resize(e.b, e.value(operand, amap, r), "i64", signed)
    return Sum([], lanes=[val]) if val.width else Sum([val])


def _split_op(e: Evaluator, item: mt.SSAOp, amap: AxisMap, r: int) -> Sum | None:
    if item.opcode in ("add", "addptr"):
        first = split(e, item.operands[0], amap, r)
        return first and first.plus(split(e, item.operands[1], amap, r))
    if item.opcode == "mul":
        return _split_product(e, item, amap, r)
    if item.opcode == "expand_dims":
        return split(e, item.operands[0], dropped(amap, item.attrs["axis"]), r)
    if item.opcode == "trans":
        return split(e, item.operands[0], transposed(amap, item.attrs["order"]), r)
    if item.opcode == "broadcast" or (item.opcode == "cast" and _widens(item)):
        return split(e, item.operands[0], amap, r)
    return None


def _widens(item: mt.SSAOp) -> bool:
    operand = item.operands[0]
    assert operand is not None
    source, dtype = mt.scalar_of(operand.ty), item.attrs["dtype"]
    return source.is_signed() and dtype.is_signed() and dtype.bits >= source.bits >= 32


def _split_product(e: Evaluator, item: mt.SSAOp, amap: AxisMap, r: int) -> Sum | None:
    for operand, factor in (item.operands, item.operands[::-1]):
        form = e.affine.of(factor)
        if form is None or not form.uniform or form.root is not None:
            continue
        found = split(e, operand, amap, r)
        if found is None:
            return None
        times = e.scalar(form.base)
        lanes = [e.b.binary("arith.muli", lane, times) for lane in found.lanes]
        terms = [e.times(term, times) for term in found.terms]
        return Sum(terms, mul(found.stride, form.base), lanes=lanes)
    return None


def is_rowwise(facts: Facts, value: mt.SSAOperand) -> bool:
    """Whether a block of several moving axes is a sum of terms that each move along one."""
    return value is not None and _moving(value) > 1 and _sums(facts, value, _moving(value))


def _moving(operand: mt.SSAOperand) -> int:
    return 0 if operand is None else sum(extent > 1 for extent in mt.shape_of(operand.ty))


def _sums(facts: Facts, operand: mt.SSAOperand, moving: int) -> bool:
    if operand is None or facts.affine.of(operand) is not None or _moving(operand) < moving:
        return True
    item = facts.makers.get(operand.id) if isinstance(operand, mt.SSAValue) else None
    if not isinstance(item, mt.SSAOp) or operand not in item.results:
        return False
    if item.opcode in ("add", "addptr"):
        return all(_sums(facts, o, moving) for o in item.operands)
    if item.opcode in ("expand_dims", "broadcast", "trans") or (
        item.opcode == "cast" and _widens(item)
    ):
        return _sums(facts, item.operands[0], moving)
    if item.opcode == "mul":
        forms = [facts.affine.of(o) for o in item.operands]
        uniform = any(f is not None and f.uniform and f.root is None for f in forms)
        return uniform and all(_sums(facts, o, moving) for o in item.operands)
    return False
