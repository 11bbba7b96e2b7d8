"""Functions of Triton's language that programs look at when they are imported and that kernels here
cannot call yet."""

from __future__ import annotations

from typing import Any


def view(input: Any, *shape: Any) -> Any:
    """Triton's ``tl.view``. Raises ``NotImplementedError``."""
    raise NotImplementedError("mytriton has no tl.view yet")
