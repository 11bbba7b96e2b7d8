"""Rules about ``for`` loops."""

from __future__ import annotations

from ..errors import OpRuleError
from ..ir.types import I32, I64, Type
from ..ir.values import Constant, SSAForRange, SSAOperand, operand_type


def check_loop(loop: SSAForRange) -> None:
    """Bounds, step and carried values of a loop (its operands are known to be in scope)."""
    _check_bounds(loop)
    if not isinstance(loop.step, Constant):
        raise OpRuleError(f"for: the step must be a constant, got a value of type {loop.step.ty}")  # type: ignore[union-attr]
    if loop.step.value <= 0:
        raise OpRuleError(f"for: the step must be positive, got {loop.step} ({loop.step.ty})")
    _check_carried(loop)


def _spell(operand: SSAOperand) -> str:
    ty = operand_type(operand)
    return str(ty) if ty is not None else "none"


def _check_bounds(loop: SSAForRange) -> None:
    bounds = (loop.start, loop.stop, loop.step)
    types = {operand_type(operand) for operand in bounds}
    if types not in ({I32}, {I64}):
        listed = ", ".join(_spell(operand) for operand in bounds)
        raise OpRuleError(
            f"for: start, stop and step must be i32 scalars (or all i64), got {listed}"
        )
    if {loop.index.ty} != types:
        (bound,) = types
        raise OpRuleError(
            f"for: the index {loop.index} is {loop.index.ty} but the bounds are {bound}"
        )


def _check_carried(loop: SSAForRange) -> None:
    inputs, args, yields, results = (
        loop.carried_inputs,
        loop.carried_args,
        loop.yields,
        loop.results,
    )
    if not len(inputs) == len(args) == len(yields) == len(results):
        raise OpRuleError(
            f"for: {len(inputs)} carried inputs, {len(args)} arguments, {len(yields)} yields and"
            f" {len(results)} results (the counts must agree)"
        )
    for k, lane in enumerate(zip(inputs, args, yields, results, strict=False)):
        first: Type | None = lane[1].ty
        if any(operand_type(operand) != first for operand in lane):
            entered, inside, yielded, left = map(_spell, lane)
            raise OpRuleError(
                f"for: carried value {k} enters as {entered}, is {inside} in the body, is yielded"
                f" as {yielded} and leaves as {left} (types must agree)"
            )
