"""Structured loops: ``scf.for`` with one ``iter_arg`` per carried value and layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mytriton.plugin_api import (
    I32,
    I64,
    Constant,
    PointerType,
    ScalarType,
    SSAForRange,
    SSAOperand,
    SSAValue,
    element_of,
    scalar_of,
)

from .arithmetic import choose, compare
from .pointers import Pointer
from .scalars import memref, value_type

if TYPE_CHECKING:
    from mytriton.analysis.threads import Layout

    from .kernel import Kernel


@dataclass
class _Carried:
    """One carried value in one layout: as many ``iter_args`` as it has parts."""

    start: SSAOperand
    arg: SSAValue
    end: SSAOperand
    result: SSAValue
    layout: Layout
    #: For pointers that stay in one array: its memref.
    base: str = ""

    @property
    def element(self) -> ScalarType | None:
        """The element type of a pointer."""
        element = element_of(self.arg.ty)
        return element.element if isinstance(element, PointerType) else None

    def types(self) -> list[str]:
        """The types of the parts."""
        if self.element is None:
            return [value_type(scalar_of(self.arg.ty))]
        return ["index"] if self.base else [memref(self.element), "index"]

    def parts(self, k: Kernel, operand: SSAOperand) -> list[str]:
        """The parts of an operand."""
        if self.element is None:
            return [k.value(operand, self.layout)]
        pointer = k.pointer(operand, self.layout)
        index = pointer.index or k.body.index(0)
        return [index] if self.base else [pointer.base, index]

    def bind(self, k: Kernel, value: SSAValue, names: list[str]) -> None:
        """Say which names a value goes by."""
        if self.element is None:
            k.bind(value, self.layout, names[0])
        else:
            base = self.base or names[0]
            k.bind(value, self.layout, Pointer(base, self.element, names[-1]))


def write_loop(k: Kernel, loop: SSAForRange) -> None:
    """Write a loop with its body."""
    carried = list(_carried(k, loop))
    types = [ty for each in carried for ty in each.types()]
    starts = [name for each in carried for name in each.parts(k, each.start)]
    names: list[str] = []
    for each in carried:
        mine = _names(k, each)
        each.bind(k, each.arg, mine)
        names += mine
    bounds, index = _bounds(k, loop)
    head = ""
    if carried:
        inits = ", ".join(f"{name} = {start}" for name, start in zip(names, starts, strict=True))
        head = f" iter_args({inits}) -> ({', '.join(types)})"
    results = _results(k, carried, len(types))
    opening = f"{results} = " if results else ""
    with k.body.block(f"{opening}scf.for {bounds.head}{head} : {value_type(bounds.ty)}"):
        k.bind(loop.index, (), index)
        for line in filter(None, bounds.index.split("\n")):
            k.body.line(line)
        k.items(loop.body)
        yields = [name for each in carried for name in each.parts(k, each.end)]
        if yields:
            k.body.line(f"scf.yield {', '.join(yields)} : {', '.join(types)}")


def _carried(k: Kernel, loop: SSAForRange) -> list[_Carried]:
    lanes = zip(loop.carried_inputs, loop.carried_args, loop.yields, loop.results, strict=True)
    found = []
    for start, arg, end, result in lanes:
        roots = k.roots.get(arg.id, frozenset())
        base = ""
        if len(roots) == 1:
            base = k.base_of(*roots)
        for layout in k.demand.of(result):
            found.append(_Carried(start, arg, end, result, layout, base))
    return found


def _names(k: Kernel, each: _Carried) -> list[str]:
    name = k.name(each.arg, each.layout)
    if len(each.types()) == 1:
        return [f"%{name}"]
    return [f"%{k.body.names.fresh(f'{name}_base')}", f"%{name}"]


def _results(k: Kernel, carried: list[_Carried], count: int) -> str:
    """Name the results: after the value if there is one, else together."""
    if not carried:
        return ""
    if count == 1:
        (each,) = carried
        name = f"%{k.name(each.result, each.layout)}"
        each.bind(k, each.result, [name])
        return name
    name = "%" + k.body.names.fresh(f"loop{carried[0].result.id}")
    place = 0
    for each in carried:
        width = len(each.types())
        each.bind(k, each.result, [f"{name}#{place + n}" for n in range(width)])
        place += width
    return f"{name}:{count}"


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
