"""Strides that are 1: known at compile time, lanes follow one another.

Of the integers that a launch says are 1, those that scale a block (``offs[None, :] * stride``) become
constants; the code does not depend on any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import mytriton.plugin_api as mt

#: What offsets are made with.
_ARITHMETIC = frozenset({"add", "sub", "mul", "expand_dims", "broadcast", "cast"})


def strides(function: mt.SSAFunction) -> frozenset[str]:
    """Names of the integer parameters that scale a block of offsets."""
    names = {p.name for p in function.params if _is_integer(p)}
    if not names:
        return frozenset()
    makers = {v.id: item for item in mt.walk(function.body) for v in item.results}
    pending = [i.inputs[1] for i in makers.values() if i.opcode == "addptr"]
    found: set[str] = set()
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if not isinstance(value, mt.SSAValue) or value.id in seen or value.id not in makers:
            continue
        seen.add(value.id)
        item = makers[value.id]
        if item.opcode not in _ARITHMETIC:
            continue
        pending += item.inputs
        if item.opcode == "mul" and mt.shape_of(value.ty):
            found |= {o.name for o in item.inputs if isinstance(o, mt.Param) and o.name in names}
    return frozenset(found)


def _is_integer(param: mt.Param) -> bool:
    return isinstance(param.ty, mt.ScalarType) and param.ty.is_integer()


def with_ones(function: mt.SSAFunction, names: frozenset[str]) -> mt.SSAFunction:
    """The function with the number 1 where one of ``names`` scales a block."""
    if not names:
        return function
    return mt.SSAFunction(function.name, function.params, _body(function.body, names))


def _body(items: Sequence[mt.SSAItem], names: frozenset[str]) -> list[mt.SSAItem]:
    found: list[mt.SSAItem] = []
    for item in items:
        regions = [mt.Region(r.args, _body(r.body, names), r.yields) for r in item.regions]
        inputs = list(item.inputs)
        if item.opcode == "mul" and mt.shape_of(item.results[0].ty):
            inputs = [_one(o) if isinstance(o, mt.Param) and o.name in names else o for o in inputs]
        same = not regions and inputs == list(item.inputs)
        found.append(item if same else item.rebuild(inputs, regions))
    return found


def _one(param: mt.Param) -> mt.Constant:
    return mt.Constant(1, mt.scalar_of(param.ty))
