"""Reductions inside a nest: how they start, take in lanes, and end.

A reduction along the vector axis, or of the whole block, is carried round the loops in a vector of
partial results; one along another axis is kept in scratch memory, one partial result for each
element of the result. ``max`` and ``min`` of floats carry both extremes: the result is NaN exactly
if neither saw a number, and each costs one instruction where IEEE's ``fmax`` costs three.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mytriton.plugin_api as mt

from . import values
from .builder import Builder, Val


@dataclass(frozen=True)
class Part:
    """One accumulator: its neutral element, how it takes in a value, and the horizontal step."""

    neutral: float
    op: str
    #: ``arith`` operation, or ``""`` with a float predicate for a select.
    arith: str = ""
    predicate: str = ""


def parts(name: str, ty: mt.ScalarType) -> tuple[Part, ...]:
    """The accumulators of reduction ``name`` over elements of type ``ty``."""
    if ty.is_bool():
        op = {"sum": "xor", "xor_sum": "xor", "max": "or", "min": "and"}[name]
        return (Part(name == "min", op, f"arith.{op}i"),)
    if ty.is_floating():
        if name == "sum":
            # -0.0 + x is x, for every x.
            return (Part(-0.0, "add", "arith.addf"),)
        top = Part(-math.inf, "maxnumf", predicate="ogt")
        low = Part(math.inf, "minnumf", predicate="olt")
        return (top, low) if name == "max" else (low, top)
    if name in ("sum", "xor_sum"):
        op = "add" if name == "sum" else "xor"
        return (Part(0, op, f"arith.{op}i"),)
    least, most = ty.int_range()
    letter = "s" if ty.is_signed() else "u"
    op = f"{name}{letter}i"
    return (Part(least if name == "max" else most, op, f"arith.{op}"),)


def neutral(b: Builder, part: Part, ty: mt.ScalarType, width: int) -> Val:
    return values.literal(b, part.neutral, ty, width)


def take(b: Builder, part: Part, total: Val, val: Val) -> Val:
    """``total`` with ``val`` taken in, lane by lane."""
    if part.arith == "arith.addf":
        return b.binary(part.arith, total, val, " fastmath<contract>")
    if part.arith:
        return b.binary(part.arith, total, val)
    # A NaN compares false: the old value stays.
    return b.select(b.compare("arith.cmpf", part.predicate, val, total), val, total)


def across(b: Builder, part: Part, total: Val) -> Val:
    """One value from all lanes."""
    if not total.width:
        return total
    flags = ""
    if part.op == "add" and total.kind[0] == "f":
        flags = " fastmath<reassoc>"
    elif part.predicate:
        flags = " fastmath<nnan>"
    text = f"vector.reduction <{part.op}>, {total.name}{flags} : {total.type} into {total.kind}"
    return b.emit(text, total.kind, 0, (total,))


def finish(b: Builder, name: str, ty: mt.ScalarType, totals: Sequence[Val]) -> Val:
    """The result from the accumulators (scalars, or lanes of different results)."""
    first = totals[0]
    if len(totals) == 2:
        # Nothing was larger than the neutral element, and nothing smaller: all were NaN.
        top, low = (totals[0], totals[1]) if name == "max" else (totals[1], totals[0])
        w = first.width
        none = b.compare("arith.cmpf", "ogt", low, top)
        first = b.select(none, b.constant(math.nan, first.kind, w), first)
    return values.settle(b, first, ty)
