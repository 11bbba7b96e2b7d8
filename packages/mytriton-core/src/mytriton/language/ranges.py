"""``tl.range`` and ``tl.static_range``: they only stand in the head of a ``for`` loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class static_range:
    """``for i in tl.static_range(...)``: a loop that is always unrolled. Bounds are ints known at
    compile time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("tl.static_range only stands in the head of a for loop of a kernel")

    if TYPE_CHECKING:  # so that loops over it can be checked

        def __iter__(self) -> Iterator[Any]: ...


class range:
    """``for i in tl.range(start, stop, step, num_stages=...)``: a loop that is never unrolled, with
    bounds known when the kernel runs. Its options are hints and change no result."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("tl.range only stands in the head of a for loop of a kernel")

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Any]: ...
