"""Copies of blocks whose lanes follow one another along another axis than the last.

Squares of lanes are computed along the axis that is contiguous in memory, turned in registers, and
written in rows: a gather would fetch every element for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from .builder import Builder, Val
from .plan import Group
from .tile import AxisMap, dropped, trailing, vector_axis
from .visit import visit

if TYPE_CHECKING:
    from .emitter import Emitter


def other_axis(e: Emitter, group: Group) -> int | None:
    """The axis to compute along, where that is not the last one."""
    if len(group.roots) != 1 or group.roots[0].kind not in ("keep", "put"):
        return None
    last = vector_axis(group.shape)
    found: set[int] = set()
    for value, amap in visit(e.planner, group):
        item = e.makers.get(value.id)
        if value.id in e.buffers:
            axis = amap[vector_axis(mt.shape_of(value.ty))]
            if axis is not None:
                found.add(axis)
            continue
        if not isinstance(item, mt.SSAOp) or item.opcode != "load":
            continue
        form = e.affine.of(item.operands[0])
        if form is None:
            return None
        found |= _unit_axes(e, item.operands[0], amap)
    if len(found) != 1 or last in found:
        return None
    return found.pop()


def _unit_axes(e: Emitter, operand: mt.SSAOperand, amap: AxisMap) -> set[int]:
    """Axes along which some term of a sum of addresses and offsets rises by one element."""
    found: set[int] = set()
    pending, seen = [(operand, amap)], set()
    while pending:
        value, at = pending.pop()
        if value is None or (value, at) in seen:
            continue
        seen.add((value, at))
        if (form := e.affine.of(value)) is not None:
            found |= {axis for s, axis in zip(form.strides, at) if s == 1 and axis is not None}
            root = form.root
            if isinstance(root, mt.SSAValue) and mt.shape_of(root.ty) and root != value:
                pending.append((root, trailing(at, mt.shape_of(root.ty))))
            continue
        item = e.makers.get(value.id) if isinstance(value, mt.SSAValue) else None
        if not isinstance(item, mt.SSAOp) or value not in item.results:
            continue
        if item.opcode in ("add", "addptr", "broadcast"):
            terms = [term for term in item.operands if term is not None]
            pending += [(term, trailing(at, mt.shape_of(term.ty))) for term in terms]
        elif item.opcode == "expand_dims":
            pending.append((item.operands[0], dropped(at, item.attrs["axis"])))
    return found


def square(b: Builder, rows: Sequence[Val]) -> list[Val]:
    """The columns of a square of lanes. At distance ``d``, the blocks beside the diagonal change
    places, of every square twice as large."""
    found, size = list(rows), len(rows)
    distance = 1
    while distance < size:
        upper = [l if not l & distance else size + l - distance for l in range(size)]  # noqa: E741
        lower = [l + distance if not l & distance else size + l for l in range(size)]  # noqa: E741
        after = list(found)
        for i in range(size):
            if not i & distance:
                x, y = found[i], found[i + distance]
                after[i], after[i + distance] = _shuffle(b, x, y, upper), _shuffle(b, x, y, lower)
        found = after
        distance *= 2
    return found


def _shuffle(b: Builder, x: Val, y: Val, picks: Sequence[int]) -> Val:
    text = f"vector.shuffle {x.name}, {y.name} [{', '.join(map(str, picks))}] : {x.type}, {y.type}"
    return b.emit(text, x.kind, len(picks), (x, y))
