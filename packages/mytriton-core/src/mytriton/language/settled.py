"""Numbers a kernel has given a name: ``x = 0.5``.

Such a number is still known while tracing, but it has settled for the type it has on its own
(``i32``, ``f32``): ``x16 * x`` computes in ``f32`` where ``x16 * 0.5`` stays ``f16``, and ``//`` and
``%`` truncate as they do when the kernel runs. A ``tl.constexpr`` never settles.
"""

from __future__ import annotations

import math
import operator
from typing import Any


class SettledInt(int):
    """A named int."""

    __slots__ = ()


class SettledFloat(float):
    """A named float."""

    __slots__ = ()


SETTLED = (SettledInt, SettledFloat)


def settle(value: Any) -> Any:
    """``value`` as it is once it has a name (tuples and lists item by item)."""
    kind = value.__class__
    if kind is int:
        return SettledInt(value)
    if kind is float:
        return SettledFloat(value)
    if kind is tuple or kind is list:
        return kind(map(settle, value))
    return value


def plain(value: Any) -> Any:
    """The Python value that has settled (tuples, lists and slices item by item)."""
    kind = value.__class__
    if kind is SettledInt:
        return int(value)
    if kind is SettledFloat:
        return float(value)
    if kind is tuple or kind is list:
        return kind(map(plain, value))
    if kind is dict:
        return {key: plain(item) for key, item in value.items()}
    return value


def fold(meaning: Any, *operands: Any) -> Any:
    """``meaning`` of compile-time operands, at least one of them settled: the result has settled too."""
    if meaning is operator.floordiv and _ints(operands):
        return SettledInt(_truncated(*operands))
    if meaning is operator.mod and not isinstance(operands[0], (str, bytes)):
        a, b = operands
        return settle(int(a) - _truncated(a, b) * int(b) if _ints(operands) else math.fmod(a, b))
    return settle(plain(meaning(*operands)))


def _ints(operands: tuple[Any, ...]) -> bool:
    return all(isinstance(v, int) for v in operands)


def _truncated(a: Any, b: Any) -> int:
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a < 0) == (b < 0) else -quotient
