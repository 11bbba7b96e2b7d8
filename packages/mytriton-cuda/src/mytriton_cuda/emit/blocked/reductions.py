"""Reductions: over the registers of a thread, by shuffles over the lanes of a warp, and through
shared memory over warps and into other layouts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mytriton.analysis.threads.barriers import Access, Barriers, State
from mytriton.plugin_api import (
    ScalarType,
    SSAForRange,
    SSAFunction,
    SSAOp,
    scalar_of,
    shape_of,
    walk,
)

from ..arithmetic import combine
from ..scalars import NARROW_FLOATS, settle, value_type
from .demand import REDUCTIONS, Demand, folds, shape
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
    #: The scratch buffer, ``""`` when none is needed.
    buffer: str = ""


def plans(function: SSAFunction, demand: Demand) -> dict[int, Plan]:
    """Every reduction that somebody needs, by its identity. One buffer per type serves them all."""
    found: dict[int, Plan] = {}
    for item in walk(function.body):
        if isinstance(item, SSAForRange) or item.opcode not in REDUCTIONS or not folds(item):
            continue
        wanted = demand.of(item.results[0])
        if not wanted:
            continue
        plan = _plan(item, demand)
        if plan.parts > 1 or any(each != plan.own for each in wanted):
            ty = scalar_of(item.results[0].ty)
            label = "f32" if ty in NARROW_FLOATS else ty.name
            plan.buffer = f"scratch_{label}"
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
    return Plan(tile, reduced, layout(tile, kept), results, parts)


def _warps(tile: Tile, axis: int) -> int:
    """Warps that an axis extends over."""
    return max(1, tile.steps[axis] * tile.threads[axis] // max(WARP, tile.steps[axis]))


class BlockedBarriers(Barriers):
    """Reductions that stay inside warps have no barrier."""

    def __init__(self, function: SSAFunction, demand: Demand, found: dict[int, Plan]) -> None:
        self._plans = found
        super().__init__(function, demand)  # type: ignore[arg-type]

    def _reduction(self, op: SSAOp, state: State) -> State:
        plan = self._plans.get(id(op))
        if plan is None or not plan.buffer:
            return state
        self._step(op, [Access(plan.buffer, True)], state)
        return {(plan.buffer, False): Access(plan.buffer, False)}


def reduction(k: BlockedKernel, op: SSAOp) -> None:
    """Write all of a reduction, and its result in every layout that is asked for."""
    (value,) = op.results
    ty = scalar_of(value.ty)
    if not folds(op):
        for wanted in k.layouts(op):
            with k.registers(wanted):
                k.declare(value, wanted, k.converted_source(op, wanted), op.span)
        return
    plan = k.plans[id(op)]
    part = k.fresh(f"v{value.id}_part")
    _in_registers(k, op, plan, part, ty)
    _in_warps(k, op, plan, part, ty)
    if not plan.buffer:
        with k.registers(plan.own):
            text = settle(k.indexed(part, plan.own), ty, ty, k.helpers)
            k.declare(value, plan.own, text, op.span)
        return
    _publish(k, op, plan, part, ty)
    for wanted in k.layouts(op):
        _collect(k, op, plan, wanted, ty)


def _in_registers(k: BlockedKernel, op: SSAOp, plan: Plan, part: str, ty: ScalarType) -> None:
    tile, count = plan.tile, plan.own.count
    inner = [a for a in reversed(tile.order) if a in plan.reduced and tile.registers(a) > 1]
    steps = 1
    for a in inner:
        steps *= tile.registers(a)
    k.line(f"{value_type(ty)} {part}{f'[{count}]' if count > 1 else ''};", op.span)
    outer = Registers(plan.own)
    target = f"{part}[r]" if count > 1 else part

    def source(place: str) -> str:
        walkers = Registers(layout(tile, list(inner)), place)
        parts = [(a, walkers.part(a)) for a in inner]
        parts += [(a, outer.part(a)) for a in plan.own.used]
        whole = k.demand.source(op, plan.own)
        with k.registers(whole, Registers(whole, "", tuple(parts) or ((-1, "0"),))):
            return k.converted_source(op, plan.own)

    with k.unrolled("r", count, op.span):
        k.line(f"{target} = {source('0')};", op.span)
        if steps > 1:
            with k.unrolled("s", steps, op.span, start=1):
                k.line(f"{target} = {combine(op.opcode, target, source('s'), ty)};", op.span)


def _in_warps(k: BlockedKernel, op: SSAOp, plan: Plan, part: str, ty: ScalarType) -> None:
    for axis in plan.reduced:
        low = plan.tile.steps[axis]
        high = min(WARP, low * plan.tile.threads[axis])
        if low >= high:
            continue
        with k.unrolled("r", plan.own.count, op.span):
            target = f"{part}[r]" if plan.own.count > 1 else part
            k.line("#pragma unroll", op.span)
            with k.block(f"for (int step = {low}; step < {high}; step *= 2)", op.span):
                kind = value_type(ty)
                sent = target if ty.bits >= 32 or ty.is_floating() else f"(int){target}"
                got = f"__shfl_xor_sync(0xffffffffu, {sent}, step)"
                got = got if sent == target else f"({kind}){got}"
                # In a variable: the shuffle must be done once, by all.
                k.line(f"{kind} other = {got};", op.span)
                k.line(f"{target} = {combine(op.opcode, target, 'other', ty)};", op.span)


def _publish(k: BlockedKernel, op: SSAOp, plan: Plan, part: str, ty: ScalarType) -> None:
    """One thread for each part of each result writes it to shared memory."""
    tile = plan.tile
    scratch = k.shared(plan.buffer, ty, plan.results * plan.parts)
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
        statement = f"{scratch}[{index}] = {k.indexed(part, plan.own)};"
        k.guarded(every, statement, op.span)
    k.line("__syncthreads();", op.span)


def _collect(k: BlockedKernel, op: SSAOp, plan: Plan, wanted: Layout, ty: ScalarType) -> None:
    """Every thread combines the parts of the results it needs."""
    (value,) = op.results
    scratch, extents = k.shared(plan.buffer, ty, 0), shape_of(value.ty)
    with k.registers(wanted):
        place = k.position(wanted, extents, clamp=True)
        texts: Iterable[str] = (
            f"{scratch}[{_plus(place, number * plan.results)}]" for number in range(plan.parts)
        )
        found = list(texts)
        while len(found) > 1:
            found = [
                combine(op.opcode, found[n], found[n + 1], ty) if n + 1 < len(found) else found[n]
                for n in range(0, len(found), 2)
            ]
        k.declare(value, wanted, settle(found[0], ty, ty, k.helpers), op.span)


def _plus(place: str, offset: int) -> str:
    if place == "0":
        return str(offset)
    return f"{place} + {offset}" if offset else place
