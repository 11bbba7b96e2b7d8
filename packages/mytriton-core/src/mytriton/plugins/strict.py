"""Checked launches: who asked for them, and for which checks.

A view such as ``kernel.sanitize()`` asks through the name of the backend, which is part of every
key: ``"sanitize:nan:"`` stands where ``with_backend`` puts a name, and may hold one after the last
colon. ``MYTRITON_SANITIZE`` asks for all launches.
"""

from __future__ import annotations

import os

from ..errors import VariableError

#: The launch option that tells a backend: ``"1"``, ``"nan"`` or ``"bounds"``.
SANITIZE = "sanitize"
MODES = ("1", "nan", "bounds")
_ON, _OFF = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")


def variable() -> str | None:
    """What ``MYTRITON_SANITIZE`` asks for. Raises ``VariableError`` for what it does not know."""
    text = os.environ.get("MYTRITON_SANITIZE", "").strip().lower()
    if text in _OFF:
        return None
    mode = "1" if text in _ON else text
    if mode not in MODES:
        raise VariableError(f"MYTRITON_SANITIZE is 0, 1, nan or bounds, got {text!r}")
    return mode


def encode(mode: str, backend: str | None) -> str:
    """A request for checks as it travels with the name of a backend."""
    return f"{SANITIZE}:{mode}:{backend or ''}"


def decode(explicit: str | None) -> tuple[str | None, str | None]:
    """The checks and the backend in what a launch names."""
    if explicit is None or not explicit.startswith(f"{SANITIZE}:"):
        return None, explicit
    _, mode, backend = explicit.split(":", 2)
    return mode, backend or None
