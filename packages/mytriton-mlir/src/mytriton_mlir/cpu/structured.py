"""Structured control flow as MLIR: scalars go through registers, blocks through buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from .builder import Level, Val
from .plan import Branch, Step, While

if TYPE_CHECKING:
    from .emitter import Emitter


def _scalars(e: Emitter, values: Sequence[mt.SSAValue]) -> list[int]:
    """Which of the values are scalars that are carried as such."""
    return [k for k, v in enumerate(values) if not mt.shape_of(v.ty) and e.facts.carries_data(v)]


def _region(
    e: Emitter, steps: Sequence[Step], yields: Sequence[mt.SSAOperand], level: Level,
    staged: Sequence[mt.SSAValue] = (),
) -> list[Val]:  # fmt: skip
    """Write the steps of a region that has just been opened; gives what it yields, and closes it."""
    home, e.home = e.home, level
    e.steps(steps)
    for arg in staged:
        e.copy_staged(arg)
    found = [e.value(operand) for operand in yields]
    e.home = home
    e.b.pop()
    return found


def _types(values: Sequence[Val]) -> str:
    return ", ".join(v.type for v in values)


def _names(values: Sequence[Val]) -> str:
    return ", ".join(v.name for v in values)


def when(e: Emitter, condition: Val, body: Callable[[], None]) -> None:
    """What ``body`` writes, under a condition."""
    b, home = e.b, e.home
    outer, level = b.level, b.push()
    e.home = level
    body()
    b.pop()
    e.home = home
    if level.lines:
        b.line(outer, f"scf.if {condition.name} {{")
        outer.lines.extend(level.lines)
        b.line(outer, "}")


def branch(e: Emitter, plan: Branch) -> None:
    """``scf.if``."""
    b, item = e.b, plan.item
    chosen = _scalars(e, item.results)
    condition = e.value(item.operands[0])
    outer = b.level
    for result in plan.blocks:
        e.own_buffer(result)
    bodies = []
    for region, steps in zip(item.regions, plan.regions):
        level = b.push()
        bodies.append((level, _region(e, steps, [region.yields[k] for k in chosen], level)))
    first = bodies[0][1]
    group = b.name("r")
    head = f"{group}:{len(first)} = " if first else ""
    gives = f" -> ({_types(first)})" if first else ""
    b.line(outer, f"{head}scf.if {condition.name}{gives} {{")
    for number, (level, yields) in enumerate(bodies):
        if number:
            b.line(outer, "} else {")
        outer.lines.extend(level.lines)
        if yields:
            outer.lines.append(f"{'  ' * level.depth}scf.yield {_names(yields)} : {_types(yields)}")
    b.line(outer, "}")
    for number, k in enumerate(chosen):
        val = Val(f"{group}#{number}", first[number].kind, first[number].width, outer)
        e.remember(item.results[k], (), 0, val)
    for result in plan.blocks:
        e.buffers[result.id] = e.own_buffer(result)


def repeat(e: Emitter, plan: While) -> None:
    """``scf.while``."""
    b, item = e.b, plan.item
    test, body = item.regions
    chosen = _scalars(e, body.args)
    starts = [e.value(item.operands[k]) for k in chosen]
    for k, arg in enumerate(body.args):
        if arg in plan.carried:
            e.buffers[arg.id] = e.buffers[test.args[k].id] = e.own_buffer(arg)
    e.staged |= plan.staged
    outer = b.level

    level = b.push()
    before = [Val(b.name("a"), s.kind, 0, level) for s in starts]
    for val, k in zip(before, chosen):
        e.remember(test.args[k], (), 0, val)
    (going,) = _region(e, plan.condition, test.yields, level)

    inner = b.push()
    after = [Val(b.name("a"), s.kind, 0, inner) for s in starts]
    for val, k in zip(after, chosen):
        e.remember(body.args[k], (), 0, val)
    staged = [arg for arg in plan.carried if arg.id in plan.staged]
    ends = _region(e, plan.body, [body.yields[k] for k in chosen], inner, staged)

    group, types = b.name("r"), _types(starts)
    pad = "  " * level.depth
    head = f"{group}:{len(starts)} = " if starts else ""
    inits = ", ".join(f"{v.name} = {s.name}" for v, s in zip(before, starts))
    b.line(outer, f"{head}scf.while ({inits}) : ({types}) -> ({types}) {{")
    outer.lines.extend(level.lines)
    passed = f" {_names(before)} : {types}" if starts else ""
    outer.lines.append(f"{pad}scf.condition({going.name}){passed}")
    b.line(outer, "} do {")
    if starts:
        outer.lines.append(
            "  " * outer.depth + f"^bb0({', '.join(f'{v.name}: {v.type}' for v in after)}):"
        )
    outer.lines.extend(inner.lines)
    outer.lines.append(f"{pad}scf.yield{f' {_names(ends)} : {types}' if starts else ''}")
    b.line(outer, "}")
    for number, (k, start) in enumerate(zip(chosen, starts)):
        e.remember(item.results[k], (), 0, Val(f"{group}#{number}", start.kind, 0, outer))
    for k, arg in enumerate(body.args):
        if arg in plan.carried:
            e.buffers[item.results[k].id] = e.buffers[arg.id]
