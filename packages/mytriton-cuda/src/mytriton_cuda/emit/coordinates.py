"""Names and expressions for a thread's place in the tile."""

from __future__ import annotations

from mytriton.analysis.threads import Tile

_NAMES = ("tile_i", "tile_j", "tile_k")


def coordinate(tile: Tile, stride: int, extent: int) -> tuple[str, str]:
    """Name and expression of ``(threadIdx.x / stride) % extent``; the name is empty for the plain
    ``threadIdx.x``, which needs none."""
    divides, wraps = tile.coordinate(stride, extent)
    expression = f"threadIdx.x / {stride}" if divides else "threadIdx.x"
    if wraps:
        expression = f"({expression}) % {extent}" if divides else f"{expression} % {extent}"
    elif not divides:
        return "", expression
    axis = tile.axis(stride, extent)
    if axis is not None:
        return _NAMES[axis] if len(tile.shape) <= len(_NAMES) else f"tile_{axis}", expression
    return f"thread_{extent}" + (f"_{stride}" if divides else ""), expression
