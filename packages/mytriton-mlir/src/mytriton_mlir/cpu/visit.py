"""Walking the lazy values of a nest, and keeping those that several nests need."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import mytriton.plugin_api as mt

from .facts import REDUCTIONS
from .plan import KEEP_ABOVE, Group, Planner, Root, Step
from .rowwise import is_rowwise
from .tile import AxisMap, normal, trailing, transposed


def visit(planner: Planner, group: Group) -> Iterator[tuple[mt.SSAValue, AxisMap]]:
    """The lazy blocks a nest computes, each with how its axes run, users first. What is marked as
    kept while visiting is not looked into."""
    return _seen(planner, group, planner.kept)


def _seen(
    planner: Planner, group: Group, kept: Container[int]
) -> Iterator[tuple[mt.SSAValue, AxisMap]]:
    facts = planner.facts
    own = normal(tuple(range(len(group.shape))), group.shape)
    pending: list[tuple[mt.SSAValue, AxisMap]] = []
    for root in group.roots:
        if isinstance(root.operand, mt.SSAValue):
            pending.append((root.operand, trailing(own, mt.shape_of(root.operand.ty))))
        if root.op is not None and root.op.opcode == "store":
            pending += _spread(facts.needs(root.op), own)
    seen: set[tuple[int, AxisMap]] = set()
    roots = _targets(group)
    while pending:
        value, amap = pending.pop()
        if (value.id, amap) in seen or not mt.shape_of(value.ty):
            continue
        seen.add((value.id, amap))
        yield value, amap
        if value.id in kept and value.id not in roots:
            continue
        item = facts.makers.get(value.id)
        if item is None or value not in item.results:
            continue
        if isinstance(item, mt.SSAForRange):
            if value.id in planner.fused:
                pending += _spread(facts.needs(item), own)
        elif not facts.is_solid(item):
            pending += operand_maps(planner, item, amap)


def operand_maps(
    planner: Planner, item: mt.SSAOp, amap: AxisMap
) -> list[tuple[mt.SSAValue, AxisMap]]:
    """The blocks an operation needs, with how their axes run."""
    axis: Any = item.attrs.get("axis")
    if item.opcode == "expand_dims":
        amap = (*amap[:axis], *amap[axis + 1 :])
    elif item.opcode == "trans":
        amap = transposed(amap, item.attrs["order"])
    elif item.opcode in REDUCTIONS:  # of one element: the others are roots
        operand = item.operands[0]
        assert operand is not None
        rank = len(mt.shape_of(operand.ty))
        amap = (None,) * rank if axis is None else (*amap[:axis], None, *amap[axis:])
    return _spread(planner.facts.needs(item), amap)


def _spread(needed: Sequence[mt.SSAValue], amap: AxisMap) -> list[tuple[mt.SSAValue, AxisMap]]:
    return [
        (v, trailing(amap, mt.shape_of(v.ty)))
        for v in needed
        if len(mt.shape_of(v.ty)) <= len(amap)
    ]


def _target(root: Root) -> set[int]:
    return {root.target.id} if root.kind == "keep" and root.target is not None else set()


def _targets(group: Group) -> set[int]:
    """The values a group keeps."""
    return {number for root in group.roots for number in _target(root)}


class _Kept:
    """Values that have been kept, as far as the step at hand can know."""

    def __init__(self, planner: Planner, later: set[int]) -> None:
        self._planner, self._later = planner, later

    def __contains__(self, number: object) -> bool:
        return number in self._planner.kept and number not in self._later


def keep_shared(planner: Planner, steps: list[Step], own: set[int]) -> None:
    """Keep expensive values that several nests need (of those this body defines)."""
    facts = planner.facts
    first: dict[int, tuple[Group, AxisMap]] = {}
    before: list[tuple[Step, Group]] = []
    #: Values that a later step keeps: until then they are computed where they are needed.
    later = {n for step in steps if isinstance(step, Group) for n in _targets(step)}
    early: set[int] = set()
    for step in steps:
        if not isinstance(step, Group):
            continue
        identity = normal(tuple(range(len(step.shape))), step.shape)
        new: dict[int, tuple[Group, AxisMap]] = {}
        skip: set[int] = set()
        later -= _targets(step)
        for value, amap in _seen(planner, step, _Kept(planner, later)):
            if value.id in skip or value.id not in own:
                continue
            shape = mt.shape_of(value.ty)
            straight = shape == step.shape and amap == identity
            if value.id in planner.kept:
                # A loop is run for its own tiles only: kept for a later step, it is needed before this.
                if value.id in planner.fused and not straight and value.id in later - early:
                    early.add(value.id)
                    before.append((step, Group(shape, [Root("keep", value, shape, target=value)])))
                continue
            item = facts.makers[value.id]
            if facts.is_solid(item) or (
                isinstance(item, mt.SSAForRange) and value.id not in planner.fused
            ):
                continue
            if is_rowwise(facts, value):
                continue
            if value.id in first and facts.costs[value.id] > KEEP_ABOVE:
                home, at = first[value.id]
                root = Root("keep", value, shape, target=value)
                if home.shape == shape and at == normal(tuple(range(len(shape))), shape):
                    home.roots.append(root)
                else:
                    before.append((home, Group(shape, [root])))
                planner.kept.add(value.id)
            elif value.id in planner.fused and not straight:
                before.append((step, Group(shape, [Root("keep", value, shape, target=value)])))
                planner.kept.add(value.id)
            else:
                new.setdefault(value.id, (step, amap))
        for number, place in new.items():
            first.setdefault(number, place)
    for step in steps:
        if early and isinstance(step, Group):
            step.roots = [r for r in step.roots if not _target(r) & early]
    steps[:] = [step for step in steps if not isinstance(step, Group) or step.roots]
    for follower, group in before:
        steps.insert(next(i for i, s in enumerate(steps) if s is follower), group)
