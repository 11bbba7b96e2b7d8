"""Loops and branches. Every thread of a program takes the same way: conditions are scalars that all
of them compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mytriton.plugin_api import Constant, SSAForRange, SSAItem, SSAOperand, SSAValue

from .loops import bounds_check
from .scalars import literal, value_type

if TYPE_CHECKING:
    from .kernel import Kernel

#: A variable, what it becomes at the end of a trip, in which layout, and the value it stands for.
Move = tuple[str, SSAOperand, Any, SSAValue]


def control(k: Kernel, item: SSAItem) -> None:
    """Write a loop or a branch that has to run."""
    if isinstance(item, SSAForRange):
        _for(k, item)
    elif item.opcode == "if":
        _if(k, item)
    else:
        _while(k, item)


def _for(k: Kernel, loop: SSAForRange) -> None:
    moves = _carried(k, loop, [loop.carried_args], loop.carried_inputs, loop.yields)
    index, stop = f"v{loop.index.id}", k.scalar(loop.stop)
    k.name_scalar(loop.index, index)
    assert isinstance(loop.step, Constant)
    kind, step = value_type(loop.index.ty), literal(loop.step)
    start = k.scalar(loop.start)
    head = f"for ({kind} {index} = {start}; {index} < {stop}; {index} += {step})"
    with k.block(head, loop.span):
        k.items(loop.body)
        k.carry(moves, loop.span)
        for text in bounds_check(loop, index, stop):
            k.line(text, loop.span)


def _while(k: Kernel, item: SSAItem) -> None:
    condition, body = item.regions
    moves = _carried(k, item, [condition.args, body.args], item.inputs, body.yields)
    with k.block("while (true)", item.span):
        k.items(condition.body)
        with k.block(f"if (!{_factor(k.scalar(condition.yields[0]))})", item.span):
            k.line("break;", item.span)
        k.items(body.body)
        k.carry(moves, item.span)


def _if(k: Kernel, item: SSAItem) -> None:
    then, other = item.regions
    results = [
        (lane, layout, k.declare(result, layout, None, item.span))
        for lane, result in enumerate(item.results)
        for layout in k.needed(result)
    ]
    head = f"if ({k.scalar(item.inputs[0])})"
    for region in (then, other):
        if region is other and not (other.body or results):
            break
        with k.block(head, item.span):
            k.items(region.body)
            for lane, layout, name in results:
                with k.registers(layout):
                    text = k.text(region.yields[lane], layout)
                k.assign(name, layout, text, item.span)
            k.flush()
        head = "else"


def _carried(k: Kernel, item: SSAItem, arguments: Any, inputs: Any, ends: Any) -> list[Move]:
    """Declare the variables of what a loop carries: each is its argument and its result."""
    moves = []
    for lane, result in enumerate(item.results):
        for layout in k.needed(result):
            with k.registers(layout):
                text = k.text(inputs[lane], layout)
            name = k.declare(result, layout, text, item.span)
            own = [args[lane] for args in arguments]
            for arg in own:
                k.name(arg, layout, name)
            if ends[lane] not in own:
                moves.append((name, ends[lane], layout, result))
    return moves


def _factor(text: str) -> str:
    plain = text.replace("_", "").isalnum() or (text.startswith("(") and text.endswith(")"))
    return text if plain else f"({text})"
