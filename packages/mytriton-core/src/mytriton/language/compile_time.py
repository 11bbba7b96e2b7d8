"""``tl.constexpr``: needed when a kernel is defined, so it loads nothing else."""

from __future__ import annotations

from typing import Any


class constexpr:
    """Annotation of a compile-time parameter, and wrapper of a compile-time global."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: Any = value.value if isinstance(value, constexpr) else value

    def __repr__(self) -> str:
        return f"constexpr[{self.value!r}]"

    def __eq__(self, other: object) -> bool:
        return bool(self.value == (other.value if isinstance(other, constexpr) else other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __index__(self) -> int:
        return self.value.__index__()  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return bool(self.value)


def unwrap(value: Any) -> Any:
    """A compile-time value as a kernel sees it: no ``tl.constexpr`` wrapper, and a Python number
    for a NumPy scalar."""
    if isinstance(value, constexpr):
        value = value.value
    # Asked by name, since this module loads no NumPy; arrays and dtypes stay what they are.
    if (
        type(value).__module__ == "numpy"
        and hasattr(value, "item")
        and not hasattr(value, "__len__")
    ):
        return value.item()
    return value
