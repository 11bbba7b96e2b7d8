"""What a name holds after a branch: values of both sides merged, leaf by leaf.

A value of the frontend is a compile-time Python object, a ``tl.tensor``, or a tuple or list of these.
Tensors and numbers are *runtime leaves*: they can be the result of a region.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import OpRuleError
from ..ir.promote import check_literal, literal_type
from ..ir.types import ScalarType, Type, element_of, shape_of
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
    if x.is_floating() != y.is_floating():
        return None
    if x.is_floating():
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
    #: How messages call it: ``"in the branch at line 7"``.
    what: str
    #: Line each name was last assigned at, in this side or before the branch.
    lines: Mapping[str, int]

    def place(self, name: str) -> str:
        """Where ``name`` got its value, for messages."""
        return f"{self.what} (line {self.lines[name]})" if name in self.lines else self.what


def conflict(name: str, then: Side, other: Side, a: Any, b: Any) -> Poison:
    """The error of a name that both sides bind, to values that do not merge."""
    return Poison(
        f"{name!r} is {spell(a)} {then.place(name)} but {spell(b)} {other.place(name)}; "
        f"{agreement(a, b)}"
    )


def agreement(a: Any, b: Any) -> str:
    """What to do about two values that should be of one type."""
    if not (is_runtime(a) and is_runtime(b)):
        return (
            "only numbers, pointers and blocks can be chosen at run time: make the condition a "
            "tl.constexpr, or give it one kind of value"
        )
    types = [v.type if isinstance(v, tensor) else literal_type(v) for v in (a, b)]
    if shape_of(types[0]) != shape_of(types[1]):
        return "give both one shape, for example with tl.full or tl.broadcast_to"
    wide = max(types, key=lambda t: (is_float_type(t), str(t)))
    return f"give both one type, for example with .to({dtype_name(wide)})"


def is_float_type(ty: Type) -> bool:
    element = element_of(ty)
    return isinstance(element, ScalarType) and element.is_floating()


def dtype_name(ty: Type) -> str:
    """The element of a type as kernels write it: ``tl.float32``."""
    element = element_of(ty)
    if not isinstance(element, ScalarType):
        return "..."
    kind, bits = element.kind, element.bits
    if kind == "bool":
        return "tl.int1"
    if element.name == f"{kind[0]}{bits}":
        return f"tl.{kind}{bits}"
    return "tl.bfloat16" if bits == 16 else f"tl.{element.name.replace('f8', 'float8', 1)}"


def lacking(name: str, has: Side, lacks: Side) -> Poison:
    """The error of a name that only one side binds."""
    return Poison(
        f"name {name!r} is not defined here: it is only assigned {has.place(name)}, not {lacks.what}; "
        "give it a value before the branch or in both"
    )
