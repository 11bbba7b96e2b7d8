"""Arguments described in text or by example, for compiling without arrays."""

from __future__ import annotations

from typing import Any

from ..plugins.types import ArgSpec
from .arguments import argument_type


def described(name: str, value: Any) -> ArgSpec:
    """``"f32[1000]"``, ``"i32"``, a number or an array, as the argument ``name``.

    Raises ``ArgumentError`` for text that describes nothing.
    """
    if isinstance(value, ArgSpec):
        return value
    if isinstance(value, str):
        from .argspec_text import parse_arg

        return parse_arg(value, name)
    ty, view = argument_type(value, name)
    if view is None:
        return ArgSpec(name, ty)
    return ArgSpec(name, ty, view.device_kind, view.device_id, view.contiguous, view.readonly)
