"""``tl.constexpr``: needed when a kernel is defined, so it loads nothing else."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .settled import SETTLED, plain

if TYPE_CHECKING:
    #: For type checkers a compile-time parameter is whatever the kernel does with it: an int, a dtype.
    _Anything = Any
else:
    _Anything = object


class constexpr(_Anything):  # type: ignore[misc]
    """Annotation of a compile-time parameter, and wrapper of a compile-time global.

    Arithmetic on one gives another (``Y = tl.constexpr(3) + 1``), comparisons give plain bools; it
    hashes, indexes and converts as the value it holds.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: Any = value.value if isinstance(value, constexpr) else value

    def __repr__(self) -> str:
        return f"constexpr[{self.value!r}]"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __eq__(self, other: object) -> Any:
        return compare(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return compare(operator.ne, self, other)

    def __lt__(self, other: object) -> Any:
        return compare(operator.lt, self, other)

    def __le__(self, other: object) -> Any:
        return compare(operator.le, self, other)

    def __gt__(self, other: object) -> Any:
        return compare(operator.gt, self, other)

    def __ge__(self, other: object) -> Any:
        return compare(operator.ge, self, other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __getitem__(self, index: Any) -> Any:
        return self.value[unwrap(index)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __neg__(self) -> constexpr:
        return constexpr(-self.value)

    def __pos__(self) -> constexpr:
        return constexpr(+self.value)

    def __invert__(self) -> constexpr:
        return constexpr(~self.value)

    def __abs__(self) -> constexpr:
        return constexpr(abs(self.value))


def _plain(other: Any) -> bool:
    """Whether an operand is known at compile time: a runtime value computes in its own way."""
    return not hasattr(type(other), "__mytriton_runtime__")


def compare(meaning: Callable[[Any, Any], Any], lhs: constexpr, rhs: Any) -> Any:
    """A comparison of compile-time values: a plain bool."""
    return bool(meaning(lhs.value, unwrap(rhs))) if _plain(rhs) else NotImplemented


def _operator(meaning: Callable[[Any, Any], Any], reflected: bool) -> Any:
    def method(self: constexpr, other: Any) -> Any:
        if not _plain(other):
            return NotImplemented
        pair = (unwrap(other), self.value) if reflected else (self.value, unwrap(other))
        return constexpr(meaning(*pair))

    return method


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift, "rshift": operator.rshift,
}  # fmt: skip
for _name, _meaning in _OPERATORS.items():
    setattr(constexpr, f"__{_name}__", _operator(_meaning, reflected=False))
    setattr(constexpr, f"__r{_name}__", _operator(_meaning, reflected=True))


#: Types of values that are what they are: most of what ``unwrap`` is asked for. ``tensor`` joins them.
PLAIN: set[type] = {bool, int, float, str, type(None), tuple}


def unwrap(value: Any) -> Any:
    """A compile-time value as a kernel sees it: no ``tl.constexpr`` wrapper, and a Python number
    for a NumPy scalar."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is constexpr:
        value = value.value
        kind = type(value)
    if kind in SETTLED:
        return plain(value)
    # Asked by name, since this module loads no NumPy; arrays and dtypes stay what they are.
    if kind.__module__ == "numpy" and hasattr(value, "item") and not hasattr(value, "__len__"):
        return value.item()
    return value


class ConstexprFunction:
    """A function that kernels call while they are compiled. Made by ``constexpr_function``."""

    __name__: str

    def __init__(self, fn: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.fn(*map(unwrap, args), **{name: unwrap(v) for name, v in kwargs.items()})
        return unwrap(found)

    def __mytriton_fingerprint__(self) -> Any:
        """What compiled code depends on."""
        return self.fn

    def __repr__(self) -> str:
        return f"<constexpr_function {self.__name__}>"


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Make ``fn`` callable from kernels: it runs in Python while the kernel is compiled, on compile-time
    values (plain ints, strings, dtypes, tuples), and gives one. Outside of kernels it is itself."""
    return ConstexprFunction(fn)
