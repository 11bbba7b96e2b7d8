"""Structured loops: ``scf.for`` with one ``iter_arg`` per carried value and layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mytriton.plugin_api import I32, I64, Constant, ScalarType, SSAForRange, scalar_of

from .arithmetic import choose, compare
from .carried import all_names, all_parts, all_types, carried, opening, terminate
from .scalars import value_type

if TYPE_CHECKING:
    from .kernel import Kernel


def write_loop(k: Kernel, loop: SSAForRange) -> None:
    """Write a loop with its body."""
    lanes = carried(k, loop.results)
    starts = all_parts(k, lanes, loop.carried_inputs)
    names = all_names(k, lanes, loop.carried_args)
    bounds, index = _bounds(k, loop)
    head = ""
    if lanes:
        inits = ", ".join(f"{name} = {start}" for name, start in zip(names, starts, strict=True))
        head = f" iter_args({inits}) -> ({', '.join(all_types(lanes))})"
    results = opening(k, lanes, loop.results, "loop")
    with k.body.block(f"{results}scf.for {bounds.head}{head} : {value_type(bounds.ty)}"):
        k.bind(loop.index, (), index)
        for line in filter(None, bounds.index.split("\n")):
            k.body.line(line)
        k.items(loop.body)
        terminate(k, lanes, loop.yields)


@dataclass
class _Bounds:
    """What a loop counts, and how the index of SSA comes from it."""

    head: str
    ty: ScalarType
    #: ``""``: the counter is the index. Else the text that gives the index.
    index: str = ""


def _bounds(k: Kernel, loop: SSAForRange) -> tuple[_Bounds, str]:
    """The counter of a loop, and the name of its index. The counter never overflows: where the
    index might, past the last trip, a wider counter or the number of trips is counted."""
    ty, name = scalar_of(loop.index.ty), f"v{loop.index.id}"
    start, stop = k.value(loop.start, ()), k.value(loop.stop, ())
    step = k.value(loop.step, ())
    assert isinstance(loop.step, Constant)
    if _fits(loop, ty):
        return _Bounds(f"%{name} = {start} to {stop} step {step}", ty), f"%{name}"
    body = k.body
    if ty == I32:
        wide = [body.define(f"arith.extsi {n} : i32 to i64", f"{name}_{w}")
                for n, w in ((start, "start"), (stop, "stop"))]  # fmt: skip
        counter = "%" + body.names.fresh(f"{name}_wide")
        by = body.number(int(loop.step.value), I64)
        head = f"{counter} = {wide[0]} to {wide[1]} step {by}"
        text = f"%{name} = arith.trunci {counter} : i64 to i32"
        return _Bounds(head, I64, text), f"%{name}"
    zero, one = body.number(0, ty), body.number(1, ty)
    spelled = value_type(ty)
    span = body.define(f"arith.subi {stop}, {start} : {spelled}", f"{name}_span")
    last = body.define(f"arith.subi {span}, {one} : {spelled}", f"{name}_last")
    whole = body.define(f"arith.divui {last}, {step} : {spelled}", f"{name}_whole")
    trips = body.define(f"arith.addi {whole}, {one} : {spelled}", f"{name}_count")
    some = body.define(compare("<", start, stop, ty), f"{name}_some")
    count = body.define(choose(some, trips, zero, ty), f"{name}_trips")
    counter = "%" + body.names.fresh(f"{name}_trip")
    offset = "%" + body.names.fresh(f"{name}_offset")
    text = f"{offset} = arith.muli {counter}, {step} : {spelled}\n"
    text += f"%{name} = arith.addi {start}, {offset} : {spelled}"
    return _Bounds(f"{counter} = {zero} to {count} step {one}", ty, text), f"%{name}"


def _fits(loop: SSAForRange, ty: ScalarType) -> bool:
    """Whether the index after the last trip is a number of its type, for sure."""
    assert isinstance(loop.step, Constant)
    step, top = loop.step.value, ty.int_range()[1]
    return step == 1 or (isinstance(loop.stop, Constant) and loop.stop.value - 1 + step <= top)
