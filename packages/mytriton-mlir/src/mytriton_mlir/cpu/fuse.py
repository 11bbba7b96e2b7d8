"""``x + dot(a, b)`` is ``dot(a, b, x)``: the product then accumulates where ``x`` is."""

from __future__ import annotations

from collections.abc import Sequence

import mytriton.plugin_api as mt


def fuse_products(function: mt.SSAFunction) -> mt.SSAFunction:
    """The function with sums of products made accumulators, where nothing else uses the product."""
    if not any(item.opcode == "dot" for item in mt.walk(function.body)):
        return function
    uses: dict[int, int] = {}
    for item in mt.walk(function.body):
        for operand in [*item.inputs, *(v for region in item.regions for v in region.yields)]:
            if isinstance(operand, mt.SSAValue):
                uses[operand.id] = uses.get(operand.id, 0) + 1
    return mt.SSAFunction(function.name, function.params, _body(function.body, uses))


def _body(items: Sequence[mt.SSAItem], uses: dict[int, int]) -> list[mt.SSAItem]:
    products = {
        item.results[0].id: item
        for item in items
        if isinstance(item, mt.SSAOp) and item.opcode == "dot" and item.operands[2] is None
    }
    fused: dict[int, mt.SSAOp] = {}
    gone: set[int] = set()
    for item in items:
        if isinstance(item, mt.SSAOp) and item.opcode == "add":
            for product, other in (item.operands, item.operands[::-1]):
                if not isinstance(product, mt.SSAValue) or product.id in gone:
                    continue
                op = products.get(product.id)
                if op is None or uses[product.id] != 1 or not isinstance(other, mt.SSAValue):
                    continue
                if not product.ty == other.ty == item.results[0].ty:
                    continue
                a, b, _ = op.operands
                fused[id(item)] = mt.SSAOp("dot", (a, b, other), item.result, op.attrs, (), op.span)
                gone.add(product.id)
                break
    found: list[mt.SSAItem] = []
    for item in items:
        if id(item) in fused:
            found.append(fused[id(item)])
        elif item.results and item.results[0].id in gone:
            continue
        elif item.regions:
            regions = [mt.Region(r.args, _body(r.body, uses), r.yields) for r in item.regions]
            found.append(item.rebuild(item.inputs, regions))
        else:
            found.append(item)
    return found
