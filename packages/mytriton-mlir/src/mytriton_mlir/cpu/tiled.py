"""Loops that run through register tiles chunk by chunk: what all rows of a strip load is copied
side by side before the rows are walked.

Without it, a matrix whose rows are a power of two apart would keep only a few lines of a strip in
the nearest cache, since they all fall into the same sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mytriton.plugin_api as mt

from . import values
from .builder import Level, Val
from .evaluate import Buffer
from .tile import AxisMap, trailing

if TYPE_CHECKING:
    from .emitter import Emitter

#: Trips of a tiled loop that run before the next tile: their loads stay in the nearest cache.
CHUNK_TRIPS = 128


@dataclass
class Chunk:
    """Some trips of a loop: bounds, and the loads that are copied for the strip at hand."""

    loop: mt.SSAForRange
    low: Val
    high: Val
    step: Val
    packed: list[tuple[mt.SSAOp, AxisMap, Buffer]]


def shared_loads(e: Emitter, loop: mt.SSAForRange, axis: int, rank: int) -> list[mt.SSAOp]:
    """Loads of rows: one strip along ``axis`` for every row of the block, and known from the index
    of the loop alone."""
    inside = {v.id: item for item in loop.body for v in item.results}
    carried = {arg.id for arg in loop.carried_args}
    found = []
    for item in loop.body:
        if not isinstance(item, mt.SSAOp) or item.opcode != "load":
            continue
        shape = mt.shape_of(item.results[0].ty)
        axes = {rank - len(shape) + k for k, extent in enumerate(shape) if extent > 1}
        if axes == {axis} and _independent(e, item, inside, carried):
            found.append(item)
    return found


def _independent(
    e: Emitter, item: mt.SSAItem, inside: dict[int, mt.SSAItem], carried: set[int]
) -> bool:
    pending, seen = [item], set()
    while pending:
        for value in e.facts.needs(pending.pop()):
            if value.id in carried:
                return False
            if value.id in inside and value.id not in seen:
                seen.add(value.id)
                pending.append(inside[value.id])
    return True


def pack(e: Emitter, chunk: Chunk) -> None:
    """Copy the shared loads of every trip of the chunk, for the strip at hand."""
    tile, b = e.tile, e.b
    rank = len(tile.shape)
    chunk.packed = []
    loads = shared_loads(e, chunk.loop, tile.axis, rank)
    if not loads:
        return
    outer, level = b.level, b.push()
    iv = b.name("k")
    enter(e, chunk.loop, iv, level)
    identity = tile.identity()
    slots: list[tuple[mt.SSAOp, AxisMap, Buffer]] = []
    for op in loads:
        result = op.results[0]
        amap = trailing(identity, mt.shape_of(result.ty))
        val = b.spread(e.value(result, amap, 0), tile.width)
        buffer = e.strip_buffer(mt.scalar_of(result.ty), CHUNK_TRIPS * tile.width, len(slots))
        slot = e.element(buffer.pointer, _offset(e, chunk, Val(iv, "i64", 0, level)), buffer.kind)
        kept = b.cast("arith.extui", val, "i8") if val.kind == "i1" else val
        b.line(
            level,
            f"llvm.store {kept.name}, {slot.name} {{alignment = 8 : i64}} : {kept.type}, !llvm.ptr"
            if values.bits_of(kept.kind) >= 64
            else f"llvm.store {kept.name}, {slot.name} {{alignment = 1 : i64}} : {kept.type}, !llvm.ptr",
        )
        slots.append((op, amap, buffer))
    b.pop()
    b.loop(outer, iv, (chunk.low, chunk.high, chunk.step), [], level, [])
    chunk.packed = slots


def unpack(e: Emitter, chunk: Chunk, iv: Val, level: Level) -> None:
    """In the loop itself: the shared loads are found in their copies."""
    for op, amap, buffer in chunk.packed:
        slot = e.element(buffer.pointer, _offset(e, chunk, iv), buffer.kind)
        val = e.load_at(slot, buffer.kind, e.tile.width, level)
        if mt.scalar_of(op.results[0].ty).is_bool():
            val = values.decode(e.b, val, mt.BOOL)
        e.remember_at(op.results[0], amap, 0, val, level)


def _offset(e: Emitter, chunk: Chunk, iv: Val) -> Val:
    trip = e.b.binary("arith.subi", iv, chunk.low)
    if e.constant_of(chunk.loop.step) != 1:
        trip = e.b.binary("arith.divsi", trip, chunk.step)
    return e.b.binary("arith.muli", trip, e.b.constant(e.tile.width, "i64"))


def enter(e: Emitter, loop: mt.SSAForRange, iv: str, level: Level) -> None:
    """The index of a loop in its body; items of the body read memory no further out."""
    for item in loop.body:
        e.homes.update((v.id, level) for v in item.results)
    index = Val(iv, "i64", 0, level)
    kind = values.held(mt.scalar_of(loop.index.ty))
    e.remember(loop.index, (), 0, values.resize(e.b, index, kind, True))


__all__: Sequence[str] = ["CHUNK_TRIPS", "Chunk", "enter", "pack", "unpack"]
