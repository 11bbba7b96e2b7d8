"""Walking the lazy values of a nest, and keeping those that several nests need."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import mytriton.plugin_api as mt

from .facts import REDUCTIONS
from .plan import KEEP_ABOVE, Group, Planner, Root, Step
from .rowwise import is_rowwise
from .tile import AxisMap, normal, trailing, transposed

#: A value that is read, and whether its lanes go to others of the root.
Read = tuple[mt.SSAValue, bool]


def visit(planner: Planner, group: Group) -> Iterator[tuple[mt.SSAValue, AxisMap]]:
    """The lazy blocks a nest computes, each with how its axes run, users first. What is marked as
    kept while visiting is not looked into."""
    return _seen(planner, group, planner.kept)


def _seen(
    planner: Planner, group: Group, kept: Container[int]
) -> Iterator[tuple[mt.SSAValue, AxisMap]]:
    own = normal(tuple(range(len(group.shape))), group.shape)
    pending: list[tuple[mt.SSAValue, AxisMap]] = []
    for root in group.roots:
        pending += _starts(planner, root, own)
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
        pending += _computed_from(planner, value, amap, own)


def _starts(planner: Planner, root: Root, own: AxisMap) -> list[tuple[mt.SSAValue, AxisMap]]:
    """The values that a root itself needs."""
    found = []
    if isinstance(root.operand, mt.SSAValue):
        found.append((root.operand, trailing(own, mt.shape_of(root.operand.ty))))
    if root.op is not None and root.op.opcode == "store":
        found += _spread(planner.facts.needs(root.op), own)
    return found


def _computed_from(
    planner: Planner, value: mt.SSAValue, amap: AxisMap, own: AxisMap
) -> list[tuple[mt.SSAValue, AxisMap]]:
    """What a lazy value is computed from in a nest."""
    facts = planner.facts
    item = facts.makers.get(value.id)
    if item is None or value not in item.results:
        return []
    if isinstance(item, mt.SSAForRange):
        return _spread(facts.needs(item), own) if value.id in planner.fused else []
    return [] if facts.is_solid(item) else operand_maps(planner, item, amap)


class Reads:
    """What roots read. Roots that are computed from one another share what is found: a long chain of
    them is walked once."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._found: dict[Any, frozenset[Read]] = {}
        #: What was found with the help of what, and the keys of each value.
        self._above: dict[Any, list[Any]] = {}
        self._keys: dict[int, list[Any]] = {}
        self._kept: set[int] = set()

    def of(self, root: Root) -> frozenset[Read]:
        """The values that are read (by loads, or loops inside the nest), each with whether its lanes
        go to others of the root."""
        if len(self._planner.kept) != len(self._kept):
            self._forget(self._planner.kept - self._kept)
        own = normal(tuple(range(len(root.shape))), root.shape)
        found: frozenset[Read] = frozenset()
        for value, amap in _starts(self._planner, root, own):
            found = _union(found, self._reach(value, amap, own))
        return found

    def _forget(self, kept: set[int]) -> None:
        """What has been kept is no longer looked into."""
        self._kept |= kept
        pending = [key for number in kept for key in self._keys.get(number, ())]
        while pending:
            key = pending.pop()
            if self._found.pop(key, None) is not None:
                pending += self._above.pop(key, ())

    def _reach(self, value: mt.SSAValue, amap: AxisMap, own: AxisMap) -> frozenset[Read]:
        pending = [(value, amap)]
        while pending:
            one, at = pending[-1]
            key = (one.id, at, own)
            if key in self._found:
                pending.pop()
                continue
            inner = self._inner(one, at, own)
            missing = [w for w in inner if (w[0].id, w[1], own) not in self._found]
            if missing:
                pending += missing
                continue
            found = self._itself(one, at != own)
            for below, where in inner:
                found = _union(found, self._found[below.id, where, own])
                self._above.setdefault((below.id, where, own), []).append(key)
            self._found[key] = found
            self._keys.setdefault(one.id, []).append(key)
            pending.pop()
        return self._found[value.id, amap, own]

    def _inner(
        self, value: mt.SSAValue, amap: AxisMap, own: AxisMap
    ) -> list[tuple[mt.SSAValue, AxisMap]]:
        if not mt.shape_of(value.ty) or value.id in self._planner.kept:
            return []
        return _computed_from(self._planner, value, amap, own)

    def _itself(self, value: mt.SSAValue, moved: bool) -> frozenset[Read]:
        facts = self._planner.facts
        item = facts.makers.get(value.id)
        if item is None or not mt.shape_of(value.ty) or value not in item.results:
            return frozenset()
        inside = isinstance(item, mt.SSAOp) or value.id in self._planner.fused
        return frozenset({(value, moved)}) if inside and facts.reads(item) else frozenset()


def _union(a: frozenset[Read], b: frozenset[Read]) -> frozenset[Read]:
    """Both, without a copy where one is all."""
    return a if b <= a else b if a <= b else a | b


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
