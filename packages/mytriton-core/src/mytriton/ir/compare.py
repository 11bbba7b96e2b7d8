"""Comparison of SSA by structure and bits: NaN equals itself, ``-0.0`` differs from ``0.0`` and
``1`` from ``1.0`` and ``True``. Iterative, so that nesting depth does not matter."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any


def attribute_key(value: Any) -> Any:
    """A hashable key that two attribute values share exactly when they are the same."""
    if type(value) is tuple:
        return (tuple, *map(attribute_key, value))
    if type(value) is float:
        return (float, struct.pack("<d", value))
    return (type(value), value)


def attributes_key(attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The key of all attributes of an operation, whatever their order."""
    if not attrs:
        return ()
    return tuple((name, attribute_key(attrs[name])) for name in sorted(attrs))


def _same_attributes(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    if a is b or not (a or b):
        return True
    return a.keys() == b.keys() and all(
        attribute_key(value) == attribute_key(b[name]) for name, value in a.items()
    )


def same_items(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two bodies are equal. Spans do not count."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if len(one) != len(other):
            return False
        for a, b in zip(one, other, strict=False):
            if a is b:
                continue
            if type(a) is not type(b) or a.opcode != b.opcode or a.inputs != b.inputs:
                return False
            if a.results != b.results or not _same_attributes(a.attrs, b.attrs):
                return False
            regions_a, regions_b = a.regions, b.regions
            if len(regions_a) != len(regions_b):
                return False
            for inner, outer in zip(regions_a, regions_b, strict=False):
                if inner.args != outer.args or inner.yields != outer.yields:
                    return False
                stack.append((inner.body, outer.body))
    return True
