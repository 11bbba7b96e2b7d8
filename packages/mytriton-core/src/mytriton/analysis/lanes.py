"""Do the lanes of a block access touch different elements?"""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.types import shape_of
from ..ir.values import (
    Constant,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
    walk,
)

Makers = Mapping[int, SSAItem]


def definitions(function: SSAFunction) -> dict[int, SSAItem]:
    """The item that makes each value (for loop arguments and indices: the loop)."""
    found: dict[int, SSAItem] = {}
    for item in walk(function.body):
        for value in item.results:
            found[value.id] = item
        for region in item.regions:
            for arg in region.args:
                found[arg.id] = item
    return found


def distinct(offset: SSAOperand, mask: SSAOperand, makers: Makers) -> bool:
    """Whether ``offset`` is a different number in every lane of its block that ``mask`` lets pass.

    Knows ranges scaled by constants and moved by scalars, and rows ``i * width + j`` of which the
    mask keeps ``0 <= j < width``. ``False`` means "not proven". Assumes that address arithmetic
    does not overflow, as the language does.
    """
    shape = shape_of(operand_type(offset))  # type: ignore[arg-type]
    axes = {axis for axis, extent in enumerate(shape) if extent != 1}
    if not axes:
        return True
    terms = list(_terms(offset, makers))
    moving = [(t, _axes(t, len(shape))) for t in terms if _axes(t, len(shape))]
    if len(moving) == 1 and moving[0][1] == axes and len(axes) == 1:
        return _strictly_monotone(moving[0][0], makers)
    if len(moving) != 2 or moving[0][1] & moving[1][1] or len(axes) != 2:
        return False
    if moving[0][1] | moving[1][1] != axes or len(moving[0][1]) != 1:
        return False
    (a, _), (b, _) = moving
    fixed = [t for t in terms if not _axes(t, len(shape))]
    return _row_of(a, b, fixed, mask, makers) or _row_of(b, a, fixed, mask, makers)


def _made_by(operand: SSAOperand, opcode: str, makers: Makers) -> SSAOp | None:
    item = makers.get(operand.id) if isinstance(operand, SSAValue) else None
    return item if isinstance(item, SSAOp) and item.opcode == opcode else None


def _terms(operand: SSAOperand, makers: Makers) -> list[SSAOperand]:
    found: list[SSAOperand] = []
    pending = [operand]
    while pending:
        current = pending.pop()
        if op := _made_by(current, "add", makers):
            pending.extend(op.operands)
        else:
            found.append(current)
    return found


def _axes(operand: SSAOperand, rank: int) -> set[int]:
    ty = operand_type(operand)
    shape = shape_of(ty) if ty is not None else ()
    return {rank - len(shape) + k for k, extent in enumerate(shape) if extent != 1}


def _strip(operand: SSAOperand, makers: Makers) -> SSAOperand:
    while op := _made_by(operand, "expand_dims", makers):
        operand = op.operands[0]
    return operand


def _is_scalar(operand: SSAOperand) -> bool:
    return not shape_of(operand_type(operand))  # type: ignore[arg-type]


def _strictly_monotone(operand: SSAOperand, makers: Makers) -> bool:
    """A range, moved by scalars and scaled by constants other than 0."""
    found = False
    for term in _terms(_strip(operand, makers), makers):
        if _is_scalar(term):
            continue
        inner = _strip(term, makers)
        if op := _made_by(inner, "mul", makers):
            a, b = op.operands
            a, b = (b, a) if isinstance(a, Constant) else (a, b)
            if (
                found
                or not isinstance(b, Constant)
                or not b.value
                or not _strictly_monotone(a, makers)
            ):
                return False
        elif _made_by(inner, "arange", makers) is None and not _is_sum(inner, makers):
            return False
        elif found or (_is_sum(inner, makers) and not _strictly_monotone(inner, makers)):
            return False
        found = True
    return found


def _is_sum(operand: SSAOperand, makers: Makers) -> bool:
    return _made_by(operand, "add", makers) is not None


def _row_of(
    row: SSAOperand,
    column: SSAOperand,
    fixed: list[SSAOperand],
    mask: SSAOperand,
    makers: Makers,
) -> bool:
    """``row`` is ``i * width`` with distinct ``i``; ``column`` (with the scalars beside it) is a
    distinct, never negative ``j`` that the mask keeps below ``width``."""
    op = _made_by(row, "mul", makers)
    if op is None:
        return False
    for index, width in (op.operands, op.operands[::-1]):
        if not _is_scalar(width) or not _strictly_monotone(index, makers):
            continue
        if not _strictly_monotone(column, makers):
            continue
        # Scalars in the column's own sum may stand beside it after flattening.
        wanted = {_key(t) for t in [column, *fixed]}
        for bounded in _upper_bounds(mask, width, makers):
            if {_key(t) for t in _terms(bounded, makers)} <= wanted and _key(column) in {
                _key(t) for t in _terms(bounded, makers)
            }:
                return _not_negative(bounded, makers)
    return False


def _key(operand: SSAOperand) -> object:
    return operand.id if isinstance(operand, SSAValue) else operand


def _upper_bounds(mask: SSAOperand, width: SSAOperand, makers: Makers) -> list[SSAOperand]:
    """What the mask says is smaller than ``width``."""
    found: list[SSAOperand] = []
    pending = [mask]
    while pending:
        current = pending.pop()
        if op := _made_by(current, "and", makers):
            pending.extend(op.operands)
        elif (op := _made_by(current, "cmp_lt", makers)) and op.operands[1] == width:
            found.append(op.operands[0])
    return found


def _not_negative(operand: SSAOperand, makers: Makers, depth: int = 32) -> bool:
    if isinstance(operand, Constant):
        return operand.value >= 0
    item = makers.get(operand.id) if isinstance(operand, SSAValue) else None
    if item is None or depth == 0:
        return False
    if isinstance(item, SSAForRange):
        return operand == item.index and _not_negative(item.start, makers, depth - 1)
    if item.opcode == "program_id":
        return True
    if item.opcode == "arange":
        return bool(item.attrs["start"] >= 0)
    if item.opcode in ("add", "mul", "expand_dims"):
        return all(_not_negative(o, makers, depth - 1) for o in item.operands)
    return False
