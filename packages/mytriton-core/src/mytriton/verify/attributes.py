"""Rules about attributes."""

from __future__ import annotations

from typing import Any

from ..errors import VerificationError
from ..ir.registry import OpDef
from ..ir.text import MAX_DEPTH
from ..ir.types import BlockType, PointerType, ScalarType
from ..ir.values import SSAOp

#: What an attribute may hold (tuples of these too): what the text form can say.
_PLAIN = (bool, int, float, str, ScalarType, PointerType, BlockType, type(None))


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether the text form can spell ``value``."""
    if type(value) is tuple:
        return depth < MAX_DEPTH and all(is_plain(v, depth + 1) for v in value)
    return type(value) in _PLAIN


def check_attributes(item: SSAOp, definition: OpDef) -> None:
    """Required attributes are there, no others but optional ones, values are plain data."""
    names = definition.attrs
    attrs = item.attrs
    # The usual case: exactly the declared names.
    if tuple(attrs) != names:
        known = {name.rstrip("?") for name in names}
        for name in names:
            if not name.endswith("?") and name not in attrs:
                raise VerificationError(f"{item.opcode} needs the attribute {name!r}", item.span)
        for name in attrs:
            if name not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise VerificationError(
                    f"{item.opcode} has no attribute {name!r} (it has: {listed})", item.span
                )
    for name, value in attrs.items():
        if not is_plain(value):
            raise VerificationError(
                f"{item.opcode}: the attribute {name!r} is a {type(value).__name__}, not a"
                " bool, int, float, string, type, None or a tuple of these",
                item.span,
            )
