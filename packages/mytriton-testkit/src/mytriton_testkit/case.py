"""A conformance case is data. Nothing in it names a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LEVELS = ("core", "standard", "extended")
#: Editions in order; a new case enters in a new edition and never disturbs an older one.
EDITIONS = ("2026.1", "2026.2")


@dataclass(frozen=True)
class Tolerance:
    """How far a result may be from the float64 reference.

    ``ulp`` counts units in the last place of the output type; ``ceiling`` is how far a backend's
    profile may widen it; ``scale_by`` names what the bound grows with (``"terms"``: number of terms
    summed, against the sum of magnitudes).
    """

    name: str
    ulp: float
    ceiling: float
    scale_by: str = ""


EXACT = Tolerance("exact", 0, 0)
ARITHMETIC = Tolerance("arithmetic", 1, 4)
DIVIDE = Tolerance("divide", 2.5, 8)
MATH = Tolerance("math", 4, 64)
REDUCTION = Tolerance("reduction", 1, 4, scale_by="terms")
COMPOSITE = Tolerance("composite", 16, 256)
TOLERANCES = {t.name: t for t in (EXACT, ARITHMETIC, DIVIDE, MATH, REDUCTION, COMPOSITE)}

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One kernel, one set of arguments, one expected outcome.

    ``arguments(rng)`` returns every kernel argument by name: NumPy arrays (outputs too, filled with
    a sentinel), numbers, and compile-time values. ``expected(arguments)`` gets a deep copy of the
    inputs as they were before the launch and returns, for each output array by name, the value it
    must have afterwards, computed independently in float64 (exactly for integers) and rounded once
    to the dtype of the output. Arrays of ``bfloat16`` have the dtype of ``ml_dtypes``.

    With ``EXACT`` the bits of the result must agree (``-0.0`` is not ``0.0``; any NaN is as good as
    another); with every other tolerance NaN and infinities must be where they are expected.
    """

    id: str
    kernel: Any
    arguments: Callable[[np.random.Generator], Arguments]
    grid: tuple[int, ...]
    expected: Callable[[Arguments], Mapping[str, Any]]
    tolerance: Tolerance = EXACT
    edition: str = "2026.1"
    level: str = "standard"
    #: Feature ids beyond those core computes from the kernel's SSA (``mask.tail``, ``grid.2x2x2``).
    features: frozenset[str] = frozenset()
    #: Former ids of this case.
    aliases: tuple[str, ...] = ()
    #: Launch options (``num_warps``).
    options: Mapping[str, Any] = field(default_factory=dict)
    #: For ``scale_by="terms"``: number of terms each output element sums.
    terms: int = 1
    #: For ``scale_by="terms"``: for each output, the sum of the terms' magnitudes per element. An
    #: element may then be off by ``ulp * terms * u * magnitude`` (``u``: half an ulp of 1 in the
    #: output type) on top of one rounding. ``None``: the magnitude of the expected value.
    magnitude: Callable[[Arguments], Mapping[str, Any]] | None = None
    note: str = ""
