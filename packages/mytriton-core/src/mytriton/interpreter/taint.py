"""Values that nothing may be assumed of: ``tl.empty`` contents, results of a division by zero, of an
overflow. Which lanes they are, why, and which lanes of a result depend on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .plan import Step
from .pointers import Offsets, Pointer, align

Array = npt.NDArray[Any]
Evaluate = Callable[[Step, Sequence[Any]], Any]


@dataclass(frozen=True)
class Cause:
    """Why a value is unspecified: ``step`` made it so."""

    kind: str
    step: Step


class Taints:
    """For values (by identity) an array of causes: 0 where a lane is specified, else a number of
    ``cause``. The values are kept alive, so that no other takes over their identity."""

    def __init__(self) -> None:
        self._marks: dict[int, tuple[Any, Array]] = {}
        self._causes: list[Cause] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def __bool__(self) -> bool:
        return bool(self._marks)

    def clear(self) -> None:
        """Forget the values (not the causes)."""
        self._marks.clear()

    def number(self, kind: str, step: Step) -> int:
        """The number of a cause."""
        key = kind, id(step)
        if key not in self._numbers:
            self._causes.append(Cause(kind, step))
            self._numbers[key] = len(self._causes)
        return self._numbers[key]

    def cause(self, number: int) -> Cause:
        return self._causes[number - 1]

    def of(self, value: Any) -> Array | None:
        """The causes of a value's lanes; ``None`` when all are specified."""
        known = self._marks.get(id(value))
        return None if known is None else known[1]

    def mark(self, value: Any, causes: Array) -> None:
        """Add causes (broadcastable to the value) to what is known of a value."""
        if not causes.any():
            return
        causes = np.broadcast_to(causes, _array(value).shape)
        known = self.of(value)
        self._marks[id(value)] = value, causes if known is None else np.where(known, known, causes)

    def spread(self, evaluate: Evaluate, step: Step, operands: Sequence[Any], value: Any) -> None:
        """Mark the lanes of a result (or of several) that change with what unspecified lanes of the
        operands might be."""
        marked = {id(o): c for o in operands if (c := self.of(o)) is not None}
        if not marked:
            return
        values = value if isinstance(value, (tuple, list)) else (value,)
        changed: list[Array] = [np.zeros((), np.bool_) for _ in values]
        elementwise = step.definition.elementwise
        for trial in range(4 if len(marked) == 1 else 8):
            changed = _differ(changed, evaluate(step, _guess(operands, marked, trial)), values)
        if elementwise and len(operands) > 1:
            changed = _differ(changed, evaluate(step, _as_peers(operands, marked)), values)
        for one, lanes in zip(values, changed, strict=True):
            if lanes.any():
                causes = _combined(list(marked.values()), _array(one), elementwise)
                self.mark(one, np.where(lanes, causes, np.int16(0)))


def _array(value: Any) -> Array:
    found: Array = value.array if isinstance(value, Pointer) else value
    return found


def _combined(marks: Sequence[Array], value: Array, elementwise: bool) -> Array:
    """A cause for each lane of a result; of several, any will do."""
    rank = value.ndim - 1
    if elementwise:
        parts = [align(m, rank) for m in marks]
    else:
        parts = [align(m.reshape(len(m), -1).max(axis=1), rank) for m in marks]
    found = parts[0]
    for part in parts[1:]:
        found = np.maximum(found, part)
    return found


def _differ(known: list[Array], tried: Any, values: Sequence[Any]) -> list[Array]:
    results = tried if isinstance(tried, (tuple, list)) else (tried,)
    return [
        lanes | _different(new, old) for lanes, new, old in zip(known, results, values, strict=True)
    ]


def _different(a: Any, b: Any) -> Array:
    """Where two results differ (a NaN equals itself)."""
    if isinstance(a, Pointer):
        return np.asarray(a.array != b.array)
    return np.asarray((a != b) & ((a == a) | (b == b)))


def _guesses(dtype: np.dtype[Any]) -> list[Any]:
    """What an unspecified lane might hold: a result that none of them changes is specified."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        return [0.0, np.nan, 1.0, -np.inf]
    info = np.iinfo(dtype)
    return [0, info.max, info.min, 1]


def _guess(operands: Sequence[Any], marked: dict[int, Array], trial: int) -> list[Any]:
    """The operands with other values in their unspecified lanes; one operand twice stays one."""
    made: dict[int, Any] = {}
    for operand in operands:
        causes = marked.get(id(operand))
        if causes is None or id(operand) in made:
            continue
        k = len(made)
        if isinstance(operand, Pointer):
            moved = operand.array + np.where(causes, (trial + 1) << 40, 0)
            made[id(operand)] = Pointer(operand.base, Offsets(moved))
            continue
        guesses = _guesses(operand.dtype)
        n = len(guesses)
        # Different operands run through different pairs of values.
        pick = guesses[(trial * (2 * k + 1) + trial // n * k) % n]
        made[id(operand)] = np.where(causes, operand.dtype.type(pick), operand)
    return [made.get(id(operand), operand) for operand in operands]


def _as_peers(operands: Sequence[Any], marked: dict[int, Array]) -> list[Any]:
    """Operands of an elementwise operation with, in unspecified lanes, what another operand holds
    there: what else would tell ``x == 5``?"""
    made = []
    for k, operand in enumerate(operands):
        causes = marked.get(id(operand))
        peer = operands[k - 1]
        if causes is None or isinstance(operand, Pointer) or not isinstance(peer, np.ndarray):
            made.append(operand)
            continue
        rank = max(operand.ndim, peer.ndim) - 1
        own, other = align(operand, rank), align(peer, rank)
        made.append(np.where(align(causes, rank) != 0, other.astype(operand.dtype), own))
    return made
