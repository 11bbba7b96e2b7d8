"""Lanes loaded and stored one after another, in a short loop: where lanes are expected to follow one
another, the code for when they do not should at least be small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import values
from .builder import Level, Val

if TYPE_CHECKING:
    from .evaluate import Evaluator
    from .memory import Access


def _stage(e: Evaluator, val: Val, level: Level, what: str) -> Val:
    """Write a vector to scratch memory."""
    if val.kind == "i1":
        val = e.b.cast("arith.extui", val, "i8")
    place = e.scratch(val.width * values.bits_of(val.kind) // 8, f"{what} of {val.kind}")
    e.b.line(level, f"llvm.store {val.name}, {place.name} : {val.type}, !llvm.ptr")
    return place


def _each_lane(e: Evaluator, access: Access, kept: Val, level: Level, *, load: bool) -> None:
    """Move every lane that the mask lets through between memory and ``kept``."""
    b, kind = e.b, access.kind
    offsets = access.offset
    width = offsets.width
    assert access.base is not None
    where = _stage(e, offsets, level, "offsets")
    mask = access.mask
    flags = _stage(e, b.spread(mask, width), level, "flags") if mask is not None else None
    body = Level(level.depth + 1)
    lane = Val(b.name("k"), "i64", 0, body)
    inner = body
    if flags is not None:
        flag = e.load_at(e.element(flags, lane, "i8"), "i8", 0, body)
        chosen = b.compare("arith.cmpi", "ne", flag, b.constant(0, "i8"))
        inner = Level(body.depth + 1)
    offset = e.load_at(e.element(where, lane, "i64"), "i64", 0, inner, aligned=True)
    place = e.element(access.base, offset, kind)
    slot = e.element(kept, Val(lane.name, "i64", 0, inner), kind)
    source, to = (place, slot) if load else (slot, place)
    val = e.load_at(source, kind, 0, inner)
    b.line(inner, f"llvm.store {val.name}, {to.name} {{alignment = 1 : i64}} : {kind}, !llvm.ptr")
    if flags is not None:
        b.line(body, f"scf.if {chosen.name} {{")
        body.lines.extend(inner.lines)
        b.line(body, "}")
    ends = (b.constant(n, "i64") for n in (0, width, 1))
    low, high, step = ends
    b.loop(level, lane.name, (low, high, step), [], body, [])


def load_lanes(e: Evaluator, access: Access, fill: Val, level: Level) -> Val:
    """What memory holds at the lanes; ``fill`` where the mask is false."""
    kept = _stage(e, fill, level, "lanes")
    _each_lane(e, access, kept, level, load=True)
    return e.load_at(kept, access.kind, fill.width, level)


def store_lanes(e: Evaluator, access: Access, val: Val, level: Level) -> None:
    """Write the lanes that the mask lets through, the first lane first."""
    kept = _stage(e, val, level, "lanes")
    _each_lane(e, access, kept, level, load=False)
