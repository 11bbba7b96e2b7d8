"""Addresses that are no linear form but a sum of terms, each along some axes only.

``(offs_m % M)[:, None] * stride + offs_k[None, :]`` is one: within a row, lanes follow one another.
``split`` takes a sum apart for the tile at hand; ``is_rowwise`` tells the plan which blocks are sums
of that kind, whose small terms are worth keeping and not they themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt
from mytriton.analysis.affine import Scalar, add, mul

from . import values
from .builder import Val
from .tile import AxisMap, dropped, trailing, transposed

if TYPE_CHECKING:
    from .evaluate import Evaluator
    from .facts import Facts


#: Operations of a sum that are taken apart, at most: terms beyond are computed as they stand.
MOST = 64


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
    single base and an offset, or whose sum is too long."""
    return _split(e, operand, amap, r, iter(range(MOST)))


def _split(
    e: Evaluator, operand: mt.SSAOperand, amap: AxisMap, r: int, left: Iterator[int]
) -> Sum | None:
    """``split``, while something is ``left`` of what may be taken apart."""
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
            return found.plus(_split(e, form.root, amap, r, left))
        found.base = e.pointer(form.root)
        return found
    if pointer or e.tile.axis in amap:
        item = e.makers.get(operand.id) if isinstance(operand, mt.SSAValue) else None
        known = operand.id in e.buffers  # type: ignore[union-attr]
        if isinstance(item, mt.SSAOp) and not known and next(left, None) is not None:
            inner = _split_op(e, item, amap, r, left)
            if inner is not None:
                return inner
        if pointer:
            return None
    signed = mt.scalar_of(operand.ty).is_signed()
    val = values.resize(e.b, e.value(operand, amap, r), "i64", signed)
    return Sum([], lanes=[val]) if val.width else Sum([val])


def _split_op(
    e: Evaluator, item: mt.SSAOp, amap: AxisMap, r: int, left: Iterator[int]
) -> Sum | None:
    if item.opcode in ("add", "addptr"):
        first = _split(e, item.operands[0], amap, r, left)
        return first and first.plus(_split(e, item.operands[1], amap, r, left))
    if item.opcode == "mul":
        return _split_product(e, item, amap, r, left)
    if item.opcode == "expand_dims":
        return _split(e, item.operands[0], dropped(amap, item.attrs["axis"]), r, left)
    if item.opcode == "trans":
        return _split(e, item.operands[0], transposed(amap, item.attrs["order"]), r, left)
    if item.opcode == "broadcast" or (item.opcode == "cast" and _widens(item)):
        return _split(e, item.operands[0], amap, r, left)
    return None


def _widens(item: mt.SSAOp) -> bool:
    operand = item.operands[0]
    assert operand is not None
    source, dtype = mt.scalar_of(operand.ty), item.attrs["dtype"]
    return source.is_signed() and dtype.is_signed() and dtype.bits >= source.bits >= 32


def _split_product(
    e: Evaluator, item: mt.SSAOp, amap: AxisMap, r: int, left: Iterator[int]
) -> Sum | None:
    for operand, factor in (item.operands, item.operands[::-1]):
        form = e.affine.of(factor)
        if form is None or not form.uniform or form.root is not None:
            continue
        found = _split(e, operand, amap, r, left)
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
    pending, seen = [operand], set()
    while pending:
        value = pending.pop()
        if value is None or value in seen:
            continue
        seen.add(value)
        if len(seen) > MOST:
            return False
        if facts.affine.of(value) is not None or _moving(value) < moving:
            continue
        terms = _terms(facts, value)
        if terms is None:
            return False
        pending += terms
    return True


def _terms(facts: Facts, operand: mt.SSAOperand) -> Sequence[mt.SSAOperand] | None:
    """The operands that a block is the sum of (or the same as); ``None`` if it is no sum."""
    item = facts.makers.get(operand.id) if isinstance(operand, mt.SSAValue) else None
    if not isinstance(item, mt.SSAOp) or operand not in item.results:
        return None
    if item.opcode in ("add", "addptr"):
        return item.operands
    if item.opcode in ("expand_dims", "broadcast", "trans") or (
        item.opcode == "cast" and _widens(item)
    ):
        return item.operands[:1]
    if item.opcode == "mul":
        forms = [facts.affine.of(o) for o in item.operands]
        uniform = any(f is not None and f.uniform and f.root is None for f in forms)
        return item.operands if uniform else None
    return None
