"""Constant folding and algebraic rules.

Both come from the registry: ``OpDef.numpy`` evaluates an elementwise operation whose operands are
scalar constants, in the value's own precision; ``OpDef.fold`` names an operand or constant that is
equal to the result. A result is only ever replaced by something of its own type, so blocks stay
blocks.
"""

from __future__ import annotations

import numpy as np

from ..errors import OpRuleError
from ..ir.evaluate import elementwise, is_defined
from ..ir.numerics import held_dtype
from ..ir.registry import Effect, OpDef, effects_of, lookup
from ..ir.types import ScalarType, Type
from ..ir.values import (
    Constant,
    Region,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    operand_type,
)
from .rewrite import (
    Visit,
    is_plain_op,
    replaced,
    run_visit,
    with_body,
    with_function_body,
    with_operands,
    with_regions,
)


class Fold:
    """Evaluates operations on constants, applies algebraic rules, drops loops that never run."""

    name = "fold"

    def run(self, function: SSAFunction) -> SSAFunction:
        by: dict[int, SSAOperand] = {}
        return with_function_body(function, run_visit(_fold_body(function.body, by)))


def _fold_body(items: list[SSAItem], by: dict[int, SSAOperand]) -> Visit:
    out: list[SSAItem] = []
    changed = False
    for item in items:
        new = with_operands(item, by)
        if is_plain_op(new):
            found = simplify(new)  # type: ignore[arg-type]
            if found is not None:
                by[new.results[0].id] = found
                changed = True
                continue
        elif never_runs(new):
            by.update((r.id, o) for r, o in zip(new.results, new.inputs[3:], strict=False))
            changed = True
            continue
        elif (taken := taken_region(new)) is not None:
            # The region stands where the operation stood; its values keep their numbers.
            body = yield _fold_body(taken.body, by)
            out.extend(body)
            by.update(
                (r.id, replaced((o,), by)[0])
                for r, o in zip(new.results, taken.yields, strict=True)
            )
            changed = True
            continue
        elif regions := new.regions:
            by.update(constant_lanes(new))
            folded: list[Region] = []
            for region in regions:
                body = yield _fold_body(region.body, by)
                folded.append(with_body(region, body, by))
            new = with_regions(new, regions, folded)
            if stays_out(new):
                by.update((r.id, o) for r, o in zip(new.results, new.inputs, strict=True))
                changed = True
                continue
            by.update(equal_ends(new))
        changed = changed or new is not item
        out.append(new)
    return out if changed else items


def simplify(op: SSAOp) -> SSAOperand:
    """A constant or operand equal to the result of ``op``, or ``None``."""
    definition = lookup(op.opcode)
    if definition is None or not definition.pure:
        return None
    found: SSAOperand = None
    if definition.elementwise and definition.foldable and _is_scalar(op):
        found = evaluate(op, definition)
    if found is None and definition.fold is not None:
        try:
            found = definition.fold(op)
        except OpRuleError:
            return None
    # Whatever a rule says, a value is never replaced by one of another type.
    return found if found is not None and found.ty == op.results[0].ty else None


def _is_scalar(op: SSAOp) -> bool:
    return isinstance(op.results[0].ty, ScalarType)


def evaluate(op: SSAOp, definition: OpDef) -> Constant | None:
    """The constant ``op`` computes when all its operands are constants and the language says what
    the result is."""
    operands = op.operands
    for operand in operands:
        if operand.__class__ is not Constant:
            return None
    if not operands:
        return None
    result_type = op.results[0].ty
    assert isinstance(result_type, ScalarType)
    types: list[Type | None] = [operand_type(o) for o in operands]
    arrays = [np.array([o.value], dtype=held_dtype(o.ty)) for o in operands]  # type: ignore[union-attr]
    try:
        if not is_defined(definition, op.attrs, types, result_type, arrays):
            return None
        result = elementwise(definition, op.attrs, types, result_type, arrays)
    except (OpRuleError, ArithmeticError):
        return None
    return Constant(result.reshape(-1)[0].item(), result_type)


def taken_region(item: SSAItem) -> Region | None:
    """The region of an ``if`` whose condition is a constant."""
    if item.opcode != "if" or not isinstance(item.inputs[0], Constant):
        return None
    return item.regions[0 if item.inputs[0].value else 1]


def never_runs(item: SSAItem) -> bool:
    """A loop whose constant bounds leave no trip: its results are its initial values."""
    if not isinstance(item, SSAForRange):
        return False
    start, stop = item.start, item.stop
    known = isinstance(start, Constant) and isinstance(stop, Constant)
    return known and start.value >= stop.value  # type: ignore[union-attr]


def stays_out(item: SSAItem) -> bool:
    """A ``while`` whose condition is false at once, and only computes."""
    if item.opcode != "while":
        return False
    (ends,) = item.regions[0].yields
    known = isinstance(ends, Constant) and not ends.value
    return known and all(effects_of(inner) == Effect.PURE for inner in item.regions[0].body)


def constant_lanes(item: SSAItem) -> dict[int, SSAOperand]:
    """Replacements for carried values that every trip hands on as they came in: arguments and result
    are the initial value."""
    found: dict[int, SSAOperand] = {}
    if isinstance(item, SSAForRange):
        names = zip(item.carried_args, item.results, strict=True)
        lanes = zip(item.carried_inputs, names, item.yields, strict=True)
    elif item.opcode == "while":
        condition, body = item.regions
        triples = zip(body.args, condition.args, item.results, strict=True)
        lanes = zip(item.inputs, triples, body.yields, strict=True)  # type: ignore[arg-type]
    else:
        return found
    for initial, values, yielded in lanes:
        if yielded in (values[0], initial):
            found.update((value.id, initial) for value in values)
    return found


def equal_ends(item: SSAItem) -> dict[int, SSAOperand]:
    """Replacements for results of an ``if`` that both regions give one and the same value."""
    if item.opcode != "if":
        return {}
    then, other = item.regions
    ends = zip(item.results, then.yields, other.yields, strict=True)
    return {result.id: a for result, a, b in ends if a == b}
