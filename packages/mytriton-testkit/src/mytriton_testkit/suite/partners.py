"""Which case shares compiled code with which: a second launch on the warm cache that must give
another result. A cache key that forgets a value or a size is found this way."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ..case import Case
from .oracle import arguments_of


def partners_of(cases: Sequence[Case]) -> dict[str, str]:
    """For every case the one whose arguments its second launch gets: the next case of the same
    kernel with equal types and compile-time values, or itself (then only the seed differs)."""
    groups: dict[Hashable, list[str]] = {}
    for case in cases:
        groups.setdefault(_key(case), []).append(case.id)
    found = {}
    for ids in groups.values():
        for one, other in zip(ids, [*ids[1:], ids[0]], strict=True):
            found[one] = other
    return found


def _key(case: Case) -> Hashable:
    kernel = case.kernel
    arguments = arguments_of(case, 0)
    constants = tuple((n, repr(arguments.get(n))) for n in kernel.binder.constexprs)
    runtime = tuple((n, _kind(arguments.get(n))) for n in kernel.binder.runtime)
    return id(kernel), constants, runtime, tuple(sorted(case.options.items()))


def _kind(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    # Not every backend takes arrays at any address.
    odd = value.__array_interface__["data"][0] % value.dtype.itemsize
    return f"{value.dtype} unaligned" if odd else str(value.dtype)
