"""Facts about values that backends may ask to compile for (``BackendInfo.specialise``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..plugins.types import ArgSpec, BackendInfo, LaunchSpec
from .arguments import divisible_by_16, equals_one

_ALIGN16, _EQUAL1 = 1, 2
_BITS = {"align16": _ALIGN16, "equal1": _EQUAL1}


def wanted(
    info: BackendInfo,
    names: Sequence[str],
    unspecialised: frozenset[str],
    unaligned: frozenset[str],
) -> tuple[int, ...]:
    """Which facts a backend wants about each parameter, as bits. Nothing about those that are not
    specialised, nothing but ``== 1`` about those whose alignment is not."""
    asked = sum(bit for name, bit in _BITS.items() if name in info.specialise)
    return tuple(
        0 if name in unspecialised else asked & ~_ALIGN16 if name in unaligned else asked
        for name in names
    )


def facts(values: Sequence[Any], bits: Sequence[int]) -> tuple[int, ...]:
    """What holds of each value, of what is wanted."""
    return tuple(_of_value(value, bit) if bit else 0 for value, bit in zip(values, bits))


def _of_value(value: Any, bits: int) -> int:
    held = _ALIGN16 if bits & _ALIGN16 and divisible_by_16(value) else 0
    return held | (_EQUAL1 if bits & _EQUAL1 and equals_one(value) else 0)


def of_spec(spec: LaunchSpec) -> tuple[int, ...]:
    """``facts`` of the arguments a launch is compiled for."""
    return tuple(
        (_ALIGN16 if a.divisible_by_16 else 0) | (_EQUAL1 if a.equals_one else 0)
        for a in spec.arguments
    )


def ones(names: Sequence[str], held: Sequence[int], bits: Sequence[int]) -> dict[str, bool] | None:
    """Which parameters must be 1 and which must not, where nothing else is wanted."""
    if any(bit & ~_EQUAL1 for bit in bits):
        return None
    return {n: bool(fact & _EQUAL1) for n, fact, bit in zip(names, held, bits) if bit}


def asked_for(spec: LaunchSpec, bits: Sequence[int]) -> LaunchSpec:
    """The launch without facts that the backend does not want: they are not in its key."""
    return replace(spec, arguments=tuple(map(_asked_for, spec.arguments, bits)))


def _asked_for(argument: ArgSpec, bits: int) -> ArgSpec:
    return replace(
        argument,
        divisible_by_16=argument.divisible_by_16 and bool(bits & _ALIGN16),
        equals_one=argument.equals_one and bool(bits & _EQUAL1),
    )
