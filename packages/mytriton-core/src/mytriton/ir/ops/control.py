"""Structured control flow beside ``for``: ``if``, ``while``, and reductions with a function of the
user's. Results follow from the regions, so ``verify`` checks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import rules
from ..registry import Effect, OpDef, effects_of, register
from ..types import BOOL, Type, element_of, shape_of, with_shape
from ..values import Region, SSAItem, SSAOperand, operand_type
from .reduce import check_axis, reduced_axes


def _types(values: Sequence[SSAOperand]) -> list[Type | None]:
    return [operand_type(value) for value in values]


def _spell(types: Sequence[Type | None]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _agree(op: str, what: str, got: Sequence[Type | None], wanted: Sequence[Type | None]) -> None:
    if list(got) != list(wanted):
        raise rules.OpRuleError(
            f"{op}: {what} are {_spell(got)} but must be {_spell(wanted)} (types must agree)"
        )


def _no_rule(types: rules.Types, attrs: rules.Attrs) -> None:
    return None


def _check_condition(op: str, operand: SSAOperand) -> None:
    if operand_type(operand) != BOOL:
        raise rules.OpRuleError(
            f"{op}: the condition must be a bool scalar, got {operand_type(operand)}"
        )


def _verify_if(item: SSAItem) -> None:
    _check_condition("if", item.inputs[0])
    results = [value.ty for value in item.results]
    for word, region in zip(("then", "else"), item.regions, strict=True):
        if region.args:
            raise rules.OpRuleError(f"if: the {word} region takes no arguments")
        _agree("if", f"what the {word} region yields", _types(region.yields), results)


def _verify_while(item: SSAItem) -> None:
    carried = _types(item.inputs)
    condition, body = item.regions
    for word, region in zip(("condition", "body"), item.regions, strict=True):
        _agree("while", f"the arguments of the {word}", [a.ty for a in region.args], carried)
    if len(condition.yields) != 1:
        raise rules.OpRuleError("while: the condition region yields one bool")
    _check_condition("while", condition.yields[0])
    _agree("while", "what the body yields", _types(body.yields), carried)
    _agree("while", "the results", [value.ty for value in item.results], carried)


def _verify_reduce(item: SSAItem) -> None:
    types = _types(item.inputs)
    if not types:
        raise rules.OpRuleError("reduce needs at least one block")
    shape = shape_of(types[0])  # type: ignore[arg-type]
    for ty in types:
        rules.number(ty, "reduce")
        if shape_of(ty) != shape:  # type: ignore[arg-type]
            raise rules.OpRuleError(f"reduce: the blocks must have one shape, got {_spell(types)}")
    check_axis("reduce", types[0], item.attrs)
    axes = reduced_axes(shape, item.attrs)
    rest = tuple(d for k, d in enumerate(shape) if k not in axes)
    elements = [element_of(ty) for ty in types]  # type: ignore[arg-type]
    (region,) = item.regions
    _agree("reduce", "the arguments", [a.ty for a in region.args], [*elements, *elements])
    _agree("reduce", "what the region yields", _types(region.yields), elements)
    results = [with_shape(rest, element) for element in elements]
    _agree("reduce", "the results", [value.ty for value in item.results], results)
    _check_pure(region)


def _check_pure(region: Region) -> None:
    for item in region.body:
        if effects_of(item) != Effect.PURE:
            raise rules.OpRuleError(
                f"reduce: the combine function must be pure, it has {item.opcode}"
            )


def _define(
    name: str, operands: tuple[str, ...], regions: int, verify: Any, doc: str, **more: Any
) -> OpDef:
    return register(
        OpDef(
            name, operands, _no_rule, None, doc, regions=regions, verify=verify, free_results=True,
            foldable=False, speculatable=False, **more,
        )
    )  # fmt: skip


if_ = _define(
    "if", ("condition",), 2, _verify_if,
    "Runs one of two regions, by a scalar condition. What that region yields are the results.",
    feature="control.if", constants="bool",
)  # fmt: skip
while_ = _define(
    "while", ("carried*",), 2, _verify_while,
    "Repeats its second region while its first yields true. Both take the carried values as arguments; "
    "the second yields those of the next trip, and the last ones are the results.",
    feature="control.while", constants="own", loop=True,
)  # fmt: skip
reduce = _define(
    "reduce", ("values*",), 1, _verify_reduce,
    "Reduces blocks of one shape along `axis` (all axes when it is left out) with a region that combines "
    "two tuples of scalars. The function must be associative; neighbours are combined in order.",
    attrs=("axis?",), feature="reduce.custom", constants="own",
)  # fmt: skip
