"""Names of `triton.language.core` that programs look at when they are imported: constants, and
functions that kernels here cannot call yet."""

from __future__ import annotations

from typing import Any

from ..language.compile_time import constexpr

CONSTEXPR_0 = constexpr(0)


def view(input: Any, *shape: Any) -> Any:
    """Triton's ``tl.view``. Raises ``NotImplementedError``."""
    raise NotImplementedError("mytriton has no tl.view yet")
