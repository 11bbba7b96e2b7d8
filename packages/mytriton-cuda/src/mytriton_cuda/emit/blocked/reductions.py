"""Reductions: over the registers of a thread, by shuffles over the lanes of a warp, and through
shared memory over warps and into other layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mytriton.analysis.threads import REDUCTIONS
from mytriton.plugin_api import (
    I32,
    ScalarType,
    SSAFunction,
    SSAOp,
    operand_type,
    scalar_of,
    shape_of,
    walk,
)

from ..arithmetic import beats, combine
from ..reduction import POSITIONS, Room, at, rooms
from ..scalars import NARROW_FLOATS, settle, value_type
from .demand import Demand, folds, shape
from .tiles import WARP, Layout, Registers, Tile, layout

if TYPE_CHECKING:
    from .kernel import BlockedKernel


@dataclass
class Plan:
    """How one reduction goes."""

    tile: Tile
    #: Axes of the tile that disappear, and those of the operand that stay.
    reduced: tuple[int, ...]
    #: The result as the threads that reduced have it.
    own: Layout
    #: Elements of the result.
    results: int
    #: Warps whose parts have to be combined.
    parts: int
    #: Types of a partial result: the value, and its position where that is asked for.
    types: tuple[ScalarType, ...]
    #: The scratch buffers, empty when none is needed.
    buffers: tuple[str, ...] = ()


def plans(function: SSAFunction, demand: Demand) -> dict[int, Plan]:
    """Every reduction that somebody needs, by its identity. One buffer per type serves them all."""
    found: dict[int, Plan] = {}
    for item in walk(function.body):
        if item.opcode not in REDUCTIONS or item.opcode == "reduce" or not folds(item):
            continue
        assert isinstance(item, SSAOp)
        wanted = demand.of(item.results[0])
        if not wanted:
            continue
        plan = _plan(item, demand)
        if plan.parts > 1 or any(each != plan.own for each in wanted):
            plan.buffers = tuple(buffer_of(ty) for ty in plan.types)
        found[id(item)] = plan
    return found


def _plan(op: SSAOp, demand: Demand) -> Plan:
    own, axis = shape(op.operands[0]), op.attrs.get("axis")
    source = demand.tile.layout(own)
    assert source.tile is not None
    tile, axes = source.tile, source.axes
    gone = range(len(own)) if axis is None else [axis]
    reduced = tuple(a for a in (axes[g] for g in gone) if a is not None)
    kept = [] if axis is None else [a for n, a in enumerate(axes) if n != axis]
    results = 1
    for extent in shape_of(op.results[0].ty):
        results *= extent
    parts = 1
    for a in reduced:
        parts *= _warps(tile, a)
    element = scalar_of(operand_type(op.operands[0]))  # type: ignore[arg-type]
    types = (element, I32) if op.opcode in POSITIONS else (element,)
    return Plan(tile, reduced, layout(tile, kept), results, parts, types)


def buffer_of(ty: ScalarType) -> str:
    """The scratch buffer for values of a type."""
    return f"scratch_{'f32' if ty in NARROW_FLOATS else ty.name}"


def _warps(tile: Tile, axis: int) -> int:
    """Warps that an axis extends over."""
    return max(1, tile.steps[axis] * tile.threads[axis] // max(WARP, tile.steps[axis]))


def reduction(k: BlockedKernel, op: SSAOp) -> None:
    """Write all of a reduction, and its result in every layout that is asked for."""
    (value,) = op.results
    if not folds(op):
        for wanted in k.layouts(op):
            with k.registers(wanted):
                text = "0" if op.opcode in POSITIONS else k.converted_source(op, wanted)
                k.declare(value, wanted, text, op.span)
        return
    plan = k.plans[id(op)]
    parts = [k.fresh(f"v{value.id}_{word}") for word in ("part", "at")[: len(plan.types)]]
    _in_registers(k, op, plan, parts)
    _in_warps(k, op, plan, parts)
    ty = scalar_of(value.ty)
    if not plan.buffers:
        with k.registers(plan.own):
            text = settle(k.indexed(parts[-1], plan.own), ty, ty, k.helpers)
            k.declare(value, plan.own, text, op.span)
        return
    found = _publish(k, op, plan, parts)
    for wanted in k.layouts(op):
        if op.opcode in POSITIONS:
            _collect_position(k, op, plan, wanted, found)
        else:
            _collect(k, op, plan, wanted, found[0])


def _merge(
    k: BlockedKernel, op: SSAOp, plan: Plan, mine: Sequence[str], other: Sequence[str]
) -> None:
    """The statement that combines two partial results."""
    if op.opcode not in POSITIONS:
        k.line(f"{mine[0]} = {combine(op.opcode, mine[0], other[0], plan.types[0])};", op.span)
        return
    better = beats(op.opcode, mine[0], mine[1], other[0], other[1], plan.types[0])
    with k.block(f"if ({better})", op.span):
        for a, b in zip(mine, other, strict=True):
            k.line(f"{a} = {b};", op.span)


def _targets(plan: Plan, parts: Sequence[str]) -> list[str]:
    return [f"{part}[r]" if plan.own.count > 1 else part for part in parts]


def _in_registers(k: BlockedKernel, op: SSAOp, plan: Plan, parts: Sequence[str]) -> None:
    tile, count = plan.tile, plan.own.count
    inner = [a for a in reversed(tile.order) if a in plan.reduced and tile.registers(a) > 1]
    steps = 1
    for a in inner:
        steps *= tile.registers(a)
    for part, ty in zip(parts, plan.types, strict=True):
        k.line(f"{value_type(ty)} {part}{f'[{count}]' if count > 1 else ''};", op.span)
    outer = Registers(plan.own)
    targets = _targets(plan, parts)

    def source(place: str) -> list[str]:
        walkers = Registers(layout(tile, list(inner)), place)
        held = [(a, walkers.part(a)) for a in inner]
        held += [(a, outer.part(a)) for a in plan.own.used]
        whole = k.demand.source(op, plan.own)
        with k.registers(whole, Registers(whole, "", tuple(held) or ((-1, "0"),))):
            found = [k.converted_source(op, plan.own)]
            if op.opcode in POSITIONS:
                axis, own = op.attrs.get("axis"), shape(op.operands[0])
                found.append(k.position(whole, own) if axis is None else k.place(whole, axis))
            return found

    with k.unrolled("r", count, op.span):
        for target, text in zip(targets, source("0"), strict=True):
            k.line(f"{target} = {text};", op.span)
        if steps > 1:
            with k.unrolled("s", steps, op.span, start=1):
                _merge(k, op, plan, targets, source("s"))


def _in_warps(k: BlockedKernel, op: SSAOp, plan: Plan, parts: Sequence[str]) -> None:
    for axis in plan.reduced:
        low = plan.tile.steps[axis]
        high = min(WARP, low * plan.tile.threads[axis])
        if low >= high:
            continue
        with k.unrolled("r", plan.own.count, op.span):
            targets = _targets(plan, parts)
            k.line("#pragma unroll", op.span)
            with k.block(f"for (int step = {low}; step < {high}; step *= 2)", op.span):
                others = ["other", "other_at"][: len(parts)]
                for target, other, ty in zip(targets, others, plan.types, strict=True):
                    kind = value_type(ty)
                    sent = target if ty.bits >= 32 or ty.is_floating() else f"(int){target}"
                    got = f"__shfl_xor_sync(0xffffffffu, {sent}, step)"
                    got = got if sent == target else f"({kind}){got}"
                    # In a variable: the shuffle must be done once, by all.
                    k.line(f"{kind} {other} = {got};", op.span)
                _merge(k, op, plan, targets, others)


def _publish(k: BlockedKernel, op: SSAOp, plan: Plan, parts: Sequence[str]) -> list[Room]:
    """One thread for each part of each result writes it to shared memory."""
    tile = plan.tile
    found = rooms(k, [(ty, plan.results * plan.parts) for ty in plan.types])
    conditions = []
    if tile.active < tile.total:
        conditions.append(f"threadIdx.x < {tile.active}")
    for axis in plan.reduced:
        low, high = tile.steps[axis], min(WARP, tile.steps[axis] * tile.threads[axis])
        if low < high:
            place = "threadIdx.x" if low == 1 else f"threadIdx.x / {low}"
            conditions.append(f"{place} % {high // low} == 0")
    terms: list[str] = []
    stride = plan.results
    for axis in plan.reduced:
        count = _warps(tile, axis)
        if count > 1:
            low = max(WARP, tile.steps[axis])
            above = tile.total > low * count
            number = f"threadIdx.x / {low}" + (f" % {count}" if above else "")
            terms.append(number if stride == 1 else f"({number}) * {stride}")
            stride *= count
    with k.unrolled("r", plan.own.count, op.span), k.registers(plan.own):
        every = conditions + k.inside(plan.own, shape_of(op.results[0].ty))
        place = k.position(plan.own, shape_of(op.results[0].ty))
        index = " + ".join([*terms, *([place] if place != "0" else [])]) or "0"
        statements = [
            f"{at(room, index)} = {k.indexed(part, plan.own)};"
            for room, part in zip(found, parts, strict=True)
        ]
        k.guarded(every, statements, op.span)
    k.line("__syncthreads();", op.span)
    return found


def _collect(k: BlockedKernel, op: SSAOp, plan: Plan, wanted: Layout, room: Room) -> None:
    """Every thread combines the parts of the results it needs."""
    (value,) = op.results
    ty, extents = scalar_of(value.ty), shape_of(value.ty)
    with k.registers(wanted):
        place = k.position(wanted, extents, clamp=True)
        found = [at(room, _plus(place, number * plan.results)) for number in range(plan.parts)]
        while len(found) > 1:
            found = [
                combine(op.opcode, found[n], found[n + 1], ty) if n + 1 < len(found) else found[n]
                for n in range(0, len(found), 2)
            ]
        k.declare(value, wanted, settle(found[0], ty, ty, k.helpers), op.span)


def _collect_position(
    k: BlockedKernel, op: SSAOp, plan: Plan, wanted: Layout, found: Sequence[Room]
) -> None:
    """The same for positions: the value decides, the position is the result."""
    (value,) = op.results
    if plan.parts == 1:
        _collect(k, op, plan, wanted, found[1])
        return
    name = k.declare(value, wanted, None, op.span)
    with k.registers(wanted), k.unrolled("r", wanted.count, op.span):
        place = k.position(wanted, shape_of(value.ty), clamp=True)
        best = [k.fresh(f"v{value.id}_best"), k.fresh(f"v{value.id}_where")]
        for number in range(plan.parts):
            texts = [at(room, _plus(place, number * plan.results)) for room in found]
            if number:
                _merge(k, op, plan, best, texts)
                continue
            for variable, ty, text in zip(best, plan.types, texts, strict=True):
                k.line(f"{value_type(ty)} {variable} = {text};", op.span)
        k.line(f"{k.indexed(name, wanted)} = {best[1]};", op.span)


def _plus(place: str, offset: int) -> str:
    if place == "0":
        return str(offset)
    return f"{place} + {offset}" if offset else place
