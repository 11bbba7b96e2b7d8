"""Numbers known while tracing: weak where they are written, of their own type once they have a name
(see ``language.settled``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import OpRuleError
from ..ir.promote import literal_type, promote, promote_literal
from ..ir.types import STORAGE_ONLY, is_pointer, scalar_of
from ..language.compile_time import unwrap
from ..language.settled import SETTLED, fold, plain, settle
from ..language.symbolic import literal, tensor


def known(value: Any) -> Any:
    """``unwrap`` for a value that may have settled and stays so."""
    return value if value.__class__ in SETTLED else unwrap(value)


def beside(value: Any, other: tensor, *, division: bool = False) -> Any:
    """An operand that meets the runtime value ``other``: a settled number widens it as a runtime
    scalar of its type would, any other number is weak."""
    if value.__class__ not in SETTLED:
        return value
    value, own = plain(value), literal_type(value)
    if is_pointer(other.type):
        return value
    ty = scalar_of(other.type)
    try:
        if promote_literal(ty, value, division=division) == promote(ty, own, division=division):
            return value
    except OpRuleError:
        if ty in STORAGE_ONLY:
            return value
    return tensor(literal(value, own))


def operands(values: Sequence[Any]) -> list[Any]:
    """Arguments of a function that computes on them: settled numbers beside runtime values."""
    runtime = [v for v in values if isinstance(v, tensor)]
    return [_among(v, runtime) if v.__class__ in SETTLED else v for v in values]


def _among(value: Any, runtime: Sequence[tensor]) -> Any:
    for other in runtime:
        if isinstance(found := beside(value, other), tensor):
            return found
    return plain(value)


__all__ = ["SETTLED", "beside", "fold", "known", "operands", "plain", "settle"]
