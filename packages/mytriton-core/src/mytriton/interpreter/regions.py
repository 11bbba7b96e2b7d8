"""Structured control flow. Each executor runs the regions of a step and gives its results; a new
region operation is a new entry of ``EXECUTORS``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..ir.numerics import convert
from ..ir.types import scalar_of
from ..ir.values import SSAForRange, SSAValue
from .memory import ConflictError

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
    if not machine.may_meet:
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
                    machine.choose(flags, new, old)
                    for new, old in zip(following, carried, strict=True)
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
    for name, bound in zip(("start", "stop", "step"), values):
        machine.decides(step, name, bound)
    wanted = scalar_of(loop.index.ty)
    bounds = [
        convert(value, scalar_of(ty), wanted)
        for value, ty in zip(values[:3], step.types[:3], strict=True)
        if ty is not None
    ]
    return bounds, values[3:]


def run_if(machine: Machine, step: Step) -> list[Any]:
    """A branch. Where programs differ both regions run, each with the others idle."""
    (condition,) = (machine.regs[slot] for slot in step.operands)
    machine.decides(step, "condition", condition)
    outer = machine.active
    running = (
        condition
        if outer is None
        else condition[outer]
        if len(condition) == len(outer)
        else condition
    )
    if len(condition) == 1 or running.all() or not running.any():
        truth = bool(condition[0] if len(condition) == 1 else running.any())
        return machine.run_block(step.blocks[0 if truth else 1], ())
    try:
        machine.active = condition if outer is None else condition & outer
        then = machine.run_block(step.blocks[0], ())
        machine.active = ~condition if outer is None else ~condition & outer
        other = machine.run_block(step.blocks[1], ())
    finally:
        machine.active = outer
    return [machine.choose(condition, a, b) for a, b in zip(then, other, strict=True)]


def run_while(machine: Machine, step: Step) -> list[Any]:
    """A loop that each program leaves when its condition fails; those that left idle."""
    carried = [machine.regs[slot] for slot in step.operands]
    outer = machine.active
    try:
        while True:
            (condition,) = machine.run_block(step.blocks[0], carried)
            machine.decides(step, "condition", condition)
            active = machine.active
            going = condition if active is None else condition & active
            if not going.any():
                break
            _count_trip(machine)
            if not going.all() or active is not None:
                machine.active = going
            following = machine.run_block(step.blocks[1], carried)
            if machine.active is not None:
                flags = machine.active
                following = [
                    machine.choose(flags, new, old)
                    for new, old in zip(following, carried, strict=True)
                ]
            carried = following
    finally:
        machine.active = outer
    return carried


def _count_trip(machine: Machine) -> None:
    """A condition read too early may never fail: give up running together in time."""
    machine.count_trip()
    if machine.may_meet:
        machine.trusted_trips += 1
        if machine.trusted_trips > TRUSTED_TRIPS:
            raise ConflictError


def run_reduce(machine: Machine, step: Step) -> list[Any]:
    """Combines neighbours until one is left. The region works on scalars, so every pair of lanes
    runs as a program of its own."""
    values: Sequence[Array] = np.broadcast_arrays(*(machine.regs[slot] for slot in step.operands))
    axis = step.attrs.get("axis")
    last: Sequence[Array] = (
        values if axis is None else [np.moveaxis(v, axis + 1, -1) for v in values]
    )
    rest = last[0].shape[:1] if axis is None else last[0].shape[:-1]
    lanes: list[Array] = [np.ascontiguousarray(v).reshape(int(np.prod(rest)), -1) for v in last]
    outer, machine.active = machine.active, None
    try:
        while lanes[0].shape[1] > 1:
            pairs = [v[:, 0::2] for v in lanes] + [v[:, 1::2] for v in lanes]
            shape = pairs[0].shape
            found = machine.run_block(step.blocks[0], [v.reshape(-1) for v in pairs])
            lanes = [np.broadcast_to(v, (shape[0] * shape[1],)).reshape(shape) for v in found]
    finally:
        machine.active = outer
    return [v.reshape(rest) for v in lanes]


#: Opcode of a structured operation -> what runs it.
EXECUTORS: dict[str, Callable[[Machine, Step], list[Any]]] = {
    "for": run_for,
    "if": run_if,
    "while": run_while,
    "reduce": run_reduce,
}
