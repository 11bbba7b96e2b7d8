"""Do the lanes of a block access touch different elements?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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

#: Offsets are short expressions: larger ones are not looked into.
MAX_TERMS = 16
MAX_DEPTH = 8


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


def distinct(
    offsets: Sequence[SSAOperand], shape: tuple[int, ...], mask: SSAOperand, makers: Makers
) -> bool:
    """Whether the sum of ``offsets`` is a different number in every lane of a block of ``shape``
    that ``mask`` lets pass.

    Knows ranges scaled by constants and moved by scalars, and rows ``i * width + j`` of which the
    mask keeps ``0 <= j < width``. ``False`` means "not proven"; looks at small expressions only.
    Assumes that address arithmetic does not overflow, as the language does.
    """
    axes = {axis for axis, extent in enumerate(shape) if extent != 1}
    terms = [term for offset in offsets for term in _terms(offset, makers)]
    moving = [term for term in terms if _axes(term, len(shape))]
    if len(axes) <= 1:
        return not axes or (len(moving) == 1 and _monotone(moving[0], makers))
    if len(axes) != 2 or len(moving) != 2:
        return False
    a, b = moving
    sides = _axes(a, len(shape)), _axes(b, len(shape))
    if len(sides[0]) != 1 or len(sides[1]) != 1 or sides[0] == sides[1]:
        return False
    return any(_row_of(i, j, terms, mask, makers) for i, j in ((a, b), (b, a)))


def _made_by(operand: SSAOperand, opcode: str, makers: Makers) -> SSAOp | None:
    item = makers.get(operand.id) if isinstance(operand, SSAValue) else None
    return item if isinstance(item, SSAOp) and item.opcode == opcode else None


def _shape(operand: SSAOperand) -> tuple[int, ...]:
    ty = operand_type(operand)
    return () if ty is None else shape_of(ty)


def _axes(operand: SSAOperand, rank: int) -> set[int]:
    """The axes, of ``rank`` in all, along which a broadcast operand may vary."""
    shape = _shape(operand)
    return {rank - len(shape) + k for k, extent in enumerate(shape) if extent != 1}


def _terms(operand: SSAOperand, makers: Makers) -> list[SSAOperand]:
    """The terms of a sum; the sum itself when it has too many."""
    found: list[SSAOperand] = []
    pending = [operand]
    while pending:
        current = pending.pop()
        if op := _made_by(current, "add", makers):
            pending.extend(op.operands)
        else:
            found.append(current)
        if len(found) + len(pending) > MAX_TERMS:
            return [operand]
    return found


def _strip(operand: SSAOperand, makers: Makers) -> SSAOperand:
    while op := _made_by(operand, "expand_dims", makers):
        operand = op.operands[0]
    return operand


def _monotone(operand: SSAOperand, makers: Makers, depth: int = MAX_DEPTH) -> bool:
    """Different at every place of its one moving axis: a range, moved by scalars and scaled by
    constants other than 0."""
    moving = [t for t in _terms(_strip(operand, makers), makers) if _shape(t)]
    if len(moving) != 1 or depth == 0:
        return False
    (term,) = moving
    if _made_by(term, "arange", makers):
        return True
    if _made_by(term, "expand_dims", makers):
        return _monotone(term, makers, depth - 1)
    if op := _made_by(term, "mul", makers):
        for value, factor in (op.operands, op.operands[::-1]):
            if isinstance(factor, Constant) and factor.value != 0:
                return _monotone(value, makers, depth - 1)
    return False


def _row_of(
    row: SSAOperand, column: SSAOperand, terms: list[SSAOperand], mask: SSAOperand, makers: Makers
) -> bool:
    """``row`` is ``i * width`` with distinct ``i``; ``column``, together with scalars of ``terms``,
    is a distinct ``j`` that is never negative and that the mask keeps below ``width``."""
    op = _made_by(row, "mul", makers)
    if op is None or not _monotone(column, makers):
        return False
    for index, width in (op.operands, op.operands[::-1]):
        if _shape(width) or not _monotone(index, makers):
            continue
        for bounded in _upper_bounds(mask, width, makers):
            parts = _terms(bounded, makers)
            if column in parts and all(part in terms for part in parts):
                return _not_negative(bounded, makers)
    return False


def _upper_bounds(mask: SSAOperand, width: SSAOperand, makers: Makers) -> list[SSAOperand]:
    """What the mask says is smaller than ``width``."""
    found: list[SSAOperand] = []
    pending = [mask]
    for _ in range(MAX_TERMS):
        if not pending:
            break
        current = pending.pop()
        if op := _made_by(current, "and", makers):
            pending.extend(op.operands)
        elif (op := _made_by(current, "cmp_lt", makers)) and op.operands[1] == width:
            found.append(op.operands[0])
    return found


def _not_negative(operand: SSAOperand, makers: Makers) -> bool:
    pending = [operand]
    for _ in range(4 * MAX_TERMS):
        if not pending:
            return True
        current = pending.pop()
        item = makers.get(current.id) if isinstance(current, SSAValue) else None
        if isinstance(current, Constant):
            if current.value < 0:
                return False
        elif isinstance(item, SSAForRange) and current == item.index:
            pending.append(item.start)
        elif isinstance(item, SSAOp) and item.opcode in ("add", "mul", "expand_dims"):
            pending.extend(item.operands)
        elif isinstance(item, SSAOp) and item.opcode == "arange":
            if item.attrs["start"] < 0:
                return False
        elif not isinstance(item, SSAOp) or item.opcode != "program_id":
            return False
    return False
