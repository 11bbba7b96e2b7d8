"""Numbers a kernel has given a name: ``x = 0.5``.

Such a number is still known while tracing, but it has settled for the type it has on its own
(``i32``, ``f32``): ``x16 * x`` computes in ``f32`` where ``x16 * 0.5`` stays ``f16``, arithmetic wraps
and rounds, and ``//`` and ``%`` truncate, as they do when the kernel runs. A ``tl.constexpr`` never
settles. ``frontend.literals`` makes and computes with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..ir.types import ScalarType


class SettledInt(int):
    """A named int; in the range of its type."""

    ty: ScalarType


class SettledFloat(float):
    """A named float; one of its type."""

    ty: ScalarType


SETTLED = (SettledInt, SettledFloat)


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
