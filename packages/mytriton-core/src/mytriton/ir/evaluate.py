"""Evaluating an elementwise operation on NumPy arrays: the one place where constant folding and
the interpreter share the rule *convert, compute, settle*."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .numerics import convert, settle
from .registry import OpDef
from .types import ScalarType, Type, scalar_of

Array = npt.NDArray[Any]


class Evaluation:
    """The ``ev`` an elementwise meaning sees: attributes and types, no memory and no grid."""

    __slots__ = ("attrs", "result_type", "types")

    def __init__(
        self, attrs: Mapping[str, Any], types: Sequence[Type | None], result_type: Type
    ) -> None:
        self.attrs = attrs
        self.types = types
        self.result_type = result_type

    @property
    def source(self) -> ScalarType:
        """The scalar type of the first operand (what a cast converts from)."""
        first = self.types[0]
        assert first is not None
        return scalar_of(first)


def _converted(
    definition: OpDef, types: Sequence[Type | None], result_type: Type, arrays: Sequence[Array]
) -> list[Array]:
    compute = definition.compute_types(types, result_type)
    return [
        array if ty is None else convert(array, scalar_of(ty), wanted)
        for array, ty, wanted in zip(arrays, types, compute, strict=False)
    ]


def elementwise(
    definition: OpDef,
    attrs: Mapping[str, Any],
    types: Sequence[Type | None],
    result_type: Type,
    arrays: Sequence[Array],
) -> Array:
    """The result of an elementwise operation, in the held dtype of ``result_type``.

    ``arrays`` are broadcastable and in the held dtypes of their own ``types``. Floating-point
    warnings never leave this function.
    """
    assert definition.numpy is not None
    with np.errstate(all="ignore"):
        inputs = _converted(definition, types, result_type, arrays)
        result = definition.numpy(Evaluation(attrs, types, result_type), *inputs)
        return settle(np.asarray(result), scalar_of(result_type))


def is_defined(
    definition: OpDef,
    attrs: Mapping[str, Any],
    types: Sequence[Type | None],
    result_type: Type,
    arrays: Sequence[Array],
) -> bool:
    """Whether the language says what the result is for these operands (it does not for an integer
    division by zero). Where it does not, constants are left for the program to meet."""
    if definition.defined is None:
        return True
    return bool(np.all(defined_lanes(definition, attrs, types, result_type, arrays)))


def defined_lanes(
    definition: OpDef,
    attrs: Mapping[str, Any],
    types: Sequence[Type | None],
    result_type: Type,
    arrays: Sequence[Array],
) -> Array:
    """Where the language says what the result is, broadcastable to it. ``definition`` has a rule
    for that."""
    assert definition.defined is not None
    with np.errstate(all="ignore"):
        inputs = _converted(definition, types, result_type, arrays)
        found = definition.defined(Evaluation(attrs, types, result_type), *inputs)
    return np.asarray(found, np.bool_)
