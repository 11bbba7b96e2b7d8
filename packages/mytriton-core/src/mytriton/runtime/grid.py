"""Launch grids."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentNameError, GridError

MOST = 2**31 - 1
"""The largest dimension: positions in a grid are ``i32``."""


class Arguments(dict[str, Any]):
    """The arguments of a launch by name, for functions of the user that look them up."""

    def __missing__(self, name: str) -> Any:
        raise _unknown(name, self)


def _unknown(name: str, known: Iterable[str]) -> ArgumentNameError:
    return ArgumentNameError(f"{name!r} is no argument of the kernel; known: {', '.join(known)}")


class Meta(dict[str, Any]):
    """What a grid function receives. Equal to the dict of compile-time arguments; also answers
    every bound argument and launch option, as Triton's does."""

    def __init__(self, constexprs: Mapping[str, Any], others: Mapping[str, Any]) -> None:
        super().__init__(constexprs)
        self._others = others

    def __missing__(self, name: str) -> Any:
        try:
            return self._others[name]
        except KeyError:
            raise _unknown(name, [*self, *self._others]) from None

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._others

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401  (self.get is this method)


class BoundMeta(Meta):
    """A ``Meta`` whose bound arguments are given by position; few grid functions ask for them."""

    def __init__(
        self,
        constexprs: Mapping[str, Any],
        arguments: Sequence[tuple[int, str]],
        values: Sequence[Any],
        options: Mapping[str, Any],
    ) -> None:
        dict.__init__(self, constexprs)
        self._bound = arguments, values, options

    @property
    def _others(self) -> Mapping[str, Any]:  # type: ignore[override]
        arguments, values, options = self._bound
        return {**{name: values[k] for k, name in arguments}, **options}


def normalise(grid: Any) -> tuple[int, int, int]:
    """Three dimensions from an int or a sequence of one to three non-negative ints.

    Raises ``GridError`` (a ``ValueError``) for anything else: bools, floats, negative or more than
    three dimensions, dimensions beyond ``i32``, an empty grid.
    """
    dims = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if not 1 <= len(dims) <= 3:
        raise GridError(f"a grid has one to three dimensions, got {grid!r}")
    sizes = [_size(dim, grid) for dim in dims]
    # Programs are counted in 64 bits, by threads that count beyond the end.
    if len(sizes) == 3 and sizes[0] * sizes[1] * sizes[2] >= 1 << 62:
        raise GridError(f"a grid has less than 2**62 programs, got {grid!r}")
    return (*sizes, 1, 1)[:3]  # type: ignore[return-value]


def _size(dim: Any, grid: Any) -> int:
    if type(dim) is int and 0 <= dim <= MOST:
        return dim
    if isinstance(dim, (bool, np.bool_)):
        raise GridError(f"a grid dimension must be an int, got a bool in {grid!r}")
    try:
        size = operator.index(dim)
    except TypeError:
        raise GridError(
            f"a grid dimension must be an int, got {dim!r} ({type(dim).__name__}) in {grid!r}; use "
            "triton.cdiv for a rounded-up quotient"
        ) from None
    if size < 0:
        raise GridError(f"a grid dimension must not be negative, got {grid!r}")
    if size > MOST:
        raise GridError(
            f"a grid dimension must be at most {MOST} (program_id is an i32), got {grid!r}; give each "
            "program more elements, or use more dimensions"
        )
    return size
