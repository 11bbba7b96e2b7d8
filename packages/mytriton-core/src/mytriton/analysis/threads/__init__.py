"""One thread per element: which thread holds what, which values are needed where, and where threads
must wait for each other. Pure analyses that GPU backends share."""

from __future__ import annotations

from .backward import Backward, structured
from .barriers import COMBINE_GATHERS, GATHERING, REDUCTIONS, Barriers, gathering_in_combine
from .demand import Demand
from .layout import (
    Layout,
    Tile,
    drop_axis,
    natural,
    operand_layout,
    permuted,
    size,
    tile_of,
)

__all__ = [
    "COMBINE_GATHERS", "GATHERING", "REDUCTIONS", "Backward", "Barriers", "Demand", "Layout", "Tile",
    "drop_axis", "gathering_in_combine", "natural", "operand_layout", "permuted", "size", "structured",
    "tile_of",
]  # fmt: skip
