"""The first launches of compiled code are looked at before they run: an access that certainly leaves the
memory its array is in would damage the process, or end it, without a word.

Most often a mask was forgotten. What is looked at costs microseconds (``analysis.reach``); for every
access there is the sanitizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..analysis.reach import Launch, Reach, Touched, reaches
from ..errors import OutOfBoundsError, outside_text
from ..ir.values import SSAFunction
from .argview import ArgView

Extent = tuple[int, int]
#: Launches that are looked at: a mistake of the program is in its first.
LOOKS = 3


class Guard:
    """What to look at before a launch of ``function``."""

    def __init__(self, function: SSAFunction) -> None:
        self._function = function
        self._reaches: list[Reach] = reaches(function)

    def check(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Raises ``OutOfBoundsError`` for the first access that would leave its memory. ``args`` are
        those of the launch: views of arrays, Python numbers."""
        if not self._reaches:
            return
        given = dict(zip((p.name for p in self._function.params), args, strict=True))
        views = {name: _placed(arg) for name, arg in given.items()}
        launch = Launch(self._function, given, grid)
        for reach in self._reaches:
            if (placed := views[reach.argument]) is not None:
                for touched in launch.touched(reach):
                    _check(touched, *placed)


def _check(touched: Touched, view: ArgView, memory: Extent) -> None:
    size = view.dtype.itemsize
    address = view.pointer + touched.index * size
    if memory[0] <= address and address + size <= memory[1]:
        return
    reach, index, program = touched.reach, touched.index, touched.program
    first, last = view.element_range
    valid = "it has no elements" if last < first else f"valid: {first} to {last}"
    hint = "" if reach.mask is not None else "; pass a mask, such as mask=offsets < n"
    raise OutOfBoundsError(
        outside_text(reach.item.opcode, reach.argument, index, program, valid) + hint,
        reach.item.span, argument=reach.argument, index=index, program=program,
    )  # fmt: skip


def _placed(view: Any) -> tuple[ArgView, Extent] | None:
    """A view, and the memory it is in; ``None`` where that is not known."""
    if not isinstance(view, ArgView) or view.device_kind != "cpu":
        return None
    memory = allocation(view.owner)
    return None if memory is None else (view, memory)


def allocation(owner: Any) -> Extent | None:
    """Addresses ``[low, high)`` of the allocation that an array or CPU tensor lies in. What is not
    known to have an end is not given one: memory of other libraries, files, buffers."""
    if isinstance(owner, np.ndarray):
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.base is not None or not owner.flags.owndata:
            return None
        start = owner.__array_interface__["data"][0]
        return start, start + owner.nbytes
    storage = getattr(owner, "untyped_storage", None)
    if storage is None:
        return None
    try:
        found = storage()
        start, size = found.data_ptr(), found.nbytes()
    except Exception:  # tensors of other kinds have none
        return None
    return (start, start + size) if type(start) is int and start else None
