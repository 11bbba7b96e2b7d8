"""Operations that meet their operands in shared memory: which barriers they need, and who writes
them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mytriton.analysis.threads.barriers import Access, Barriers, State
from mytriton.plugin_api import SSAFunction, SSAOp, scalar_of, shape_of

from ..reduction import Room, at, combine_with, rooms
from .demand import Demand, shape
from .products import buffers, product
from .reductions import Plan, buffer_of, reduction
from .tiles import SCALAR

if TYPE_CHECKING:
    from .kernel import BlockedKernel


class BlockedBarriers(Barriers):
    """Reductions that stay inside warps have no barrier."""

    def __init__(self, function: SSAFunction, demand: Demand, found: dict[int, Plan]) -> None:
        self._plans = found
        self._wanted = demand
        super().__init__(function, demand)  # type: ignore[arg-type]

    def _reduction(self, op: SSAOp, state: State) -> State:
        used = self._buffers(op)
        if not used:
            return state
        self._step(op, [Access(buffer, True) for buffer in used], state)
        return {(buffer, False): Access(buffer, False) for buffer in used}

    def _buffers(self, op: SSAOp) -> tuple[str, ...]:
        if not any(map(self._wanted.of, op.results)):
            return ()
        if op.opcode == "dot":
            return buffers(op, self._wanted)
        if op.opcode == "reduce":
            return tuple(sorted({buffer_of(scalar_of(r.ty)) for r in op.results}))
        plan = self._plans.get(id(op))
        return plan.buffers if plan is not None else ()


def gathered(k: BlockedKernel, op: SSAOp) -> None:
    """Write such an operation and its results in every layout that is asked for."""
    if op.opcode == "dot":
        product(k, op)
    elif op.opcode == "reduce":
        _with_function(k, op)
    else:
        reduction(k, op)


def _with_function(k: BlockedKernel, op: SSAOp) -> None:
    """A ``reduce``: all of it in shared memory, in row-major order, neighbours first."""
    own = shape(op.operands[0])
    source = k.demand.source(op, SCALAR)
    count, axis = 1, op.attrs.get("axis")
    for n in own:
        count *= n
    found = rooms(k, [(scalar_of(r.ty), count) for r in op.results])
    with k.registers(source):
        place, inside = k.position(source, own), [*k.charged(source), *k.inside(source, own)]
        texts = [
            f"{at(room, place)} = {k.text(o, source)};"
            for room, o in zip(found, op.operands, strict=True)
        ]
    with k.unrolled("r", source.count, op.span):
        k.guarded(inside, texts, op.span)
    k.line("__syncthreads();", op.span)
    extent, inner = count, 1
    if axis is not None:
        extent = own[axis]
        for n in own[axis + 1 :]:
            inner *= n
    if extent > 1:
        _tree(k, op, found, count, extent, inner)
    for result, room in zip(op.results, found, strict=True):
        for wanted in k.needed(result):
            with k.registers(wanted):
                k.declare(
                    result, wanted, at(room, _kept(k, op, wanted, own, extent * inner)), op.span
                )


def _tree(
    k: BlockedKernel, op: SSAOp, found: list[Room], count: int, extent: int, inner: int
) -> None:
    with k.block(f"for (int step = 1; step < {extent}; step *= 2)", op.span):
        # Pair number e of this round: its place among the pairs, and along what lies inside.
        head = f"for (int e = threadIdx.x; e < {count // 2} / step; e += {k.threads})"
        with k.block(head, op.span):
            mine, other = k.fresh("left"), k.fresh("right")
            row = "e" if inner == 1 else f"e / {inner}"
            rest = "" if inner == 1 else f" * {inner} + e % {inner}"
            k.line(f"int {mine} = {row} * 2 * step{rest};", op.span)
            k.line(f"int {other} = {mine} + step{f' * {inner}' if inner > 1 else ''};", op.span)
            combine_with(k, op, found, mine, other)
        k.line("__syncthreads();", op.span)


def _kept(k: BlockedKernel, op: SSAOp, wanted: object, own: tuple[int, ...], group: int) -> str:
    """Where a result lies: its coordinates along the axes that are left."""
    axis = op.attrs.get("axis")
    if axis is None:
        return "0"
    text = k.position(wanted, shape_of(op.results[0].ty), clamp=True)  # type: ignore[arg-type]
    inner = group // own[axis]
    if text == "0" or axis == 0:
        return text
    number = f"({text})"
    return (
        f"{number} * {own[axis]}"
        if inner == 1
        else f"{number} / {inner} * {group} + {number} % {inner}"
    )
