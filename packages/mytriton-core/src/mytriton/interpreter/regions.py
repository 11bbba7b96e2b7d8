"""Structured control flow. Each executor runs the regions of a step and gives its results; a new
region operation is a new entry of ``EXECUTORS``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..ir.numerics import convert
from ..ir.types import scalar_of
from ..ir.values import SSAForRange, SSAValue
from .memory import ConflictError
from .pointers import choose

if TYPE_CHECKING:
    from .machine import Machine
    from .plan import Step

#: Trips that programs running together may make, all loops of a chunk added up, on the word of
#: values another program might yet change. One of them read too early could otherwise loop for
#: hours before the conflict shows.
TRUSTED_TRIPS = 4096

Array = npt.NDArray[Any]


def trip_count(start: int, stop: int, step: int) -> int:
    """Trips of ``range(start, stop, step)``, of any size."""
    if step == 0:
        raise ValueError("the step of a loop is zero")
    distance = stop - start if step > 0 else start - stop
    return max(0, -(-distance // abs(step)))


def _trips(machine: Machine, bounds: list[Array]) -> tuple[int, Array | None]:
    """The most trips any running program makes, and each program's own where they differ."""
    programs = max(len(bound) for bound in bounds)
    # Python integers: bounds near the ends of their type must not overflow.
    columns = [np.broadcast_to(bound, (programs,)).tolist() for bound in bounds]
    counts = [trip_count(*one) for one in zip(*columns, strict=True)]
    active = machine.active
    if active is None or programs == 1:
        running = counts
    else:
        running = [n for n, flag in zip(counts, active.tolist(), strict=True) if flag]
    most = max(running, default=0)
    if all(n == most for n in running):
        return most, None
    return most, np.array([min(n, most) for n in counts], np.int64)


def _uncertain(machine: Machine, loop: SSAForRange) -> bool:
    """Whether the bounds come from memory that programs of this chunk may still change."""
    if not machine.together or not any(w.columns for w in machine.windows.values()):
        return False
    loaded = machine.plan.access.loaded
    return any(isinstance(v, SSAValue) and v.id in loaded for v in loop.inputs[:3])


def run_for(machine: Machine, step: Step) -> list[Any]:
    """A loop. Programs whose own bounds are exhausted, or that do not run at all, idle: they access
    no memory and keep the values they carry."""
    loop = step.item
    assert isinstance(loop, SSAForRange)
    bounds, carried = _enter(machine, step, loop)
    most, trips = _trips(machine, bounds)
    if most and _uncertain(machine, loop):
        machine.trusted_trips += most
        if machine.trusted_trips > TRUSTED_TRIPS:
            raise ConflictError
    outer = machine.active
    index, _, increment = bounds
    try:
        for trip in range(most):
            if trips is not None:
                going = trip < trips
                machine.active = going if outer is None else going & outer
            following = machine.run_block(step.blocks[0], (index, *carried))
            if trips is not None:
                assert machine.active is not None
                flags = machine.active
                following = [
                    choose(flags, new, old) for new, old in zip(following, carried, strict=True)
                ]
            carried = following
            # Wraps after the last trip, and for idle programs: nobody looks.
            index = index + increment
    finally:
        machine.active = outer
    return carried


def _enter(machine: Machine, step: Step, loop: SSAForRange) -> tuple[list[Array], list[Any]]:
    """Bounds in the type of the index, and the initial carried values."""
    values = [machine.regs[slot] for slot in step.operands]
    wanted = scalar_of(loop.index.ty)
    bounds = [
        convert(value, scalar_of(ty), wanted)
        for value, ty in zip(values[:3], step.types[:3], strict=True)
        if ty is not None
    ]
    return bounds, values[3:]


#: Opcode of a structured operation -> what runs it.
EXECUTORS: dict[str, Callable[[Machine, Step], list[Any]]] = {"for": run_for}
