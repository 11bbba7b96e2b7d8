"""What a name holds after a branch: values of both sides merged, leaf by leaf.

A value of the frontend is a compile-time Python object, a ``tl.tensor``, or a tuple or list of these.
Tensors and numbers are *runtime leaves*: they can be the result of a region.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import OpRuleError, Span
from ..ir.promote import check_literal, literal_type
from ..ir.types import ScalarType, Type
from ..language.symbolic import is_literal, tensor
from .literals import plain


class Poison:
    """Stands for a name that has no single value here. Reading it is the error it holds."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message


#: Stands for a name a side does not bind.
MISSING = Poison("")


def leaves(value: Any) -> Iterator[Any]:
    """The parts of a value that are no tuples or lists."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def rebuild(value: Any, parts: Iterator[Any]) -> Any:
    """``value`` with its leaves taken from ``parts``, in order."""
    if not isinstance(value, (tuple, list)):
        return next(parts)
    items = [rebuild(item, parts) for item in value]
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def is_runtime(value: Any) -> bool:
    """Whether a leaf can be the result of a region: a tensor or a number."""
    return isinstance(value, tensor) or is_literal(value)


def same(a: Any, b: Any) -> bool:
    """Whether two leaves are one compile-time value (``1``, ``1.0`` and ``True`` differ)."""
    if a is b:
        return True
    a, b = plain(a), plain(b)
    if isinstance(a, (tensor, Poison)) or isinstance(b, (tensor, Poison)) or type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    try:
        return bool(a == b)
    except Exception:
        return False


def literal_fits(value: Any, ty: Type) -> bool:
    """Whether a number may become a ``ty`` without changing its kind."""
    if not isinstance(ty, ScalarType):
        return False
    if isinstance(value, bool) or ty.is_bool():
        return isinstance(value, bool) and ty.is_bool()
    if not ty.is_floating() and not isinstance(value, int):
        return False
    try:
        check_literal(value, ty)
    except OpRuleError:
        return False
    return True


def common_type(a: Any, b: Any) -> Type | None:
    """The type two runtime leaves meet in, or ``None``: tensors must agree, and a number takes the
    type of a scalar of its kind."""
    if isinstance(a, tensor) and isinstance(b, tensor):
        return a.type if a.type == b.type else None
    if isinstance(a, tensor):
        return a.type if literal_fits(b, a.type) else None
    if isinstance(b, tensor):
        return b.type if literal_fits(a, b.type) else None
    x, y = literal_type(a), literal_type(b)
    if x == y:
        return x
    if x.kind == "float" and y.kind == "float":
        return x if x.bits > y.bits else y
    wide = x if x.bits > y.bits else y
    return wide if literal_fits(a, wide) and literal_fits(b, wide) else None


def spell(value: Any) -> str:
    """A leaf as messages name it."""
    if isinstance(value, tensor):
        return str(value.type)
    if is_literal(value):
        return f"{value!r} ({literal_type(value)})"
    return repr(value)


@dataclass
class Side:
    """One side of a branch: the names after it, and where it stands."""

    env: dict[str, Any]
    #: How messages call it: ``"the branch at line 7"``.
    what: str
    #: Line each name was last assigned at, as far as it was in this side.
    lines: dict[str, int]

    def line(self, name: str) -> str:
        return f"line {self.lines[name]}" if name in self.lines else "before the branch"


def conflict(name: str, then: Side, other: Side, a: Any, b: Any) -> Poison:
    """The error of a name that both sides bind, to values that do not merge."""
    return Poison(
        f"{name!r} is {spell(a)} in {then.what} ({then.line(name)}) but {spell(b)} in {other.what} "
        f"({other.line(name)}); make both the same type and shape, for example with .to(...) or tl.full"
    )


def lacking(name: str, has: Side, lacks: Side) -> Poison:
    """The error of a name that only one side binds."""
    return Poison(
        f"name {name!r} is not defined here: it is only assigned in {has.what} ({has.line(name)}), not "
        f"in {lacks.what}; give it a value before the branch or in both"
    )


def located(span: Span | None, line: int) -> Span | None:
    """``span`` moved to another line of its file."""
    return None if span is None else Span(span.filename, line, 1)
