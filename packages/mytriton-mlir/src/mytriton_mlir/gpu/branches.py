"""Branches and loops with a condition: ``scf.if`` and ``scf.while``. Every thread takes the same way,
since every thread computes the same condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mytriton.plugin_api import SSAOp

from .carried import all_names, all_parts, all_types, carried, opening, terminate

if TYPE_CHECKING:
    from .kernel import Kernel


def write_if(k: Kernel, op: SSAOp) -> None:
    """Write a branch with its regions."""
    lanes = carried(k, op.results)
    then, other = op.regions
    condition = k.value(op.operands[0], ())
    results = opening(k, lanes, op.results, "if")
    types = f" -> ({', '.join(all_types(lanes))})" if lanes else ""
    both = bool(lanes or other.body)
    with k.body.block(f"{results}scf.if {condition}{types}", "} else {" if both else "}"):
        k.items(then.body)
        terminate(k, lanes, then.yields)
    if both:
        with k.body.deeper():
            k.items(other.body)
            terminate(k, lanes, other.yields)
        k.body.line("}")


def write_while(k: Kernel, op: SSAOp) -> None:
    """Write a loop with its condition and its body."""
    lanes, (condition, body) = carried(k, op.results), op.regions
    types = ", ".join(all_types(lanes))
    starts = all_parts(k, lanes, op.operands)
    results = opening(k, lanes, op.results, "while")
    names = all_names(k, lanes, condition.args)
    inits = ", ".join(f"{name} = {start}" for name, start in zip(names, starts, strict=True))
    head = f" ({inits})" if lanes else ""
    with k.body.block(f"{results}scf.while{head} : ({types}) -> ({types})", "} do {"):
        k.items(condition.body)
        handed = f" {', '.join(names)} : {types}" if lanes else ""
        k.body.line(f"scf.condition({k.value(condition.yields[0], ())}){handed}")
    names = all_names(k, lanes, body.args)
    if lanes:
        listed = zip(names, all_types(lanes), strict=True)
        k.body.line(f"^bb0({', '.join(f'{name}: {ty}' for name, ty in listed)}):")
    with k.body.deeper():
        k.items(body.body)
        terminate(k, lanes, body.yields)
        if not lanes:
            k.body.line("scf.yield")
    k.body.line("}")
