"""Which integers flow only into pointer offsets and masks.

The language licenses plain signed arithmetic for them (language.md section 3): overflow there is
undefined, everywhere else integers wrap.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.registry import lookup
from ..ir.types import is_pointer, scalar_of
from ..ir.values import Region, SSAForRange, SSAFunction, SSAItem, SSAOperand, SSAValue, walk
from .flow import flows


def address_only(function: SSAFunction) -> frozenset[int]:
    """Numbers of the integer and bool values whose every use ends in the offset of an ``addptr`` or
    the mask of an access, however many operations and loops it passes on the way.

    A value that nobody uses is one of them. One that a loop counts to is not.
    """
    # From each value to those that need it to be address-only: what it is computed from.
    sources: dict[int, list[SSAOperand]] = {}
    plain: list[SSAOperand] = []
    values: set[int] = set()
    for item in walk(function.body):
        for value in _defined(item):
            if not is_pointer(value.ty) and not scalar_of(value.ty).is_floating():
                values.add(value.id)
        for operand, results in _flows(item):
            if results is None:
                continue
            through = [r for r in results if isinstance(r, SSAValue)]
            if not through:
                plain.append(operand)
            for result in through:
                sources.setdefault(result.id, []).append(operand)
                if is_pointer(result.ty) or scalar_of(result.ty).is_floating():
                    plain.append(operand)
    while plain:
        operand = plain.pop()
        if isinstance(operand, SSAValue) and operand.id in values:
            values.discard(operand.id)
            plain.extend(sources.get(operand.id, ()))
    return frozenset(values)


def _control(item: SSAItem) -> Iterator[tuple[SSAOperand, tuple[SSAOperand, ...] | None]]:
    for value, sources, _ in flows(item):
        yield from ((source, (value,)) for source in sources)
    yield (item.inputs[0] if item.opcode == "if" else item.regions[0].yields[0]), ()


def _defined(item: SSAItem) -> Iterator[SSAValue]:
    yield from item.results
    for region in item.regions:
        yield from region.args


def _flows(item: SSAItem) -> Iterator[tuple[SSAOperand, tuple[SSAOperand, ...] | None]]:
    """Each operand with the values it flows into: ``()`` for a use that is neither an address nor
    a mask, ``None`` for one that ends there."""
    if isinstance(item, SSAForRange):
        yield from ((bound, ()) for bound in (item.start, item.stop, item.step))
        lanes = zip(item.carried_inputs, item.carried_args, item.yields, item.results, strict=True)
        for start, arg, end, result in lanes:
            # An argument and its result are one variable.
            yield start, (arg, result)
            yield end, (arg, result)
        return
    if item.opcode in ("if", "while"):
        yield from _control(item)
        return
    # What enters and leaves any other region is computed with there.
    yield from ((end, ()) for region in item.regions for end in region.yields)
    definition = lookup(item.opcode)
    names = definition.operands if definition is not None else ()
    passes = definition is not None and definition.pure and not item.regions
    passes = passes and (definition.elementwise or item.opcode == "expand_dims")  # type: ignore[union-attr]
    for k, operand in enumerate(item.inputs):
        name = names[k] if k < len(names) else ""
        if name == "mask?" or (item.opcode == "addptr" and name == "offset"):
            yield operand, None
        elif item.opcode == "addptr" or passes:
            yield operand, item.results
        else:
            yield operand, ()
    for region in item.regions:
        yield from _yielded(region)


def _yielded(region: Region) -> Iterator[tuple[SSAOperand, tuple[SSAOperand, ...]]]:
    yield from ((operand, ()) for operand in region.yields)
