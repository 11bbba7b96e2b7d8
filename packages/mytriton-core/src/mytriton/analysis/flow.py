"""Which operands the values of an item may come from: how facts travel through control flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..ir.values import SSAForRange, SSAItem, SSAOperand, SSAValue

Flow = tuple[SSAValue, Sequence[SSAOperand], Sequence[SSAOperand]]


def flows(item: SSAItem) -> Iterator[Flow]:
    """Every value an item defines, with the operands it may be equal to (or computed from), and the
    operands that only decide which of those it is."""
    if isinstance(item, SSAForRange):
        bounds = (item.start, item.stop, item.step)
        yield item.index, bounds, ()
        yield from _lanes(
            item.carried_inputs, item.yields, (item.carried_args, item.results), bounds
        )
    elif item.opcode == "if":
        then, other = item.regions
        for result, a, b in zip(item.results, then.yields, other.yields, strict=True):
            yield result, (a, b), item.inputs
    elif item.opcode == "while":
        condition, body = item.regions
        values = (condition.args, body.args, item.results)
        yield from _lanes(item.inputs, body.yields, values, condition.yields)
    else:
        inputs = [*item.inputs, *(v for region in item.regions for v in region.yields)]
        for region in item.regions:
            for arg in region.args:
                yield arg, inputs, ()
        for result in item.results:
            yield result, inputs, ()


def _lanes(
    first: Sequence[SSAOperand],
    following: Sequence[SSAOperand],
    values: Sequence[Sequence[SSAValue]],
    decides: Sequence[SSAOperand],
) -> Iterator[Flow]:
    for k, lane in enumerate(zip(*values, strict=True)):
        for value in lane:
            yield value, (first[k], following[k]), decides
