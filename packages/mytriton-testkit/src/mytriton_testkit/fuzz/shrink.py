"""Shrinking a failing program: smaller SSA that still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mytriton.interpreter.machine import run
from mytriton.ir.registry import get
from mytriton.ir.types import ScalarType
from mytriton.ir.values import (
    Constant,
    Region,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
    walk,
)
from mytriton.verify import verify

from .program import Program

Replace = dict[int, SSAOperand]


def _rewritten(
    items: Sequence[SSAItem], drop: SSAItem | None, swap: Replace, instead: Sequence[SSAItem] = ()
) -> list[SSAItem]:
    """The items with ``instead`` in the place of ``drop`` and with values replaced."""
    found: list[SSAItem] = []
    for item in items:
        if item is drop:
            found += _rewritten(instead, None, swap)
            continue
        inputs = [_swapped(o, swap) for o in item.inputs]
        regions = [
            Region(
                r.args,
                _rewritten(r.body, drop, swap, instead),
                tuple(_swapped(o, swap) for o in r.yields),
            )
            for r in item.regions
        ]
        found.append(item.rebuild(inputs, regions))
    return found


def _swapped(operand: SSAOperand, swap: Replace) -> SSAOperand:
    return swap.get(operand.id, operand) if isinstance(operand, SSAValue) else operand


def without_dead(items: Sequence[SSAItem]) -> list[SSAItem]:
    """The items that a store needs (loads that nothing uses go too)."""
    found = list(items)
    while True:
        used: set[int] = set()
        for item in walk(found):
            used.update(o.id for o in item.inputs if isinstance(o, SSAValue))
            used.update(o.id for r in item.regions for o in r.yields if isinstance(o, SSAValue))
        live = _kept(found, used)
        if sum(1 for _ in walk(live)) == sum(1 for _ in walk(found)):
            return live
        found = live


def _kept(items: Sequence[SSAItem], used: set[int]) -> list[SSAItem]:
    kept: list[SSAItem] = []
    for item in items:
        if item.regions:
            regions = [Region(r.args, _kept(r.body, used), r.yields) for r in item.regions]
            stores = any(inner.opcode == "store" for r in regions for inner in walk(r.body))
            if stores or any(r.id in used for r in item.results):
                kept.append(item.rebuild(item.inputs, regions))
        elif item.opcode == "store" or any(r.id in used for r in item.results):
            kept.append(item)
    return kept


def _with_body(program: Program, items: Sequence[SSAItem]) -> Program:
    function = program.function
    body = without_dead(items)
    return replace(program, function=SSAFunction(function.name, function.params, body))


def candidates(program: Program) -> Iterator[Program]:
    """Programs one step smaller, the boldest first."""
    body = program.function.body
    if program.grid != (1, 1, 1):
        yield replace(program, grid=(1, 1, 1))
    items = [item for item in walk(body) if item.opcode in ("store", "for", "while", "if")]
    for item in reversed(items):
        if item.opcode == "if":
            for region in item.regions:
                swap = dict(zip((r.id for r in item.results), region.yields, strict=True))
                yield _with_body(program, _rewritten(body, item, swap, region.body))
            continue
        inputs = item.inputs[3:] if item.opcode == "for" else item.inputs
        swap = dict(zip((r.id for r in item.results), inputs, strict=False))
        yield _with_body(program, _rewritten(body, item, swap))
    for item in reversed(list(walk(body))):
        plain = isinstance(item, SSAOp) and not item.regions
        if item.opcode == "load" or (plain and get(item.opcode).pure):
            for stand_in in _stand_ins(item):
                swap = {item.results[0].id: stand_in}
                yield _with_body(program, _rewritten(body, item, swap))
    for param in program.function.params:
        if program.scalars.get(param.name) not in (None, 0, 1) and param.name.startswith(
            ("k", "s")
        ):
            yield replace(program, scalars={**program.scalars, param.name: 1})


def _stand_ins(item: SSAItem) -> Iterator[SSAOperand]:
    """What could stand in the place of a result."""
    (result,) = item.results
    for operand in item.inputs:
        if operand is not None and operand_type(operand) == result.ty:
            yield operand
    if isinstance(result.ty, ScalarType):
        yield Constant(1, result.ty)


def _size(program: Program) -> tuple[int, int]:
    x, y, z = program.grid
    return sum(1 for _ in walk(program.function.body)), x * y * z + sum(
        map(bool, program.scalars.values())
    )


def shrink(program: Program, fails: Callable[[Program], bool], budget: int = 400) -> Program:
    """The smallest program found within ``budget`` tries for which ``fails`` still holds.

    ``fails`` only gets programs that are defined.
    """
    tries = 0
    progress = True
    while progress and tries < budget:
        progress = False
        for candidate in candidates(program):
            if _size(candidate) >= _size(program):
                continue
            tries += 1
            if tries > budget:
                break
            if is_defined(candidate) and fails(candidate):
                program, progress = candidate, True
                break
    return program


def is_defined(program: Program) -> bool:
    """Whether a program is verified and clean under the strict checks of the interpreter."""
    try:
        verify(program.function)
        run(
            program.function,
            program.launch_values(program.arguments()),
            program.grid,
            sanitize=True,
        )
    except Exception:
        return False
    return True
