"""Numbers known while tracing: weak where they are written, of their own type once they have a name
(see ``language.settled``)."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

from ..errors import OpRuleError
from ..ir.numerics import round_constant
from ..ir.promote import literal_type, promote, promote_literal
from ..ir.types import F32, STORAGE_ONLY, ScalarType, is_pointer, scalar_of
from ..language.compile_time import unwrap
from ..language.settled import SETTLED, SettledFloat, SettledInt, plain
from ..language.symbolic import literal, tensor

#: Bits of the largest number that compile-time arithmetic makes: none of the language has more.
_MOST_BITS = 1 << 12
#: Items of the longest text or tuple it makes.
_MOST_ITEMS = 1 << 20


def known(value: Any) -> Any:
    """``unwrap`` for a value that may have settled and stays so."""
    return value if value.__class__ in SETTLED else unwrap(value)


def settle(value: Any) -> Any:
    """``value`` as it is once it has a name (tuples and lists item by item). An int that no type has
    stays as it is, and is refused where it is used."""
    kind = value.__class__
    if kind is int or kind is float:
        try:
            return _of(literal_type(value), value)
        except OpRuleError:
            return value
    if kind is tuple or kind is list:
        return kind(map(settle, value))
    return value


def _of(ty: ScalarType, value: float) -> Any:
    """A number of a type: wrapped, or rounded."""
    value = round_constant(value, ty)
    made = SettledFloat(value) if ty.is_floating() else SettledInt(value)
    made.ty = ty
    return made


def fold(meaning: Any, *operands: Any) -> Any:
    """``meaning`` of compile-time operands, at least one of them settled: the result has settled too."""
    values = [plain(v) for v in operands]
    if not all(isinstance(v, (int, float)) for v in values):
        return settle(plain(compute(meaning, *values)))
    ints = all(isinstance(v, int) for v in values)
    result: Any
    if meaning is operator.floordiv and ints:
        result = _truncated(*values)
    elif meaning is operator.mod:
        a, b = values
        result = a - _truncated(a, b) * b if ints else math.fmod(a, b)
    else:
        result = compute(meaning, *values)
    if result.__class__ not in (int, float):
        return settle(result)
    ty = _type(operands, division=meaning in (operator.truediv, operator.mod))
    if isinstance(result, float) and not ty.is_floating():
        ty = F32 if meaning is operator.truediv else literal_type(result)
    return _of(ty, result)


def builtin(function: Any, args: Sequence[Any]) -> Any:
    """A builtin of numbers, of which some have settled: what it computes has settled too."""
    if function is divmod and len(args) == 2:
        return fold(operator.floordiv, *args), fold(operator.mod, *args)
    if function is pow and len(args) == 2:
        return fold(operator.pow, *args)
    if function is sum and isinstance(args[0], (tuple, list)):
        return reduce(partial(fold, operator.add), args[0], *args[1:] or (0,))
    if function in (abs, round) and args:
        return fold(lambda value: function(value, *args[1:]), args[0])
    if function in (int, float) and len(args) == 1:
        return settle(function(plain(args[0])))
    return function(*args) if function in (min, max) else function(*map(plain, args))


def _type(operands: Sequence[Any], *, division: bool) -> ScalarType:
    """The type in which numbers, one of them settled, meet: others are weak."""
    types = [v.ty for v in operands if v.__class__ in SETTLED]
    if len(types) == 2:
        return promote(*types, division=division)
    (ty,) = types
    for value in operands:
        if value.__class__ not in SETTLED:
            try:
                return promote_literal(ty, value, division=division)
            except OpRuleError:  # an int beyond the type: it is of its own
                return promote(ty, literal_type(value), division=division)
    return ty


def compute(meaning: Any, *values: Any) -> Any:
    """``meaning`` of Python values. Raises ``OpRuleError`` for results nobody could mean, before
    they take all time and memory."""
    if meaning is operator.pow and all(isinstance(v, int) for v in values):
        if abs(values[0]) > 1 and values[0].bit_length() * values[1] > _MOST_BITS:
            raise OpRuleError(f"{values[0]} ** {values[1]} fits in no type")
    elif meaning is operator.lshift and all(isinstance(v, int) for v in values):
        if values[0] and values[0].bit_length() + values[1] > _MOST_BITS:
            raise OpRuleError(f"{values[0]} << {values[1]} fits in no type")
    elif meaning is operator.mul:
        count, items = values if isinstance(values[0], int) else values[::-1]
        if isinstance(count, int) and isinstance(items, (str, bytes, tuple, list)):
            if count * len(items) > _MOST_ITEMS:
                raise OpRuleError(f"{count} times {len(items)} items are more than a kernel holds")
        elif isinstance(items, int) and count.bit_length() + items.bit_length() > 2 * _MOST_BITS:
            raise OpRuleError("the product fits in no type")
    return meaning(*values)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def beside(value: Any, other: tensor, *, division: bool = False) -> Any:
    """An operand that meets the runtime value ``other``: a settled number widens it as a runtime
    scalar of its type would, any other number is weak."""
    if value.__class__ not in SETTLED:
        return value
    value, own = plain(value), value.ty
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


__all__ = [
    "SETTLED", "beside", "builtin", "compute", "fold", "known", "operands", "plain", "settle",
]  # fmt: skip
