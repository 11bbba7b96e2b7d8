"""The conformance cases. Importing this package is cheap: the case modules, and with them the
compiler, are imported by the first call of ``all_cases``."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..case import Case

#: One module per theme; each has ``cases()``.
THEMES = (
    "elementwise", "special", "masks", "loops", "carried", "unrolling", "reductions",
    "reductions_2d", "grids", "scalars", "conversions", "order", "memory", "tiles",
    "constructors", "articles", "names", "operators", "maths", "arithmetic", "casts", "axes",
    "combines", "branches", "conditions", "whiles", "ranges", "returns", "helpers", "matrix",
    "turned", "chosen", "static", "hints", "traps",
)  # fmt: skip
#: Distributions add cases by an entry point of this group that names a callable giving cases.
ENTRY_POINT_GROUP = "mytriton.testkit_cases"


def own_cases() -> list[Case]:
    """The cases of this package, by theme."""
    found: list[Case] = []
    for theme in THEMES:
        found.extend(import_module(f"{__name__}.{theme}").cases())
    return found


def all_cases() -> list[Case]:
    """Every case: those of this package, then those that other distributions add.

    Raises ``ValueError`` when two cases have one id.
    """
    found = own_cases()
    for point in entry_points(group=ENTRY_POINT_GROUP):
        found.extend(point.load()())
    seen: dict[str, Case] = {}
    for case in found:
        for name in (case.id, *case.aliases):
            if seen.setdefault(name, case) is not case:
                raise ValueError(f"two conformance cases are called {name!r}")
    return found
